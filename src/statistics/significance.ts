// Tests of paired differences.
import { mean, standardDeviation } from "simple-statistics";
import { DesignEffect } from "./design-effect.js";
import { type Estimate, NO_ESTIMATE } from "./estimate.js";
import { belowNormal, t975, Z_975 } from "./intervals/distributions.js";
import { ClusteredMean } from "./intervals.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** With more pairs, the bootstrap and t intervals agree to the printed digits, and the bootstrap takes minutes. */
const MAX_BOOTSTRAP_PAIRS = 5_000;

const RESAMPLES = 2_000;
const SIGN_FLIPS = 4_999;
const SEED = 20_150_507;

/**
 * Returns the mean of paired differences with its 95% interval. The bounds are null for a single pair. Deterministic.
 *
 * On a scale with two ends, wins and losses have Wilson intervals, which the method of variance estimates recovery
 * combines (MOVER: Newcombe 1998, Statistics in Medicine 17; Zou and Donner 2008, Statistics in Medicine 27).
 * Therefore the interval has a width even if all pairs are tied or lost: 2 ties exclude hardly any difference, 73 ties
 * exclude one of 0.05.
 *
 * Otherwise, it is the percentile bootstrap over clusters, with percentiles widened for small samples as Student's t
 * widens the normal distribution (Hesterberg 2015). It does not have bounds if all differences are equal.
 * @param width distance between the lowest and the highest possible score
 * @param clusters each pair's cluster, such as its mailbox, or null if the pairs are independent
 */
export function pairedDifference(
  differences: readonly number[],
  width = Number.POSITIVE_INFINITY,
  clusters: readonly unknown[] | null = null,
): Estimate {
  const n = differences.length;
  if (n === 0) return NO_ESTIMATE;
  const value = mean([...differences]);
  if (n === 1) return { value, n, low: null, high: null };
  if (Number.isFinite(width))
    return scaledDifference(differences, value, width, DesignEffect.of(differences, clusters));
  const sums = clusterSums(differences, clusters);
  const k = sums.length;
  if (k === 1 || differences.every((difference) => difference === differences[0])) {
    return { value, n, low: null, high: null };
  }
  if (n > MAX_BOOTSTRAP_PAIRS) {
    const clustered = new ClusteredMean();
    for (const cluster of sums) clustered.add(cluster.n, cluster.sum);
    return { ...clustered.mean(), method: "paired_t" };
  }
  const means = resampledMeans(sums).sort();
  const tail = belowNormal(-Math.sqrt(k / (k - 1)) * t975(k - 1));
  const at = (share: number) => quantileOfSorted(means, share);
  return { value, n, low: at(tail), high: at(1 - tail), method: "paired_bootstrap" };
}

/**
 * Returns the approximate number of pairs whose interval excludes a loss if further pairs are like these. Null if the
 * observed loss is as large.
 * @param loss fraction of the scale's width
 */
export function pairsToExclude(
  {
    gain,
    n,
    low,
    isTied,
    designEffect,
  }: { gain: number | null; n: number; low: number | null; isTied: boolean; designEffect: number },
  loss: number,
): number | null {
  // Without any difference, the bound is Wilson's for a rate of 0.
  if (isTied && n > 0) return Math.floor((designEffect * Z_975 ** 2 * (1 - loss)) / loss) + 1;
  if (gain === null || low === null || gain <= -loss) return null;
  return Math.ceil(n * ((gain - low) / (gain + loss)) ** 2);
}

interface ClusterSum {
  n: number;
  sum: number;
}

function clusterSums(differences: readonly number[], clusters: readonly unknown[] | null): ClusterSum[] {
  if (clusters === null) return differences.map((sum) => ({ n: 1, sum }));
  const sums = new Map<unknown, ClusterSum>();
  for (const [i, difference] of differences.entries()) {
    const cluster = sums.get(clusters[i]) ?? { n: 0, sum: 0 };
    sums.set(clusters[i], cluster);
    cluster.n++;
    cluster.sum += difference;
  }
  return [...sums.values()];
}

function scaledDifference(
  differences: readonly number[],
  value: number,
  width: number,
  designEffect: number,
): Estimate {
  const wins = partOf(
    differences.map((difference) => Math.max(0, difference / width)),
    designEffect,
  );
  const losses = partOf(
    differences.map((difference) => Math.max(0, -difference / width)),
    designEffect,
  );
  // A win is never a loss, so the mean of their products is 0.
  const covariance = -wins.value * losses.value;
  const correlation = covariance === 0 ? 0 : covariance / (wins.deviation * losses.deviation);
  const distance = (a: number, b: number) => width * Math.sqrt(Math.max(0, a * a + b * b - 2 * correlation * a * b));
  return {
    value,
    n: differences.length,
    low: Math.max(-width, value - distance(wins.value - wins.low, losses.high - losses.value)),
    high: Math.min(width, value + distance(wins.high - wins.value, losses.value - losses.low)),
    method: "paired_wilson",
  };
}

/** Returns the mean of values from 0 to 1, its interval and the standard deviation of the values. */
function partOf(values: readonly number[], designEffect: number) {
  const sums = new ClusteredMean();
  for (const value of values) sums.add(1, value);
  const isBinary = values.every((value) => value === 0 || value === 1);
  const { low, high } = isBinary ? sums.rate(designEffect) : sums.mean({ min: 0, max: 1 }, designEffect);
  const value = mean([...values]);
  return { value, low: low ?? 0, high: high ?? 1, deviation: standardDeviation([...values]) };
}

/**
 * Returns the two-sided p value of a mean difference by the sign-flip test: how often the sum is at least as far from 0
 * with random signs. The Monte Carlo count includes the observed sum, which keeps the test valid. Above
 * MAX_BOOTSTRAP_PAIRS pairs, the normal distribution is used. The differences of a cluster have the same random sign.
 */
export function signFlipTest(differences: readonly number[], clusters: readonly unknown[] | null = null): number {
  const sums = clusterSums(differences, clusters).map((cluster) => cluster.sum);
  const nonZero = Float64Array.from(sums.filter((difference) => Math.abs(difference) > 1e-12));
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

function resampledMeans(clusters: readonly ClusterSum[]): Float64Array {
  const random = seededRandom(SEED);
  const ns = Float64Array.from(clusters, ({ n }) => n);
  const sums = Float64Array.from(clusters, ({ sum }) => sum);
  return Float64Array.from({ length: RESAMPLES }, () => {
    let n = 0;
    let sum = 0;
    for (let i = 0; i < sums.length; i++) {
      const drawn = random(sums.length);
      n += ns[drawn] ?? 0;
      sum += sums[drawn] ?? 0;
    }
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
