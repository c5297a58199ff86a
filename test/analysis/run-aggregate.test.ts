import { describe, expect, test } from "vitest";
import { AllScores, RunAggregate } from "../../src/analysis/aggregate.js";
import { SCORERS } from "../../src/scoring/scorers.js";
import type { TaskResult } from "../../src/traces/task-result.js";

const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40 };

const answered = (changes: Partial<TaskResult> = {}): TaskResult => ({
  taskId: 1,
  epoch: 1,
  inbox: "ann@x.example",
  queryDate: "2001-05-05",
  howRealistic: 0.8,
  goldSources: 1,
  question: "?",
  groundTruth: "a",
  agentAnswer: "a",
  exactMatch: true,
  semanticScore: 1,
  executionTimeMs: 1000,
  traceId: "t",
  ending: "answered",
  turns: 3,
  usage,
  costUsd: 0.25,
  judgeCostUsd: 0,
  sources: [],
  sourcesCorrect: true,
  foundGold: true,
  readGold: true,
  retries: 0,
  cachedReplies: 0,
  spent: { usage, costUsd: 0.25 },
  scores: {},
  ...changes,
});

const NOT_GRADED = { exactMatch: null, semanticScore: null, sourcesCorrect: null, foundGold: null, readGold: null };
const failed = (changes: Partial<TaskResult> = {}) =>
  answered({ ...NOT_GRADED, ending: "model_error", error: "500", agentAnswer: "", ...changes });

const run = {
  runId: "r",
  agentId: "a",
  model: "m",
  split: "test",
  status: "completed" as const,
  plannedTasks: 3,
  totalTimeMs: 5,
  startedAt: "2026-01-01",
  completedAt: "2026-01-02",
};

function totalsOf(...results: TaskResult[]) {
  const tally = new RunAggregate();
  const scores = new AllScores(SCORERS);
  for (const result of results) {
    tally.add(result);
    scores.add(result);
  }
  return tally.totals({ ...run, ...scores.figures() });
}

describe("totals", () => {
  test("of nothing are zero counts and no averages", () => {
    const { overAllTasks, ...totals } = totalsOf();
    expect(totals).toEqual({
      ...run,
      scores: {},
      slices: { inbox: [], realism: [], sources: [], year: [] },
      totalTasks: 0,
      completedTasks: 0,
      failedTasks: 0,
      exactMatchAccuracy: null,
      avgSemanticScore: null,
      sourcesCorrect: null,
      foundGold: null,
      readGold: null,
      avgExecutionTimeMs: null,
      avgModelTimeMs: null,
      avgToolTimeMs: null,
      avgWaitingTimeMs: null,
      endings: {},
      turns: 0,
      usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
      costUsd: 0,
      retries: 0,
      cachedReplies: 0,
      spent: { usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }, costUsd: 0 },
    });
    expect(overAllTasks.tasks).toBe(0);
    expect(overAllTasks.exactMatchAccuracy).toBeNull();
  });

  test("of failures alone: nothing to average over the completed, 0 over all", () => {
    const totals = totalsOf(failed(), failed({ ending: "timeout" }));
    expect(totals).toMatchObject({
      completedTasks: 0,
      failedTasks: 2,
      exactMatchAccuracy: null,
      avgExecutionTimeMs: null,
    });
    expect(totals.overAllTasks).toEqual({
      tasks: 2,
      exactMatchAccuracy: 0,
      avgSemanticScore: 0,
      sourcesCorrect: 0,
      foundGold: 0,
      readGold: 0,
    });
  });

  test("say both denominators: the completed tasks, and all with failures as wrong", () => {
    const totals = totalsOf(
      answered(),
      answered({ exactMatch: false, semanticScore: 0.25, sourcesCorrect: false, foundGold: true, readGold: false }),
      answered({ exactMatch: false, semanticScore: 0, ending: "out_of_turns", executionTimeMs: 4000, readGold: false }),
      failed({ executionTimeMs: 99_000 }),
    );
    expect(totals).toMatchObject({ totalTasks: 4, completedTasks: 3, failedTasks: 1 });
    expect(totals.exactMatchAccuracy).toBeCloseTo(1 / 3, 12);
    expect(totals.avgSemanticScore).toBeCloseTo(1.25 / 3, 12);
    expect(totals.sourcesCorrect).toBeCloseTo(2 / 3, 12);
    expect(totals.foundGold).toBe(1);
    expect(totals.readGold).toBeCloseTo(1 / 3, 12);
    expect(totals.avgExecutionTimeMs).toBe(2000);
    expect(totals.overAllTasks).toEqual({
      tasks: 4,
      exactMatchAccuracy: 0.25,
      avgSemanticScore: 1.25 / 4,
      sourcesCorrect: 0.5,
      foundGold: 0.75,
      readGold: 0.25,
    });
    expect(totals.endings).toEqual({ answered: 2, out_of_turns: 1, model_error: 1 });
  });

  test("take a gold score over the tasks only that have gold mail", () => {
    const without = answered({ sourcesCorrect: null, foundGold: null, readGold: null, exactMatch: false });
    const totals = totalsOf(answered(), without, without);
    expect(totals).toMatchObject({ sourcesCorrect: 1, foundGold: 1, readGold: 1 });
    expect(totals.exactMatchAccuracy).toBeCloseTo(1 / 3, 12);
  });

  test("count a failed question without gold mail in no gold score, and as wrong in the others", () => {
    expect(totalsOf(answered(), failed({ goldSources: 0 }), failed()).overAllTasks).toEqual({
      tasks: 3,
      exactMatchAccuracy: 1 / 3,
      avgSemanticScore: 1 / 3,
      sourcesCorrect: 0.5,
      foundGold: 0.5,
      readGold: 0.5,
    });
  });

  test("sum turns, tokens, money and retries over failures too", () => {
    expect(totalsOf(answered({ retries: 1 }), failed({ turns: 2, retries: 5, costUsd: 0.5 }))).toMatchObject({
      turns: 5,
      usage: { inputTokens: 200, outputTokens: 20, cachedInputTokens: 80 },
      costUsd: 0.75,
      retries: 6,
    });
  });

  test("have no cost as soon as one task's is unknown, whichever came first", () => {
    expect(totalsOf(answered(), answered({ costUsd: null })).costUsd).toBeNull();
    expect(totalsOf(answered({ costUsd: null }), answered()).costUsd).toBeNull();
  });
});

test("progress tells what is done so far", () => {
  const tally = new RunAggregate();
  tally.add(answered());
  tally.add(failed());
  expect(tally.progress).toEqual({
    done: 2,
    failed: 1,
    retries: 0,
    usage: { inputTokens: 200, outputTokens: 20, cachedInputTokens: 80 },
    costUsd: 0.5,
  });
  expect(tally.averages()).toMatchObject({ tasks: 1, exactMatchAccuracy: 1 });
});
