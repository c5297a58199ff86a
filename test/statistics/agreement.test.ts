import { describe, expect, it, test } from "vitest";
import { clusteredKappa, clusteredRate, correctedRate, independentTrials } from "../../src/statistics/agreement.js";
import type { Interval } from "../../src/statistics/estimate.js";
import { wilson } from "../../src/statistics/intervals.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

const ROUNDS = 4_000;

/** Timeout of slow tests, in milliseconds. */
const FEW_ROUNDS = 1_500;

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

describe("95% intervals cover the true value in 93 to 97% of samples", () => {
  it("for rates", () => {
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

  it("for kappa", () => expectHolds(coverage(kappaTruth, 3, (chance) => kappaOf(simulate(chance)))));

  it("for kappa if each question has three identical answers", () => {
    const repeated = (chance: (p: number) => boolean) => simulate(chance).flatMap((trace) => [trace, trace, trace]);
    expectHolds(coverage(kappaTruth, 4, (chance) => kappaOf(repeated(chance))));
  });

  it.each([
    [0.7, 0.9, 0.9, 60],
    [0.5, 0.8, 0.95, 40],
    [0.8, 0.95, 0.8, 50],
  ])("for the corrected rate: %d true, %d and %d recognized, %d labels of each kind", (truth, tpr, tnr, labels) => {
    const count = (n: number, event: () => boolean) => ({
      successes: Array.from({ length: n }, event).filter((one) => one).length,
      n,
    });
    expectHolds(
      coverage(truth, 6, (chance) =>
        correctedRate(
          count(200, () => chance(chance(truth) ? tpr : 1 - tnr)),
          count(labels, () => chance(tpr)),
          count(labels, () => chance(tnr)),
        ),
      ),
    );
  });
});

describe("correctedRate, if questions have several answers,", () => {
  const [questions, labelled, repeats] = [120, 50, 4];
  const [truth, tpr, tnr] = [0.6, 0.9, 0.85];
  /** Simulates questions with identical answers. */
  const trials = (n: number, event: () => boolean) =>
    Array.from({ length: n }, (_, i) => ({ success: event(), cluster: String(i) })).flatMap((one) =>
      Array.from({ length: repeats }, () => one),
    );
  const samples = (chance: (p: number) => boolean) =>
    [
      trials(questions, () => chance(chance(truth) ? tpr : 1 - tnr)),
      trials(labelled, () => chance(tpr)),
      trials(labelled, () => chance(tnr)),
    ] as const;

  it("has an interval that covers the true rate in 93 to 97% of samples", () =>
    expectHolds(
      coverage(
        truth,
        7,
        (chance) => {
          const [observed, positives, negatives] = samples(chance);
          const asIndependent = (sample: typeof observed) => independentTrials(clusteredRate(sample));
          return correctedRate(asIndependent(observed), asIndependent(positives), asIndependent(negatives));
        },
        FEW_ROUNDS,
      ),
    ));

  it("would not have such an interval if each answer counted separately", () => {
    const counted = (sample: readonly { readonly success: boolean }[]) => ({
      successes: sample.filter(({ success }) => success).length,
      n: sample.length,
    });
    const share = coverage(
      truth,
      7,
      (chance) => {
        const [observed, positives, negatives] = samples(chance);
        return correctedRate(counted(observed), counted(positives), counted(negatives));
      },
      FEW_ROUNDS,
    );
    expect(share).toBeLessThan(0.8);
  });
});

describe("independentTrials", () => {
  it.each([
    [15, 50],
    [0, 22],
    [40, 40],
    [1, 2],
  ])("recovers the trials behind an interval: %i of %i", (successes, n) => {
    const trials = independentTrials({ value: successes / n, n, ...wilson(successes, n) });
    expect(trials.n).toBeCloseTo(n, 6);
    expect(trials.successes).toBeCloseTo(successes, 6);
  });

  it("returns 0 trials if there is no interval", () =>
    expect(independentTrials({ value: 1, n: 3, low: null, high: null })).toEqual({ successes: 0, n: 0 }));
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

describe("correctedRate", () => {
  it("returns the observed rate if the test is perfect, and no estimate if the test is at chance level", () => {
    const perfect = { successes: 50, n: 50 };
    expect(correctedRate({ successes: 30, n: 40 }, perfect, perfect).value).toBe(0.75);
    expect(
      correctedRate({ successes: 30, n: 40 }, { successes: 25, n: 50 }, { successes: 25, n: 50 }).value,
    ).toBeNull();
    expect(correctedRate({ successes: 0, n: 0 }, perfect, perfect).value).toBeNull();
    expect(correctedRate({ successes: 1, n: 1 }, perfect, perfect).value).toBe(1);
  });

  it("follows Rogan and Gladen, and stays between 0 and 1", () => {
    const [onPositives, onNegatives] = [
      { successes: 45, n: 50 },
      { successes: 40, n: 50 },
    ];
    expect(correctedRate({ successes: 60, n: 100 }, onPositives, onNegatives).value).toBeCloseTo(0.4 / 0.7, 12);
    const { value, low } = correctedRate({ successes: 10, n: 100 }, onPositives, onNegatives);
    expect([value, low]).toEqual([0, 0]);
  });

  it("has the interval of Lang and Reiczigel, computed separately with their formula", () => {
    const { value, low, high } = correctedRate(
      { successes: 30, n: 100 },
      { successes: 45, n: 50 },
      { successes: 38, n: 40 },
    );
    expect(value).toBeCloseTo(0.2941176470588235, 12);
    expect(low).toBeCloseTo(0.15368275995723454, 9);
    expect(high).toBeCloseTo(0.41820415370488706, 9);
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
  test("is 0.4 for the counts 20, 5, 10 and 15", () => {
    const { value, n } = kappaOf(20, 5, 10, 15);
    expect(value).toBeCloseTo(0.4, 12);
    expect(n).toBe(50);
  });

  test.each([
    ["full agreement", kappaOf(10, 0, 0, 5), 1],
    ["full disagreement between equal halves", kappaOf(0, 5, 5, 0), -1],
    ["nothing", kappaOf(0, 0, 0, 0), null],
    ["only one category", kappaOf(10, 0, 0, 0), null],
  ])("is computed for %s", (_, estimate, value) => {
    expect(estimate.value).toBe(value);
    expect(estimate.low === null).toBe(value === null);
  });
});
