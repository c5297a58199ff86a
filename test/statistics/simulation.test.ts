/**
 * Does a 95 % interval hold the truth in 95 of 100 worlds, and does a comparison of equals say "different" in at most 5?
 * Seeded, so the figures are the same each time. ART_E_LONG=1 takes twenty times as many worlds.
 */
import { describe, expect, it } from "vitest";
import type { Estimate } from "../../src/domain/estimate.js";
import { ClusterSums } from "../../src/statistics/cluster-sums.js";
import { mcnemar } from "../../src/statistics/mcnemar.js";
import { pairedDifference, signFlipTest } from "../../src/statistics/paired-difference.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

const TIMES = process.env.ART_E_LONG ? 20 : 1;
const TIMEOUT = TIMES * 120_000;

const random = seededRandom(1);
const uniform = () => random(2 ** 30) / 2 ** 30;
const chance = (p: number) => (uniform() < p ? 1 : 0);
/** The mean of three uniform numbers, mostly near 0.5: how likely a question is answered rightly. */
const difficulty = () => Array.from({ length: 3 }, uniform).reduce((a, b) => a + b) / 3;

function coverage(worlds: number, truth: number, world: () => Estimate): number {
  let held = 0;
  for (let i = 0; i < worlds * TIMES; i++) {
    const { low, high } = world();
    if (low !== null && high !== null && low <= truth && truth <= high) held++;
  }
  return held / (worlds * TIMES);
}

function show(what: string, figure: number): number {
  if (process.env.ART_E_LONG || process.env.ART_E_SHOW) console.log(`${what}: ${(100 * figure).toFixed(2)} %`);
  return figure;
}

const expectNominal = (what: string, figure: number) => {
  show(what, figure);
  expect(figure, what).toBeGreaterThanOrEqual(0.93);
  expect(figure, what).toBeLessThanOrEqual(0.97);
};

describe("95 % intervals hold the truth in 93 to 97 of 100 worlds", () => {
  it.each([
    [0.5, 60],
    [0.2, 100],
    [0.795, 73],
    [0.71, 1733],
    [0.9, 400],
  ])("a rate of %d over %d tasks", (p, n) => {
    const figure = coverage(n > 1000 ? 1_000 : 4_000, p, () => {
      const sums = new ClusterSums();
      for (let i = 0; i < n; i++) {
        const value = chance(p);
        sums.add(1, value, value);
      }
      return sums.rate();
    });
    expectNominal(`Wilson, ${p} of ${n}`, figure);
  });

  it.each([20, 100, 500])("a mean score over %d tasks", (n) => {
    // Half of the answers score 0, the others anything up to 1: as word overlap does.
    const figure = coverage(2_000, 0.25, () => {
      const sums = new ClusterSums();
      for (let i = 0; i < n; i++) {
        const value = chance(0.5) * uniform();
        sums.add(1, value, value * value);
      }
      return sums.mean();
    });
    expectNominal(`t, mean of ${n}`, figure);
  });

  const repeats = (questions: number, epochs: number) => {
    const sums = new ClusterSums();
    for (let question = 0; question < questions; question++) {
      const p = difficulty() ** 2;
      let right = 0;
      for (let epoch = 0; epoch < epochs; epoch++) right += chance(p);
      sums.add(epochs, right, right);
    }
    return sums;
  };
  // The mean of three uniforms has variance 1/36 around 1/2.
  const SHARE = 0.25 + 1 / 36;

  it.each([
    [40, 4],
    [200, 5],
  ])("a rate over %d questions asked %d times each", (questions, epochs) => {
    const figure = coverage(2_000, SHARE, () => repeats(questions, epochs).rate());
    expectNominal(`clustered Wilson, ${questions} x ${epochs}`, figure);
    const mean = coverage(2_000, SHARE, () => repeats(questions, epochs).mean());
    expectNominal(`clustered t, ${questions} x ${epochs}`, mean);
  });

  it.each([8, 30])("a rate over %d inboxes of unequal difficulty and 20 to 40 questions", (inboxes) => {
    const figure = coverage(2_000, 0.5, () => {
      const sums = new ClusterSums();
      for (let inbox = 0; inbox < inboxes; inbox++) {
        const p = difficulty();
        const questions = 20 + random(21);
        let right = 0;
        for (let i = 0; i < questions; i++) right += chance(p);
        sums.add(questions, right, right);
      }
      return sums.rate();
    });
    expectNominal(`clustered Wilson, ${inboxes} inboxes`, figure);
  });

  it.each([
    [60, 0.15, 0.25],
    [200, 0.1, 0.14],
  ])(
    "a difference over %d pairs",
    (n, losses, wins) => {
      const figure = coverage(600, wins - losses, () => {
        const draw = () => {
          const at = uniform();
          return at < losses ? -1 : at < losses + wins ? 1 : 0;
        };
        return pairedDifference(Array.from({ length: n }, draw));
      });
      expectNominal(`paired bootstrap, ${n} pairs`, figure);
    },
    TIMEOUT,
  );
});

describe("a comparison of equals says that they differ in at most 5 of 100 worlds", () => {
  const alarms = (worlds: number, pairs: () => number[], pOf: (differences: number[]) => number) => {
    let alarmed = 0;
    for (let i = 0; i < worlds * TIMES; i++) {
      const differences = pairs();
      const { low, high } = pairedDifference(differences);
      const holdsZero = low === null || high === null || (low <= 0 && high >= 0);
      if (!holdsZero && pOf(differences) < 0.05) alarmed++;
    }
    return alarmed / (worlds * TIMES);
  };
  const mcnemarOf = (differences: number[]) =>
    mcnemar(differences.filter((d) => d < 0).length, differences.filter((d) => d > 0).length);

  it.each([30, 100, 400])(
    "of %d questions right or wrong",
    (n) => {
      const pairs = () => Array.from({ length: n }, () => (chance(0.3) === 0 ? 0 : 2 * chance(0.5) - 1));
      const rate = show(`false alarms, McNemar, ${n} pairs`, alarms(n > 300 ? 300 : 600, pairs, mcnemarOf));
      expect(rate).toBeLessThanOrEqual(0.05);
    },
    TIMEOUT,
  );

  it(
    "of 100 questions scored from 0 to 1",
    () => {
      const pairs = () => Array.from({ length: 100 }, () => chance(0.6) * (uniform() - uniform()));
      const rate = show("false alarms, sign flips, 100 pairs", alarms(300, pairs, signFlipTest));
      expect(rate).toBeLessThanOrEqual(0.05);
    },
    TIMEOUT,
  );
});
