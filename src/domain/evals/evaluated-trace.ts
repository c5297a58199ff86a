import { type ChatTrace, isChatTrace } from "../runs/chat.js";
import type { Trace } from "../runs/trace.js";

/** What an eval reads: the trace of a task of a run, or of a chat. */
export type EvaluatedTrace = Trace | ChatTrace;

/**
 * Names the question of a trace: all its repeats, in all runs, have the same. A chat has no task, so it goes by its
 * words.
 */
export function questionKey(trace: EvaluatedTrace): string {
  if (!isChatTrace(trace)) return JSON.stringify(trace.taskId);
  return `chat ${trace.question.toLowerCase().replace(/\s+/g, " ").trim()}`;
}
