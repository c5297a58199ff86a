// The ratio of two sums over pairs, with its interval by the bootstrap.
import { type Estimate, NO_ESTIMATE } from "./estimate.js";
import { belowNormal, t975 } from "./intervals/distributions.js";
import { wilson } from "./intervals.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

const RESAMPLES = 2_000;

/** Values from 0 to 1 of the same question in two runs. */
interface ValuePair {
  readonly before: number;
  readonly after: number;
}

/**
 * Returns the sum after divided by the sum before, at most 1, with its 95% interval: the percentile bootstrap over
 * pairs (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13), with percentiles widened for small
 * samples (Hesterberg 2015). A bootstrap does not see losses that no pair has, so the interval is at least as wide as
 * Wilson's for the same fraction of the pairs with a value above 0 before. Without such a pair, there is no value. No
 * interval for a single pair. The same pairs always have the same interval.
 */
export function cappedRatio(pairs: readonly ValuePair[]): Estimate {
  const n = pairs.length;
  const ratio = ratioOf(pairs);
  if (ratio === null) return { ...NO_ESTIMATE, n };
  const value = Math.min(1, ratio);
  if (n < 2) return { value, n, low: null, high: null };
  const ratios = resampledRatios(pairs).sort();
  const tail = belowNormal(-Math.sqrt(n / (n - 1)) * t975(n - 1));
  const losable = pairs.filter(({ before }) => before > 0).length;
  const wide = wilson(value * losable, losable);
  const low = Math.min(quantileOfSorted(ratios, tail) ?? value, wide.low ?? value);
  const high = Math.max(quantileOfSorted(ratios, 1 - tail) ?? value, wide.high ?? value);
  return { value, n, low, high: Math.min(1, high), method: "bootstrap" };
}

/** Leaves out resamples without a value above 0 before. */
function resampledRatios(pairs: readonly ValuePair[]): Float64Array {
  const random = seededRandom(pairs.length);
  const ratios = Array.from({ length: RESAMPLES }, () =>
    ratioOf(Array.from(pairs, () => pairs[random(pairs.length)] as ValuePair)),
  );
  return Float64Array.from(ratios.filter((ratio) => ratio !== null));
}

function ratioOf(pairs: readonly ValuePair[]): number | null {
  let [before, after] = [0, 0];
  for (const pair of pairs) {
    before += pair.before;
    after += pair.after;
  }
  return before > 0 ? after / before : null;
}
