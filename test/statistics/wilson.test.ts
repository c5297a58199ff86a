import { describe, expect, it } from "vitest";
import { wilson } from "../../src/statistics/wilson.js";

describe("the Wilson interval", () => {
  // Newcombe (1998), Statistics in Medicine 17, table I: method 3, score without continuity correction.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("of %i in %i is as published", (successes, n, low, high) => {
    const interval = wilson(successes, n);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  it("stays within 0 and 1, and is none over nothing", () => {
    expect(wilson(5, 5).high).toBe(1);
    expect(wilson(0, 5).low).toBe(0);
    expect(wilson(0, 0)).toEqual({ low: null, high: null });
  });
});
