import type { TaskResult } from "../runs/benchmark-result.js";
import { isFailure } from "../tasks/ending.js";

/** Whether a task was right by one score: 0.5 parts right from wrong, also of means. `untold`: the score says nothing of it. */
export type TaskOutcome = "right" | "wrong" | "failed" | "untold";

export function taskOutcome(task: TaskResult, scorer: string, better: "higher" | "lower"): TaskOutcome {
  if (isFailure(task.ending)) return "failed";
  const value = task.scores[scorer] ?? null;
  if (value === null) return "untold";
  return value >= 0.5 === (better === "higher") ? "right" : "wrong";
}
