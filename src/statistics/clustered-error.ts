/**
 * The standard error of an estimate from the influence of each value on it, where values of one cluster are dependent
 * (the linearized estimator, corrected for few clusters). Null with fewer than two clusters.
 */
export function clusteredError(influences: readonly number[], clusters: readonly string[]): number | null {
  const sums = new Map<string, number>();
  for (const [i, influence] of influences.entries()) {
    const cluster = clusters[i] ?? "";
    sums.set(cluster, (sums.get(cluster) ?? 0) + influence);
  }
  if (sums.size < 2) return null;
  let squares = 0;
  for (const sum of sums.values()) squares += sum * sum;
  return Math.sqrt((sums.size / (sums.size - 1)) * squares) / influences.length;
}
