/** Short names for what people ask after most; every scorer's own name is a metric too. */
export const METRIC_ALIASES = {
  accuracy: "judgeCorrect where the run was judged, taskSolved of a suite, else exactMatch",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
  score: "taskScore",
  solved: "taskSolved",
} as const satisfies Record<string, string>;

/** The judge's verdict, where there was a judge. */
const JUDGED = "judgeCorrect";

/** Of tasks of suites. */
const SOLVED = "taskSolved";

/** The scores of one run: by scorer, how many tasks have a value. */
type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/**
 * The scorer that a metric's name means: `accuracy` is the judge's verdict where each of the runs has verdicts, and
 * whether a task was solved where each is over a suite.
 */
export function scorerOfMetric(metric: string, ...runs: readonly ScoredTasks[]): string {
  if (metric === "accuracy") {
    if (runs.every((scores) => isScored(JUDGED, scores))) return JUDGED;
    return runs.length > 0 && runs.every((scores) => scores[SOLVED] !== undefined) ? SOLVED : "exactMatch";
  }
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

/** Whether any task of a run has a value of the scorer. */
export function isScored(scorer: string, scores: ScoredTasks): boolean {
  return (scores[scorer]?.n ?? 0) > 0;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}
