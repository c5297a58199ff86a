import { expect, test } from "vitest";
import { calibration } from "../../src/runs/calibrate.js";
import type { Verdict } from "../../src/traces/trace.js";

const rows = (label: Verdict, verdict: Verdict | null, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    question: `${label} ${verdict} ${i}`,
    gold: "g",
    answer: "a",
    label,
    verdict,
    reason: "r",
    agreement: null,
  }));

test("compares correct against everything else, and counts what has no verdict apart", () => {
  const figures = calibration([
    ...rows("correct", "correct", 20),
    ...rows("wrong", "correct", 5),
    ...rows("correct", "partly", 6),
    ...rows("correct", "wrong", 4),
    ...rows("wrong", "abstained", 10),
    ...rows("partly", "wrong", 5),
    ...rows("correct", null, 3),
  ]);
  expect(figures).toMatchObject({
    labels: 53,
    unscored: 3,
    accuracy: { value: 0.7, n: 50 },
    precision: { value: 0.8, n: 25 },
    recall: { value: 2 / 3, n: 30 },
    kappa: { value: expect.closeTo(0.4, 12), n: 50 },
    confusion: { bothCorrect: 20, judgeOnly: 5, labelOnly: 10, neither: 15 },
  });
  expect(figures.accuracy.low).toBeCloseTo(0.5625, 4);
  expect(figures.accuracy.high).toBeCloseTo(0.809, 4);
  expect(figures.disagreements).toHaveLength(15);
  expect(new Set(figures.disagreements.map(({ label, verdict }) => `${label}/${verdict}`))).toEqual(
    new Set(["wrong/correct", "correct/partly", "correct/wrong"]),
  );
});

test("of nothing says so, and never NaN", () => {
  const { accuracy, precision, recall, kappa } = calibration([]);
  for (const figure of [accuracy, precision, recall, kappa]) {
    expect(figure).toEqual({ value: null, n: 0, low: null, high: null });
  }
});
