import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agreement, EvalDefinition } from "../../src/evals/definition.js";
import { independentCounts, labelErrors, ratesDespiteErrors } from "../../src/evals/label-error-correction.js";
import { measureAgreement, type TestedTrace } from "../../src/evals/test-eval/agreement.js";
import { rejectionsOf, requireLabels } from "../../src/evals/test-eval/thresholds.js";
import { presentProperties } from "../../src/platform/optional-values.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";

/** 34 of 40 good traces pass, and 5 of 25 bad traces. */
const COUNTS = [
  { bad: false, score: 1, n: 34 },
  { bad: false, score: 0, n: 6 },
  { bad: true, score: 1, n: 5 },
  { bad: true, score: 0, n: 20 },
];

function traces(counts: readonly { bad: boolean; score: number | null; n: number; error?: string }[]): TestedTrace[] {
  let question = 0;
  return counts.flatMap(({ bad, score, n, error = null }) =>
    Array.from({ length: n }, () => ({
      question: String(question++),
      bad,
      source: "person" as const,
      weight: 1,
      score,
      error,
    })),
  );
}

describe("measureAgreement", () => {
  const agreement = measureAgreement(traces(COUNTS));

  it("returns the values computed by hand from the table of counts", () => {
    const values = Object.fromEntries(
      Object.entries(agreement).flatMap(([name, figure]) =>
        typeof figure === "object" && figure !== null && "value" in figure ? [[name, figure.value]] : [],
      ),
    );
    expect(values).toEqual({
      truePositiveRate: 34 / 40,
      trueNegativeRate: 20 / 25,
      falseFailureRate: 6 / 40,
    });
    expect(agreement.confusion).toEqual({ goodPassed: 34, goodFailed: 6, badPassed: 5, badFailed: 20 });
  });

  it("weights the rates, and keeps the counts", () => {
    const weighted = measureAgreement([
      ...traces([{ bad: false, score: 1, n: 20 }]),
      ...traces([{ bad: false, score: 0, n: 10 }]).map((one, i) => ({ ...one, question: `g${i}`, weight: 0.5 })),
      ...traces([{ bad: true, score: 0, n: 20 }]).map((one, i) => ({ ...one, question: `b${i}`, weight: 0.25 })),
      ...traces([{ bad: true, score: 1, n: 1 }]).map((one) => ({ ...one, question: "missed", weight: 2 })),
    ]);
    expect(weighted).toMatchObject({
      good: 30,
      bad: 21,
      confusion: { goodPassed: 20, goodFailed: 10, badPassed: 1, badFailed: 20 },
      sources: { person: 51 },
      weighted: {
        ...{ goodPassed: 20, goodFailed: 5, badPassed: 2, badFailed: 5 },
        squares: { goodPassed: 20, goodFailed: 2.5, badPassed: 4, badFailed: 1.25 },
        // The mean weights of the 21 passed traces (24 / 22) and of the 30 failed ones (3.75 / 10), each averaged with
        // that of two traces of any outcome (27.75 / 32).
        next: {
          passed: expect.closeTo((21 * (24 / 22) + 2 * (27.75 / 32)) / 23, 12),
          failed: expect.closeTo((30 * 0.375 + 2 * (27.75 / 32)) / 32, 12),
        },
      },
      truePositiveRate: { value: expect.closeTo(20 / 25, 12), n: 30 },
      trueNegativeRate: { value: expect.closeTo(5 / 7, 12), n: 21 },
    });
    const { truePositiveRate: passed, falseFailureRate: failed } = weighted;
    expect(failed.low).toBeCloseTo(1 - (passed.high ?? Number.NaN), 12);
    expect(failed.high).toBeCloseTo(1 - (passed.low ?? Number.NaN), 12);
    // The one missed trace stands for more than a quarter of the bad ones: the 21 are worth about 9 (Kish).
    const { low, high } = weighted.trueNegativeRate;
    expect((high ?? 0) - (low ?? 1)).toBeGreaterThan(0.5);
    const table = independentCounts(weighted);
    // Good and bad are in the ratio of their weights, 25 to 7.
    expect((table.badPassed + table.badFailed) / (table.goodPassed + table.goodFailed)).toBeCloseTo(7 / 25, 9);
  });

  const FAILED_ONCE = [
    ["a", 1, 1],
    ["a", 1, 2],
    ["b", 0, 1],
    ["c", 1, 1],
  ] as const;
  const ALL_PASSED = [
    ["d", 1, 1],
    ["d", 1, 2],
    ["e", 1, 1],
  ] as const;
  const ALL_FAILED = [
    ["d", 0, 1],
    ["d", 0, 2],
    ["e", 0, 1],
  ] as const;
  const ONE_QUESTION = [
    ["f", 1, 1],
    ["f", 0, 2],
  ] as const;
  const UNLIKE = [
    ["g", 1, 2],
    ["g", 0, 2],
    ["h", 1, 2],
    ["h", 0, 2],
  ] as const;
  const mean = (4 + 9) / (4 + 5);
  it.each([
    // The deviations from the rate 0.8 are 0.2, 0.4, -0.8 and 0.2, and their sums per question 0.6, -0.8 and 0.2.
    [
      FAILED_ONCE,
      ALL_PASSED,
      (1.04 * (3 / 2)) / (0.88 * (4 / 3)),
      10 / 6,
      (6 * 1.5 + 2 * mean) / 8,
      (1 + 2 * mean) / 3,
    ],
    [ALL_PASSED, ALL_PASSED, 10 / 6, 10 / 6, 1.5, 1.5],
    [ALL_FAILED, [], 10 / 6, 1, 1.5, 1.5],
    [ONE_QUESTION, [], 9 / 5, 1, (1 + 2 * (5 / 3)) / 3, (2 + 2 * (5 / 3)) / 3],
    [UNLIKE, [], 1, 1, 2, 2],
  ])(
    "returns design effects and expected weights computed by hand (%j, %j)",
    (good, bad, ofGood, ofBad, passed, failed) => {
      const tested = [good, bad].flatMap((some, i) =>
        some.map(([question, score, weight]) => {
          return { question, score, weight, bad: i === 1, source: "person" as const, error: null };
        }),
      );
      const { designEffect, next } = measureAgreement(tested).weighted ?? {};
      expect([designEffect?.good, designEffect?.bad, next?.passed, next?.failed]).toEqual(
        [ofGood, ofBad, passed, failed].map((value) => expect.closeTo(value, 12)),
      );
    },
  );

  it("counts errors and inapplicable traces separately, and excludes them from all rates", () => {
    const more = measureAgreement(
      traces([...COUNTS, { bad: true, score: null, n: 3 }, { bad: false, score: null, n: 4, error: "it raised" }]),
    );
    expect(more).toMatchObject({
      good: 40,
      bad: 25,
      notApplicable: 3,
      errors: 4,
      truePositiveRate: agreement.truePositiveRate,
    });
  });

  it("returns wider intervals if a few questions are repeated", () => {
    const repeats = traces(COUNTS).map((trace, i) => ({ ...trace, question: String(Math.floor(i / 3)) }));
    const width = ({ truePositiveRate: { low, high } }: Agreement) => (high ?? 0) - (low ?? 0);
    expect(width(measureAgreement(repeats))).toBeGreaterThan(1.3 * width(agreement));
  });

  it("widens intervals of weighted rates only if the results for a repeated question are alike", () => {
    const weighted = (questionOf: (i: number) => number) =>
      measureAgreement(
        traces(COUNTS).map((trace, i) => ({ ...trace, question: String(questionOf(i)), weight: i % 2 === 0 ? 1 : 2 })),
      );
    const width = ({ truePositiveRate: { low, high } }: Agreement) => (high ?? 0) - (low ?? 0);
    const single = width(weighted((i) => i));
    // The good traces that fail follow those that pass.
    expect(width(weighted((i) => Math.floor(i / 3)))).toBeGreaterThan(1.3 * single);
    expect(width(weighted((i) => i % 13))).toBeLessThan(1.1 * single);
  });

  it("counts repetitions as fewer traces, but keeps the ratio of good to bad ones", () => {
    const repeated = traces(COUNTS).map((trace, i) => ({ ...trace, question: String(i < 40 ? Math.floor(i / 2) : i) }));
    const {
      goodPassed,
      goodFailed,
      badPassed,
      badFailed,
      badWeight = 1,
    } = independentCounts(measureAgreement(repeated));
    expect(goodPassed + goodFailed).toBeLessThan(40);
    expect((badWeight * (badPassed + badFailed)) / (goodPassed + goodFailed)).toBeCloseTo(25 / 40, 9);
    expect(goodPassed / goodFailed).toBeCloseTo(34 / 6, 9);
    expect(independentCounts(agreement).badWeight).toBeCloseTo(1, 6);
    expect(independentCounts(measureAgreement(traces(COUNTS.slice(0, 2)))).badWeight).toBe(1);
  });

  it("divides weights by their design effects", () => {
    const cells = { goodPassed: 8, goodFailed: 4, badPassed: 2, badFailed: 6 };
    const divided = { goodPassed: 4, goodFailed: 2, badPassed: 0.5, badFailed: 1.5 };
    const next = { passed: 1, failed: 2 };
    const weighted = { ...cells, squares: cells, next, designEffect: { good: 2, bad: 4 } };
    const table = { ...divided, badWeight: 2, weights: { squares: divided, next } };
    expect(independentCounts({ ...agreement, weighted })).toEqual(table);
    const { designEffect: _, ...independent } = weighted;
    const same = { ...cells, badWeight: 1, weights: { squares: cells, next } };
    expect(independentCounts({ ...agreement, weighted: independent })).toEqual(same);
  });

  it("returns an interval even if the agreement is perfect", () => {
    const { truePositiveRate } = measureAgreement(
      traces([
        { bad: false, score: 1, n: 22 },
        { bad: true, score: 0, n: 18 },
      ]),
    );
    // Wilson's bound of 22 out of 22.
    expect(truePositiveRate).toMatchObject({ value: 1, low: expect.closeTo(22 / (22 + 3.8415), 4), high: 1 });
  });

  it("returns null values if there are no traces", () => {
    expect(measureAgreement([])).toMatchObject({
      truePositiveRate: { value: null },
      trueNegativeRate: { value: null },
    });
  });
});

