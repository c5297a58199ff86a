// The result of an agent's work on a task: messages, answer, sources and ending, before anything is scored.
import type { Completion, Message } from "../models/model.js";
import type { Ending } from "../tasks/ending.js";
import { isDontKnow } from "../text/abstention.js";
import type { ToolCallRecord, Turn } from "../traces/trace.js";

/** Messages, calls and turns so far. The caller owns the transcript, so that it survives an error. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** Reason for the missing answer, if the agent itself ended without one. */
  readonly reason?: string;
  /** The conversation's ids on an external server. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

/**
 * Returns an external agent's rollout. An agent that ends without an answer counts as out of turns, which is not a
 * failure.
 */
export function rolloutOf(transcript: Transcript, answer: string, sources: readonly string[]): Rollout {
  if (answer === "") return { ...transcript, ending: "out_of_turns", answer: null, sources: [] };
  return { ...transcript, ending: endingOfAnswer(answer, sources), answer, sources };
}

export function endingOfAnswer(answer: string, sources: readonly string[]): Ending {
  return isDontKnow(answer) && sources.length === 0 ? "dont_know" : "answered";
}

/** Returns a refusal's reason for the trace, consisting of the provider's finish reason and the reply's text. */
export function refusalReason({ rawFinishReason, content }: Pick<Completion, "rawFinishReason" | "content">): string {
  return ["The model refused to answer", rawFinishReason, content.trim().slice(0, MAX_REASON_CHARS)]
    .filter((part) => part !== "")
    .join(": ");
}

const MAX_REASON_CHARS = 300;
