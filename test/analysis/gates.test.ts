import { describe, expect, it } from "vitest";
import { type Coverage, failUnder, noWorseThan, RunEvidence } from "../../src/analysis/gate.js";
import { type ComparableRun, comparableRun, compareRuns, type RunHead } from "../../src/analysis/paired-comparison.js";
import { gateText } from "../../src/reports/run-text.js";
import type { FailedTasks } from "../../src/tasks/ending.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { figures, head, task } from "./runs.js";
import { suiteResult } from "./suite-results.js";

/** One task per value of a score, with different answers. Null is a failed task, undefined a task without the score. */
function tasksOf(scorer: string, values: readonly (number | null | undefined)[]): TaskResult[] {
  return values.map((value, i) => {
    if (value === null) return task(i + 1, {}, { ending: "timeout" });
    const scores = value === undefined ? {} : { [scorer]: value };
    return task(i + 1, scores, { agentAnswer: `Answer ${i}`, goldSources: 1 });
  });
}

const many = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value);
const rightAndWrong = (right: number, wrong: number) => [...many(right, 1), ...many(wrong, 0)];
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The head of a run with these values of one score. */
function headOf(
  scorer: string,
  values: readonly (number | null | undefined)[],
  changes: Partial<RunHead> = {},
): RunHead {
  const scored = values.filter((value) => typeof value === "number");
  const failed = values.filter((value) => value === null).length;
  const [value, n] = [scored.length === 0 ? null : mean(scored), scored.length];
  const overAll = { value: mean([...scored, ...many(failed, 0)]), n: n + failed, low: 0, high: 1 };
  const scores = { [scorer]: figures({ value, n, overAll }) };
  return head({ scores, failedTasks: failed, totalTasks: values.length, ...changes });
}

interface Options {
  readonly scorer?: string;
  readonly metric?: string;
  readonly failedTasks?: FailedTasks;
  readonly least?: number;
}

function threshold(limit: number, values: readonly (number | null | undefined)[], options: Options = {}) {
  const { scorer = "sourcesCorrect", metric = scorer, failedTasks = "wrong", least = 0.9 } = options;
  const run = headOf(scorer, values);
  const evidence = RunEvidence.of(run, tasksOf(scorer, values));
  return failUnder({ metric, scorer, limit }, run, { evidence, failedTasks, least });
}

describe("--fail-under", () => {
  it("passes a score at or above the threshold", () => {
    expect(threshold(0.75, rightAndWrong(75, 25)).passed).toBe(true);
    expect(threshold(0.76, rightAndWrong(75, 25)).passed).toBe(false);
  });

  it("passes a score at or below the threshold if lower is better", () => {
    const run = head({
      scores: {
        hallucination: figures({ value: 0.1, better: "lower", overAll: { value: null, n: 0, low: null, high: null } }),
      },
    });
    const evidence = RunEvidence.of(run, tasksOf("hallucination", rightAndWrong(1, 9)));
    const gate = (limit: number) =>
      failUnder({ metric: "hallucination", scorer: "hallucination", limit }, run, {
        evidence,
        failedTasks: "wrong",
        least: 0.9,
      });
    expect([gate(0.1).passed, gate(0.09).passed]).toEqual([true, false]);
  });

  it("fails if the score is missing", () => {
    const gate = threshold(0, many(9, undefined), { metric: "sources" });
    expect(gate.passed).toBe(false);
    expect(gateText(gate)).toBe(
      "missed  sources (sourcesCorrect) -, required: at least 0; the run does not have this score",
    );
  });

  it("counts failed tasks as wrong unless they are excluded, and shows both figures", () => {
    const values = [...rightAndWrong(95, 0), ...many(5, null)];
    const gate = threshold(0.96, values);
    expect(gate).toMatchObject({ passed: false, figure: { value: 0.95, n: 100 }, otherwise: { value: 1, n: 95 } });
    expect(gateText(gate)).toBe(
      "missed  sourcesCorrect 0.950 [0.000, 1.000] n=100 with failed tasks as wrong (1.000 n=95 without them), required: at least 0.96; covers 95 of 100 tasks",
    );
    const excluded = threshold(0.96, values, { failedTasks: "exclude" });
    expect(excluded.passed).toBe(true);
    expect(gateText(excluded)).toContain("n=95 without failed tasks (0.950 n=100 with them as wrong)");
  });

  it.each<[string, readonly (number | null | undefined)[]]>([
    ["failed", [...rightAndWrong(89, 0), ...many(11, null)]],
    ["do not have the score", [...rightAndWrong(2, 0), ...many(18, undefined)]],
  ])("decides nothing if more than a tenth of the tasks %s, even with --failed-tasks exclude", (_, values) => {
    const gate = threshold(0.1, values, { failedTasks: "exclude" });
    expect(gate.passed).toBe(false);
    expect(gateText(gate)).toMatch(
      /; sourcesCorrect covers \d+ of \d+ tasks, required: at least 0\.9 of the tasks \(--min-coverage\)$/,
    );
    expect(threshold(0.1, values, { least: 0.1 }).passed).toBe(true);
  });

  it("decides nothing if every task has the same answer, unless the agent abstains", () => {
    const run = headOf("abstention", many(20, 1));
    const pass = (agentAnswer: string) => {
      const results = many(20, 1).map((value, i) =>
        task(i, { abstention: value }, { agentAnswer, groundTruth: "I don't know" }),
      );
      const evidence = RunEvidence.of(run, results);
      return failUnder({ metric: "abstention", scorer: "abstention", limit: 0.9 }, run, {
        evidence,
        failedTasks: "wrong",
        least: 0.9,
      });
    };
    expect(gateText(pass("Nothing was done."))).toContain('; every task has the same answer ("Nothing was done.")');
    expect(pass("Nothing was done.").passed).toBe(false);
    expect(pass("I don't know").passed).toBe(true);
  });

  it("compares a suite's agent by its files, unless it does not call any tool", () => {
    const suite = { name: "x", graded: 2, states: {} };
    const run = headOf("taskScore", many(2, 1), { suite });
    const gate = (toolTimeMs: number) => {
      const results = ["a", "b"].map((id) => ({ ...suiteResult(id, 1), agentAnswer: "Done.", toolTimeMs }));
      const evidence = RunEvidence.of(run, results);
      return failUnder({ metric: "score", scorer: "taskScore", limit: 0.5 }, run, {
        evidence,
        failedTasks: "wrong",
        least: 0.9,
      }).passed;
    };
    expect([gate(5), gate(0)]).toEqual([true, false]);
  });

  it("demands the bound of a corrected rate, not its value", () => {
    const values = rightAndWrong(60, 40);
    const run = headOf("judgeCorrect", values);
    const evidence = RunEvidence.of(run, tasksOf("judgeCorrect", values));
    const corrected = { value: 0.436, n: 100, low: 0.129, high: 0.565 };
    const gate = (limit: number) =>
      failUnder(
        { metric: "judgeCorrect:corrected", scorer: "judgeCorrect", limit },
        run,
        { evidence, failedTasks: "wrong", least: 0.9 },
        corrected,
      );
    expect([gate(0.4).passed, gate(0.129).passed]).toEqual([false, true]);
    expect(gateText(gate(0.4))).toContain("0.436 [0.129, 0.565] n=100, required: the interval at least 0.4");
  });
});

