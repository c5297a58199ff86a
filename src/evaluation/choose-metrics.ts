import { UserError } from "../domain/errors.js";
import { METRIC_ALIASES, scorerOfMetric } from "../domain/scores/metric-name.js";

/** By scorer, how many tasks have a value. */
type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/** What two runs both have a value of, with how many tasks the lesser has it for. */
export function sharedScores(a: ScoredTasks, b: ScoredTasks): ScoredTasks {
  const shared = Object.entries(a).flatMap(([name, { n }]) => {
    const other = b[name]?.n ?? 0;
    return n > 0 && other > 0 ? [[name, { n: Math.min(n, other) }] as const] : [];
  });
  return Object.fromEntries(shared);
}

/** All metrics of shared scores: accuracy first, where questions have one. */
export function sharedMetrics(shared: ScoredTasks): string[] {
  const all = Object.keys(shared);
  return all.includes("exactMatch") || all.includes("judgeCorrect") ? ["accuracy", ...all] : all;
}

/** The scorers that metrics mean, among those there are figures of. */
export function scorersAmong(wanted: readonly string[], scores: ScoredTasks): string[] {
  const scorers = wanted.map((metric) => scorerOfMetric(metric, scores));
  const unknown = wanted.find((_, i) => scores[scorers[i] ?? ""] === undefined);
  if (unknown === undefined) return [...new Set(scorers)];
  throw new UserError(
    "metric_unknown",
    `There is no metric "${unknown}" here.`,
    `There are ${[...Object.keys(METRIC_ALIASES), ...Object.keys(scores)].join(", ")}.`,
  );
}
