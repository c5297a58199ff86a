/**
 * Joins calls that come while one is under way into one call of `run`, which takes many items as cheaply as few.
 * `run` gives a result for each item, in order.
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
