import { mean, sampleStandardDeviation } from "simple-statistics";
import { type Estimate, NO_ESTIMATE } from "../domain/scores/interval-estimate.js";
import { belowNormal } from "./normal.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";
import { t975 } from "./student-t.js";

/** Above this, bootstrap and t interval agree to the printed digits, and the bootstrap takes minutes. */
const MAX_BOOTSTRAP_PAIRS = 5_000;

const RESAMPLES = 2_000;
const SIGN_FLIPS = 4_999;
const SEED = 20_150_507;

/**
 * The mean of paired differences with its 95 % interval: the percentile bootstrap over pairs, its percentiles widened
 * for small samples as Student's t widens the normal (Hesterberg 2015). Deterministic. 0 to 0 if no pair differs.
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
 * Two-sided p value of a mean difference by the sign-flip test: how often the sum is at least as far from 0 when the
 * signs are random (Monte Carlo; the observed sum counts too, which keeps the test valid). By the normal distribution
 * above MAX_BOOTSTRAP_PAIRS pairs.
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
  // Tolerates rounding: sums of equal size must count as equally far.
  const threshold = Math.abs(sum) * (1 - 1e-9);
  let atLeastAsFar = 0;
  for (let flip = 0; flip < SIGN_FLIPS; flip++) {
    let flipped = 0;
    let signs = 0;
    for (let i = 0; i < nonZero.length; i++) {
      // One draw gives 32 signs.
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
