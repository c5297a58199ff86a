import { describe, expect, it } from "vitest";
import type { MeasuredTemplate } from "../../src/evals/choose-templates.js";
import { measureRanking } from "../../src/evals/ranking.js";
import { TEMPLATES } from "../../src/evals/templates.js";
import { seededRandom } from "../../src/statistics/intervals.js";

const TRACES = 100;

/** Noise in all features but two, which are missing now and then. */
function measured(random: (limit: number) => number, signal: (feature: string, i: number) => number | null) {
  return TEMPLATES.map(
    (template): MeasuredTemplate => ({
      template,
      values: Array.from({ length: TRACES }, (_, i) => signal(template.feature, i) ?? random(20)),
    }),
  );
}

const labelsOf = (bad: readonly boolean[]) => ({
  bad,
  questions: bad.map((_, i) => `q${i}`),
  folds: bad.map((_, i) => i % 5),
});

describe("the ranking score", () => {
  const random = seededRandom(5);
  const bad = Array.from({ length: TRACES }, () => random(2) === 0);

  it("learns what several features say together, beyond what shuffled labels give", () => {
    const all = measured(random, (feature, i) => {
      const shift = bad[i] === true ? 4 : 0;
      return feature === "turns" || feature === "answer_words" ? random(10) + shift : null;
    }).map((one) =>
      one.template.feature === "turns"
        ? { ...one, values: one.values.map((value, i) => (i % 10 === 0 ? null : value)) }
        : one,
    );
    const { area, shuffledArea, score } = measureRanking(all, labelsOf(bad), 1);
    expect(area).toBeGreaterThan(0.75);
    expect(area).toBeGreaterThan(shuffledArea ?? 1);
    const weight = (feature: string) => score.model.weights[score.features.indexOf(feature)] ?? 0;
    expect(Math.min(weight("turns"), weight("answer_words"))).toBeGreaterThan(0.4);
    const few = score.features.map((feature) => (feature === "turns" || feature === "answer_words" ? 0 : null));
    const many = score.features.map((feature) => (feature === "turns" || feature === "answer_words" ? 13 : null));
    expect(score.of(few)).toBeLessThan(0.3);
    expect(score.of(many)).toBeGreaterThan(0.6);
  });

  it("is no better than shuffled labels on noise, in all cases but one", () => {
    let above = 0;
    for (let seed = 1; seed <= 5; seed++) {
      const { area, shuffledArea } = measureRanking(
        measured(seededRandom(seed * 31), () => null),
        labelsOf(bad),
        seed,
      );
      if ((area ?? 1) > (shuffledArea ?? 0)) above++;
    }
    expect(above).toBeLessThanOrEqual(1);
  });

  it("leaves out features that never vary, and says nothing of labels of one kind", () => {
    const all = measured(random, (feature) => (feature === "cost_usd" ? 0.5 : null));
    expect(measureRanking(all, labelsOf(bad), 1).score.features).not.toContain("cost_usd");
    const { area, score } = measureRanking(all, labelsOf(bad.map(() => true)), 1);
    expect(area).toBeNull();
    expect(score.of(score.features.map(() => 3))).toBe(0.5);
  });
});
