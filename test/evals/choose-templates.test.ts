import { describe, expect, it } from "vitest";
import {
  alignmentOf,
  chooseTemplates,
  labelShuffler,
  type MeasuredTemplate,
  type TrainingLabels,
} from "../../src/evals/choose-templates.js";
import { TEMPLATES } from "../../src/evals/templates.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";
import { slow } from "../machine-requirements.js";

const TRACES = 80;

/** Feature values like in real runs: some fail often, some rarely, and some do not apply. */
function measured(random: (limit: number) => number): MeasuredTemplate[] {
  return TEMPLATES.map((template, i) => ({
    template,
    values: Array.from({ length: TRACES }, () => {
      if (random(10) === 0) return null;
      return template.bound === "cut"
        ? random(20)
        : random(10) < i % 5
          ? 1 - outOf(template.bound)
          : outOf(template.bound);
    }),
  }));
}

/** Returns a value that meets the bound. */
const outOf = (bound: object) => ("at_least" in bound ? 1 : 0);

function labelsOf(bad: readonly boolean[]): TrainingLabels {
  return {
    bad,
    questions: bad.map((_, i) => `q${i}`),
    folds: bad.map((_, i) => Math.floor(i / 16)),
    weights: bad.map(() => 1),
  };
}

const rejectionsOf = (all: readonly MeasuredTemplate[], labels: TrainingLabels, seed = 1) =>
  new Map(chooseTemplates(all, labels, seed).map(({ measured, rejection }) => [measured.template.name, rejection]));

const chosenOf = (all: readonly MeasuredTemplate[], labels: TrainingLabels, seed = 1) =>
  [...rejectionsOf(all, labels, seed)].filter(([, rejection]) => rejection === null).map(([name]) => name);

describe("alignmentOf", () => {
  it("returns the weighted fractions computed by hand", () => {
    const [bad, fails] = [
      [true, true, false, false],
      [true, false, true, false],
    ];
    const { trueNegativeRate, falseFailureRate, alignment, failed, z } = alignmentOf(bad, fails, [1, 3, 1, 1]);
    expect({ trueNegativeRate, falseFailureRate, failed }).toEqual({
      trueNegativeRate: 1 / 4,
      falseFailureRate: 1 / 2,
      failed: 2,
    });
    expect(alignment).toBeCloseTo((2 * 0.25 * 0.5) / (0.25 + 0.5), 12);
    // The bad traces count as 16/10, and the good ones as 2: 0.25 * 1.6 + 0.5 * 2 of 3.6 fail.
    const pooled = 1.4 / 3.6;
    expect(z).toBeCloseTo(-0.25 / Math.sqrt(pooled * (1 - pooled) * (1 / 1.6 + 1 / 2)), 12);
    expect(alignmentOf(bad, [true, true, true, true], [1, 1, 1, 1]).z).toBe(0);
  });
});

describe("chooseTemplates", () => {
  const choosesNone = (seeds: number) => {
    let none = 0;
    for (let seed = 1; seed <= seeds; seed++) {
      const random = seededRandom(seed * 7919);
      const all = measured(random);
      const bad = Array.from({ length: TRACES }, () => random(2) === 0);
      if (chosenOf(all, labelsOf(bad), seed).length === 0) none++;
    }
    expect(none).toBeGreaterThanOrEqual(0.95 * seeds);
  };
  const NONE = "chooses none for nearly all of %i seeds if the labels are shuffled";
  it.each([20])(NONE, choosesNone);
  it.each([40])(NONE, slow(), choosesNone);

  it("chooses templates that fail different bad traces, and explains each rejection", () => {
    const random = seededRandom(3);
    const all = measured(random);
    const bad = Array.from({ length: TRACES }, (_, i) => i % 2 === 0);
    const fails = (name: string, when: (i: number) => boolean) => {
      const index = all.findIndex(({ template }) => template.name === name);
      const { template } = all[index] as MeasuredTemplate;
      const [fine, odd] = template.bound === "cut" ? [3, 30] : [outOf(template.bound), 1 - outOf(template.bound)];
      all[index] = { template, values: bad.map((_, i) => (when(i) ? odd : fine)) };
    };
    fails("sources_were_read", (i) => i % 4 === 0);
    fails("few_turns", (i) => i % 4 === 2);
    fails("has_source", (i) => i % 4 === 0);
    fails("calls_parsable", () => false);
    fails("answer_complete", (i) => i === 0);
    fails("no_repeated_call", (i) => i % 3 === 0);
    const rejections = rejectionsOf(all, labelsOf(bad));
    expect([...rejections].filter(([, why]) => why === null).map(([name]) => name)).toEqual([
      "sources_were_read",
      "few_turns",
    ]);
    expect(rejections.get("has_source")).toBe("it adds less than 0.02 to the alignment of the chosen templates");
    expect(rejections.get("calls_parsable")).toBe("it passes every labeled trace");
    expect(rejections.get("answer_complete")).toBe("it fails only 1 of the labeled traces (minimum 4)");
    expect(rejections.get("no_repeated_call")).toMatch(/^it fails 3\d% of the good traces \(maximum 20%\)$/);
  });

  it("sets the lowest threshold that passes the good traces", () => {
    const bad = Array.from({ length: TRACES }, (_, i) => i % 2 === 0);
    const turns = TEMPLATES.find(({ name }) => name === "few_turns");
    if (turns === undefined) throw new Error("the template is missing");
    const values = bad.map((isBad, i) => (isBad ? 12 + (i % 5) : 3 + (i % 5)));
    const [candidate] = chooseTemplates([{ template: turns, values }], labelsOf(bad), 1);
    expect(candidate).toMatchObject({
      cut: 7,
      rejection: null,
      alignment: { trueNegativeRate: 1, falseFailureRate: 0 },
    });
  });

  it("sets a threshold that fails a few good traces if it finds more bad ones", () => {
    const bad = Array.from({ length: TRACES }, (_, i) => i % 2 === 0);
    const turns = TEMPLATES.find(({ name }) => name === "few_turns");
    if (turns === undefined) throw new Error("the template is missing");
    // Two of the 40 good traces take as many turns as no bad one.
    const values = bad.map((isBad, i) => (isBad ? 12 + (i % 5) : i === 1 || i === 41 ? 40 : 3 + (i % 5)));
    const [candidate] = chooseTemplates([{ template: turns, values }], labelsOf(bad), 1);
    expect(candidate).toMatchObject({
      cut: 7,
      rejection: null,
      alignment: { trueNegativeRate: 1, falseFailureRate: 2 / 40 },
    });
  });
});

describe("labelShuffler", () => {
  it("keeps the labels of a question's repetitions together", () => {
    const questions = ["a", "a", "b", "b", "c", "c", "d"];
    const bad = [true, true, false, false, true, true, false];
    const shuffle = labelShuffler({ bad, questions }, 1);
    const seen = new Set<string>();
    for (let i = 0; i < 50; i++) {
      const shuffled = shuffle();
      expect(shuffled[0]).toBe(shuffled[1]);
      expect(shuffled[2]).toBe(shuffled[3]);
      expect(shuffled.filter((one) => one).length).toBe(4);
      expect(shuffled[6]).toBe(false);
      seen.add(shuffled.join());
    }
    expect(seen.size).toBe(3);
  });
});