describe("--fail-under with an eval", () => {
  const SCORER = "eval:tone";
  const result = (score: number | null | undefined, changes: Partial<TaskResult> = {}) =>
    task(1, score === undefined ? {} : { [SCORER]: score }, { agentAnswer: String(Math.random()), ...changes });
  const gateOf = (others: readonly TaskResult[], scored = 16, least = 0.9) => {
    const run = head({
      scores: {
        [SCORER]: figures({
          value: scored === 0 ? null : 1,
          n: scored,
          overAll: { value: null, n: 0, low: null, high: null },
        }),
      },
    });
    const evidence = RunEvidence.of(run, [...Array.from({ length: scored }, () => result(1)), ...others]);
    return failUnder({ metric: SCORER, scorer: SCORER, limit: 0.9 }, run, { evidence, failedTasks: "wrong", least });
  };

  it("passes if the eval does not apply to the other tasks", () => {
    const gate = gateOf(many(14, result(null)));
    expect(gate).toMatchObject({ passed: true, coverage: { scored: 16, notApplicable: 14, tasks: 30, least: 0.9 } });
    expect(gateText(gate)).toMatch(/; covers 16 of 30 tasks, 14 do not apply$/);
  });

  it.each([
    ["failed", result(null, { ending: "model_error" })],
    ["cannot run here", result(null, { ending: "not_runnable" })],
    ["made the eval fail", result(null, { failedScorers: [SCORER] })],
    ["were not evaluated", result(undefined)],
  ])("fails the gate if too many tasks %s, and says so", (_, other) => {
    const gate = gateOf(many(14, other));
    expect(gate).toMatchObject({ passed: false, coverage: { scored: 16, notApplicable: 0, tasks: 30 } });
    expect(gateText(gate)).toContain("; eval:tone covers 16 of 30 tasks, required: at least 0.9 of the tasks");
    expect(gateOf(many(14, other), 16, 0.5).passed).toBe(true);
  });

  it("fails the gate if the eval does not apply to any task", () => {
    const gate = gateOf(many(5, result(null)), 0);
    expect(gate.passed).toBe(false);
    expect(gateText(gate)).toContain("the run does not have this score");
  });
});

