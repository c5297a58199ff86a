// Compares the scores of a run with limits, for `expect(results).toReach(...)`.
import { didYouMean } from "../../platform/near-names.js";
import { METRIC_ALIASES, scorerOfMetric } from "../../traces/headline-score.js";
import type { BenchmarkResult } from "../published-types.js";

export interface Reached {
  readonly pass: boolean;
  /** One line per score, without a line break if there is one score. */
  message(): string;
}

type Figures = BenchmarkResult["scores"][string];

/**
 * Returns whether each score reaches its limit at the bound of its interval that is worse, with failed tasks as wrong.
 * @throws TypeError for a score that the run does not have, and for a value that is not the results of a run
 */
export function reached(results: BenchmarkResult, limits: Readonly<Record<string, number>>): Reached {
  if (typeof results?.scores !== "object") throw new TypeError("toReach: expected the results of a run");
  if (Object.keys(limits).length === 0) throw new TypeError("toReach: expected limits, such as { sources: 0.8 }");
  const checks = Object.entries(limits).map(([metric, limit]) => check(metric, limit, figuresOf(metric, results)));
  return { pass: checks.every(({ pass }) => pass), message: () => checks.map(({ reason }) => reason).join("\n") };
}

function figuresOf(metric: string, { scores }: BenchmarkResult): Figures {
  const figures = scores[scorerOfMetric(metric, scores)];
  if (figures !== undefined) return figures;
  const known = [...Object.keys(METRIC_ALIASES), ...Object.keys(scores)];
  throw new TypeError(`toReach: unknown score ${metric}. ${didYouMean(metric, known)}Available: ${known.join(", ")}`);
}

function check(metric: string, limit: number, { better, overAll, ...own }: Figures) {
  const { value, low, high, n } = overAll.n > 0 ? overAll : own;
  const [bound, name] = better === "lower" ? [high, "upper"] : [low, "lower"];
  const pass = bound !== null && (better === "lower" ? bound <= limit : bound >= limit);
  const is = bound === null ? "has no interval" : `has the ${name} bound ${bound.toFixed(3)}`;
  const estimate = value === null ? "" : ` (${value.toFixed(3)}, n=${n})`;
  const compared = pass ? "reaches" : "does not reach";
  return { pass, reason: `${metric} ${is}${estimate}, which ${compared} ${limit}` };
}
