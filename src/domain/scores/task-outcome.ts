import type { TaskResult } from "../runs/benchmark-result.js";
import { isFailure } from "../tasks/task-ending.js";

/** Whether a task is right by one score, from 0.5 on, also for means. `unscored`: it has no value of that score. */
export type TaskOutcome = "right" | "wrong" | "failed" | "unscored";

export function taskOutcome(task: TaskResult, scorer: string, better: "higher" | "lower"): TaskOutcome {
  const value = task.scores[scorer] ?? null;
  // A task of a suite may be graded though its time ran out.
  if (value === null) return isFailure(task.ending) ? "failed" : "unscored";
  return value >= 0.5 === (better === "higher") ? "right" : "wrong";
}
