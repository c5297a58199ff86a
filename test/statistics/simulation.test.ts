import { describe, expect, it } from "vitest";
import type { Estimate } from "../../src/statistics/estimate.js";
import { ClusteredMean } from "../../src/statistics/intervals.js";
import { pairedDifference } from "../../src/statistics/significance.js";
import { slow } from "../machine-requirements.js";
import { expectBetween, LONG, TIMES, worlds } from "./simulated-runs.js";

/**
 * Coverage of the 95% intervals in simulations. Seeded, so the results are reproducible. ART_E_LONG=1 runs twenty
 * times as many simulations and prints the results.
 */

const { uniform, below, chance } = worlds(1);
/** Returns the probability of a right answer: the mean of three uniform numbers, mostly near 0.5. */
const difficulty = () => Array.from({ length: 3 }, uniform).reduce((a, b) => a + b) / 3;

function coverage(times: number, truth: number, world: () => Estimate): number {
  let held = 0;
  for (let i = 0; i < times * TIMES; i++) {
    const { low, high } = world();
    if (low !== null && high !== null && low <= truth && truth <= high) held++;
  }
  return held / (times * TIMES);
}

describe("95% intervals in simulations", () => {
  it.each([
    [0.5, 60],
    [0.2, 100],
    [0.795, 73],
    [0.71, 1733],
    [0.9, 400],
  ])("cover in 93 to 97% of them a rate of %d over %d tasks", (p, n) => {
    const figure = coverage(n > 1000 ? 1_000 : 4_000, p, () => {
      const sums = new ClusteredMean();
      for (let i = 0; i < n; i++) {
        const value = chance(p);
        sums.add(1, value);
      }
      return sums.rate();
    });
    expectBetween(0.93, 0.97, `Wilson, ${p} of ${n}`, figure);
  });

  const SCALE = { min: 0, max: 1 };

  it.each([20, 100, 500])("cover in 93 to 97% of them a mean score over %d tasks", (n) => {
    // Like word overlap: half of the answers score 0, the others anything up to 1.
    const figure = coverage(2_000, 0.25, () => {
      const sums = new ClusteredMean();
      for (let i = 0; i < n; i++) {
        const value = chance(0.5) * uniform();
        sums.add(1, value);
      }
      return sums.mean(SCALE);
    });
    expectBetween(0.93, 0.98, `mean of ${n}`, figure);
  });

  const repeats = (questions: number, epochs: number) => {
    const sums = new ClusteredMean();
    for (let question = 0; question < questions; question++) {
      const p = difficulty() ** 2;
      let right = 0;
      for (let epoch = 0; epoch < epochs; epoch++) right += chance(p);
      sums.add(epochs, right);
    }
    return sums;
  };
  // The mean of three uniforms has variance 1/36 around 1/2.
  const SHARE = 0.25 + 1 / 36;

  it.each([
    [40, 4],
    [200, 5],
  ])("cover in 93 to 97% of them a rate over %d questions with %d epochs", (questions, epochs) => {
    const figure = coverage(2_000, SHARE, () => repeats(questions, epochs).rate());
    expectBetween(0.93, 0.97, `clustered Wilson, ${questions} x ${epochs}`, figure);
    const mean = coverage(2_000, SHARE, () => repeats(questions, epochs).mean(SCALE));
    expectBetween(0.93, 0.97, `clustered mean, ${questions} x ${epochs}`, mean);
  });

  /** Score generators with their true means. */
  const SCORES: Readonly<Record<string, readonly [score: () => number, mean: number]>> = {
    "half 0, the others random": [() => chance(0.5) * uniform(), 0.25],
    "mostly 1": [() => (uniform() < 0.8 ? 1 : uniform()), 0.9],
    "nearly always 1": [() => (uniform() < 0.95 ? 1 : uniform()), 0.975],
    "nearly always a half": [() => (uniform() < 0.9 ? 0.5 : 0), 0.45],
    "0, a half, or 1": [() => [0, 0, 0.5, 0.5, 1, 1, 1, 1, 1, 1][below(10)] ?? 0, 0.7],
    "close to 0.8": [() => 0.7 + uniform() / 5, 0.8],
    "right or wrong": [() => chance(0.9), 0.9],
  };

  // With few values the interval can be too wide, so coverage has only a lower bound.
  it.each(Object.keys(SCORES))(
    "cover in 93 to 97% of them a mean over 2 to 40 tasks with scores %s, or in more",
    (name) => {
      const [score, truth] = SCORES[name] ?? [() => 0, 0];
      for (const n of [2, 3, 5, 8, 15, 40]) {
        let left = 0;
        const figure = coverage(1_000, truth, () => {
          const sums = new ClusteredMean();
          for (let i = 0; i < n; i++) {
            const value = score();
            sums.add(1, value);
          }
          const estimate = sums.mean(SCALE);
          if ((estimate.low ?? -1) < 0 || (estimate.high ?? 2) > 1) left++;
          return estimate;
        });
        expectBetween(0.92, 1, `${n} scores ${name}`, figure);
        expect(left, "intervals beyond the scale").toBe(0);
      }
    },
  );

  const SIZES: Readonly<Record<string, () => number>> = {
    "four questions": () => 4,
    "5 to 60 questions": () => 5 + below(56),
    "four questions, or sometimes a hundred": () => (chance(0.2) === 1 ? 100 : 4),
  };

  const ofInboxes = (name: string) => {
    const size = SIZES[name] ?? (() => 1);
    for (const inboxes of [2, 3, 5, 8, 30]) {
      const world = (worth: (right: number) => number) => {
        const sums = new ClusteredMean();
        for (let inbox = 0; inbox < inboxes; inbox++) {
          const p = difficulty();
          const values = Array.from({ length: size() }, () => worth(chance(p)));
          sums.add(
            values.length,
            values.reduce((sum, value) => sum + value, 0),
          );
        }
        return sums;
      };
      const mean = coverage(1_000, 0.375, () => world((right) => right * (0.5 + uniform() / 2)).mean(SCALE));
      expectBetween(0.92, 1, `mean over ${inboxes} inboxes of ${name}`, mean);
      const rate = coverage(1_000, 0.5, () => world((right) => right).rate());
      expectBetween(0.92, 1, `rate over ${inboxes} inboxes of ${name}`, rate);
    }
  };
  const OF_INBOXES = "for a mean and a rate over 2 to 30 inboxes of %s, or in more";
  const [small = "", large = "", mixed = ""] = Object.keys(SIZES);
  it.each([small, mixed])(OF_INBOXES, ofInboxes);
  it.each([large])(OF_INBOXES, slow(), ofInboxes);

  it.each([8, 30])(
    "cover in 93 to 97% of them a rate over %d mailboxes of unequal difficulty and 20 to 40 questions",
    (inboxes) => {
      const figure = coverage(2_000, 0.5, () => {
        const sums = new ClusteredMean();
        for (let inbox = 0; inbox < inboxes; inbox++) {
          const p = difficulty();
          const questions = 20 + below(21);
          let right = 0;
          for (let i = 0; i < questions; i++) right += chance(p);
          sums.add(questions, right);
        }
        return sums.rate();
      });
      expectBetween(0.93, 0.97, `clustered Wilson, ${inboxes} inboxes`, figure);
    },
  );

  const ofPairs = (n: number, losses: number, wins: number) => {
    const figure = coverage(n > 100 ? 300 : 600, wins - losses, () => {
      const draw = () => {
        const at = uniform();
        return at < losses ? -1 : at < losses + wins ? 1 : 0;
      };
      return pairedDifference(Array.from({ length: n }, draw));
    });
    expectBetween(0.93, 0.97, `paired bootstrap, ${n} pairs`, figure);
  };
  const OF_PAIRS = "for a difference over %d pairs";
  it.each([[60, 0.15, 0.25]])(OF_PAIRS, { timeout: LONG }, ofPairs);
  it.each([[200, 0.1, 0.14]])(OF_PAIRS, { timeout: LONG, ...slow() }, ofPairs);
});
