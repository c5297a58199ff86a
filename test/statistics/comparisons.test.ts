import { describe, expect, it } from "vitest";
import { passAtK, passHatK } from "../../src/statistics/pass-at-k.js";
import { computePower } from "../../src/statistics/power.js";
import { mcnemar, pairedDifference, pairsToExclude, signFlipTest } from "../../src/statistics/significance.js";

/** Expected values come from SciPy 1.17.1 with the calls in the comments, unless a source is given. */

// Hollander and Wolfe 1973, p. 29: a depression scale of nine patients before and after; R's example of a paired test.
const BEFORE = [1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3];
const AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
const DIFFERENCES = BEFORE.map((value, i) => value - (AFTER[i] ?? 0));

describe("mcnemar", () => {
  it.each([
    [1, 9, 0.021484375],
    [10, 22, 0.050102459732443094],
    [0, 6, 0.03125],
    [5, 5, 1],
    [121, 59, 4.4344492637551645e-6],
    [400, 300, 0.0001784763144856244],
    [0, 0, 1],
  ])("equals binomtest(b, b + c).pvalue for %d against %d", (first, second, p) => {
    expect(mcnemar(first, second) / p).toBeCloseTo(1, 9);
    expect(mcnemar(second, first)).toBe(mcnemar(first, second));
  });

  it("supports very large numbers of pairs", () => expect(mcnemar(20_000, 19_900)).toBeCloseTo(0.62, 2));
});

describe("pairedDifference, signFlipTest and computePower", () => {
  // stats.bootstrap((d,), np.mean, method='percentile', n_resamples=200000), at the level that 1 - 2 *
  // norm.cdf(-sqrt(9/8) * t.ppf(.975, 8)).
  it("return the widened percentiles of the bootstrap", () => {
    const { value, n, low, high, method } = pairedDifference(DIFFERENCES);
    expect({ n, method }).toEqual({ n: 9, method: "paired_bootstrap" });
    expect(value).toBeCloseTo(0.43188888888888893, 12);
    // 0.106 to 0.7509. The lower bound's standard deviation over seeds is 0.011, because few of the 2,000 resamples
    // exceed it. Without the widening: 0.1694 to 0.6909.
    expect([low, high]).toEqual([expect.closeTo(0.114222, 6), expect.closeTo(0.752, 6)]);
  });

  it("return the t interval if there are many pairs, and it equals the bootstrap", () => {
    const spread = (n: number) => Array.from({ length: n }, (_, i) => (i % 10 === 0 ? 1 : i % 15 === 1 ? -1 : 0));
    const few = pairedDifference(spread(4_980));
    const many = pairedDifference(spread(5_010));
    expect([few.method, many.method]).toEqual(["paired_bootstrap", "paired_t"]);
    expect(few.low).toBeCloseTo(many.low ?? 0, 2);
    expect(few.high).toBeCloseTo(many.high ?? 0, 2);
  });

  // Wilson's bound for a rate of 0 is z^2 / (n + z^2) with z^2 = norm.ppf(.975)**2.
  it.each([
    [2, 0.6576197725],
    [73, 0.049992008],
    [189, 0.0199202954],
  ])("return Wilson's bounds on a scale for %d tied pairs", (n, bound) => {
    const { low, high } = pairedDifference(
      Array.from({ length: n }, () => 0),
      1,
    );
    expect([low, high]).toEqual([expect.closeTo(-bound, 8), expect.closeTo(bound, 8)]);
  });

  // NumPy, from Wilson's bounds for 8 and 3 of 20, and their correlation of -0.343.
  it.each([1, 2])("return the combined bounds of wins and losses on a scale of width %d", (width) => {
    const gains = Array.from({ length: 20 }, (_, i) => (i < 8 ? width : i < 11 ? -width : 0));
    const { value, low, high } = pairedDifference(gains, width);
    const expected = [0.25, -0.07134366474563691, 0.5133873806080251].map((one) => expect.closeTo(one * width, 10));
    expect([value, low, high]).toEqual(expected);
  });

  it("return the combined bounds of differences that are no whole wins and losses", () => {
    const { low, high } = pairedDifference([0.5, -0.25, 1, 0, 0.3], 1);
    expect([low, high]).toEqual([expect.closeTo(-0.288157841737, 9), expect.closeTo(0.763085168699, 9)]);
  });

  it("return no bounds for equal pairs or one pair, and no estimate if there are no pairs", () => {
    expect(pairedDifference([0, 0, 0])).toMatchObject({ value: 0, n: 3, low: null, high: null });
    expect(pairedDifference([0.5])).toEqual({ value: 0.5, n: 1, low: null, high: null });
    expect(pairedDifference([])).toEqual({ value: null, n: 0, low: null, high: null });
  });

  // All 512 sign combinations by itertools.product: 14 are at least as far from 0.
  it("return the p value of the sign-flip test", () => {
    expect(signFlipTest(DIFFERENCES)).toBe(0.0304);
    expect(signFlipTest(DIFFERENCES, [1, 1, 2, 2, 3, 3, 4, 5, 6])).toBe(0.0912);
    expect(signFlipTest(Array.from({ length: 70 }, (_, i) => (i % 3) - 0.8))).toBe(0.0714);
    expect(signFlipTest([0, 0])).toBe(1);
    // Both signs of a single difference are as far from 0.
    expect(signFlipTest([0.5])).toBe(1);
    expect(signFlipTest([1, -1])).toBe(1);
    // No random sum of 4,999 is as far. The observed sum counts, so p is never 0.
    expect(signFlipTest(Array.from({ length: 30 }, () => 1))).toBe(1 / 5_000);
    expect(signFlipTest([0, 0, 1, 1, 1, 1, 1, 1])).toBeCloseTo(0.03125, 2);
    // One random number provides the signs of 32 pairs. The last sign of one and the first of the next are independent.
    const neighbours = Array.from({ length: 64 }, (_, i) => (i === 31 || i === 32 ? 1 : 1e-12));
    expect(signFlipTest(neighbours)).toBeCloseTo(0.5, 1);
    const many = Array.from({ length: 6_000 }, (_, i) => (i < 3_080 ? 1 : -1));
    // 2 * norm.sf(160 / sqrt(6000))
    for (const size of [1, 3]) expect(signFlipTest(many.map((one) => size * one))).toBeCloseTo(0.03887, 4);
  });

  // (norm.ppf(.975) + norm.ppf(.8)) * std(d, ddof=1) / 3 is 0.39862. Over the observed difference, squared: 7.667.
  it("return the power of the two-sided test", () => {
    const { moreNeeded, detectable } = computePower(DIFFERENCES);
    expect(moreNeeded).toBe(0);
    expect(detectable).toBeCloseTo(0.3986240122854132, 8);
    expect(computePower([0.1, -0.1, 0.1, 0.1])).toEqual({ moreNeeded: 28, detectable: expect.closeTo(0.14008, 4) });
    // Twice the variance.
    expect(computePower(DIFFERENCES, 2).detectable).toBeCloseTo(0.3986240122854132 * Math.SQRT2, 8);
    expect(computePower([1, -1])).toEqual({ moreNeeded: null, detectable: expect.any(Number) });
    expect(computePower([1])).toEqual({ moreNeeded: null, detectable: null });
  });
});

