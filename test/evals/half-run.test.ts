import { afterAll, expect, it } from "vitest";
import { hashLabels } from "../../src/evals/effective-labels.js";
import { halfRun } from "../../src/evals/test-eval/run-on-half.js";
import { openEmpty } from "../runs/demo-setup.js";

const { db, close } = openEmpty();
afterAll(close);

const judged = (i: number, costUsd: number | null) => {
  const [label, drawn] = i % 2 === 0 ? (["bad", "unknown"] as const) : (["good", "random"] as const);
  const one = { traceId: `t${i}`, label, drawn, source: "person", note: null, weight: i } as const;
  const outcome = { score: 1 / 2, reason: "", error: null, ms: 10 * i, costUsd };
  return { label: one, question: `q${i}`, outcome };
};

const INDEXES = [1, 2, 3, 4, 5];

it("halfRun sums up the labels, times and costs of an eval's outcomes", () => {
  const all = INDEXES.map((i) => judged(i, i / 100));
  const { tested, latencyMs, ...sums } = halfRun(db, "overall", all, 3);
  expect(tested[1]).toEqual({
    traceId: "t2",
    question: "q2",
    source: "person",
    weight: 2,
    score: 0.5,
    error: null,
    bad: true,
  });
  expect(tested.map(({ bad }) => bad)).toEqual([false, true, false, true, false]);
  expect(latencyMs).toEqual({ p50: 30, p95: 50 });
  const labelsHash = hashLabels(all.map(({ label }) => label));
  expect(sums).toEqual({ others: 3, unknownDraws: 2, costUsdPerTrace: expect.closeTo(0.03, 12), labelsHash });
});

it("halfRun returns no cost per trace if a cost is unknown, and 0 without labels", () => {
  expect(
    halfRun(
      db,
      "overall",
      INDEXES.map((i) => judged(i, i === 3 ? null : 0.01)),
      0,
    ).costUsdPerTrace,
  ).toBeNull();
  expect(halfRun(db, "overall", [], 0)).toMatchObject({ costUsdPerTrace: 0, latencyMs: { p50: 0, p95: 0 } });
});
