import type { Estimate } from "../domain/scores/interval-estimate.js";
import { clusteredError } from "./clustered-error.js";
import { clusteredRate } from "./f1.js";
import { kappa } from "./kappa.js";
import { Z_975 } from "./normal.js";

/** Two raters' yes or no on one thing. */
export interface RatedPair {
  readonly first: boolean;
  readonly second: boolean;
  /** Pairs of one cluster are dependent. */
  readonly cluster: string;
}

/** Cohen's kappa of two raters; where there are clusters, its interval allows for them. */
export function clusteredKappa(pairs: readonly RatedPair[]): Estimate {
  const count = (first: boolean, second: boolean) =>
    pairs.filter((pair) => pair.first === first && pair.second === second).length;
  const estimate = kappa([
    [count(true, true), count(true, false)],
    [count(false, true), count(false, false)],
  ]);
  const { value, n } = estimate;
  const clusters = pairs.map(({ cluster }) => cluster);
  if (value === 1) return withBoundOfAgreement(pairs, estimate);
  if (value === null || new Set(clusters).size === n) return estimate;
  const firstShare = (count(true, true) + count(true, false)) / n;
  const secondShare = (count(true, true) + count(false, true)) / n;
  const observed = (count(true, true) + count(false, false)) / n;
  const expected = firstShare * secondShare + (1 - firstShare) * (1 - secondShare);
  const influences = pairs.map(({ first, second }) => {
    const agrees = Number(first === second) - observed;
    const byChance = (first ? secondShare : 1 - secondShare) + (second ? firstShare : 1 - firstShare) - 2 * expected;
    return (agrees - (1 - value) * byChance) / (1 - expected);
  });
  const error = clusteredError(influences, clusters);
  if (error === null) return { value, n, low: null, high: null };
  return { value, n, low: Math.max(-1, value - Z_975 * error), high: Math.min(1, value + Z_975 * error) };
}

/** Of perfect agreement the standard error is 0, whatever the number of pairs: the bound is that of the agreement. */
function withBoundOfAgreement(pairs: readonly RatedPair[], estimate: Estimate): Estimate {
  const { low } = clusteredRate(pairs.map(({ first, second, cluster }) => ({ success: first === second, cluster })));
  const share = pairs.filter(({ first }) => first).length / pairs.length;
  const expected = share ** 2 + (1 - share) ** 2;
  return { ...estimate, low: low === null ? null : (low - expected) / (1 - expected) };
}
