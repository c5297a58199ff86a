/**
 * Returns the nearest-rank quantile: the smallest value that at least the fraction `share` of the values do not exceed.
 * The result is always one of the values, or null for an empty list.
 */
export function quantile(values: readonly number[] | Float64Array, share: number): number | null {
  return quantileOfSorted(Float64Array.from(values).sort(), share);
}

/** Like `quantile`, for values in ascending order. */
export function quantileOfSorted(sorted: Float64Array, share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
