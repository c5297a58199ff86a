import type { Estimate } from "./estimate.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

const RESAMPLES = 2_000;

/**
 * Estimates a statistic of independent units with a 95% percentile bootstrap interval (Efron and Tibshirani, An
 * Introduction to the Bootstrap, chapter 13). The same units always have the same interval. Resamples for which the
 * statistic is null are left out. No interval for fewer than two units.
 */
export function bootstrapEstimate<Unit>(
  units: readonly Unit[],
  statistic: (units: readonly Unit[]) => number | null,
): Estimate {
  const n = units.length;
  const value = statistic(units);
  if (value === null || n < 2) return { value, n, low: null, high: null };
  const random = seededRandom(n);
  const values: number[] = [];
  for (let i = 0; i < RESAMPLES; i++) {
    const resampled = statistic(Array.from({ length: n }, () => units[random(n)] as Unit));
    if (resampled !== null) values.push(resampled);
  }
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [quantileOfSorted(sorted, 0.025), quantileOfSorted(sorted, 0.975)];
  return { value, n, low, high, method: "bootstrap" };
}
