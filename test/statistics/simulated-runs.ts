import { expect } from "vitest";
import { seededRandom } from "../../src/statistics/seeded-random.js";

/** Simulated data sets with a known truth. */

/** Multiplies the number of simulations; ART_E_LONG=1 runs twenty times as many and prints the results. */
export const TIMES = process.env.ART_E_LONG ? 20 : 1;

export const LONG = TIMES * 120_000;

export function worlds(seed: number) {
  const below = seededRandom(seed);
  const uniform = () => below(2 ** 30) / 2 ** 30;
  return { below, uniform, chance: (p: number) => (uniform() < p ? 1 : 0) };
}

export function expectBetween(low: number, high: number, what: string, figure: number): void {
  if (process.env.ART_E_LONG) console.log(`${what}: ${(100 * figure).toFixed(2)} %`);
  expect(figure, what).toBeGreaterThanOrEqual(low);
  expect(figure, what).toBeLessThanOrEqual(high);
}