describe("rejectionsOf", () => {
  const measured = (agreement: Agreement, kind: EvalDefinition["kind"] = "python") => ({
    agreement,
    kind,
    readsByThisEval: 1,
  });
  const good = measured(measureAgreement(traces(COUNTS)));
  const sure = measureAgreement(
    traces([
      { bad: false, score: 1, n: 54 },
      { bad: false, score: 0, n: 6 },
      { bad: true, score: 0, n: 27 },
      { bad: true, score: 1, n: 3 },
    ]),
  );
  const bound = (text: string) => expect.stringContaining(`the ${text}`);

  it("requires rates of at least 0.8, and lower bounds of at least 0.7, for usable", () => {
    expect(rejectionsOf("usable", measured(sure))).toEqual([]);
    // 20 of 25 bad traces fail: scipy.stats.beta.ppf(0.1, 20.5, 5.5) is 0.683.
    expect(rejectionsOf("usable", good)).toEqual([
      "the true negative rate might be as low as 0.68 (minimum 0.7, test 1): label more traces to find out",
    ]);
    const weak = measureAgreement(
      traces([
        { bad: false, score: 1, n: 20 },
        { bad: false, score: 0, n: 10 },
        { bad: true, score: 1, n: 5 },
        { bad: true, score: 0, n: 5 },
      ]),
    );
    expect(rejectionsOf("usable", measured(weak))).toEqual([
      "true positive rate is 0.667 (minimum 0.8)",
      "true negative rate is 0.500 (minimum 0.8)",
      // scipy.stats.beta.ppf(0.1, 20.5, 10.5) is 0.551, and that of 5.5 and 5.5 is 0.310.
      expect.stringMatching(/^the true positive .* as low as 0\.55, and the true negative .* as low as 0\.3\d \(/),
    ]);
  });

  it("requires more certainty from an eval after many tests", () => {
    expect(rejectionsOf("usable", { ...measured(sure), readsByThisEval: 4 })).toEqual([]);
    expect(rejectionsOf("usable", { ...measured(sure), readsByThisEval: 12 })).toEqual([
      bound("true negative rate might be as low as 0.6"),
    ]);
  });

  it("accepts an eval below the floor in at most one of five cases, even if it is tested after every 20 labels", () => {
    const random = seededRandom(5);
    const happens = (p: number) => random(2 ** 30) < p * 2 ** 30;
    let [accepted, first] = [0, 0];
    for (let i = 0; i < 40; i++) {
      const counts = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
      for (let look = 1; look <= 5; look++) {
        for (let k = 0; k < 20; k++) {
          if (k < 10) counts[happens(0.95) ? "goodPassed" : "goodFailed"]++;
          else counts[happens(0.67) ? "badFailed" : "badPassed"]++;
        }
        const agreement = measureAgreement(
          traces([
            { bad: false, score: 1, n: counts.goodPassed },
            { bad: false, score: 0, n: counts.goodFailed },
            { bad: true, score: 0, n: counts.badFailed },
            { bad: true, score: 1, n: counts.badPassed },
          ]),
        );
        if (rejectionsOf("usable", { ...measured(agreement), readsByThisEval: look }).length > 0) continue;
        accepted++;
        first += Number(look === 1);
        break;
      }
    }
    expect([accepted <= 8, first <= 6]).toEqual([true, true]);
  });

  it("accepts an eval below the floor in at most one of ten first tests, and most perfect ones, despite wrong labels", () => {
    const [labels, bad, errors, pairs, draws] = [60, 0.3, 0.05, 12, 100];
    const accepted = (truePositive: number, trueNegative: number) => {
      const random = seededRandom(7);
      const happens = (p: number) => random(2 ** 30) < p * 2 ** 30;
      return Array.from({ length: draws }, () => {
        const tested = Array.from({ length: labels }, (_, i) => {
          const isBad = happens(bad);
          const score = Number(happens(isBad ? 1 - trueNegative : truePositive));
          const label = isBad !== happens(errors);
          return { question: String(i), bad: label, source: "person" as const, weight: 1, score, error: null };
        });
        const alike = Array.from({ length: pairs }, () => happens((1 - errors) ** 2 + errors ** 2));
        const labelPairs = { alike: alike.filter((one) => one).length, n: pairs };
        return rejectionsOf("usable", measured({ ...measureAgreement(tested), labelPairs })).length === 0;
      }).filter((isAccepted) => isAccepted).length;
    };
    expect(accepted(0.98, 0.65)).toBeLessThanOrEqual(0.1 * draws);
    expect(accepted(0.65, 0.98)).toBeLessThanOrEqual(0.1 * draws);
    expect(accepted(1, 1)).toBeGreaterThanOrEqual(0.8 * draws);
  }, 60_000);

  it("accepts an eval with high rates if few traces are bad", () => {
    // Cohen's kappa of this table is 0.49, because only 14 of 200 traces are bad.
    const rare = measureAgreement(
      traces([
        { bad: false, score: 1, n: 164 },
        { bad: false, score: 0, n: 22 },
        { bad: true, score: 0, n: 13 },
        { bad: true, score: 1, n: 1 },
      ]),
    );
    expect(rejectionsOf("usable", measured(rare))).toEqual([]);
  });

  it("requires a verdict on enough good and bad traces from code, but not from rules", () => {
    const silent = measureAgreement(
      traces([
        { bad: false, score: 1, n: 30 },
        { bad: true, score: 0, n: 16 },
        { bad: true, score: null, n: 14 },
      ]),
    );
    expect(silent.judged).toEqual({ good: 1, bad: 16 / 30 });
    expect(rejectionsOf("usable", measured(silent))).toEqual(["it judges only 53% of the bad traces (minimum 80%)"]);
    expect(rejectionsOf("usable", measured(silent, "rules"))).toEqual([]);
  });

  const JUDGES_FEW = "it judges only 78% of the good traces and 76% of the bad traces (minimum 80%)";
  const FEW = ["there are only 29 good traces (minimum 30)", "there are only 29 bad traces (minimum 30)"];
  // The good traces that pass, are not judged, and fail to run, and the bad ones that fail, pass, and are not judged.
  it.each<[string, "usable" | "gate", EvalDefinition["kind"], number[], string[]]>([
    ["5% errors", "usable", "rules", [57, 0, 5, 38, 0, 0], []],
    ["more errors", "usable", "rules", [57, 0, 6, 36, 0, 2], ["it failed on 6 of 101 traces (maximum 5%)"]],
    ["a verdict on 80% of the traces", "usable", "python", [40, 10, 0, 40, 0, 10], []],
    ["a verdict on fewer traces", "usable", "python", [39, 11, 0, 38, 0, 12], [JUDGES_FEW]],
    ["a verdict on 90% of the traces for gate", "gate", "rubric", [45, 5, 0, 45, 0, 5], []],
    ["30 traces of each kind for gate", "gate", "rules", [30, 0, 0, 30, 0, 0], []],
    ["29 traces of each kind for gate", "gate", "rules", [29, 0, 0, 29, 0, 0], FEW],
    ["a rate of exactly 0.8", "usable", "rules", [80, 0, 0, 80, 20, 0], []],
  ])("accepts or rejects an eval with %s", (_, thresholds, kind, counts, rejections) => {
    const [passed = 0, silent = 0, errors = 0, failed = 0, missed = 0, silentBad = 0] = counts;
    const goods = [1, null].map((score, i) => ({ bad: false, score, n: [passed, silent][i] ?? 0 }));
    const bads = [0, 1, null].map((score, i) => ({ bad: true, score, n: [failed, missed, silentBad][i] ?? 0 }));
    const tested = traces([...goods, { bad: false, score: null, n: errors, error: "it raised" }, ...bads]);
    expect(rejectionsOf(thresholds, measured(measureAgreement(tested), kind))).toEqual(rejections);
  });

  it("applies the thresholds to the rates free of label errors", () => {
    // 15% bad traces and 10% wrong labels: 22% are labeled bad, and 61% of those are bad.
    const perfect = measureAgreement(
      traces([
        { bad: false, score: 1, n: 765 },
        { bad: false, score: 0, n: 15 },
        { bad: true, score: 1, n: 85 },
        { bad: true, score: 0, n: 135 },
      ]),
    );
    expect(rejectionsOf("usable", measured(perfect))).toEqual([
      "true negative rate is 0.614 (minimum 0.8)",
      bound("true negative rate might be as low as 0.5"),
    ]);
    const withPairs = (agreement: Agreement, alike: number, n: number) => ({
      ...agreement,
      labelPairs: { alike, n },
    });
    // With 10% errors, two labels are alike in 0.9² + 0.1² = 82% of the cases.
    const noisy = withPairs(perfect, 820_000, 1_000_000);
    expect(labelErrors(noisy)).toBeCloseTo(0.1, 4);
    expect(ratesDespiteErrors(noisy)?.truePositive).toBeCloseTo(1, 4);
    expect(ratesDespiteErrors(noisy)?.trueNegative).toBeCloseTo(1, 4);
    expect(rejectionsOf("usable", measured(withPairs(perfect, 82, 100), "rules"))).toEqual([]);
    // An eval that finds half of the bad traces is still rejected.
    const weak = measureAgreement(
      traces([
        { bad: false, score: 1, n: 772 },
        { bad: false, score: 0, n: 8 },
        { bad: true, score: 1, n: 152 },
        { bad: true, score: 0, n: 68 },
      ]),
    );
    expect(rejectionsOf("usable", measured(withPairs(weak, 820_000, 1_000_000), "rules"))).toEqual([
      "true negative rate is 0.503 (minimum 0.8)",
      bound("true negative rate might be as low as 0.4"),
    ]);
    // Four pairs say too little about the labels. Half a pair more is alike, because five do not prove that all are.
    expect(labelErrors(withPairs(perfect, 2, 4))).toBeNull();
    expect(labelErrors(withPairs(perfect, 5, 5))).toBeCloseTo((1 - Math.sqrt((2 * 5.5) / 6 - 1)) / 2, 12);
    expect(ratesDespiteErrors(withPairs(perfect, 2, 4))?.trueNegative).toBeCloseTo(135 / 220, 9);
    expect(ratesDespiteErrors(withPairs(perfect, 5, 5))?.trueNegative).toBeCloseTo(0.728115, 6);
    expect(rejectionsOf("usable", measured(withPairs(perfect, 50, 100), "rules"))).toContainEqual(
      expect.stringMatching(/% of the labels are wrong, as traces that were labeled twice show/),
    );
  });

  it("requires rates of at least 0.9 and 30 traces of each kind for gate", () => {
    expect(rejectionsOf("gate", good)).toEqual([
      "true positive rate is 0.850 (minimum 0.9)",
      "true negative rate is 0.800 (minimum 0.9)",
      bound("true positive rate might be as low as 0.7"),
      "there are only 25 bad traces (minimum 30)",
    ]);
  });
});

describe("requireLabels", () => {
  let empty: TestDb;
  beforeAll(() => {
    empty = openEmpty();
  });
  afterAll(() => empty.close());
  const requirement = (half: "training" | "held-out" | null, good: number, bad: number, others?: number) => () =>
    requireLabels(empty.db, { half, good, bad, ...presentProperties({ others }), criterion: "price" });

  it("accepts 4 labels of a kind for choosing evals, and 7 for testing them", () => {
    for (const accepted of [requirement("training", 4, 4), requirement("held-out", 7, 7), requirement(null, 7, 7)])
      expect(accepted).not.toThrow();
  });

  const KEPT = " Of the first 11 bad traces, 4 are for making evals and 7 for testing them.";
  const OTHERS = " Not counted: 1 label, because only labels by people can validate an eval.";
  const MODE = " Select a mode: --mode NAME (art-e evals modes).";
  it.each([
    ["choose", "3 good and 4 bad", " are available (minimum 4 of each).", requirement("training", 3, 4), KEPT],
    [
      "test",
      "7 good and 6 bad",
      ` are available (minimum 7 of each).${OTHERS}`,
      requirement("held-out", 7, 6, 1),
      KEPT,
    ],
    [
      "test",
      "0 good and 0 bad",
      ` are available (minimum 7 of each).${OTHERS}`,
      requirement("held-out", 0, 0, 1),
      KEPT,
    ],
    ["choose and test", "1 good and 0 bad", " (minimum 7 of each).", requirement(null, 1, 0), ""],
    ["choose and test", "0 good and 0 bad", " (minimum 7 of each).", requirement(null, 0, 0), "", MODE],
  ])("rejects a request to %s evals with labels of only %s traces", (verb, counts, text, required, kept, mode = "") =>
    expect(required).toThrow(
      expect.objectContaining({
        message: `Too few labels to ${verb} evals: ${counts} traces for price${text}`,
        hint: `Label more traces, likely failures first: art-e evals label --enriched --mode price.${kept} Without labels, cases follow from the scores of a run: art-e evals cases latest.${mode}`,
      }),
    ),
  );
});