describe("a gate against a baseline", () => {
  const COVERED: Coverage = { scored: 1, notApplicable: 0, tasks: 1, least: 0.9 };
  type Values = readonly (number | null | undefined)[];

  function gateOf(before: Values, after: Values, limit = 0.05, options: Options = {}) {
    const { scorer = "sourcesCorrect", failedTasks = "wrong", least = 0.9 } = options;
    const run = (values: Values): ComparableRun => comparableRun(headOf(scorer, values), tasksOf(scorer, values));
    const [baseline, candidate] = [run(before), run(after)];
    const { metrics, clusters } = compareRuns(baseline, candidate, [scorer], 0, failedTasks);
    const [comparison] = metrics;
    if (comparison === undefined) throw new Error("no metric");
    const evidence = RunEvidence.of(candidate.head, tasksOf(scorer, after));
    const coverage = RunEvidence.of(baseline.head, tasksOf(scorer, before)).coverage(scorer, least);
    const rules = { evidence, failedTasks, least };
    return noWorseThan({ metric: scorer, limit }, { runId: "run_a", coverage }, { comparison, clusters }, rules, [
      "foundGold",
    ]);
  }

  it("passes equal runs of enough questions, but never with two", () => {
    expect(gateOf(rightAndWrong(40, 33), rightAndWrong(40, 33)).passed).toBe(true);
    expect(gateOf(many(73, 1), many(73, 1)).passed).toBe(true);
    const few = gateOf(rightAndWrong(40, 32), rightAndWrong(40, 32));
    expect(few.passed).toBe(false);
    expect(gateText(few)).toContain("; too few questions to exclude a loss of 0.05: about 73 are needed");
    expect(gateOf([1, 0], [1, 0], 0.9).passed).toBe(false);
  });

  it("fails after a loss, or if there are too few questions to rule one out", () => {
    const lost = gateOf(many(400, 1), rightAndWrong(320, 80));
    expect(lost.passed).toBe(false);
    expect(gateText(lost)).toMatch(
      /^missed {2}sourcesCorrect -0\.200 \[-0\.\d+, -0\.\d+\] n=400, required: the interval above -0\.05 against run_a$/,
    );
    // One question lost of twenty: the interval does not exclude a larger loss.
    expect(gateOf(many(20, 1), rightAndWrong(19, 1)).passed).toBe(false);
    expect(gateOf(many(400, 1), rightAndWrong(399, 1)).passed).toBe(true);
  });

  it.each([
    ["0", many(100, 0), false],
    ["a half", many(100, 0.5), false],
    ["1", many(100, 1), true],
  ])("takes %s in all tasks of both runs as evidence only if nothing better is possible", (_, values, passed) => {
    const gate = gateOf(values, values);
    expect(gate.passed).toBe(passed);
    if (passed) return;
    expect(gateText(gate)).toMatch(
      /; sourcesCorrect is \S+ in all tasks of both runs, which is not evidence: use --metric foundGold/,
    );
  });

  it("counts the failed tasks of either run as wrong unless they are excluded", () => {
    const all = rightAndWrong(150, 50);
    const failed = [...many(10, null), ...rightAndWrong(140, 50)];
    expect(gateOf(all, failed)).toMatchObject({
      passed: false,
      figure: { value: -0.05, n: 200 },
      otherwise: { value: 0, n: 190 },
    });
    expect(gateOf(all, failed, 0.05, { failedTasks: "exclude" }).passed).toBe(true);
    expect(gateOf(failed, all)).toMatchObject({ passed: true, figure: { value: 0.05 } });
  });

  it("decides nothing if either run has no score in more than a tenth of the tasks", () => {
    const all = rightAndWrong(150, 50);
    const missing = [...many(21, undefined), ...rightAndWrong(129, 50)];
    expect(gateOf(all, all).passed).toBe(true);
    expect(gateText(gateOf(all, missing))).toContain("; sourcesCorrect covers 179 of 200 tasks, required");
    expect(gateText(gateOf(missing, all))).toContain("; sourcesCorrect covers 179 of 200 tasks of run_a, required");
  });

  it("fails if the bound is exactly at the margin, in either direction", () => {
    const values = rightAndWrong(10, 10);
    const run = comparableRun(headOf("x", values), tasksOf("x", values));
    const { metrics, clusters } = compareRuns(run, run, ["x"], 0);
    const [metric] = metrics;
    if (metric === undefined) throw new Error("no metric");
    const evidence = RunEvidence.of(run.head, tasksOf("x", values));
    const passed = (low: number, high: number, better: "higher" | "lower") =>
      noWorseThan(
        { metric: "x", limit: 0.02 },
        { runId: "run_a", coverage: COVERED },
        { comparison: { ...metric, better, difference: { value: 0, n: 20, low, high } }, clusters },
        { evidence, failedTasks: "wrong", least: 0.9 },
        [],
      ).passed;
    expect([passed(-0.02, 0.5, "higher"), passed(-0.0199, 0.5, "higher")]).toEqual([false, true]);
    expect([passed(-0.5, 0.02, "lower"), passed(-0.5, 0.0199, "lower")]).toEqual([false, true]);
  });
});
