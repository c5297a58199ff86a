import { UserError } from "../platform/errors.js";

/** Short names for the most common metrics. Every scorer's name is a metric too. */
export const METRIC_ALIASES = {
  accuracy: "judgeCorrect if the run was judged, taskSolved for a suite, otherwise exactMatch",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
  score: "taskScore",
  solved: "taskSolved",
} as const satisfies Record<string, string>;

/** Scorer for the judge's verdict, in runs with a judge. */
export const JUDGED = "judgeCorrect";

/** For suite tasks. */
const SOLVED = "taskSolved";

/** Number of tasks with a value, per scorer of a run. */
export type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/**
 * Returns the scorer for a metric name. `accuracy` is the judge's verdict if every run has verdicts. If all runs are
 * suite runs, it is whether a task was solved.
 */
export function scorerOfMetric(metric: string, ...runs: readonly ScoredTasks[]): string {
  if (metric === "accuracy") {
    if (runs.every((scores) => isScored(JUDGED, scores))) return JUDGED;
    return runs.length > 0 && runs.every((scores) => scores[SOLVED] !== undefined) ? SOLVED : "exactMatch";
  }
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

/**
 * Returns the scorer for a metric name. Null selects the score with bands: the suite's own score if it has one,
 * otherwise the semantic score. Throws a UserError for a score that no task has.
 */
export function scorerForBands(metric: string | null, counts: ScoredTasks, runId: string): string {
  if (metric === null) {
    return !isScored("semanticScore", counts) && isScored("taskScore", counts) ? "taskScore" : "semanticScore";
  }
  const scorer = scorerOfMetric(metric, counts);
  if (isScored(scorer, counts)) return scorer;
  const available = Object.keys(counts).join(", ");
  throw new UserError(
    "score_unknown",
    `Unknown score "${metric}" in ${runId}.`,
    available === "" ? "No task in this run has a score." : `Available: ${available}.`,
  );
}

export function isScored(scorer: string, scores: ScoredTasks): boolean {
  return (scores[scorer]?.n ?? 0) > 0;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}
