import { describe, expect, it } from "vitest";
import { clusteredRate, independentTrials, type Proportion } from "../../src/statistics/agreement.js";
import {
  errorRate,
  type LabelPairs,
  labelNoise,
  lowerBounds,
  rateDespiteLabelErrors,
  sampler,
  trueRates,
  weightedRateIntervals,
  wrongLabels,
} from "../../src/statistics/label-errors.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";
import { slow } from "../machine-requirements.js";

const LABELED = 160;
const PAIRS = 40;
const RUN = 1_000;
/** Simulations per coverage. */
const DRAWS = 200;
/** Enough to show that the intervals of a wrong method miss the truth. */
const FEW_DRAWS = 60;

interface World {
  /** Fraction of bad items among the labeled ones, and in the run. */
  readonly labeledBad: number;
  readonly runBad: number;
  readonly labelErrors: number;
  readonly truePositive: number;
  readonly trueNegative: number;
}

/** Draws labels, pairs of labels and a run, and returns the estimate of the run's good items. */
function estimateIn(
  { labeledBad, runBad, labelErrors, truePositive, trueNegative }: World,
  seed: number,
  withPairs = true,
) {
  const random = seededRandom(seed);
  const happens = (p: number) => random(2 ** 30) < p * 2 ** 30;
  const passes = (isGood: boolean) => happens(isGood ? truePositive : 1 - trueNegative);
  const labelOf = (isGood: boolean) => happens(labelErrors) !== isGood;
  const table = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  for (let i = 0; i < LABELED; i++) {
    const isGood = !happens(labeledBad);
    table[`${labelOf(isGood) ? "good" : "bad"}${passes(isGood) ? "Passed" : "Failed"}` as keyof typeof table]++;
  }
  const pairs = { alike: 0, n: PAIRS };
  for (let i = 0; i < PAIRS; i++) {
    const isGood = !happens(labeledBad);
    const [first, second] = [labelOf(isGood), labelOf(isGood)];
    pairs.alike += Number(first === second);
  }
  let passed = 0;
  for (let i = 0; i < RUN; i++) passed += Number(passes(!happens(runBad)));
  return rateDespiteLabelErrors({ successes: passed, n: RUN }, table, withPairs ? pairs : null);
}

function coverage(world: World, withPairs = true, draws = DRAWS): number {
  let covered = 0;
  for (let i = 0; i < draws; i++) {
    const { low, high } = estimateIn(world, i + 1, withPairs);
    covered += Number(low !== null && high !== null && low <= 1 - world.runBad && 1 - world.runBad <= high);
  }
  return covered / draws;
}

