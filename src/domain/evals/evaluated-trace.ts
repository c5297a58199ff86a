import type { ChatTrace } from "../runs/chat.js";
import type { Trace } from "../runs/trace.js";
import { instructionOf } from "../tasks/task.js";

/** What an eval reads: the trace of a task of a run, or of a chat. */
export type EvaluatedTrace = Trace | ChatTrace;

export function isChat(trace: EvaluatedTrace): trace is ChatTrace {
  return !("task" in trace);
}

/** What the agent was asked. */
export function questionOf(trace: EvaluatedTrace): string {
  return isChat(trace) ? trace.question : instructionOf(trace.task);
}

/**
 * Names the question of a trace: all its repeats, in all runs, have the same. A chat has no task, so it goes by its
 * words.
 */
export function questionKey(trace: EvaluatedTrace): string {
  if (!isChat(trace)) return JSON.stringify(trace.taskId);
  return `chat ${trace.question.toLowerCase().replace(/\s+/g, " ").trim()}`;
}
