import type { JsonValue } from "../../domain/json.js";
import { type Completion, type ModelRequest, NO_USAGE } from "../../domain/models/model.js";

/** A tool call of an offline model. */
export type Step = { readonly name: string; readonly arguments: JsonValue };

/** The reply of an offline model: calls, or else a text. Nothing was sent, and no tokens were used. */
export function offlineCompletion(request: ModelRequest, content: string, steps: readonly Step[]): Completion {
  const turn = request.messages.filter((message) => message.role === "assistant").length + 1;
  const finishReason = steps.length > 0 ? "tool_calls" : "stop";
  return {
    content,
    toolCalls: steps.map((step, i) => ({ id: `offline_${turn}_${i + 1}`, ...step })),
    finishReason,
    rawFinishReason: finishReason,
    usage: NO_USAGE,
    latencyMs: 0,
    retries: [],
  };
}

/** The answer by return_final_answer where the agent has that tool, else as text. */
export function offlineAnswer(request: ModelRequest, answer: string, sources: readonly string[] = []): Completion {
  const hasTool = request.tools.some(({ name }) => name === "return_final_answer");
  if (!hasTool) return offlineCompletion(request, answer, []);
  return offlineCompletion(request, "", [{ name: "return_final_answer", arguments: { answer, sources } }]);
}
