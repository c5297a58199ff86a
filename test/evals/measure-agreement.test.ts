import { describe, expect, it } from "vitest";
import type { Agreement } from "../../src/evals/definition.js";
import { rejectionsOf } from "../../src/evals/labels.js";
import { measureAgreement, type TestedTrace } from "../../src/evals/test-eval.js";

/** 40 good, of which 34 pass; 25 bad, of which 5 pass. */
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

describe("agreement with labels", () => {
  const agreement = measureAgreement(traces(COUNTS), 1);

  it("equals what its table of counts gives by hand", () => {
    const values = Object.fromEntries(
      Object.entries(agreement).flatMap(([name, figure]) =>
        typeof figure === "object" && figure !== null && "value" in figure ? [[name, figure.value]] : [],
      ),
    );
    // Pearson's correlation of two binary lists is Matthews' coefficient.
    expect(values).toEqual({
      accuracy: 54 / 65,
      truePositiveRate: 34 / 40,
      trueNegativeRate: 20 / 25,
      recall: 34 / 40,
      precision: 34 / 39,
      f1: expect.closeTo(68 / 79, 12),
      kappa: expect.closeTo(20 / 31, 10),
      pearson: expect.closeTo(0.6454972243679028, 10),
      coverage: 20 / 25,
      falseFailureRate: 6 / 40,
    });
    expect(agreement.confusion).toEqual({ goodPassed: 34, goodFailed: 6, badPassed: 5, badFailed: 20 });
  });

  it("is well above what shuffled labels give", () => {
    expect(agreement.shuffledKappa).toBeGreaterThan(0);
    expect(agreement.shuffledKappa).toBeLessThan(0.3);
  });

  it("counts errors and traces that it does not apply to apart, and in no figure", () => {
    const more = measureAgreement(
      traces([...COUNTS, { bad: true, score: null, n: 3 }, { bad: false, score: null, n: 4, error: "it raised" }]),
      1,
    );
    expect(more).toMatchObject({ good: 40, bad: 25, notApplicable: 3, errors: 4, accuracy: agreement.accuracy });
  });

  it("has wider intervals where the traces are repeats of few questions", () => {
    const repeats = traces(COUNTS).map((trace, i) => ({ ...trace, question: String(Math.floor(i / 3)) }));
    const width = ({ kappa }: Agreement) => (kappa.high ?? 0) - (kappa.low ?? 0);
    expect(width(measureAgreement(repeats, 1))).toBeGreaterThan(1.3 * width(agreement));
  });

  it("that is perfect is not certain", () => {
    const { kappa } = measureAgreement(
      traces([
        { bad: false, score: 1, n: 22 },
        { bad: true, score: 0, n: 18 },
      ]),
      1,
    );
    // Wilson's bound of 40 out of 40, in units of kappa.
    expect(kappa).toMatchObject({ value: 1, low: expect.closeTo((0.9124 - 0.505) / 0.495, 3), high: 1 });
  });

  it("of none is nothing", () => {
    expect(measureAgreement([], 1)).toMatchObject({
      accuracy: { value: null },
      kappa: { value: null },
      shuffledKappa: null,
    });
  });
});

describe("thresholds", () => {
  const measured = (agreement: Agreement) => ({ agreement, latencyMs: { p50: 1, p95: 2 }, costUsdPerTrace: 0 });
  const good = measured(measureAgreement(traces(COUNTS), 1));

  it("usable: both rates at least 0.8, and kappa surely above 0.2", () => {
    expect(rejectionsOf("usable", good)).toEqual([]);
    const weak = measureAgreement(
      traces([
        { bad: false, score: 1, n: 20 },
        { bad: false, score: 0, n: 10 },
        { bad: true, score: 1, n: 5 },
        { bad: true, score: 0, n: 5 },
      ]),
      1,
    );
    expect(rejectionsOf("usable", measured(weak))).toEqual([
      "true positive rate is 0.667, wanted at least 0.8",
      "true negative rate is 0.500, wanted at least 0.8",
      expect.stringMatching(/^the lower bound of kappa is -0\.\d+, wanted above 0\.2$/),
    ]);
  });

  it("gate: at least 0.9, and 30 of each kind", () => {
    expect(rejectionsOf("gate", good)).toEqual([
      "true positive rate is 0.850, wanted at least 0.9",
      "true negative rate is 0.800, wanted at least 0.9",
      "there are 25 bad traces, wanted at least 30",
    ]);
  });

  it("origin: accuracy, kappa, F1, time and cost", () => {
    expect(rejectionsOf("origin", good)).toEqual([]);
    expect(rejectionsOf("origin", { ...good, latencyMs: { p50: 1, p95: 6_000 }, costUsdPerTrace: null })).toEqual([
      "95 % of the traces take up to 6000 ms, wanted below 5000",
      "a trace costs an unknown sum, wanted at most $0.05",
    ]);
  });
});
