/**
 * Returns a generator of integers from 0 to `limit` - 1 that yields the same sequence for a seed on every machine:
 * Tommy Ettinger's mulberry32 (public domain) in 32-bit integer arithmetic. `seed` is taken modulo 2^32. The order of
 * `--shuffle` depends on this sequence.
 */
export function seededRandom(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}
