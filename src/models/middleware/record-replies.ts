import { type Completion, type Model, ModelError } from "../../domain/models/model.js";
import { requestKey } from "./cache-key.js";
import type { RecordedFailure } from "./replay-file.js";

/**
 * A model that also hands every reply it gives, with its request, to `write`: one line of JSON, its line end included,
 * in the form `replay/FILE` answers from. So it does with a call that failed for good or outlasted its task; not with
 * one that the user interrupted.
 */
export function recording(model: Model, write: (line: string) => void): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      // Taken before the call: the conversation may have grown when it returns.
      const key = requestKey(model.id, request);
      const append = (outcome: { completion: Completion } | { failure: RecordedFailure }) =>
        write(`${JSON.stringify({ key, model: model.id, request, ...outcome })}\n`);
      try {
        const completion = await model.complete(request, signal);
        append({ completion });
        return completion;
      } catch (error) {
        const failure = failureOf(error);
        if (failure !== null) append({ failure });
        throw error;
      }
    },
  };
}

function failureOf(error: unknown): RecordedFailure | null {
  if (error instanceof ModelError) {
    const { kind, message, retries } = error;
    return { kind, message, retries: [...retries] };
  }
  return error instanceof DOMException && error.name === "TimeoutError" ? { timedOut: true } : null;
}
