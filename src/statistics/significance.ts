import { mean, sampleStandardDeviation } from "simple-statistics";
import { type Estimate, NO_ESTIMATE } from "./estimate.js";
import { belowNormal, t975 } from "./intervals/distributions.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** With more pairs, the bootstrap and t intervals agree to the printed digits, and the bootstrap takes minutes. */
const MAX_BOOTSTRAP_PAIRS = 5_000;

const RESAMPLES = 2_000;
const SIGN_FLIPS = 4_999;
const SEED = 20_150_507;

/**
 * Returns the mean of paired differences with its 95% interval: the percentile bootstrap over pairs, with percentiles
 * widened for small samples as Student's t widens the normal distribution (Hesterberg 2015). Deterministic. The
 * interval is 0 to 0 if all pairs are equal.
 */
export function pairedDifference(differences: readonly number[]): Estimate {
  const n = differences.length;
  if (n === 0) return NO_ESTIMATE;
  const value = mean([...differences]);
  if (n === 1) return { value, n, low: null, high: null };
  if (n > MAX_BOOTSTRAP_PAIRS) {
    const half = (t975(n - 1) * sampleStandardDeviation([...differences])) / Math.sqrt(n);
    return { value, n, low: value - half, high: value + half, method: "paired_t" };
  }
  const means = resampledMeans(Float64Array.from(differences)).sort();
  const tail = belowNormal(-Math.sqrt(n / (n - 1)) * t975(n - 1));
  const at = (share: number) => quantileOfSorted(means, share);
  return { value, n, low: at(tail), high: at(1 - tail), method: "paired_bootstrap" };
}

/**
 * Returns the two-sided p value of a mean difference by the sign-flip test: how often the sum is at least as far from 0
 * with random signs. The Monte Carlo count includes the observed sum, which keeps the test valid. Above
 * MAX_BOOTSTRAP_PAIRS pairs, the normal distribution is used.
 */
export function signFlipTest(differences: readonly number[]): number {
  const nonZero = Float64Array.from(differences.filter((difference) => difference !== 0));
  if (nonZero.length === 0) return 1;
  const sum = nonZero.reduce((total, difference) => total + difference, 0);
  if (nonZero.length > MAX_BOOTSTRAP_PAIRS) {
    const squares = nonZero.reduce((total, difference) => total + difference * difference, 0);
    return 2 * belowNormal(-Math.abs(sum) / Math.sqrt(squares));
  }
  const random = seededRandom(SEED);
  // Rounding tolerance, so that equal sums count as equally far.
  const threshold = Math.abs(sum) * (1 - 1e-9);
  let atLeastAsFar = 0;
  for (let flip = 0; flip < SIGN_FLIPS; flip++) {
    let flipped = 0;
    let signs = 0;
    for (let i = 0; i < nonZero.length; i++) {
      // One draw yields 32 signs.
      if (i % 32 === 0) signs = random(2 ** 32) | 0;
      const difference = nonZero[i] ?? 0;
      flipped += (signs & 1) === 0 ? difference : -difference;
      signs >>= 1;
    }
    if (Math.abs(flipped) >= threshold) atLeastAsFar++;
  }
  return (atLeastAsFar + 1) / (SIGN_FLIPS + 1);
}

function resampledMeans(differences: Float64Array): Float64Array {
  const random = seededRandom(SEED);
  const n = differences.length;
  return Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[random(n)] ?? 0;
    return sum / n;
  });
}

/**
 * Returns the two-sided exact p value of McNemar's test: the probability that discordant pairs split at least this
 * unevenly if both sides are equally good. `onlyFirst` and `onlySecond` count the pairs that are right only on that
 * side. Returns 1 without discordant pairs.
 */
export function mcnemar(onlyFirst: number, onlySecond: number): number {
  const n = onlyFirst + onlySecond;
  const fewer = Math.min(onlyFirst, onlySecond);
  let log = -n * Math.LN2;
  let tail = Math.exp(log);
  for (let i = 1; i <= fewer; i++) {
    log += Math.log((n - i + 1) / i);
    tail += Math.exp(log);
  }
  return Math.min(1, 2 * tail);
}