describe("rateDespiteLabelErrors", () => {
  const covers = (labelErrors: number, runBad: number) => {
    const world = { labeledBad: 0.3, runBad, labelErrors, truePositive: 0.92, trueNegative: 0.85 };
    expect(coverage(world)).toBeGreaterThanOrEqual(0.92);
  };
  const NAME = "covers the true rate with %d label errors if %d of the run is bad";
  const CASES = [0, 0.05, 0.1].flatMap((errors, i) =>
    [0.6, 0.05, 0.3].map((bad, j) => [errors, bad, i === j] as const),
  );
  it.each(CASES.filter(([, , once]) => once))(NAME, covers);
  it.each(CASES.filter(([, , once]) => !once))(NAME, slow(), covers);

  it("covers the rate, which an interval with 10% wrong labels that count as right misses", () => {
    const world = { labeledBad: 0.3, runBad: 0.6, labelErrors: 0.1, truePositive: 0.92, trueNegative: 0.85 };
    expect(coverage(world, false, FEW_DRAWS)).toBeLessThan(0.8);
  });

  describe("with all disagreements of two people adjudicated", () => {
    const [labeled, runBad, labelErrors] = [400, 0.6, 0.1];
    const coverageOf = (resolved: number, draws = DRAWS) => {
      let covered = 0;
      for (let seed = 1; seed <= draws; seed++) {
        const random = seededRandom(seed);
        const happens = (p: number) => random(2 ** 30) < p * 2 ** 30;
        const passes = (isGood: boolean) => happens(isGood ? 0.92 : 0.15);
        const table = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
        const pairs = { alike: 0, n: labeled, resolved };
        for (let i = 0; i < labeled; i++) {
          const isGood = happens(0.7);
          const [first, second] = [happens(labelErrors), happens(labelErrors)];
          if (first === second) pairs.alike++;
          const label = (first && second) !== isGood ? "good" : "bad";
          table[`${label}${passes(isGood) ? "Passed" : "Failed"}` as keyof typeof table]++;
        }
        let passed = 0;
        for (let i = 0; i < RUN; i++) passed += Number(passes(!happens(runBad)));
        const { low, high } = rateDespiteLabelErrors({ successes: passed, n: RUN }, table, pairs);
        covered += Number(low !== null && high !== null && low <= 1 - runBad && 1 - runBad <= high);
      }
      return covered / draws;
    };

    it("covers the true rate", () => expect(coverageOf(1)).toBeGreaterThanOrEqual(0.92));

    it("would not cover it if the labels counted as wrong as before", () =>
      expect(coverageOf(0, FEW_DRAWS)).toBeLessThan(0.8));
  });

  describe("with four identical answers per question", () => {
    const [questions, labeled, repeats] = [120, 50, 4];
    const [truth, truePositive, trueNegative] = [0.6, 0.9, 0.85];
    type Count = (sample: readonly { success: boolean; cluster: string }[]) => Proportion;
    const coverageOf = (count: Count) => {
      let covered = 0;
      for (let seed = 1; seed <= DRAWS; seed++) {
        const random = seededRandom(seed);
        const happens = (p: number) => random(2 ** 30) < p * 2 ** 30;
        const trials = (n: number, event: () => boolean) =>
          Array.from({ length: n }, (_, i) => ({ success: event(), cluster: String(i) })).flatMap((one) =>
            Array.from({ length: repeats }, () => one),
          );
        const observed = count(trials(questions, () => happens(happens(truth) ? truePositive : 1 - trueNegative)));
        const good = count(trials(labeled, () => happens(truePositive)));
        const bad = count(trials(labeled, () => happens(trueNegative)));
        const table = {
          goodPassed: good.successes,
          goodFailed: good.n - good.successes,
          badPassed: bad.n - bad.successes,
          badFailed: bad.successes,
        };
        const { low, high } = rateDespiteLabelErrors(observed, table, null);
        covered += Number(low !== null && high !== null && low <= truth && truth <= high);
      }
      return covered / DRAWS;
    };

    it("covers the true rate with the numbers of independent trials", () =>
      expect(coverageOf((sample) => independentTrials(clusteredRate(sample)))).toBeGreaterThanOrEqual(0.92));

    it("would not cover it if each answer counted separately", () => {
      const counted: Count = (sample) => ({
        successes: sample.filter(({ success }) => success).length,
        n: sample.length,
      });
      expect(coverageOf(counted)).toBeLessThan(0.8);
    });
  });

  it("solves the equations exactly for known numbers", () => {
    // 1,000 items, 700 truly good; 90% of the good and 20% of the bad pass; 10% of the labels are wrong.
    const [good, bad, e] = [700, 300, 0.1];
    const table = {
      goodPassed: good * 0.9 * (1 - e) + bad * 0.2 * e,
      goodFailed: good * 0.1 * (1 - e) + bad * 0.8 * e,
      badPassed: good * 0.9 * e + bad * 0.2 * (1 - e),
      badFailed: good * 0.1 * e + bad * 0.8 * (1 - e),
    };
    const rates = trueRates(table, { good: e, bad: e });
    expect(rates?.truePositive).toBeCloseTo(0.9);
    expect(rates?.falsePositive).toBeCloseTo(0.2);
    const pairs: LabelPairs = { alike: 820, n: 1_000 };
    expect(errorRate(0.82)).toBeCloseTo(0.1);
    // A run with 40% good items passes 0.4 * 0.9 + 0.6 * 0.2 = 48%.
    const { value, low, high } = rateDespiteLabelErrors({ successes: 480, n: 1_000 }, table, pairs);
    expect(value).toBeCloseTo(0.4);
    expect([(low ?? 1) < 0.4, (high ?? 0) > 0.4]).toEqual([true, true]);
  });

  it("returns no rate for a test that is no better than chance, or labels that are", () => {
    const chance = { goodPassed: 40, goodFailed: 10, badPassed: 41, badFailed: 9 };
    expect(rateDespiteLabelErrors({ successes: 80, n: 100 }, chance, null).value).toBeNull();
    const fine = { goodPassed: 45, goodFailed: 5, badPassed: 5, badFailed: 45 };
    expect(rateDespiteLabelErrors({ successes: 80, n: 100 }, fine, { alike: 20, n: 40 }).value).toBeNull();
  });

  it("gives the entire range if most draws cannot separate good from bad", () => {
    const table = { goodPassed: 20, goodFailed: 10, badPassed: 15, badFailed: 12 };
    const { value, low, high } = rateDespiteLabelErrors({ successes: 50, n: 100 }, table, { alike: 51, n: 100 });
    expect({ hasValue: value !== null, low, high }).toEqual({ hasValue: true, low: 0, high: 1 });
  });

  it("returns no rates if no item is truly good, or none is truly bad", () => {
    const noneGood = { goodPassed: 0, goodFailed: 0, badPassed: 5, badFailed: 20 };
    const noneBad = { goodPassed: 20, goodFailed: 5, badPassed: 0, badFailed: 0 };
    expect([trueRates(noneGood, labelNoise(null)), trueRates(noneBad, labelNoise(null))]).toEqual([null, null]);
  });

  it("returns no rates from 45% wrong labels on", () => {
    const table = { goodPassed: 50, goodFailed: 10, badPassed: 10, badFailed: 50 };
    expect([0.449, 0.45].map((e) => trueRates(table, { good: e, bad: e }) === null)).toEqual([false, true]);
  });

  it("always gives the same figures for the same numbers, like the other functions with random draws", () => {
    const table = { goodPassed: 40, goodFailed: 5, badPassed: 4, badFailed: 21, badWeight: 1.5 };
    const squares = { goodPassed: 60, goodFailed: 9, badPassed: 8, badFailed: 30 };
    const weighted = { ...table, weights: { squares, next: { passed: 1.2, failed: 0.8 } } };
    const pairs = { alike: 27, n: 30, resolved: 0.25, again: { good: 0, bad: 0.4 } };
    const observed = { successes: 61, n: 90 };
    const { gamma, share } = sampler(seededRandom(5));
    const intervals = weightedRateIntervals(weighted);
    const figures = [
      [gamma(0.4), gamma(3), share(2, 10)],
      ...[pairs, null].map((some) => {
        const { value, low, high } = rateDespiteLabelErrors(observed, table, some);
        return [value, low, high];
      }),
      ...[intervals.truePositive, intervals.trueNegative].map(({ low, high }) => [low, high]),
      Object.values(lowerBounds(table, pairs, 0.1)),
      Object.values(lowerBounds(weighted, null, 0.1)),
    ];
    const expected = [
      [0.367431800356, 0.637945579429, 0.336278512129],
      [0.685304677939, 0.515009393308, 0.865492415068],
      [0.710365853659, 0.528419113931, 0.898454831205],
      [0.75047728619, 0.974485229077],
      [0.61236728482, 0.966719961535],
      [0.849855091484, 0.745688529171],
      [0.805568437199, 0.694144042362],
    ];
    expect(figures).toEqual(expected.map((row) => row.map((figure) => expect.closeTo(figure, 9))));
  });
});

