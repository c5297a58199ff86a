/** What an eval says of one trace. */
export interface EvalOutcome {
  /** 0 to 1; null: it does not apply to the trace, or it failed. */
  readonly score: number | null;
  /** In a line: what was wrong, naming it, or why it passes. */
  readonly reason: string;
  /** Why it could not be told; null: it could. Never counted as a score of 0. */
  readonly error: string | null;
}

/** From here on a trace passes. */
export const PASS_SCORE = 0.5;

export function isPass(score: number): boolean {
  return score >= PASS_SCORE;
}
