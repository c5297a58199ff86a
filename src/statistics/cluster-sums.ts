import { type Estimate, NOTHING } from "../domain/estimate.js";
import { Z_975 } from "./normal.js";
import { t975 } from "./student-t.js";
import { wilson } from "./wilson.js";

/**
 * What a mean over clustered values and its standard error need to be kept of them, and no more: memory does not grow
 * with the values. A cluster is what belongs together: the repeats of one question, the questions of one inbox.
 */
export class ClusterSums {
  private clusters = 0;
  private n = 0;
  private sum = 0;
  private sumOfSquares = 0;
  private clusterSumSquares = 0;
  private clusterSumTimesN = 0;
  private clusterNSquares = 0;

  /** A whole cluster: how many values, their sum, and the sum of their squares. */
  add(n: number, sum: number, sumOfSquares: number): void {
    if (n === 0) return;
    this.clusters++;
    this.n += n;
    this.sum += sum;
    this.sumOfSquares += sumOfSquares;
    this.clusterSumSquares += sum * sum;
    this.clusterSumTimesN += sum * n;
    this.clusterNSquares += n * n;
  }

  /** These clusters and others that share no cluster with them. */
  and(other: ClusterSums): ClusterSums {
    const both = new ClusterSums();
    for (const sums of [this, other]) {
      both.clusters += sums.clusters;
      both.n += sums.n;
      both.sum += sums.sum;
      both.sumOfSquares += sums.sumOfSquares;
      both.clusterSumSquares += sums.clusterSumSquares;
      both.clusterSumTimesN += sums.clusterSumTimesN;
      both.clusterNSquares += sums.clusterNSquares;
    }
    return both;
  }

  /** Of values from 0 to 1 that are mostly 0 and 1. Where each cluster is one value, Wilson's interval as it is. */
  rate(): Estimate {
    if (this.n === 0) return NOTHING;
    const { n, clusters } = this;
    const value = this.sum / n;
    if (clusters === n) return { value, n, ...wilson(this.sum, n), method: "wilson" };
    if (clusters === 1) return { value, n, low: null, high: null };
    const effective = this.effectiveNumber(value);
    return { value, n, ...wilson(value * effective, effective), method: "clustered_wilson" };
  }

  /** Of any values. Values that do not vary at all do not tell how sure their mean is. */
  mean(): Estimate {
    if (this.n === 0) return NOTHING;
    const { n, clusters } = this;
    const value = this.sum / n;
    const variance = this.varianceOfMean(value);
    if (clusters === 1 || variance <= 0) return { value, n, low: null, high: null };
    const half = t975(clusters - 1) * Math.sqrt(variance);
    return { value, n, low: value - half, high: value + half, method: clusters === n ? "t" : "clustered_t" };
  }

  /**
   * Independent tasks that would tell as much (Kish): n over the design effect, then scaled for few clusters with Student's t
   * (Korn and Graubard 1998). Where all values are equal the design effect cannot be told: each cluster counts once.
   */
  private effectiveNumber(value: number): number {
    const { n, clusters } = this;
    const fewClusters = (Z_975 / t975(clusters - 1)) ** 2;
    const simple = Math.max(0, this.sumOfSquares / n - value * value) / n;
    const clustered = this.varianceOfMean(value);
    const effective = simple <= 1e-15 || clustered <= 1e-15 ? clusters : Math.min(n, (n * simple) / clustered);
    return effective * fewClusters;
  }

  /** The linearized (ratio) estimator with its correction for few clusters (CR1). */
  private varianceOfMean(mean: number): number {
    const { clusters, n } = this;
    const squares = this.clusterSumSquares - 2 * mean * this.clusterSumTimesN + mean * mean * this.clusterNSquares;
    // What is left of values that are all equal is rounding.
    const rounding = 1e-12 * (this.clusterSumSquares + 1e-300);
    if (squares <= rounding) return 0;
    return (clusters / (clusters - 1)) * (squares / (n * n));
  }
}
