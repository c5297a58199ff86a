// Means and fractions with their 95% intervals, also over clusters.
import { mean } from "simple-statistics";
import { type Estimate, type Interval, NO_ESTIMATE, type Scale } from "./estimate.js";
import { t975, Z_975 } from "./intervals/distributions.js";

/** Counts per name, such as the number of rejected drafts per reason. */
export class NamedCounts {
  private readonly byName = new Map<string, number>();

  add(name: string, count = 1): void {
    if (count > 0) this.byName.set(name, (this.byName.get(name) ?? 0) + count);
  }

  addAll(counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts)) this.add(name, count);
  }

  /** The counts in order of first addition. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.byName);
  }

  /** Returns the counts from highest to lowest. */
  sorted(): Record<string, number> {
    return Object.fromEntries([...this.byName].sort(([, a], [, b]) => b - a));
  }
}

/** Returns the arithmetic mean, or null for an empty list. */
export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values as number[]);
}

/**
 * Weight of the prior variance in `bounded`. Chosen by simulation: with a weight of 1, the interval for 40 scores, of
 * which 90% were equal, covered the true mean in only 91% of the samples.
 */
const PRIOR_CLUSTERS = 2;

/**
 * Sums for computing the mean of clustered values and its standard error, so memory does not grow with the number of
 * values. A cluster contains dependent values: the epochs of a question or the questions about one inbox.
 */
export class ClusteredMean {
  private clusters = 0;
  private n = 0;
  private sum = 0;
  private clusterSumSquares = 0;
  private clusterSumTimesN = 0;
  private clusterNSquares = 0;

  /** Adds a complete cluster with `n` values that add up to `sum`. */
  add(n: number, sum: number): void {
    if (n === 0) return;
    this.clusters++;
    this.n += n;
    this.sum += sum;
    this.clusterSumSquares += sum * sum;
    this.clusterSumTimesN += sum * n;
    this.clusterNSquares += n * n;
  }

  /** Returns the combined clusters. A cluster must not be in both sets. */
  union(other: ClusteredMean): ClusteredMean {
    const both = new ClusteredMean();
    for (const sums of [this, other]) {
      both.clusters += sums.clusters;
      both.n += sums.n;
      both.sum += sums.sum;
      both.clusterSumSquares += sums.clusterSumSquares;
      both.clusterSumTimesN += sums.clusterSumTimesN;
      both.clusterNSquares += sums.clusterNSquares;
    }
    return both;
  }

  /**
   * Estimates the rate of values that are 0 or 1. With one value per cluster, the interval is Wilson's. Weighted values
   * are clusters with fractional numbers of values.
   * @param designEffect for values that were added as independent ones, but are not
   */
  rate(designEffect = 1): Estimate {
    if (this.n === 0) return NO_ESTIMATE;
    const { n, clusters } = this;
    const value = this.sum / n;
    if (this.isIndependent) return { value, n, ...wilson(this.sum / designEffect, n / designEffect), method: "wilson" };
    if (clusters === 1) return { value, n, low: null, high: null };
    const variance = Math.max(this.varianceOfMean(value), (value * (1 - value)) / n);
    const effective = this.effectiveNumber(value, variance, this.effectiveClusters - 1);
    return { value, n, ...wilson(value * effective, effective), method: "clustered_wilson" };
  }

