import { type FinishReason, ModelError } from "./model.js";

/**
 * The outcome of a reply, based on the provider's finish reason. `broke_off` means that a fault cut the reply short, so
 * the call is retried. All wire formats share this table, because compatible servers mix the names.
 */
export type ReplyEnd = Exclude<FinishReason, "other"> | "broke_off";

export const FINISH_REASON_NAMES: Readonly<Record<ReplyEnd, readonly string[]>> = {
  stop: [
    "stop",
    "end",
    "end_turn",
    "stop_sequence",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "done",
    "finished",
    "normal",
    "success",
  ],
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
 * Returns the finish reason of a reply with `calls` tool calls. Servers use different names for a reply with calls
 * (`stop`, `tool_calls` or none), so a reply with complete calls counts as `tool_calls` unless it was truncated, was
 * refused or broke off.
 *
 * @param raw the provider's name in any case, or an empty string if it sent none
 * @throws ModelError, which is retryable if the reply broke off, but not if the name is unknown and there are no calls
 */
export function finishReasonOf(raw: string, calls: number): Exclude<FinishReason, "other"> {
  const end = raw === "" ? "stop" : ENDS.get(raw.toLowerCase().replace(/[-\s]/g, "_"));
  if (end === "broke_off") throw brokeOff(raw);
  if (calls > 0 && end !== "length" && end !== "refusal") return "tool_calls";
  if (end === undefined) {
    throw new ModelError("protocol", `the reply has an unknown finish reason: "${raw.slice(0, 100)}"`, {
      retryable: false,
    });
  }
  // The server announced calls but sent none. The agent loop then reports an empty reply.
  return end === "tool_calls" ? "stop" : end;
}

/** Returns the error for an incomplete reply. `reason` is the server's explanation, if any. */
export function brokeOff(raw: string, reason = ""): ModelError {
  const why = reason === "" ? "" : `: ${reason}`;
  return new ModelError("server", `the reply broke off (finish reason "${raw.slice(0, 100)}")${why}`, {
    retryable: true,
  });
}

/** Explains why a reply without a usable result has none, such as `the judge's reply could not be read`. */
export function unusableReply(whose: string, finishReason: FinishReason): string {
  if (finishReason === "refusal") return `${whose} reply was refused or blocked by a content filter`;
  if (finishReason === "length") return `${whose} reply was truncated at the token limit`;
  return `${whose} reply could not be read`;
}
