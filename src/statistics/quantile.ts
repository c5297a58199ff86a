/**
 * The quantile by the nearest rank: the smallest value that at least `share` of the values do not exceed. Always one of
 * the values; null of none.
 */
export function quantile(values: readonly number[] | Float64Array, share: number): number | null {
  return quantileOfSorted(Float64Array.from(values).sort(), share);
}

/** The same of values that are in ascending order. */
export function quantileOfSorted(sorted: Float64Array, share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