describe("pairsToExclude", () => {
  const observed = { gain: 0.02, n: 100, low: -0.06, isTied: false, designEffect: 1 };

  it.each([
    // 100 (0.08 / 0.07)^2
    [{}, 131],
    // The interval of 73 tied pairs ends at 0.04999.
    [{ isTied: true }, 73],
    [{ isTied: true, designEffect: 2 }, 146],
    [{ isTied: true, n: 1 }, 73],
    [{ isTied: true, n: 0, gain: null }, null],
    [{ low: null }, null],
    [{ gain: -0.05 }, null],
  ])("returns the number of pairs that exclude a loss of 0.05 (%j)", (changes, pairs) =>
    expect(pairsToExclude({ ...observed, ...changes }, 0.05)).toBe(pairs),
  );
});

describe("the probability of k successes", () => {
  // By math.comb: 1 - comb(7,5)/comb(10,5), 1 - comb(187,100)/comb(200,100).
  it("equals passAtK for at least one success", () => {
    expect(passAtK(10, 3, 5)).toBeCloseTo(0.9166666666666666, 12);
    expect(passAtK(200, 13, 100)).toBeCloseTo(0.9999194971988055, 12);
    expect(passAtK(4, 1, 1)).toBe(0.25);
    expect(passAtK(4, 0, 4)).toBe(0);
    expect(passAtK(4, 2, 3)).toBe(1);
  });

  // comb(3,2)/comb(10,2), comb(190,10)/comb(200,10).
  it("equals passHatK for only successes", () => {
    expect(passHatK(10, 3, 2)).toBeCloseTo(0.06666666666666667, 12);
    expect(passHatK(200, 190, 10)).toBeCloseTo(0.5914521339185829, 12);
    expect(passHatK(4, 4, 4)).toBe(1);
    expect(passHatK(4, 3, 4)).toBe(0);
  });
});
