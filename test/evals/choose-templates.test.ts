import { describe, expect, it } from "vitest";
import {
  alignmentOf,
  chooseTemplates,
  labelShuffler,
  type MeasuredTemplate,
  type TrainingLabels,
} from "../../src/evals/choose-templates.js";
import { isMissed } from "../../src/evals/run-evals/run-rules.js";
import { conditionOf, type EvalTemplate, TEMPLATES } from "../../src/evals/templates.js";
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

describe("TEMPLATES", () => {
  it.each(TEMPLATES.filter(({ bound }) => bound !== "cut"))(
    "allow only the best value of a fraction, a flag or a number of faults ($name)",
    (template) => {
      const condition = conditionOf(template, 5);
      const [best, next] = "at_least" in condition ? [1, 0.99] : [0, 1];
      expect([best, next].map((value) => isMissed(condition, { value }))).toEqual([false, true]);
    },
  );
});

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

  it("chooses templates that fail different bad traces", () => {
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
    const rejections = rejectionsOf(all, labelsOf(bad));
    expect([...rejections].filter(([, why]) => why === null).map(([name]) => name)).toEqual([
      "sources_were_read",
      "few_turns",
    ]);
  });

  const template = (name: string) => TEMPLATES.find((one) => one.name === name) as EvalTemplate;
  it("chooses at most four templates", () => {
    const bad = Array.from({ length: 200 }, (_, i) => i % 2 === 0);
    const names = ["has_source", "own_mailbox", "sources_exist", "calls_parsable", "answer_complete"];
    const all = names.map(template).map((one, k) => {
      const met = outOf(one.bound as object);
      return { template: one, values: bad.map((isBad, i) => (isBad && i % 5 === k ? 1 - met : met)) };
    });
    expect(chosenOf(all, labelsOf(bad))).toEqual(names.slice(0, 4));
  });

  /** The threshold for the first half of the values, which are those of good traces, and the second half. */
  const cutOf = (values: readonly number[]) => {
    const bad = values.map((_, i) => i >= values.length / 2);
    return chooseTemplates([{ template: template("few_turns"), values }], labelsOf(bad), 1)[0]?.cut;
  };

  it.each([
    [25, 20],
    [19.5, 19],
    [18.5, 18],
    [17, 16],
    // No threshold finds more bad traces than good ones.
    [10, 20],
  ])("sets the threshold that separates good traces of 1 to 20 best from bad ones of %d", (ofBad, cut) =>
    expect(cutOf(Array.from({ length: 40 }, (_, i) => (i < 20 ? i + 1 : ofBad)))).toBe(cut),
  );

  it("sets the highest of the thresholds that separate equally well", () => {
    const goods = Array.from({ length: 20 }, (_, i) => i + 1);
    expect(cutOf([...goods, 19.5, ...Array(19).fill(25)])).toBe(20);
  });

  it.each([
    [0.1 + 0.2, 0.3],
    [0.00991, 0.01],
    [1.01, 1.1],
    [1_234, 1_300],
    [5, 5],
    [0, 0],
    [-2.34, -2.34],
  ])("rounds a threshold of %d up to two digits", (value, cut) =>
    expect(cutOf([value, value, value, value, 1e6, 1e6, 1e6, 1e6])).toBe(cut),
  );

  it("returns the alignment, the chance and the reason of each template", () => {
    const bad = Array.from({ length: 60 }, (_, i) => i % 3 === 0);
    const values: Record<string, (i: number, isBad: boolean) => number | null> = {
      has_source: (i) => Number(i % 6 > 0),
      own_mailbox: (i) => Number(i % 6 === 3 || i % 20 === 1),
      few_turns: (i, isBad) => (i % 9 === 4 ? null : isBad ? (i % 8) + 3 : i % 7),
      sources_exist: (i) => Number(i > 3),
      calls_parsable: () => 0,
      answer_complete: () => 0,
      low_cost: (i, isBad) => (isBad ? i : null),
      no_repeated_call: (i) => Number(i < 3),
      comes_to_an_end: (i, isBad) => Number(!isBad && (i % 3 === 2 || i % 4 === 0)),
      date_where_asked: (i) => Number(i % 12 > 0),
    };
    const all = Object.entries(values).map(([name, value]) => ({
      template: template(name),
      values: bad.map((isBad, i) => value(i, isBad)),
    }));
    const labels = {
      bad,
      questions: bad.map((_, i) => `q${Math.floor(i / 2)}`),
      folds: bad.map((_, i) => Math.floor(i / 2) % 4),
      weights: bad.map((_, i) => (i % 4 === 0 ? 2 : 0.5)),
    };
    const rows = chooseTemplates(all, labels, 3).map(({ measured, cut, alignment, chance, rejection }) => [
      ...[measured.template.name, cut, alignment.failed, alignment.alignment, alignment.z, chance, rejection],
    ]);
    const byChance = (share: string) => `on shuffled labels, some template does equally well in ${share} of the cases`;
    expect(rows).toEqual([
      ["has_source", 0, 10, expect.closeTo(0.833333333, 9), expect.closeTo(4.917075511, 9), 0.005, null],
      ["own_mailbox", 0, 12, expect.closeTo(0.441558442, 9), expect.closeTo(2.369694055, 9), 0.055, byChance("6%")],
      ["few_turns", 5, 12, expect.closeTo(0.583586626, 9), expect.closeTo(2.51312345, 9), 0.045, byChance("5%")],
      ["sources_exist", 0, 4, expect.closeTo(0.249084249, 9), expect.closeTo(1.343320989, 9), 0.375, byChance("38%")],
      ["calls_parsable", 0, 0, 0, 0, 1, "it passes every labeled trace"],
      ["answer_complete", 0, 60, 0, 0, 1, "it fails every labeled trace"],
      ["low_cost", null, 0, 0, 0, 1, "no good trace has a value for its threshold"],
      [
        ...["no_repeated_call", 0, 3, expect.closeTo(0.204511278, 9), expect.closeTo(1.082704394, 9), 0.48],
        "it fails only 3 of the labeled traces (minimum 4)",
      ],
      [
        ...["comes_to_an_end", 0, 35, expect.closeTo(0.88, 9), expect.closeTo(4.612625693, 8), 0.005],
        "it fails 21% of the good traces (maximum 20%)",
      ],
      [
        ...["date_where_asked", 0, 5, expect.closeTo(0.727272727, 9), expect.closeTo(4.266653767, 9), 0.005],
        "it adds less than 0.02 to the alignment of the chosen templates",
      ],
    ]);
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
