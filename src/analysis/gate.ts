import { isEvalScore } from "../evals/definition.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { scorerOfMetric } from "../traces/metrics.js";
import type { MetricComparison, RunHead } from "./paired-comparison.js";

/** A run's requirement for passing, and the result. */
export interface Gate {
  readonly kind: "fail_under" | "no_worse_than";
  /** The metric as the user wrote it. */
  readonly metric: string;
  /** The scorer for the metric. */
  readonly scorer: string;
  readonly better: "higher" | "lower";
  /** The threshold, or the margin below the baseline. */
  readonly limit: number;
  /** Run id of the baseline, or null for a threshold. */
  readonly baseline: string | null;
  /** The score, or the paired difference from the baseline. */
  readonly figure: Estimate;
  /** For an eval, the number of tasks that it judged and the minimum fraction. Null for other scores. */
  readonly coverage: { readonly judged: number; readonly tasks: number; readonly least: number } | null;
  readonly passed: boolean;
}

export interface Threshold {
  readonly metric: string;
  readonly limit: number;
}

/**
 * Checks whether a run's score over its completed tasks reaches the limit. The limit is a maximum if lower is better. A
 * missing score does not pass. An eval counts over all tasks and must have judged enough of them.
 */
export function failUnder(
  { metric, limit }: Threshold,
  { scores, totalTasks }: Pick<RunHead, "scores" | "totalTasks">,
  minCoverage: number,
  /** Replaces the score's own figure. */
  corrected?: Estimate,
): Gate {
  const scorer = scorerOfMetric(metric, scores);
  const score = scores[scorer];
  const better = score?.better ?? "higher";
  const { value, n, low, high } = corrected ?? score ?? NO_ESTIMATE;
  const coverage = isEvalScore(scorer) ? { judged: score?.n ?? 0, tasks: totalTasks, least: minCoverage } : null;
  const isCovered = coverage === null || coverage.judged >= coverage.least * coverage.tasks;
  const isReached = value !== null && (better === "higher" ? value >= limit : value <= limit);
  return {
    kind: "fail_under",
    metric,
    scorer,
    better,
    limit,
    baseline: null,
    figure: { value, n, low, high },
    coverage,
    passed: isReached && isCovered,
  };
}

/**
 * Checks non-inferiority. Passes only if the 95 % interval of the paired difference shows that the run is worse by less
 * than the limit. Does not pass if there are too few questions to show this.
 */
export function noWorseThan(
  { metric, limit }: Threshold,
  baseline: string,
  { metric: scorer, better, difference }: MetricComparison,
): Gate {
  const worst = better === "higher" ? difference.low : difference.high === null ? null : -difference.high;
  return {
    kind: "no_worse_than",
    metric,
    scorer,
    better,
    limit,
    baseline,
    figure: difference,
    coverage: null,
    passed: worst !== null && worst > -limit,
  };
}