describe("the fraction of wrong labels", () => {
  it("stays unknown without pairs, and has a value from one pair on", () => {
    expect([wrongLabels(null), wrongLabels({ alike: 0, n: 0 })]).toEqual([null, null]);
    expect([wrongLabels({ alike: 1, n: 1 }), wrongLabels({ alike: 0, n: 1 })]).toEqual([0, 0.5]);
  });
});

describe("labelNoise", () => {
  /** Pairs that show the error probability `e` exactly. */
  const pairsOf = (e: number) => ({ alike: (1 - e) ** 2 + e ** 2, n: 1 });

  it("stays the same if people look again at labels of both kinds", () => {
    const { good, bad } = labelNoise({ ...pairsOf(0.1), again: { good: 1, bad: 1 } });
    expect([good, bad]).toEqual([expect.closeTo(0.1, 10), expect.closeTo(0.1, 10)]);
  });

  it("matches simulated labels if people look again only at the bad ones", () => {
    const random = seededRandom(3);
    const isWrong = () => random(1_000) < 100;
    const wrong = { good: 0, bad: 0 };
    const N = 20_000;
    for (const isGood of [true, false]) {
      for (let i = 0; i < N; i++) {
        let label = isWrong() ? !isGood : isGood;
        if (!label) label = isWrong() ? !isGood : isGood;
        wrong[isGood ? "good" : "bad"] += Number(label !== isGood) / N;
      }
    }
    const noise = labelNoise({ ...pairsOf(0.1), again: { good: 0, bad: 1 } });
    expect(noise.good).toBeCloseTo(wrong.good, 2);
    expect(noise.bad).toBeCloseTo(wrong.bad, 2);
  });
});
