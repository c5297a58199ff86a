import { isEvalScore } from "../evals/definition.js";
import { NO_ESTIMATE } from "../statistics/estimate.js";
import { type Gate, scorerOfMetric, type Threshold } from "../traces/score.js";
import type { MetricComparison, RunHead } from "./compare.js";

/** The least share of a run's tasks that an eval must judge, where nothing else is said. */
export const MIN_COVERAGE = 0.9;

/**
 * Whether a run's score over its completed tasks reaches its limit: at least that, or at most if lower is better. A
 * missing score does not pass. An eval counts over all tasks, and must have judged enough of them.
 */
export function failUnder(
  { metric, limit }: Threshold,
  { scores, totalTasks }: Pick<RunHead, "scores" | "totalTasks">,
  minCoverage: number,
): Gate {
  const scorer = scorerOfMetric(metric, scores);
  const score = scores[scorer];
  const better = score?.better ?? "higher";
  const { value, n, low, high } = score ?? NO_ESTIMATE;
  const coverage = isEvalScore(scorer) ? { judged: n, tasks: totalTasks, least: minCoverage } : null;
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
 * Non-inferiority: passes only if the 95 % interval of the paired difference shows that the run is worse by less than
 * the limit. Too few questions to show that do not pass.
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
