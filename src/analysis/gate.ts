import type { ValidatedScore } from "../evals/definition.js";
import type { OtherAgents } from "../evals/validated-agents.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { canBeRetried } from "../tasks/ending.js";
import { scorerOfMetric } from "../traces/headline-score.js";
import type { TaskResult } from "../traces/task-result.js";
import type { MetricComparison, RunHead } from "./paired-comparison.js";

interface Threshold {
  readonly metric: string;
  readonly limit: number;
}

/** The tasks of a run that an eval covered: it judged them, or it does not apply to them. */
interface EvalCoverage {
  readonly judged: number;
  readonly notApplicable: number;
  /** Number of tasks, including failed ones and those on which the eval failed. */
  readonly tasks: number;
  /** Minimum covered fraction, 0 to 1. */
  readonly least: number;
}

/** The result of the newest test of an eval's version. `unknown` if the database does not contain the eval. */
export type GateValidation = "none" | "stale" | "passed" | "rejected" | "unknown";

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
  /** For an eval, the tasks that it covered, and the minimum fraction. Null for other scores. */
  readonly coverage: EvalCoverage | null;
  /** Whether the eval was validated. Null for other scores, and for regression cases, which cannot be tested. */
  readonly validation: GateValidation | null;
  /** For an eval, the agents that it was not validated on. Null if there are none, or if the run has enough labels. */
  readonly otherAgents: OtherAgents | null;
  readonly passed: boolean;
}

/** Counts the tasks that an eval judged, and the tasks that it does not apply to. */
export function coverageOf(score: ValidatedScore, results: Iterable<TaskResult>, least: number): EvalCoverage {
  let [judged, notApplicable, tasks] = [0, 0, 0];
  for (const { scores, ending, failedScorers = [] } of results) {
    tasks++;
    const value = scores[score];
    if (typeof value === "number") judged++;
    else if (value === null && !canBeRetried(ending) && !failedScorers.includes(score)) notApplicable++;
  }
  return { judged, notApplicable, tasks, least };
}

/**
 * Checks whether a run's score over its completed tasks reaches the limit. The limit is a maximum if lower is better. A
 * missing score does not pass. An eval counts over the tasks that it judged, and must have covered enough of them.
 */
export function failUnder(
  { metric, limit }: Threshold,
  { scores }: Pick<RunHead, "scores">,
  coverage: EvalCoverage | null = null,
  /** Replaces the score's own figure. */
  corrected?: Estimate,
): Gate {
  const scorer = scorerOfMetric(metric, scores);
  const score = scores[scorer];
  const better = score?.better ?? "higher";
  const { value, n, low, high } = corrected ?? score ?? NO_ESTIMATE;
  const isCovered = coverage === null || coverage.judged + coverage.notApplicable >= coverage.least * coverage.tasks;
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
    validation: null,
    otherAgents: null,
    passed: isReached && isCovered,
  };
}

/**
 * Checks non-inferiority. Passes only if the 95% interval of the paired difference shows that the run is worse by less
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
    validation: null,
    otherAgents: null,
    passed: worst !== null && worst > -limit,
  };
}
