import { describe, expect, it } from "vitest";
import type { Agreement, EvalDefinition } from "../../src/evals/definition.js";
import { labelAgreement, labelErrorsOf, rejectionsOf } from "../../src/evals/test-eval/thresholds.js";
import { measureAgreement, type TestedTrace } from "../../src/evals/test-eval.js";
import { type Estimate, NO_ESTIMATE } from "../../src/statistics/estimate.js";
import { wilson } from "../../src/statistics/intervals.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";

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
    Array.from({ length: n }, () => ({ question: String(question++), bad, score, error })),
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
    labelErrors: null,
    looks: 1,
    kind,
  });
  const good = measured(measureAgreement(traces(COUNTS)));

  const weak = measureAgreement(
    traces([
      { bad: false, score: 1, n: 20 },
      { bad: false, score: 0, n: 10 },
      { bad: true, score: 1, n: 5 },
      { bad: true, score: 0, n: 5 },
    ]),
  );
  const solid = measureAgreement(
    traces([
      { bad: false, score: 1, n: 54 },
      { bad: false, score: 0, n: 6 },
      { bad: true, score: 1, n: 4 },
      { bad: true, score: 0, n: 26 },
    ]),
  );

  it("requires rates of at least 0.8 for usable", () =>
    expect(rejectionsOf("usable", measured(weak))).toEqual([
      "true positive rate is 0.667 (minimum 0.8)",
      "true negative rate is 0.500 (minimum 0.8)",
    ]));

  it("requires lower bounds of 0.67, which few labels do not reach", () => {
    // 5% times 6 / pi^2 is 3.04%. The Jeffreys bound of 20 out of 25 is then 0.633.
    expect(rejectionsOf("usable", good)).toEqual([
      expect.stringMatching(/^true negative rate might be only 0\.6[23]\d \(minimum 0\.67\): add labels$/),
    ]);
    expect(rejectionsOf("usable", measured(solid))).toEqual([]);
  });

  it("accepts an eval with a true rate of 0.67 in at most 5% of series of tests with growing labels", () => {
    const random = seededRandom(3);
    const SERIES = 400;
    let accepted = 0;
    for (let i = 0; i < SERIES; i++) {
      const tested: TestedTrace[] = [];
      const isAccepted = [1, 2, 3, 4, 5, 6, 7, 8].some((looks) => {
        for (let k = 0; k < 20; k++) {
          const bad = k % 2 === 0;
          const passes = random(1_000) < (bad ? 330 : 950);
          tested.push({ question: `${looks} ${k}`, bad, score: Number(passes), error: null });
        }
        return rejectionsOf("usable", { ...measured(measureAgreement(tested)), looks }).length === 0;
      });
      if (isAccepted) accepted++;
    }
    // A standard error of 1.1% above 5%.
    expect(accepted / SERIES).toBeLessThanOrEqual(0.072);
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

  it("judges the rates without label errors, with an interval that includes the uncertainty about them", () => {
    // With 15% bad traces and 10% noise, 22% are labeled bad, and 61% of those are bad.
    const perfect = measureAgreement(
      traces([
        { bad: false, score: 1, n: 765 },
        { bad: false, score: 0, n: 15 },
        { bad: true, score: 1, n: 85 },
        { bad: true, score: 0, n: 135 },
      ]),
    );
    expect(rejectionsOf("usable", measured(perfect))).toEqual(["true negative rate is 0.614 (minimum 0.8)"]);
    const agreed = 0.9 ** 2 + 0.1 ** 2;
    const known = labelErrorsOf({ value: agreed, n: 2_000, ...wilson(agreed * 2_000, 2_000) }, perfect);
    expect(known?.rate.value).toBeCloseTo(0.1, 9);
    expect(known?.trueNegativeRate.value).toBeCloseTo(1, 2);
    expect(known?.truePositiveRate.value).toBeCloseTo(1, 2);
    expect(rejectionsOf("usable", { ...measured(perfect), labelErrors: known })).toEqual([]);
    const random = labelErrorsOf({ value: 0.5, n: 100, ...wilson(50, 100) }, perfect);
    expect(rejectionsOf("usable", { ...measured(perfect), labelErrors: random })).toContainEqual(
      expect.stringMatching(/^about 50% of the labels are wrong, based on repeated labels/),
    );
  });

  it("rejects an eval with a true negative rate of 0.42, even if labels are inconsistent", () => {
    // 10% wrong labels, 30% bad traces, true rates of 0.95 and 0.42.
    const counts = [
      { bad: false, score: 1, n: 616 },
      { bad: false, score: 0, n: 44 },
      { bad: true, score: 1, n: 223 },
      { bad: true, score: 0, n: 117 },
    ];
    const agreement = measureAgreement(traces(counts));
    const labelErrors = labelErrorsOf({ value: 0.82, n: 1_000, ...wilson(820, 1_000) }, agreement);
    expect(labelErrors?.trueNegativeRate.value).toBeCloseTo(0.42, 1);
    expect(rejectionsOf("usable", { ...measured(agreement), labelErrors })).toEqual([
      expect.stringMatching(/^true negative rate is 0\.4/),
    ]);
  });

  it("pools repeated labels and pairs of annotators by their numbers", () => {
    const estimate = (successes: number, n: number) => ({ value: successes / n, n, ...wilson(successes, n) });
    const summary = (selfAgreement: Estimate, betweenAnnotators: Estimate) => ({
      ...{ selfAgreement, betweenAnnotators },
      ...{ labels: { good: 0, bad: 0, neutral: 0, skip: 0 }, hard: { good: 0, bad: 0 } },
    });
    const pooled = labelAgreement(summary(estimate(3, 5), estimate(93, 95)));
    expect(pooled).toMatchObject({ value: expect.closeTo(0.96, 9), n: 100 });
    expect(pooled?.low).toBeCloseTo(wilson(96, 100).low ?? 0, 6);
    expect(labelAgreement(summary(estimate(2, 2), NO_ESTIMATE))).toBeNull();
  });

  it("requires rates of at least 0.9 and 30 traces of each kind for gate", () => {
    expect(rejectionsOf("gate", good)).toEqual([
      "true positive rate is 0.850 (minimum 0.9)",
      "true negative rate is 0.800 (minimum 0.9)",
      "there are only 25 bad traces (minimum 30)",
    ]);
  });
});
