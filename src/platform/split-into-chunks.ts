/** Splits a list into chunks of `size`; the last may be shorter. */
export function* chunk<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
