/** A list in pieces of `size`, the last one of what is left. */
export function* chunk<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
