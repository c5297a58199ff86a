import { describe, expect, it } from "vitest";
import { coverageOf, failUnder, noWorseThan } from "../../src/analysis/gate.js";
import { compareRuns } from "../../src/analysis/paired-comparison.js";
import { gateText } from "../../src/reports/run-text.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { figures, run } from "./runs.js";

describe("--fail-under", () => {
  const scores = {
    exactMatch: figures({ value: 0.742, low: 0.69, high: 0.789, n: 300 }),
    hallucination: figures({ value: 0.1, better: "lower" }),
    sourcesCorrect: figures({ value: null, n: 0, low: null, high: null }),
  };

  it("passes a score at or above the threshold, or at or below it if lower is better", () => {
    const passed = (metric: string, limit: number) => failUnder({ metric, limit }, { scores }).passed;
    expect([passed("exactMatch", 0.742), passed("exactMatch", 0.743)]).toEqual([true, false]);
    expect([passed("hallucination", 0.1), passed("hallucination", 0.09)]).toEqual([true, false]);
  });

  it("fails if the score is missing", () => {
    const gate = failUnder({ metric: "sources", limit: 0 }, { scores });
    expect(gate.passed).toBe(false);
    expect(gateText(gate)).toBe(
      "missed  sources (sourcesCorrect) -, required: at least 0: the run does not have this score",
    );
    expect(failUnder({ metric: "judgeCorrect", limit: 0 }, { scores }).passed).toBe(false);
  });

  it("uses the headline score for accuracy, which is never exact match", () => {
    const accuracy = { metric: "accuracy", limit: 0.8 };
    const cited = { ...scores, sourcesCorrect: figures({ value: 0.742, low: 0.69, high: 0.789, n: 300 }) };
    expect(gateText(failUnder(accuracy, { scores: cited }))).toBe(
      "missed  accuracy (sourcesCorrect) 0.742 [0.690, 0.789] n=300, required: at least 0.8",
    );
    const judged = { ...scores, judgeCorrect: figures({ value: 0.9 }) };
    expect(failUnder(accuracy, { scores: judged })).toMatchObject({
      scorer: "judgeCorrect",
      passed: true,
    });
    expect(failUnder(accuracy, { scores }).scorer).toBe("semanticScore");
  });
});

describe("--fail-under with an eval", () => {
  const head = { scores: { "eval:tone": figures({ value: 1, n: 16 }) } };
  const result = (score: number | null | undefined, changes: Partial<TaskResult> = {}) => {
    const scores = score === undefined ? {} : { "eval:tone": score };
    return { ending: "answered", ...changes, scores } as TaskResult;
  };
  const results = (judged: number, others: readonly TaskResult[]) => [
    ...Array.from({ length: judged }, () => result(1)),
    ...others,
  ];
  const many = (n: number, one: TaskResult) => Array.from({ length: n }, () => one);
  const gateOf = (all: readonly TaskResult[], least = 0.9) =>
    failUnder({ metric: "eval:tone", limit: 0.9 }, head, coverageOf("eval:tone", all, least));

  it("passes if the eval does not apply to the other tasks", () => {
    const gate = gateOf(results(16, many(14, result(null))));
    expect(gate).toMatchObject({ passed: true, coverage: { judged: 16, notApplicable: 14, tasks: 30, least: 0.9 } });
    expect(gateText(gate)).toMatch(/; judged 16 of 30 tasks, 14 do not apply$/);
  });

  it.each([
    ["failed", result(null, { ending: "model_error" })],
    ["cannot run here", result(null, { ending: "not_runnable" })],
    ["made the eval fail", result(null, { failedScorers: ["eval:tone"] })],
    ["were not evaluated", result(undefined)],
  ])("is missed if too many tasks %s, and says so", (_, other) => {
    const gate = gateOf(results(16, many(14, other)));
    expect(gate).toMatchObject({ passed: false, coverage: { judged: 16, notApplicable: 0, tasks: 30 } });
    expect(gateText(gate)).toMatch(
      /; judged 16 of 30 tasks: covered 0\.533, required: at least 0\.9 \(--min-coverage\)$/,
    );
    expect(gateOf(results(16, many(14, other)), 0.5).passed).toBe(true);
  });

  it("is missed if the eval does not apply to any task", () => {
    const scores = { "eval:tone": figures({ value: null, n: 0, low: null, high: null }) };
    const coverage = coverageOf("eval:tone", many(5, result(null)), 0.9);
    const gate = failUnder({ metric: "eval:tone", limit: 0.9 }, { scores }, coverage);
    expect(gate.passed).toBe(false);
    expect(gateText(gate)).toContain("judged 0 of 5 tasks, 5 do not apply");
  });
});

describe("the gate against a baseline", () => {
  const gate = (before: number[], after: number[], limit: number, better: "higher" | "lower" = "higher") => {
    const scores = { exactMatch: figures({ better }) };
    const [metric] = compareRuns(run(before, { scores }), run(after, { scores }), ["exactMatch"], 0).metrics;
    if (metric === undefined) throw new Error("no metric");
    return noWorseThan({ metric: "exactMatch", limit }, "run_a", metric);
  };
  const worlds = (n: number, lost: number) => Array.from({ length: n }, (_, i) => (i < lost ? 0 : 1));

  it("passes if nothing changed, or if the interval's lower bound is above the margin", () => {
    expect(gate(worlds(50, 5), worlds(50, 5), 0.02).passed).toBe(true);
    expect(gate(worlds(400, 0), worlds(400, 4), 0.05).passed).toBe(true);
  });

  it("fails after a loss, or if there are too few questions to rule one out", () => {
    const lost = gate(worlds(400, 0), worlds(400, 80), 0.02);
    expect(lost.passed).toBe(false);
    expect(gateText(lost)).toMatch(
      /^missed {2}exactMatch -0\.200 \[-0\.\d+, -0\.\d+\] n=400, required: the interval above -0\.02 against run_a$/,
    );
    // One question lost of twenty: the interval does not exclude a larger loss.
    expect(gate(worlds(20, 0), worlds(20, 1), 0.02).passed).toBe(false);
    expect(gate([1], [1], 0.02).passed).toBe(false);
  });

  it("fails if the bound is exactly at the margin, in either direction", () => {
    const metric = compareRuns(run([1]), run([1]), ["exactMatch"], 0).metrics[0];
    if (metric === undefined) throw new Error("no metric");
    const passed = (low: number, high: number, better: "higher" | "lower") =>
      noWorseThan({ metric: "x", limit: 0.02 }, "run_a", {
        ...metric,
        better,
        difference: { value: 0, n: 9, low, high },
      }).passed;
    expect([passed(-0.02, 0.5, "higher"), passed(-0.0199, 0.5, "higher")]).toEqual([false, true]);
    expect([passed(-0.5, 0.02, "lower"), passed(-0.5, 0.0199, "lower")]).toEqual([false, true]);
  });

  it("is reversed if lower is better", () => {
    expect(gate(worlds(400, 0), worlds(400, 80), 0.02, "lower").passed).toBe(true);
    expect(gate(worlds(400, 80), worlds(400, 0), 0.02, "lower").passed).toBe(false);
  });
});
