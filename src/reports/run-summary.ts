import type { Averages, RunTotals } from "../domain/result.js";
import { box } from "./box.js";
import { count, duration, share, usd } from "./figures.js";

const METRICS: readonly (readonly [string, keyof Omit<Averages, "tasks">])[] = [
  ["Exact match", "exactMatchAccuracy"],
  ["Semantic score", "avgSemanticScore"],
  ["Sources correct", "sourcesCorrect"],
  ["Gold mail found", "foundGold"],
  ["Gold mail read", "readGold"],
];

/** The totals of a run. Averages stand over the completed tasks and, where some failed, over all with those as wrong. */
export function runSummary(totals: RunTotals): string {
  const perTask = (sum: number) => (totals.totalTasks === 0 ? "-" : (sum / totals.totalTasks).toFixed(1));
  const average = (metric: keyof Omit<Averages, "tasks">) => {
    const all = totals.failedTasks === 0 ? "" : ` (${share(totals.overAllTasks[metric])} with failed tasks as wrong)`;
    return `${share(totals[metric])}${all}`;
  };
  const { inputTokens, outputTokens, cachedInputTokens } = totals.usage;
  return box(`ART-E Benchmark Results: ${totals.agentId} (${totals.model})`, [
    ["Run", totals.runId],
    [
      "Tasks",
      `${count(totals.totalTasks)} of the ${totals.split} split: ${count(totals.completedTasks)} completed, ${count(totals.failedTasks)} failed`,
    ],
    ...METRICS.map(([label, metric]): [string, string] => [label, average(metric)]),
    ["Endings", endings(totals)],
    ["Turns per task", perTask(totals.turns)],
    ["Time per task", totals.avgExecutionTimeMs === null ? "-" : duration(totals.avgExecutionTimeMs)],
    ["Total time", duration(totals.totalTimeMs)],
    ["Tokens", `${count(inputTokens)} in (${count(cachedInputTokens)} cached), ${count(outputTokens)} out`],
    ["Cost", totals.costUsd === null ? "unknown (no price known for this model)" : usd(totals.costUsd)],
    ...cached(totals),
    ["Retries", count(totals.retries)],
  ]);
}

/** What the cost above is not: money of today. Said only where replies came from the cache. */
function cached({ cachedReplies, turns, spent }: RunTotals): [string, string][] {
  if (cachedReplies === 0) return [];
  const now = spent.costUsd === null ? "an unknown sum" : usd(spent.costUsd);
  return [["From the cache", `${count(cachedReplies)} of ${count(turns)} replies; ${now} of the cost was spent now`]];
}

function endings(totals: RunTotals): string {
  const sorted = Object.entries(totals.endings).sort(([, a], [, b]) => b - a);
  return sorted.map(([ending, tasks]) => `${ending} ${count(tasks)}`).join(", ") || "-";
}
