import type { Message } from "../models/conversation.js";
import type { TaskActivity } from "../runs/task-activity.js";
import type { ToolCallRecord, Turn } from "../runs/trace.js";
import { isDontKnow } from "../tasks/detect-abstention.js";
import type { Ending } from "../tasks/task-ending.js";
import type { TaskId } from "../tasks/task-id.js";
import type { TaskVariables } from "./prompt.js";
import type { ToolContext } from "./tool.js";

/** Messages, calls and turns so far; owned by the caller, so that it survives a throw. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

/** The result of one task. */
export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** The conversation's ids at an external server. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

/** A task for an agent, with its limits and context. */
export interface AgentTask {
  readonly id: TaskId;
  /** Which repeat of the task, from 1. */
  readonly epoch: number;
  /** The question, or what is to be done. */
  readonly instruction: string;
  /** Its mailbox and day, its machine. */
  readonly variables: TaskVariables;
  readonly maxTurns: number;
  readonly context: ToolContext;
  /** Hears what the agent is doing. Must not throw. */
  readonly onActivity?: ((activity: TaskActivity) => void) | undefined;
}

/** The mailbox and day that a question is about. */
export function mailboxOf({ id, variables: { inbox_address, query_date } }: AgentTask) {
  if (inbox_address === undefined || query_date === undefined) throw new Error(`task ${id} is about no mailbox`);
  return { inbox_address, query_date };
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
