// How much clusters increase the variance of a mean.
import { t975, Z_975 } from "./intervals/distributions.js";

/**
 * Assumed correlation of two values in a cluster, with the weight of `PRIOR_VALUES` wins or losses. A few wins and
 * losses cannot show how dependent they are. Both constants were chosen by simulation, like those of
 * `test/statistics/clusters.test.ts`.
 */
const ASSUMED_CORRELATION = 0.1;
const PRIOR_VALUES = 5;

/**
 * Estimates the design effect: the factor by which clusters increase the variance of the mean (Kish 1965). A value is
 * added in constant time.
 */
export class DesignEffect {
  private readonly clusters = new Map<unknown, { n: number; sum: number }>();
  private n = 0;
  private nonZero = 0;
  private sum = 0;
  private squares = 0;
  private clusterNSquares = 0;
  private clusterSumSquares = 0;
  private clusterSumTimesN = 0;

  /** Returns the design effect of the mean of `values`. Without clusters, it is 1. */
  static of(values: readonly number[], clusters: readonly unknown[] | null): number {
    if (clusters === null) return 1;
    const effect = new DesignEffect();
    for (const [i, value] of values.entries()) effect.add(value, clusters[i]);
    return effect.value;
  }

  add(value: number, cluster: unknown): void {
    const sums = this.clusters.get(cluster) ?? { n: 0, sum: 0 };
    this.clusters.set(cluster, sums);
    this.clusterNSquares += 2 * sums.n + 1;
    this.clusterSumTimesN += (sums.sum + value) * (sums.n + 1) - sums.sum * sums.n;
    this.clusterSumSquares += (sums.sum + value) ** 2 - sums.sum ** 2;
    sums.n++;
    sums.sum += value;
    this.n++;
    this.sum += value;
    this.squares += value * value;
    if (value !== 0) this.nonZero++;
  }

  /**
   * The observed effect, averaged with the assumed one. The observed effect is at least 1. It is increased for few
   * clusters like Student's t (Korn and Graubard 1998).
   */
  get value(): number {
    const { n, clusters, nonZero } = this;
    if (clusters.size === n) return 1;
    const assumed = 1 + (this.clusterNSquares / n - 1) * ASSUMED_CORRELATION;
    const mean = this.sum / n;
    const independent = this.squares - n * mean * mean;
    if (independent <= 1e-12) return assumed;
    const effectiveClusters = n ** 2 / this.clusterNSquares;
    const degrees = effectiveClusters - 1;
    const clustered = this.clusterSumSquares - 2 * mean * this.clusterSumTimesN + mean * mean * this.clusterNSquares;
    const observed =
      Math.max(1, ((effectiveClusters / degrees) * clustered) / independent) * (t975(degrees) / Z_975) ** 2;
    const value = (PRIOR_VALUES * assumed + nonZero * observed) / (PRIOR_VALUES + nonZero);
    // A single cluster shows nothing about others.
    return Number.isFinite(value) ? Math.min(n, value) : n;
  }
}
