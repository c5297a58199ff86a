// Divides long work so that the event loop runs in between, and joins calls that arrive together into one.
import { setImmediate } from "node:timers/promises";

/** Yields the pieces and lets the event loop run after each, so that a long sequence does not block it. */
export async function* yieldBetween<T>(pieces: Iterable<T>): AsyncGenerator<T, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}

export function* chunk<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/**
 * Combines calls that arrive while another is running into one call of `run`, for work that costs about the same for
 * many items as for one. `run` returns a result for each item, in order.
 */
export function batchCalls<T, R>(run: (items: readonly T[]) => Promise<readonly R[]>): (item: T) => Promise<R> {
  let waiting: { readonly items: T[]; readonly results: Promise<readonly R[]> } | null = null;
  let underWay: Promise<unknown> = Promise.resolve();
  return async (item) => {
    if (waiting === null) {
      const items: T[] = [];
      const results = underWay.then(() => {
        waiting = null;
        return run(items);
      });
      underWay = results.catch(() => undefined);
      waiting = { items, results };
    }
    const { items, results } = waiting;
    const index = items.push(item) - 1;
    return (await results)[index] as R;
  };
}
