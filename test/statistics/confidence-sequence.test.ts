import { describe, expect, it } from "vitest";
import {
  CANDIDATES,
  claimTest,
  fixedNumber,
  simulateStops,
  simultaneousCoverage,
  TYPICAL,
} from "../../bench/sequential.js";
import { confidenceSequence, EProcess, eValueOfDifference } from "../../src/statistics/confidence-sequence.js";
import { eBenjaminiHochberg, holm } from "../../src/statistics/multiple-comparisons.js";

const repeat = (value: number, times: number) => Array.from({ length: times }, () => value);

function eValue(threshold: number, values: readonly number[], bets?: readonly number[]): number {
  const process = new EProcess(threshold, bets);
  for (const value of values) process.add(value);
  return process.eValue();
}

describe("EProcess", () => {
  it("equals the capital of a bet, which each value multiplies by 1 - c + c X/x", () => {
    // With c = 0.5 and a threshold of 0, a win multiplies by 1.5, a loss by 0.5, a tie by 1.
    expect(eValue(0, [1, 1, -1, 0], [0.5])).toBeCloseTo(1.5 * 1.5 * 0.5, 12);
    // A threshold of 0.5 is x = 0.75. A win has X = 1.
    expect(eValue(0.5, [1], [0.6])).toBeCloseTo(0.4 + 0.6 / 0.75, 12);
  });

  it("does not depend on the order of the values", () => {
    const values = [1, 0, -1, 0.5, 1, 1, -0.25];
    expect(eValue(0.1, values)).toBeCloseTo(eValue(0.1, values.toReversed()), 12);
  });

  it.each([-0.5, 0, 0.03, 0.4])("stays at 1 on average if the mean is the threshold %d", (threshold) => {
    // All sequences of three values that are 1 or -1 and have this mean.
    const chance = (1 + threshold) / 2;
    let expected = 0;
    for (let wins = 0; wins <= 3; wins++) {
      const sequences = [1, 3, 3, 1][wins] ?? 0;
      const probability = sequences * chance ** wins * (1 - chance) ** (3 - wins);
      expected += probability * eValue(threshold, [...repeat(1, wins), ...repeat(-1, 3 - wins)]);
    }
    expect(expected).toBeCloseTo(1, 12);
  });
});

describe("confidenceSequence", () => {
  const values = [...repeat(1, 30), ...repeat(0, 60), ...repeat(-1, 10)];

  // SciPy: brentq of the mean of the three bets' capitals minus 40. With a design effect of 2, their square roots.
  it.each([
    [1, 0.013975709625, 0.379755806823],
    [2, -0.065503315449, 0.456412753819],
  ])("ends where the evidence against each side reaches 40 (design effect %d)", (designEffect, low, high) => {
    const bounds = { low: expect.closeTo(low, 8), high: expect.closeTo(high, 8) };
    expect(confidenceSequence(values, designEffect)).toEqual({
      value: 0.2,
      n: 100,
      method: "betting_sequence",
      ...bounds,
    });
  });

  it("mirrors the interval if the runs are exchanged", () => {
    const { low, high } = confidenceSequence(values);
    const exchanged = confidenceSequence(values.map((each) => -each));
    expect(exchanged.low).toBeCloseTo(-(high ?? 0), 8);
    expect(exchanged.high).toBeCloseTo(-(low ?? 0), 8);
  });

  it("becomes narrower, and does not become a point if all pairs are equal", () => {
    const [few, many] = [confidenceSequence(repeat(0, 50)), confidenceSequence(repeat(0, 500))];
    expect(few.high).toBeGreaterThan(many.high ?? 0);
    expect(many.high).toBeGreaterThan(0);
  });

  // The mean capital is 0.65 + 0.35 X/x. It reaches 40 at x = 0.35 X / 39.35.
  it.each([
    [0, (2 * 0.175) / 39.35 - 1, 1 - (2 * 0.175) / 39.35],
    [-1, -1, 1 - (2 * 0.35) / 39.35],
  ])("returns nearly the entire scale after one difference of %d", (difference, low, high) => {
    const bounds = { low: expect.closeTo(low, 8), high: expect.closeTo(high, 8) };
    expect(confidenceSequence([difference])).toMatchObject(bounds);
  });

  it("returns nothing without pairs", () => {
    expect(confidenceSequence([])).toEqual({ value: null, n: 0, low: null, high: null });
  });
});

