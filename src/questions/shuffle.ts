import { seededRandom } from "../statistics/seeded-random.js";

/** A Fisher-Yates permutation that depends on the seed and the length only. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  const random = seededRandom(seed);
  for (let last = result.length - 1; last > 0; last--) {
    const other = random(last + 1);
    const [a, b] = [result[last], result[other]] as [T, T];
    result[last] = b;
    result[other] = a;
  }
  return result;
}
