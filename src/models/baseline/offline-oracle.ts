import { z } from "zod";
import type { Completion, ModelRequest } from "../../domain/models/model.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import { offlineAnswer, offlineCompletion } from "./offline-completion.js";

const TOOL = "apply_oracle";

const appliedSchema = z.object({ answer: z.string().optional(), sources: z.array(z.string()).optional() });

/** `offline/oracle`: has the oracle's files put in place, and gives the oracle's answer where it has one. */
export function oracleReply(request: ModelRequest): Completion {
  const result = request.messages.findLast((message) => message.role === "tool" && message.name === TOOL);
  if (result?.role !== "tool") {
    if (request.tools.some(({ name }) => name === TOOL)) {
      return offlineCompletion(request, "", [{ name: TOOL, arguments: {} }]);
    }
    return offlineAnswer(request, "Nothing was done: there is no oracle.");
  }
  if (result.isError) return offlineAnswer(request, `Nothing was done: ${result.content}`);
  const { answer = "It is in place.", sources } = appliedSchema.catch({}).parse(parseJsonOrNull(result.content));
  return offlineAnswer(request, answer, sources);
}
