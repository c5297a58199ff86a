import { describe, expect, it } from "vitest";
import { cappedRatio } from "../../src/statistics/bootstrap.js";

/** Pairs that stay right, become wrong, and stay wrong. */
function binary(kept: number, lost: number, wrong = 0) {
  const pairs = (count: number, before: number, after: number) =>
    Array.from({ length: count }, () => ({ before, after }));
  return [...pairs(kept, 1, 1), ...pairs(lost, 1, 0), ...pairs(wrong, 0, 0)];
}

describe("cappedRatio", () => {
  it("returns the sum after divided by the sum before, at most 1", () => {
    expect(cappedRatio(binary(3, 1, 4))).toMatchObject({ value: 0.75, n: 8, method: "bootstrap" });
    expect(cappedRatio([...binary(2, 0), { before: 0, after: 1 }])).toMatchObject({ value: 1, high: 1 });
    expect(cappedRatio(binary(0, 0, 5))).toEqual({ value: null, n: 5, low: null, high: null });
    expect(cappedRatio(binary(1, 0))).toEqual({ value: 1, n: 1, low: null, high: null });
  });

  it("returns Wilson's interval if no pair or every pair is lost", () => {
    // SciPy: binomtest(20, 20).proportion_ci(method="wilson") is 0.8389 to 1.
    const kept = cappedRatio(binary(20, 0, 5));
    expect(kept.low).toBeCloseTo(0.8389, 4);
    expect(kept.high).toBe(1);
    const lost = cappedRatio(binary(0, 20));
    expect(lost).toMatchObject({ value: 0, low: 0 });
    expect(lost.high).toBeCloseTo(1 - 0.8389, 4);
  });

  it("gives the same interval for the same pairs, and none above 1", () => {
    const values = [1, 0.9, 0.5, 0.2, 0, 0.3, 1, 1, 0.8, 0.1, 1, 0.7, 0.9, 0.3, 1, 0.2];
    const pairs = Array.from({ length: 8 }, (_, i) => ({ before: values[2 * i] ?? 0, after: values[2 * i + 1] ?? 0 }));
    const close = (value: number) => expect.closeTo(value, 9);
    const [few, many] = [cappedRatio(pairs), cappedRatio([...pairs, ...pairs, ...pairs])];
    expect(few).toMatchObject({ value: close(3.7 / 6.2), low: close(0.268477306996), high: 1 });
    expect(many).toMatchObject({ value: close(3.7 / 6.2), low: close(0.388326632606), high: close(0.775291621796) });
  });

  it("agrees with the delta method for many pairs", () => {
    const { value, low, high } = cappedRatio(binary(60, 20, 20));
    expect(value).toBe(0.75);
    // The variance of after - 0.75 before, divided by n times the squared mean before.
    const variance = (60 * 0.25 ** 2 + 20 * 0.75 ** 2) / 100 / (100 * 0.8 ** 2);
    expect(Math.abs((low ?? 0) - (0.75 - 1.96 * Math.sqrt(variance)))).toBeLessThan(0.02);
    expect(Math.abs((high ?? 0) - (0.75 + 1.96 * Math.sqrt(variance)))).toBeLessThan(0.02);
  });
});
