/** Pseudorandom numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function below(random: () => number, bound: number): number {
  return Math.floor(random() * bound);
}

/** Standard normal (Box-Muller). */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Draws ranks 0 to n-1, rank r with a weight of 1 / (r + shift)^exponent, in constant time (Vose's alias method). */
export function zipf(random: () => number, n: number, exponent: number, shift: number): () => number {
  const weights = Array.from({ length: n }, (_, rank) => 1 / (rank + shift) ** exponent);
  const total = weights.reduce((a, b) => a + b, 0);
  const chance = new Float64Array(n);
  const alias = new Int32Array(n);
  const small: number[] = [];
  const large: number[] = [];
  weights.forEach((weight, i) => {
    chance[i] = (weight / total) * n;
    ((chance[i] ?? 0) < 1 ? small : large).push(i);
  });
  for (let low = small.pop(), high = large.pop(); low !== undefined && high !== undefined; low = small.pop()) {
    alias[low] = high;
    chance[high] = (chance[high] ?? 0) + (chance[low] ?? 0) - 1;
    if ((chance[high] ?? 0) < 1) {
      small.push(high);
      high = large.pop();
    }
  }
  return () => {
    const at = random() * n;
    const i = Math.floor(at);
    return at - i < (chance[i] ?? 1) || alias[i] === 0 ? i : (alias[i] ?? i);
  };
}
