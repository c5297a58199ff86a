import type { TaskResult } from "./task-result.js";
import type { Trace } from "./trace.js";

/** A task's time by cause, in ms. */
export interface TaskTimes {
  readonly modelTimeMs: number;
  readonly toolTimeMs: number;
  readonly waitingTimeMs: number;
}

/** Sums of successful model calls, tool calls, and waiting (rate limiting, failed attempts, pauses). */
export function timesOf({ turns, toolCalls }: Pick<Trace, "turns" | "toolCalls">): TaskTimes {
  return {
    modelTimeMs: turns.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
    toolTimeMs: toolCalls.reduce((sum, { durationMs }) => sum + durationMs, 0),
    waitingTimeMs: turns.reduce((sum, { waitedMs }) => sum + (waitedMs ?? 0), 0),
  };
}

/** Model and tool time together, by which agents are compared; null in results without it. */
export function modelAndToolTimeOf({
  modelTimeMs,
  toolTimeMs,
}: Partial<Pick<TaskResult, "modelTimeMs" | "toolTimeMs">>): number | null {
  return modelTimeMs === undefined || toolTimeMs === undefined ? null : modelTimeMs + toolTimeMs;
}
