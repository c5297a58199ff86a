import type { Message } from "../models/conversation.js";
import type { ToolCallRecord, Turn } from "../runs/trace.js";
import { isDontKnow } from "../tasks/detect-abstention.js";
import type { Question } from "../tasks/question.js";
import type { Ending } from "../tasks/task-ending.js";
import type { ToolContext } from "./tool.js";

/** Messages, calls and turns so far; owned by the caller, so that it survives a throw. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

/** The result of one question. */
export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** The conversation's ids at an external server. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

/** A question for an agent, with its limits and context. */
export interface AgentTask {
  readonly question: Pick<Question, "id" | "question" | "inbox_address" | "query_date">;
  /** Which repeat of the question, from 1. */
  readonly epoch: number;
  readonly maxTurns: number;
  readonly context: ToolContext;
}

/**
 * Port: runs an agent. Fills the initially empty transcript; throws a `ModelError` if the agent cannot be reached or
 * fails, and the signal's reason when that aborts.
 */
export interface AgentBackend {
  answer(task: AgentTask, transcript: Transcript): Promise<Rollout>;
}

export function endingOfAnswer(answer: string, sources: readonly string[]): Ending {
  return isDontKnow(answer) && sources.length === 0 ? "dont_know" : "answered";
}
