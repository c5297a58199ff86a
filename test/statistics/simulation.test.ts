/**
 * Does a 95 % interval hold the truth in 95 of 100 worlds? Seeded, so the figures are the same each time. ART_E_LONG=1 takes
 * twenty times as many worlds and shows the figures.
 */
import { describe, it } from "vitest";
import type { Estimate } from "../../src/domain/estimate.js";
import { ClusterSums } from "../../src/statistics/cluster-sums.js";
import { pairedDifference } from "../../src/statistics/paired-difference.js";
import { expectBetween, LONG, TIMES, worlds } from "./worlds.js";

const { uniform, below, chance } = worlds(1);
/** The mean of three uniform numbers, mostly near 0.5: how likely a question is answered rightly. */
const difficulty = () => Array.from({ length: 3 }, uniform).reduce((a, b) => a + b) / 3;

function coverage(times: number, truth: number, world: () => Estimate): number {
  let held = 0;
  for (let i = 0; i < times * TIMES; i++) {
    const { low, high } = world();
    if (low !== null && high !== null && low <= truth && truth <= high) held++;
  }
  return held / (times * TIMES);
}

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
    expectBetween(0.93, 0.97, `Wilson, ${p} of ${n}`, figure);
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
    expectBetween(0.93, 0.97, `t, mean of ${n}`, figure);
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
    expectBetween(0.93, 0.97, `clustered Wilson, ${questions} x ${epochs}`, figure);
    const mean = coverage(2_000, SHARE, () => repeats(questions, epochs).mean());
    expectBetween(0.93, 0.97, `clustered t, ${questions} x ${epochs}`, mean);
  });

  it.each([8, 30])("a rate over %d inboxes of unequal difficulty and 20 to 40 questions", (inboxes) => {
    const figure = coverage(2_000, 0.5, () => {
      const sums = new ClusterSums();
      for (let inbox = 0; inbox < inboxes; inbox++) {
        const p = difficulty();
        const questions = 20 + below(21);
        let right = 0;
        for (let i = 0; i < questions; i++) right += chance(p);
        sums.add(questions, right, right);
      }
      return sums.rate();
    });
    expectBetween(0.93, 0.97, `clustered Wilson, ${inboxes} inboxes`, figure);
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
      expectBetween(0.93, 0.97, `paired bootstrap, ${n} pairs`, figure);
    },
    LONG,
  );
});
