import type { TaskResult } from "./task-result.js";
import type { Trace } from "./trace.js";

/** What a task's time went into, in ms. */
export interface TaskTimes {
  readonly modelTimeMs: number;
  readonly toolTimeMs: number;
  readonly waitingTimeMs: number;
}

/** The calls that succeeded, the tools, and what was only waited for: throttling, failed attempts, pauses between them. */
export function timesOf({ turns, toolCalls }: Pick<Trace, "turns" | "toolCalls">): TaskTimes {
  return {
    modelTimeMs: turns.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
    toolTimeMs: toolCalls.reduce((sum, { durationMs }) => sum + durationMs, 0),
    waitingTimeMs: turns.reduce((sum, { waitedMs }) => sum + (waitedMs ?? 0), 0),
  };
}

/** What model and tools took together, by which agents are compared; null in results that do not tell. */
export function modelAndToolTimeOf({
  modelTimeMs,
  toolTimeMs,
}: Partial<Pick<TaskResult, "modelTimeMs" | "toolTimeMs">>): number | null {
  return modelTimeMs === undefined || toolTimeMs === undefined ? null : modelTimeMs + toolTimeMs;
}
