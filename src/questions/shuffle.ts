/**
 * A permutation that depends on the seed and the length only: Fisher-Yates over mulberry32, in 32-bit
 * integer arithmetic, so it is the same on every machine. `seed` counts modulo 2^32.
 */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  const random = mulberry32(seed);
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [result[last], result[other]] as [T, T];
    result[last] = b;
    result[other] = a;
  }
  return result;
}

/** Tommy Ettinger's mulberry32 (public domain): numbers in [0, 1), each a multiple of 2^-32. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