  /**
   * Estimates the mean of any values. On a scale with two ends, uses Wilson's interval for the effective number of
   * values, which never leaves the scale. Otherwise uses Student's t, truncated at the end of the scale if it has one.
   * There is no interval if the values do not vary.
   * @param designEffect like that of `rate`. Only for a scale with two ends
   */
  mean({ min, max }: Scale = {}, designEffect = 1): Estimate {
    if (this.n === 0) return NO_ESTIMATE;
    const { n, clusters } = this;
    const value = this.sum / n;
    if (clusters === 1) return { value, n, low: null, high: null };
    const isClustered = clusters !== n;
    if (min !== undefined && max !== undefined) {
      const { low, high } = this.bounded(value, min, max, designEffect);
      return { value, n, low, high, method: isClustered ? "clustered_wilson_mean" : "wilson_mean" };
    }
    const variance = this.varianceOfMean(value);
    if (variance <= 0) return { value, n, low: null, high: null };
    const half = t975(this.effectiveClusters - 1) * Math.sqrt(variance);
    const low = Math.max(min ?? Number.NEGATIVE_INFINITY, value - half);
    const high = Math.min(max ?? Number.POSITIVE_INFINITY, value + half);
    return { value, n, low, high, method: isClustered ? "clustered_t" : "t" };
  }

  /**
   * A few values can agree by chance. Therefore the observed variance is averaged with the largest variance of
   * independent values on the scale, which has the weight of PRIOR_CLUSTERS additional clusters. Single values cannot
   * vary more than that, which adds a degree of freedom.
   */
  private bounded(mean: number, min: number, max: number, designEffect: number): Interval {
    const { n, effectiveClusters } = this;
    const width = max - min;
    const share = Math.min(1, Math.max(0, (mean - min) / width));
    const observed = this.varianceOfMean(mean) / width ** 2;
    const largest = (share * (1 - share)) / n;
    const degrees = effectiveClusters - 1;
    const variance = Math.max(observed, (degrees * observed + PRIOR_CLUSTERS * largest) / (degrees + PRIOR_CLUSTERS));
    const effective = this.effectiveNumber(share, variance, degrees + effectiveClusters / n) / designEffect;
    const { low, high } = wilson(share * effective, effective);
    const onScale = (bound: number | null) => (bound === null ? null : min + width * bound);
    return { low: onScale(low), high: onScale(high) };
  }

  /**
   * The effective number of tasks: the number of independent tasks whose fraction would have this variance (Kish),
   * scaled for few clusters with Student's t (Korn and Graubard 1998). Without variation, the design effect cannot be
   * estimated, so each cluster counts once.
   */
  private effectiveNumber(share: number, variance: number, degrees: number): number {
    const effective = variance <= 1e-15 ? this.effectiveClusters : (share * (1 - share)) / variance;
    return effective * (Z_975 / t975(degrees)) ** 2;
  }

  /** Whether each cluster contains one value with a weight of 1. */
  private get isIndependent(): boolean {
    return this.clusters === Math.round(this.n) && Math.abs(this.clusterNSquares - this.n) < 1e-9 * this.n;
  }

  /**
   * The number of equal-sized clusters with the same information. A few large clusters among many small ones count as
   * few.
   */
  private get effectiveClusters(): number {
    return this.n ** 2 / this.clusterNSquares;
  }

  /** The linearized (ratio) estimator, corrected for few clusters (CR1 with the effective number of clusters). */
  private varianceOfMean(mean: number): number {
    const { n, effectiveClusters } = this;
    const squares = this.clusterSumSquares - 2 * mean * this.clusterSumTimesN + mean * mean * this.clusterNSquares;
    // If all values are equal, only a rounding error remains.
    const rounding = 1e-12 * (this.clusterSumSquares + 1e-300);
    if (squares <= rounding) return 0;
    return (effectiveClusters / (effectiveClusters - 1)) * (squares / (n * n));
  }
}

/**
 * Returns the 95% score interval for a rate of `successes` out of `n` (Wilson 1927, without continuity correction).
 * Both arguments can be fractional, like effective numbers. The bounds are null if `n` is 0.
 */
export function wilson(successes: number, n: number): Interval {
  if (n <= 0) return { low: null, high: null };
  const rate = successes / n;
  const z2 = Z_975 ** 2;
  const middle = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z_975 / (1 + z2 / n)) * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n));
  // At 0 and `n` the bound is exact. The formula would add a rounding error.
  return {
    low: successes <= 0 ? 0 : Math.max(0, middle - half),
    high: successes >= n ? 1 : Math.min(1, middle + half),
  };
}
