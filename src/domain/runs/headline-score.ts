import type { Estimate } from "../scores/interval-estimate.js";

/**
 * The scorers whose figure stands for a whole run, best first: a judge's verdict, what a suite's own functions gave,
 * and where nobody judged, how far the answers' words agree.
 */
export const HEADLINE_SCORERS = ["judgeCorrect", "taskScore", "semanticScore"] as const;

/** The one figure of a run that lists show. */
export interface Headline extends Estimate {
  readonly scorer: (typeof HEADLINE_SCORERS)[number];
}

/** The scorer whose figure stands for a run, of those that `has` knows; null: none of them does. */
export function headlineScorer(has: (scorer: Headline["scorer"]) => boolean): Headline["scorer"] | null {
  return HEADLINE_SCORERS.find(has) ?? null;
}
