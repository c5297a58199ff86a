import type { Interval } from "../domain/scores/interval-estimate.js";
import { Z_975 } from "./normal.js";

/**
 * The 95 % score interval of a rate, `successes` out of `n` (Wilson 1927, without continuity correction). Both may be
 * fractional, as effective numbers are. Null bounds if n is 0.
 */
export function wilson(successes: number, n: number): Interval {
  if (n <= 0) return { low: null, high: null };
  const rate = successes / n;
  const z2 = Z_975 ** 2;
  const middle = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z_975 / (1 + z2 / n)) * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n));
  // At 0 and n the bound is exact; computed, it would have a rounding error.
  return {
    low: successes <= 0 ? 0 : Math.max(0, middle - half),
    high: successes >= n ? 1 : Math.min(1, middle + half),
  };
}
