/** What an eval says of one trace. */
export interface EvalOutcome {
  /** 0 to 1; null: it does not apply to the trace, or it failed. */
  readonly score: number | null;
  /** In a line: what was wrong, naming it, or why it passes. */
  readonly reason: string;
  /** Why it could not be told; null: it could. Never counted as a score of 0. */
  readonly error: string | null;
}

/** With what it took. */
export interface MeasuredOutcome extends EvalOutcome {
  readonly ms: number;
  /** US dollars; 0 where no model is called, null where the price is not known. */
  readonly costUsd: number | null;
}

/** From here on a trace passes. */
const PASS_SCORE = 0.5;

export function isPass(score: number): boolean {
  return score >= PASS_SCORE;
}

/** Of an eval that failed before it took any time or money. */
export function failedOutcome(error: string): MeasuredOutcome {
  return { score: null, reason: "", error, ms: 0, costUsd: 0 };
}
