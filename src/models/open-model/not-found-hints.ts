// Suggestions in errors about an unknown model, an unknown path or rejected tools.
import { type Completion, type Model, ModelError } from "../model.js";
import { type ModelName, successorOf } from "../model-names.js";

const isRedirect = (status: number | null) => status !== null && status >= 300 && status < 400;

/**
 * Decorates a model: if the server does not recognize the model or the path, the error suggests the model's successor,
 * or the path that most servers have. If the server rejects the tools, the error contains their number.
 */
export function withHints(model: Model, name: ModelName, baseUrl: string | null): Model {
  const successor = successorOf(name);
  const lacksVersion = name.provider === "openai" && baseUrl !== null && !/\/v\d/.test(baseUrl);
  return {
    id: model.id,
    async complete(request, signal): Promise<Completion> {
      try {
        return await model.complete(request, signal);
      } catch (error) {
        if (error instanceof ModelError && error.kind === "bad_tools")
          throw error.with({ message: `${error.message}; the request has ${request.tools.length} tools` });
        // A redirect to another server has the same kind, but does not mean that the model is unknown.
        if (!(error instanceof ModelError) || error.kind !== "not_found" || isRedirect(error.status)) throw error;
        const isPath = lacksVersion && error.status === 404 && !/model/i.test(error.message);
        if (isPath) throw error.with({ message: `${error.message}; the base URL might lack /v1: try ${baseUrl}/v1` });
        if (successor === null) throw error;
        throw error.with({
          message: `${error.message}; the successor of ${name.name} is ${name.provider}/${successor}`,
        });
      }
    },
  };
}
