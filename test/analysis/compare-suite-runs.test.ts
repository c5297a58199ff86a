import { expect, it } from "vitest";
import { comparableRun, compareRuns } from "../../src/analysis/compare.js";
import { comparisonText } from "../../src/reports/comparison-text.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { figures, head } from "./runs.js";
import { suiteResult } from "./suite-results.js";

function suiteRun(runId: string, results: readonly TaskResult[], corpusFingerprint = "") {
  const graded = results.filter(({ suite }) => suite?.score !== null).length;
  const scores = {
    taskScore: figures({ label: "Task score", kind: "mean" }),
    taskSolved: figures({ label: "Solved", kind: "rate" }),
  };
  const suite = { name: "demo", graded, states: {} };
  return comparableRun(
    head({ runId, split: "suite", totalTasks: results.length, suite, scores, corpusFingerprint }),
    results,
  );
}

const before = suiteRun("run_a", [
  suiteResult("a", 0),
  suiteResult("b", 1),
  suiteResult("c", null),
  suiteResult("d", 1, { state: "timeout" }),
  suiteResult("e", 1),
]);
const after = suiteRun(
  "run_b",
  [
    suiteResult("a", 1),
    suiteResult("b", 0, { reason: "compare_csv gives 0" }),
    suiteResult("c", 1),
    suiteResult("d", 1),
    suiteResult("e", null, { state: "agent_error" }),
  ],
  "mail of another database",
);
const comparison = compareRuns(before, after, ["taskScore", "taskSolved"], 5);

it("two runs over a suite are paired by task, over what is graded in both", () => {
  const [score, solved, cost] = comparison.metrics;
  expect(score).toMatchObject({ metric: "taskScore", baseline: 2 / 3, candidate: 2 / 3, wins: 1, losses: 1, ties: 1 });
  expect(solved).toMatchObject({ test: "mcnemar", p: 1, difference: { n: 3 } });
  // No cost, time or turns of failed tasks, which say more of the fault than of the agent.
  expect(cost?.difference.n).toBe(0);
  expect(comparison.metrics.at(-1)).toMatchObject({ metric: "turns", difference: { n: 2 } });
});

it("their mail does not matter, and what is not graded is counted aloud", () => {
  expect(comparison.incomparable).toEqual([]);
  expect(comparison.ungraded).toEqual({ baseline: 1, candidate: 1 });
  const text = comparisonText([before.head, after.head], [comparison]);
  expect(text).toContain(
    "run_b against run_a: 5 tasks in both\nNot graded, and in no score: 1 of the first, 1 of the second\n",
  );
  expect(text).toContain(
    "Tasks that changed (taskScore):\n  lost  b  Do b\n        1.000  success\n        0.000  success: compare_csv gives 0\n",
  );
  expect(text).not.toContain("question");
});
