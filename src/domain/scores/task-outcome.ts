import type { TaskResult } from "../runs/benchmark-result.js";
import { isFailure } from "../tasks/task-ending.js";

/** Whether a task is right by one score, from 0.5 on, also for means. `unscored`: it has no value of that score. */
export type TaskOutcome = "right" | "wrong" | "failed" | "unscored";

export function taskOutcome(task: TaskResult, scorer: string, better: "higher" | "lower"): TaskOutcome {
  if (isFailure(task.ending)) return "failed";
  const value = task.scores[scorer] ?? null;
  if (value === null) return "unscored";
  return value >= 0.5 === (better === "higher") ? "right" : "wrong";
}
