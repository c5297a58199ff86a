import { describe, expect, test } from "vitest";
import { wilson } from "../../src/statistics/intervals.js";

describe("Wilson's interval", () => {
  // Newcombe 1998, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, table I,
  // method 3.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("of %d in %d is %d to %d", (successes, n, low, high) => {
    const interval = wilson(successes, n);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
  });

  test("of all is 1 above, and of nothing there is none", () => {
    expect(wilson(20, 20)).toEqual({ low: expect.closeTo(1 - 0.1611, 4), high: 1 });
    expect(wilson(0, 0)).toEqual({ low: null, high: null });
  });
});
