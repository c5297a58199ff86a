// Keeps the result of a function per object, such as the adapted schemas of the tools that all calls of a run share.

/** Returns a function that computes the result for each object once. */
export function memoize<Key extends object, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  const results = new WeakMap<Key, Result>();
  return (key) => {
    const result = results.get(key) ?? compute(key);
    results.set(key, result);
    return result;
  };
}
