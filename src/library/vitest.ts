// The entry point art-e/vitest: importing it adds the matcher `toReach` to Vitest's expect.
import { expect } from "vitest";
import type { BenchmarkResult } from "./published-types.js";
import { type Reached, reached } from "./vitest/reached.js";

export type { Reached };

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: all declarations of the interface need the same type parameters.
  interface Matchers<T = any> {
    /**
     * Passes if each score of a run reaches its limit even at the lower bound of its 95% interval (the upper bound, if
     * lower is better). Failed tasks count as wrong.
     * @example expect(results).toReach({ sources: 0.8 })
     */
    toReach(limits: Readonly<Record<string, number>>): T;
  }
}

expect.extend({
  toReach(results: BenchmarkResult, limits: Readonly<Record<string, number>>): Reached {
    return reached(results, limits);
  },
});
