import { describe, expect, it } from "vitest";
import { AllScores, RunAggregate } from "../../src/analysis/aggregate.js";
import { SCORES } from "../../src/scoring/scorers.js";
import { wilson } from "../../src/statistics/intervals.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { suiteResult } from "./suite-results.js";

const RUN = {
  ...{ runId: "r", agentId: "a", model: "m", split: "suite", plannedTasks: 6, totalTimeMs: 5 },
  status: "completed",
  ...{ startedAt: "2026-01-01", completedAt: "2026-01-02" },
} as const;

function totalsOf(...results: readonly TaskResult[]) {
  const [tally, scores] = [new RunAggregate(), new AllScores(SCORES)];
  for (const result of results) {
    tally.add(result);
    scores.add(result);
  }
  return tally.totals({ ...RUN, ...scores.figures() });
}

const MIXED = [
  suiteResult("a", 1, { tags: ["cli", "verbose"], actionNumber: 5 }),
  suiteResult("b", 0.5, { tool: "jupyter", actionNumber: 6, relatedApps: ["jupyter", "excel"] }),
  suiteResult("c", 0, { state: "max_steps", actionNumber: 15 }),
  suiteResult("d", 1, { state: "timeout", actionNumber: 16 }),
  suiteResult("e", null, { state: "agent_error", actionNumber: null }),
  suiteResult("f", null, { state: "unsupported", tool: "excel" }),
];

describe("totals of a run over a suite", () => {
  it("average the graded tasks only, failed ones that were graded among them, and never take the others as 0", () => {
    const { scores, overAllTasks, completedTasks, failedTasks, notRunnableTasks } = totalsOf(...MIXED);
    expect({ completedTasks, failedTasks, notRunnableTasks }).toEqual({
      completedTasks: 3,
      failedTasks: 2,
      notRunnableTasks: 1,
    });
    expect(scores.taskScore).toMatchObject({ value: 2.5 / 4, n: 4, overAll: { value: null, n: 0 } });
    expect(scores.taskSolved).toMatchObject({ value: 2 / 4, n: 4, ...wilson(2, 4), overAll: { value: null, n: 0 } });
    expect(scores.taskScore?.byInbox).toEqual({ low: null, high: null, inboxes: 0 });
    expect(overAllTasks).toMatchObject({ exactMatchAccuracy: null, avgSemanticScore: null, foundGold: null });
  });

  it("count every task by its state, with those that have a score", () => {
    expect(totalsOf(...MIXED).suite).toEqual({
      name: "demo",
      graded: 4,
      states: {
        success: { tasks: 2, graded: 2 },
        max_steps: { tasks: 1, graded: 1 },
        timeout: { tasks: 1, graded: 1 },
        agent_error: { tasks: 1, graded: 0 },
        unsupported: { tasks: 1, graded: 0 },
      },
    });
  });

  it("have no score where nothing was graded", () => {
    const { scores, suite } = totalsOf(suiteResult("e", null), suiteResult("f", null, { state: "needs_account" }));
    expect(scores.taskScore).toMatchObject({ value: null, n: 0, low: null, high: null });
    expect(suite?.graded).toBe(0);
  });

  it("divide the tasks by tool, difficulty, guidance, application and tag, the ungraded ones counted without a score", () => {
    const { slices } = totalsOf(...MIXED);
    const parts = (slice: keyof typeof slices) =>
      (slices[slice] ?? []).map(({ value, tasks, scores: { taskScore: score } }) => [value, tasks, score?.n]);
    expect(slices.inbox).toEqual([]);
    expect(parts("tool")).toEqual([
      ["excel", 1, 0],
      ["jupyter", 1, 1],
      ["terminal", 4, 3],
    ]);
    expect(parts("difficulty")).toEqual([
      ["up to 5", 2, 1],
      ["6 to 15", 2, 2],
      ["above 15", 1, 1],
      ["not given", 1, 0],
    ]);
    expect(parts("guidance")).toEqual([
      ["abstract", 5, 3],
      ["verbose", 1, 1],
    ]);
    expect(parts("app")).toEqual([
      ["excel", 1, 1],
      ["jupyter", 1, 1],
      ["terminal", 5, 3],
    ]);
    expect(parts("tag")).toEqual([
      ["abstract", 5, 3],
      ["cli", 6, 4],
      ["verbose", 1, 1],
    ]);
  });

  it("of questions have nothing of suites", () => {
    const { suite: _, ...question } = suiteResult("1", null, {}, { inbox: "ann@x.example", ending: "answered" });
    const totals = totalsOf(question);
    expect(totals).not.toHaveProperty("suite");
    expect(Object.keys(totals.slices)).toEqual(["inbox", "realism", "sources", "year"]);
  });
});
