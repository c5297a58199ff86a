import { type Estimate, NO_ESTIMATE } from "../domain/scores/interval-estimate.js";
import { ClusteredMean } from "./clustered-mean.js";

/**
 * F1 of positives that were found, missed, or found where there are none. These three are the trials of a rate, true
 * positives among them, of which F1 is a monotone function: 2r / (1 + r). Its interval is that of the rate.
 */
export function f1(trials: readonly { readonly truePositive: boolean; readonly cluster: string }[]): Estimate {
  const { value, n, low, high } = clusteredRate(
    trials.map(({ truePositive, cluster }) => ({ success: truePositive, cluster })),
  );
  if (value === null) return NO_ESTIMATE;
  const ofRate = (rate: number | null) => (rate === null ? null : (2 * rate) / (1 + rate));
  return { value: (2 * value) / (1 + value), n, low: ofRate(low), high: ofRate(high) };
}

/** The rate of successes where trials of one cluster are dependent. */
export function clusteredRate(trials: readonly { readonly success: boolean; readonly cluster: string }[]): Estimate {
  const clusters = new Map<string, { n: number; successes: number }>();
  for (const { success, cluster } of trials) {
    const sums = clusters.get(cluster) ?? { n: 0, successes: 0 };
    clusters.set(cluster, { n: sums.n + 1, successes: sums.successes + Number(success) });
  }
  const mean = new ClusteredMean();
  for (const { n, successes } of clusters.values()) mean.add(n, successes, successes);
  return mean.rate();
}
