// Maps the finish reasons of all providers to a few, and explains replies that broke off.
import { wordList } from "../platform/word-list.js";
import { type FinishReason, ModelError } from "./model.js";
import { finishReasonSchema } from "./wire/reply-fields.js";

/**
 * The outcome of a reply, based on the provider's finish reason. `broke_off` means that a fault cut the reply short, so
 * the call is retried. All wire formats share this table, because compatible servers mix the names.
 */
export type ReplyEnd = Exclude<FinishReason, "other"> | "broke_off";

/** How a word in a finish reason begins, in the order in which the ends are checked. `^` is the first word. */
export const FINISH_REASON_WORDS: Readonly<Record<ReplyEnd, readonly string[]>> = {
  broken_call: wordList("malformed unexpected_tool too_many_tool missing_thought"),
  refusal: wordList(`
    refus filter guardrail sensitive safety recitation language block prohibit spii armor toxic moderat policy violat blacklist
  `),
  length: wordList("length max limit context_window error_limit repetition truncat"),
  broke_off: wordList(`
    error not_finished insufficient abort cancel fail incomplete in_progress queued load unload timeout interrupt ^other unspecified
  `),
  tool_calls: wordList("tool function"),
  stop: wordList("stop end eos complete done finish final normal natural ok succe"),
};

const ENDS = (Object.keys(FINISH_REASON_WORDS) as ReplyEnd[]).map((end) => ({
  end,
  pattern: new RegExp(`(?:^|_)(?:${FINISH_REASON_WORDS[end].join("|")})`),
}));

/**
 * Returns the finish reason of a reply with `calls` tool calls. Servers use different names for a reply with calls
 * (`stop`, `tool_calls` or none), so a reply with complete calls counts as `tool_calls` unless it was truncated, was
 * refused or broke off.
 *
 * @param raw the provider's name in any case, or an empty string if it sent none
 * @throws ModelError, which is retryable if the reply broke off, but not if the name is unknown and there are no calls
 */
export function finishReasonOf(raw: string, calls: number): Exclude<FinishReason, "other"> {
  const name = finishReasonSchema
    .parse(raw)
    .replace(/(?<=[a-z])(?=[A-Z])|[-\s]/g, "_")
    .toLowerCase();
  const end = name === "" ? "stop" : ENDS.find(({ pattern }) => pattern.test(name))?.end;
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
