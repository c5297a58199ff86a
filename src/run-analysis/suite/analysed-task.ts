import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { modelAndToolTimeOf } from "../../domain/runs/task-times.js";
import type { TaskState } from "../../domain/tasks/task-state.js";

/** What the analysis of a suite's run reads of a task. */
export interface AnalysedTask {
  readonly taskId: string;
  readonly tool: string;
  readonly tags: readonly string[];
  readonly counterpart: string | null;
  readonly actionNumber: number | null;
  readonly state: TaskState;
  /** Null: not graded. */
  readonly score: number | null;
  readonly turns: number;
  /** Null: not known, as results files do not have them. */
  readonly toolCalls: number | null;
  /** Model and tool time. */
  readonly ms: number;
}

/** Null for a question about a mailbox. */
export function analysedTask(result: TaskResult, toolCalls: number | null): AnalysedTask | null {
  if (result.suite === undefined) return null;
  const { tool, tags, counterpart, actionNumber, state, score } = result.suite;
  const ms = modelAndToolTimeOf(result) ?? result.executionTimeMs;
  const { turns } = result;
  return { taskId: String(result.taskId), tool, tags, counterpart, actionNumber, state, score, turns, toolCalls, ms };
}
