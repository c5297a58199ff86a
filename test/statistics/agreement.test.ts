import { describe, expect, it, test } from "vitest";
import { clusteredKappa, clusteredRate, independentTrials } from "../../src/statistics/agreement.js";
import type { Interval } from "../../src/statistics/estimate.js";
import { wilson } from "../../src/statistics/intervals.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

const ROUNDS = 4_000;

const TRACES = 120;

/** Returns how often an interval covers the true value in simulated samples. */
function coverage(
  truth: number,
  seed: number,
  sample: (chance: (p: number) => boolean) => Interval,
  rounds = ROUNDS,
): number {
  const random = seededRandom(seed);
  const chance = (p: number) => random(1_000_000) < p * 1_000_000;
  let covered = 0;
  for (let round = 0; round < rounds; round++) {
    const { low, high } = sample(chance);
    if (low !== null && high !== null && low <= truth && truth <= high) covered++;
  }
  return covered / rounds;
}

/** Good with probability 0.6. Good traces pass with probability 0.85, bad ones with 0.25. */
const [GOOD, TPR, FPR] = [0.6, 0.85, 0.25];

const PASSED = GOOD * TPR + (1 - GOOD) * FPR;

const OBSERVED = GOOD * TPR + (1 - GOOD) * (1 - FPR);

const EXPECTED = GOOD * PASSED + (1 - GOOD) * (1 - PASSED);

function simulate(chance: (p: number) => boolean) {
  return Array.from({ length: TRACES }, (_, i) => {
    const good = chance(GOOD);
    return { good, passed: chance(good ? TPR : FPR), cluster: String(i) };
  });
}

const expectHolds = (share: number) => {
  expect(share).toBeGreaterThanOrEqual(0.93);
  expect(share).toBeLessThanOrEqual(0.97);
};

describe("coverage of 95% intervals", () => {
  it("stays within 93 to 97% of samples for rates", () => {
    expectHolds(
      coverage(TPR, 1, (chance) =>
        clusteredRate(
          simulate(chance).flatMap(({ good, passed, cluster }) => (good ? [{ success: passed, cluster }] : [])),
        ),
      ),
    );
  });

  const kappaOf = (traces: ReturnType<typeof simulate>) =>
    clusteredKappa(traces.map(({ good, passed, cluster }) => ({ first: good, second: passed, cluster })));
  const kappaTruth = (OBSERVED - EXPECTED) / (1 - EXPECTED);

  it("stays within 93 to 97% of samples for kappa", () =>
    expectHolds(coverage(kappaTruth, 3, (chance) => kappaOf(simulate(chance)))));

  it("stays within 93 to 97% of samples for kappa if each question has three identical answers", () => {
    const repeated = (chance: (p: number) => boolean) => simulate(chance).flatMap((trace) => [trace, trace, trace]);
    expectHolds(coverage(kappaTruth, 4, (chance) => kappaOf(repeated(chance))));
  });
});

describe("independentTrials", () => {
  it.each([
    [15, 50],
    [0, 22],
    [40, 40],
    [1, 2],
  ])("recovers the trials behind an interval (%i of %i)", (successes, n) => {
    const trials = independentTrials({ value: successes / n, n, ...wilson(successes, n) });
    expect(trials.n).toBeCloseTo(n, 6);
    expect(trials.successes).toBeCloseTo(successes, 6);
  });

  it.each([1, null])("returns 0 trials if there is no interval (rate %s)", (value) =>
    expect(independentTrials({ value, n: 3, low: null, high: null })).toEqual({ successes: 0, n: 0 }),
  );
});

describe("clusteredRate with weights", () => {
  it("returns the weighted rate, with an interval for the effective number of trials", () => {
    const trials = Array.from({ length: 40 }, (_, i) => ({ success: i % 4 > 0, cluster: String(i), weight: 1 }));
    const unequal = trials.map((one, i) => ({ ...one, weight: i < 20 ? 3 : 0.5 }));
    expect(clusteredRate(trials.map((one) => ({ ...one, weight: 0.25 })))).toEqual({
      ...clusteredRate(trials),
      low: expect.closeTo(clusteredRate(trials).low ?? 0, 12),
      high: expect.closeTo(clusteredRate(trials).high ?? 0, 12),
    });
    const { value, n } = clusteredRate(unequal);
    expect([value, n]).toEqual([expect.closeTo(0.75, 12), 40]);
    // Kish: (20 * 3 + 20 * 0.5)^2 / (20 * 9 + 20 * 0.25) = 26.5 trials, and a little less for Student's t.
    expect(independentTrials(clusteredRate(unequal)).n).toBeLessThan(26.5);
    expect(independentTrials(clusteredRate(unequal)).n).toBeGreaterThan(22);
  });
});

describe("clusteredKappa", () => {
  const pairs = (bothYes: number, first: number, second: number, neither: number) => [
    ...Array.from({ length: bothYes }, () => [true, true] as const),
    ...Array.from({ length: first }, () => [true, false] as const),
    ...Array.from({ length: second }, () => [false, true] as const),
    ...Array.from({ length: neither }, () => [false, false] as const),
  ];
  const kappaOf = (...counts: Parameters<typeof pairs>) =>
    clusteredKappa(pairs(...counts).map(([first, second], i) => ({ first, second, cluster: String(i) })));

  // Observed agreement 0.7, expected 0.5: the example of two readers of 50 grant proposals (Cohen's kappa,
  // Wikipedia).
  test("returns 0.4 for the counts 20, 5, 10 and 15", () => {
    const { value, n, low, high } = kappaOf(20, 5, 10, 15);
    expect([value, n]).toEqual([expect.closeTo(0.4, 12), 50]);
    // SciPy: 2 * binomtest(35, 50).proportion_ci(method="wilson") - 1.
    expect([low, high]).toEqual([expect.closeTo(0.12499299071093195, 9), expect.closeTo(0.6179289299823811, 9)]);
  });

  test.each([
    ["full agreement", kappaOf(10, 0, 0, 5), 1],
    ["full disagreement between equal halves", kappaOf(0, 5, 5, 0), -1],
    ["nothing", kappaOf(0, 0, 0, 0), null],
    ["only one category", kappaOf(10, 0, 0, 0), null],
  ])("returns a value for %s", (_, estimate, value) => {
    expect(estimate.value).toBe(value);
    expect(estimate.low === null).toBe(value === null);
  });
});
