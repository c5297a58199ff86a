import type { Message } from "../models/conversation.js";
import type { ToolCallRecord, Turn } from "../runs/trace.js";
import { isDontKnow } from "../tasks/abstention.js";
import type { Ending } from "../tasks/ending.js";
import type { Question } from "../tasks/question.js";
import type { ToolContext } from "./tool.js";

/** What was said and done so far; the caller holds it, so that it survives a throw. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

/** What came of one question. */
export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** How a server calls the same conversation in its own records. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

/** A question on its way to an agent, with what holds while it is answered. */
export interface AgentTask {
  readonly question: Pick<Question, "id" | "question" | "inbox_address" | "query_date">;
  /** Which repeat of the question, from 1. */
  readonly epoch: number;
  readonly maxTurns: number;
  readonly context: ToolContext;
}

/**
 * Port: where an agent lives. Fills the transcript, which comes empty, as it goes; throws a `ModelError` where the agent
 * could not be had or broke down, and the signal's reason when that aborts.
 */
export interface AgentBackend {
  answer(task: AgentTask, transcript: Transcript): Promise<Rollout>;
}

export function endingOfAnswer(answer: string, sources: readonly string[]): Ending {
  return isDontKnow(answer) && sources.length === 0 ? "dont_know" : "answered";
}
