import { UserError } from "../domain/errors.js";
import { METRIC_ALIASES, scorerOfMetric } from "../domain/scores/metric-name.js";
import type { ScoredTasks } from "./shared-scores.js";

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