describe("eValueOfDifference", () => {
  it("provides evidence for a difference in either direction", () => {
    expect(eValueOfDifference(repeat(1, 20))).toBeGreaterThan(100);
    expect(eValueOfDifference(repeat(-1, 20))).toBeCloseTo(eValueOfDifference(repeat(1, 20)), 6);
    expect(eValueOfDifference([])).toBe(1);
    const values = [...repeat(1, 30), ...repeat(0, 60), ...repeat(-1, 10)];
    expect(eValueOfDifference(values)).toBeCloseTo(37.742439039937665, 9);
    expect(eValueOfDifference(values, 2)).toBeCloseTo(4.035420979675915, 9);
  });
});

describe("corrections for several comparisons", () => {
  it("holm equals R's p.adjust", () => {
    // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
    [0.03, 0.06, 0.06, 0.02].forEach((p, i) => {
      expect(adjusted[i]).toBeCloseTo(p, 12);
    });
    expect(holm([0.9, 0.8])).toEqual([1, 1]);
    expect(holm([])).toEqual([]);
  });

  it("eBenjaminiHochberg rejects the k largest if each of them is at least n / 0.05 k", () => {
    expect(eBenjaminiHochberg([20])).toEqual([true]);
    expect(eBenjaminiHochberg([20, 1])).toEqual([false, false]);
    expect(eBenjaminiHochberg([1, 41])).toEqual([false, true]);
    // 60 / 2 = 30 is reached by both of the larger ones, 60 by none.
    expect(eBenjaminiHochberg([31, 2, 35])).toEqual([true, false, true]);
    expect(eBenjaminiHochberg([Number.POSITIVE_INFINITY, 1])).toEqual([true, false]);
    expect(eBenjaminiHochberg([])).toEqual([]);
  });
});

describe("looking after every task", () => {
  const RUNS = 300;
  const none = { ...TYPICAL, effect: 0 };

  it("calls at most 5% of equal runs better, as the claim of a run and in the bench", () => {
    const looks = { pairs: 600, runs: RUNS, seed: 11 };
    const { better } = simulateStops(claimTest, none, looks);
    expect(better).toBeLessThanOrEqual(0.05);
    // Without the correction for looking, more than a fifth would be called better.
    expect(simulateStops(uncorrected, none, looks).better).toBeGreaterThan(0.2);
  });

  it("needs at most 62% of the tasks of a fixed-n test with 90% power, and finds most of the gains", () => {
    const open = CANDIDATES["betting, mixture of 3 (art-e)"] ?? claimTest;
    const { used, better } = simulateStops(open, TYPICAL, { pairs: fixedNumber(TYPICAL, 0.9), runs: RUNS, seed: 12 });
    expect(used).toBeLessThanOrEqual(0.62);
    expect(better).toBeGreaterThan(0.7);
  });

  it("covers the true gain at all looks in at least 95% of the runs", () => {
    for (const setting of [none, TYPICAL, { ...TYPICAL, accuracy: 0.5, correlation: 0.2, effect: 0.2 }]) {
      expect(simultaneousCoverage(setting, { pairs: 300, runs: 200, seed: 13 })).toBeGreaterThanOrEqual(0.95);
    }
  });

  /** The z test for a fixed number, read after every pair. */
  function uncorrected() {
    let [n, sum, squares] = [0, 0, 0];
    return {
      add(gain: number) {
        n++;
        sum += gain;
        squares += gain * gain;
      },
      isBetter: () => n >= 20 && sum / Math.sqrt(Math.max(squares, 1)) > 1.645,
    };
  }
});
