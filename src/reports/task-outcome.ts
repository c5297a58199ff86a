// Whether a task is right by one score.
import { isFailure } from "../tasks/ending.js";
import type { ScoreDescription } from "../traces/score.js";
import type { TaskResult } from "../traces/task-result.js";

export type TaskOutcome = "right" | "wrong" | "failed" | "unscored";

/** A score that decides whether a task is right. */
export interface OutcomeScore extends Pick<ScoreDescription, "better" | "scale"> {
  readonly scorer: string;
}

/**
 * Returns whether a task is right by one score: from 0.5 on, below 0.5 if lower is better, or at the best value of the
 * scale (a gold rank of 1). `unscored` means that the task does not have the score.
 */
export function taskOutcome(task: TaskResult, { scorer, better, scale }: OutcomeScore): TaskOutcome {
  const value = task.scores[scorer] ?? null;
  // A suite task can be graded even after a timeout.
  if (value === null) return isFailure(task.ending) ? "failed" : "unscored";
  const isRight = better === "higher" ? value >= 0.5 : value < 0.5 || value === scale?.min;
  return isRight ? "right" : "wrong";
}
