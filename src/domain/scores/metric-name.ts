/** Short names for what people ask after most; every scorer's own name is a metric too. */
export const METRIC_ALIASES = {
  accuracy: "judgeCorrect where the run was judged, else exactMatch",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
} as const satisfies Record<string, string>;

/** The judge's verdict, where there was a judge. */
const JUDGED = "judgeCorrect";

/** The scores of one run: by scorer, how many tasks have a value. */
type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/** The scorer that a metric's name means: `accuracy` is the judge's verdict where each of the runs has verdicts. */
export function scorerOfMetric(metric: string, ...runs: readonly ScoredTasks[]): string {
  if (metric === "accuracy") return runs.every((scores) => isScored(JUDGED, scores)) ? JUDGED : "exactMatch";
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

/** Whether any task of a run has a value of the scorer. */
export function isScored(scorer: string, scores: ScoredTasks): boolean {
  return (scores[scorer]?.n ?? 0) > 0;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}
