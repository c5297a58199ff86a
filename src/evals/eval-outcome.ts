// The result of an eval on one trace, in the only form and with the only names that it has.
import { canBeRetried, type Ending } from "../tasks/ending.js";

/** The result of an eval on one trace. */
export interface EvalOutcome {
  /** 0 to 1, or null if the eval does not apply or failed. */
  readonly score: number | null;
  /** One line that describes the defect in the trace, or why the trace passes. */
  readonly reason: string;
  /** Why the eval failed, or null. A failure is never counted as a score of 0. */
  readonly error: string | null;
}

/** An outcome with its cost and its time in milliseconds. */
export interface MeasuredOutcome extends EvalOutcome {
  readonly ms: number;
  /** US dollars. 0 without a model call, null if the price is unknown. */
  readonly costUsd: number | null;
}

/** Minimum score of a passing trace. */
export const PASS_SCORE = 0.5;

export function isPass(score: number): boolean {
  return score >= PASS_SCORE;
}

/**
 * Returns the outcome of an eval on a trace with this ending. A failed task can fail an eval but never passes one,
 * because its agent did not finish.
 */
export function withoutPassOfFailure<T extends EvalOutcome>(outcome: T, ending: Ending): T {
  if (outcome.score === null || !isPass(outcome.score) || !canBeRetried(ending)) return outcome;
  return { ...outcome, score: null, reason: `the task failed (${ending})` };
}

/** The outcome of an eval that failed before it used any time or money. */
export function failedOutcome(error: string): MeasuredOutcome {
  return { score: null, reason: "", error, ms: 0, costUsd: 0 };
}
