import { type FinishReason, ModelError } from "./model.js";

/**
 * What a provider's finish reason means for the reply. `broke_off`: the reply is incomplete because of a fault, so the
 * call is retried. Every wire format uses this table: compatible servers mix each other's names.
 */
export type ReplyEnd = Exclude<FinishReason, "other"> | "broke_off";

export const FINISH_REASON_NAMES: Readonly<Record<ReplyEnd, readonly string[]>> = {
  stop: ["stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed"],
  tool_calls: ["tool_calls", "tool_call", "tool_use", "function_call"],
  length: [
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "model_context_window_exceeded",
    "error_limit",
    "repetition",
  ],
  refusal: [
    "refusal",
    "content_filter",
    "content_filtered",
    "guardrail_intervened",
    "sensitive",
    "safety",
    "recitation",
    "language",
    "blocklist",
    "prohibited_content",
    "spii",
    "image_safety",
    "image_prohibited_content",
    "image_recitation",
    "model_armor",
    "error_toxic",
  ],
  broken_call: [
    "malformed_function_call",
    "unexpected_tool_call",
    "too_many_tool_calls",
    "missing_thought_signature",
    "malformed_tool_use",
    "malformed_model_output",
    "malformed_response",
  ],
  broke_off: [
    "error",
    "network_error",
    "insufficient_system_resource",
    "abort",
    "aborted",
    "cancelled",
    "user_cancel",
    "failed",
    "incomplete",
    "in_progress",
    "queued",
    "load",
    "unload",
    "timeout",
    "other",
    "finish_reason_unspecified",
  ],
};

const ENDS: ReadonlyMap<string, ReplyEnd> = new Map(
  (Object.keys(FINISH_REASON_NAMES) as ReplyEnd[]).flatMap((end) =>
    FINISH_REASON_NAMES[end].map((name): [string, ReplyEnd] => [name, end]),
  ),
);

/**
 * The finish reason of a reply with this number of tool calls. Servers disagree on the name next to calls (`stop`,
 * `tool_calls`, none at all), so complete calls decide, unless the reply was truncated, refused or broke off.
 *
 * @param raw as the provider names it, in any case; empty if it names none
 * @throws ModelError, retryable, if the reply broke off; not retryable for an unknown name without calls
 */
export function finishReasonOf(raw: string, calls: number): Exclude<FinishReason, "other"> {
  const end = raw === "" ? "stop" : ENDS.get(raw.toLowerCase());
  if (end === "broke_off") throw brokeOff(raw);
  if (calls > 0 && end !== "length" && end !== "refusal") return "tool_calls";
  if (end === undefined) {
    throw new ModelError("protocol", `the reply ended for a reason that art-e does not know: "${raw.slice(0, 100)}"`, {
      retryable: false,
    });
  }
  // Calls were announced and none came: the agent loop reports that the reply was empty.
  return end === "tool_calls" ? "stop" : end;
}

/** The error of an incomplete reply. `reason`: the server's own words, if it has any. */
export function brokeOff(raw: string, reason = ""): ModelError {
  const why = reason === "" ? "" : `: ${reason}`;
  return new ModelError("server", `the reply broke off (finish reason "${raw.slice(0, 100)}")${why}`, {
    retryable: true,
  });
}
