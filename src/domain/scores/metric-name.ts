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

/** The scorer that a metric's name means, by what has been scored: `told` says whether a scorer has any value. */
export function scorerOfMetric(metric: string, told: (scorer: string) => boolean): string {
  if (metric === "accuracy") return told(JUDGED) ? JUDGED : "exactMatch";
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}
