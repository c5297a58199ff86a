import { describe, expect, it } from "vitest";
import { MIN_LABELS_OF_RUN, PassTally } from "../../src/evals/pass-rates.js";
import { measureAgreement } from "../../src/evals/test-eval/agreement.js";

const NO_LABELS = new Map<string, { isGood: boolean; weight: number }>();

/** Measured on 30 good traces, of which 27 pass, and on 30 bad traces, of which 24 fail. */
const AGREEMENT = measureAgreement(
  [
    { bad: false, score: 1, n: 27 },
    { bad: false, score: 0, n: 3 },
    { bad: true, score: 1, n: 6 },
    { bad: true, score: 0, n: 24 },
  ].flatMap(({ bad, score, n }) =>
    Array.from({ length: n }, (_, i) => ({
      question: `${bad} ${score} ${i}`,
      bad,
      score,
      source: "person" as const,
      weight: 1,
      error: null,
    })),
  ),
);

/** 60 of 100 tasks pass. */
function tally(): PassTally {
  const passes = new PassTally();
  for (let i = 0; i < 100; i++) passes.add(i, i < 60 ? 1 : 0, `trace${i}`);
  return passes;
}

const labels = (count: number, weight: (i: number) => number = () => 1) =>
  new Map(Array.from({ length: count }, (_, i) => [`trace${i}`, { isGood: true, weight: weight(i) }]));

describe("PassTally", () => {
  it("counts the tasks that have the score", () => {
    const results = [1, 0, null].map((value, i) => ({ taskId: i, traceId: `t${i}`, scores: { "eval:brief": value } }));
    const passes = PassTally.of("eval:brief", [...results, { taskId: 3, traceId: "t3", scores: {} }]);
    expect([passes.passed, passes.failed]).toEqual([1, 1]);
  });

  it("reports only the observed rate if there is no test", () => {
    const { passRate, ...others } = tally().figures(null, labels(50));
    expect(passRate).toMatchObject({ value: 0.6, n: 100 });
    expect(others).toEqual({
      corrected: null,
      falseFailureRate: null,
      labelErrors: null,
      labelsOfRun: 0,
      isWeighted: false,
    });
  });

  it("corrects the rate with the test's error rates if no trace of the run has a label", () => {
    const { corrected, falseFailureRate, labelsOfRun } = tally().figures(AGREEMENT, NO_LABELS);
    // (0.6 - 0.2) / (0.9 - 0.2)
    expect(corrected?.value).toBeCloseTo(4 / 7, 2);
    expect(corrected?.n).toBe(100);
    expect(falseFailureRate?.value).toBeCloseTo(0.1, 10);
    expect(labelsOfRun).toBe(0);
  });

  it("corrects the rate with the run's labels from MIN_LABELS_OF_RUN labels on", () => {
    const few = tally().figures(AGREEMENT, labels(MIN_LABELS_OF_RUN - 1));
    expect(few).toEqual(tally().figures(AGREEMENT, NO_LABELS));
    const enough = tally().figures(AGREEMENT, labels(MIN_LABELS_OF_RUN));
    expect(enough).toMatchObject({ labelsOfRun: MIN_LABELS_OF_RUN, isWeighted: false });
    // All labels are good, and the eval passed these traces too, so it is not informative about the labels.
    expect(enough.corrected?.value).toBeCloseTo(1, 12);
  });

  it("reports weighted labels if one of them has a weight", () => {
    const weighted = labels(MIN_LABELS_OF_RUN, (i) => (i === 3 ? 2 : 1));
    expect(tally().figures(AGREEMENT, weighted).isWeighted).toBe(true);
  });
});
