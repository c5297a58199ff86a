import type { Estimate } from "../statistics/estimate.js";
import { isScored, type ScoredTasks } from "./metrics.js";

/**
 * The score that represents a run in lists, reports, comparisons, summaries and labels, best first: a training
 * environment's reward, a judge's verdict, a suite's own score and, without a judge, the word overlap of the answers.
 */
export const HEADLINE_SCORERS = ["reward", "judgeCorrect", "taskScore", "semanticScore"] as const;

export type HeadlineScorer = (typeof HEADLINE_SCORERS)[number];

export interface Headline extends Estimate {
  readonly scorer: HeadlineScorer;
}

/**
 * Returns the headline scorer of a run, or null if none of its tasks is scored. Several runs have a common headline
 * scorer if possible, otherwise the best one of any of them.
 */
export function headlineScorer(...runs: readonly ScoredTasks[]): HeadlineScorer | null {
  const inAll = HEADLINE_SCORERS.find((scorer) => runs.every((scores) => isScored(scorer, scores)));
  return inAll ?? HEADLINE_SCORERS.find((scorer) => runs.some((scores) => isScored(scorer, scores))) ?? null;
}

/** Returns the names of a run's scores, headline score first, otherwise in the same order. */
export function headlineFirst(scores: ScoredTasks): string[] {
  const headline = headlineScorer(scores);
  return Object.keys(scores).sort((a, b) => Number(b === headline) - Number(a === headline));
}
