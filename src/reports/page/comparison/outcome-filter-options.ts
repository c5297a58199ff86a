import type { ReportHead } from "../report-data.js";
import { readOutcome, writeOutcome } from "./pair-outcomes.js";

/** The values of the filter that its list offers: of each run's verdict, and where any run differs. */
export function outcomeOptions({ comparisons, runs }: ReportHead): string[] {
  const compared = comparisons.flatMap(({ candidate, headline }) => {
    const runId = runs[candidate]?.runId;
    return headline === null || runId === undefined ? [] : [{ runId, metric: headline }];
  });
  const metrics = [...new Set(compared.map(({ metric }) => metric))];
  return [
    ...metrics.map((metric) => writeOutcome({ outcome: "differs", runId: null, metric })),
    ...compared.flatMap(({ runId, metric }) =>
      (["won", "lost", "tied"] as const).map((outcome) => writeOutcome({ outcome, runId, metric })),
    ),
  ];
}

/** The value of a filter in words: `where they disagree (Semantic score)`, `won by LABEL (Semantic score)`. */
export function outcomeWords(value: string, { runs, scores }: ReportHead): string {
  const filter = readOutcome(value);
  if (filter === null) return value;
  const label = scores.find(({ name }) => name === filter.metric)?.label ?? filter.metric;
  const run = runs.find(({ runId }) => runId === filter.runId)?.label ?? filter.runId;
  if (filter.outcome === "differs") {
    const who = runs.length === 2 ? "they disagree" : run === null ? "any of them disagree" : `${run} disagrees`;
    return `where ${who} (${label})`;
  }
  return `${filter.outcome} by ${run ?? "any"} (${label})`;
}
