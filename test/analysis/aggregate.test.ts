import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { RunAggregate } from "../../src/analysis/aggregate.js";
import { AllScores } from "../../src/analysis/score-aggregate.js";
import { RESULT_FILE_SCORERS, SCORER_NAMES, SCORES, scoreTrace } from "../../src/scoring/scorers.js";
import { wilson } from "../../src/statistics/intervals.js";
import { type TaskResult, toTaskResult } from "../../src/traces/task-result.js";
import { itself, trace } from "../scoring/trace.js";
import { task } from "./runs.js";
import { suiteResult } from "./suite-results.js";

describe("aggregate", () => {
  const failed = (taskId: number, changes: Partial<TaskResult> = {}) =>
    task(taskId, {}, { ending: "model_error", ...changes });

  it("reports the most frequent error", () => {
    const run = new RunAggregate();
    for (const error of ["a", "b", "b"]) run.add(failed(1, { error }));
    run.add(task(2, {}, {}));
    expect(run.totals({ scores: {} } as never).mostFrequentError).toEqual({ message: "b", tasks: 2 });
  });

  const figuresOf = (results: readonly TaskResult[]) => {
    const tally = new AllScores(SCORES);
    for (const result of results) tally.add(result);
    return tally.figures();
  };

  describe("a run's score", () => {
    it("has the scorer's description, the denominator and, if it is a rate, Wilson's interval", () => {
      const results = Array.from({ length: 40 }, (_, i) =>
        task(i, { exactMatch: i < 10 ? 1 : 0, sourcesCorrect: null }),
      );
      const { exactMatch, sourcesCorrect } = figuresOf(results).scores;
      expect(exactMatch).toMatchObject({ label: "Exact match", kind: "rate", better: "higher", value: 0.25, n: 40 });
      expect(exactMatch).toMatchObject({ ...wilson(10, 40), method: "wilson" });
      expect(exactMatch?.repeats).toBeUndefined();
      expect(sourcesCorrect).toMatchObject({
        value: null,
        n: 0,
        low: null,
        high: null,
        overAll: { value: null, n: 0 },
      });
    });

    it("counts failed tasks as wrong over all tasks, in any order, including tasks whose question another epoch answered", () => {
      const { scores } = figuresOf([
        failed(1),
        task(2, { exactMatch: 1, semanticScore: 0.5 }),
        failed(2, { epoch: 2 }),
        task(3, { exactMatch: 0, semanticScore: 0.25 }),
        failed(4),
      ]);
      expect(scores.exactMatch).toMatchObject({ value: 0.5, n: 2, overAll: { value: 0.2, n: 5 } });
      expect(scores.semanticScore).toMatchObject({ value: 0.375, n: 2, overAll: { value: 0.15, n: 5 } });
    });

    it("includes failed tasks that an eval judged, but no others", () => {
      const ended = (value: number | null) => ({ "eval:ends": value });
      const { scores } = figuresOf([
        task(1, { exactMatch: 1, ...ended(1) }),
        failed(2, { scores: ended(0) }),
        failed(3, { scores: ended(0) }),
        failed(4),
      ]);
      const rate = { value: Number((1 / 3).toFixed(12)), n: 3 };
      const { value, n, overAll } = scores["eval:ends"] ?? { value: null, n: 0, overAll: { value: null, n: 0 } };
      expect({ value: Number(value?.toFixed(12)), n }).toEqual(rate);
      expect({ value: Number(overAll.value?.toFixed(12)), n: overAll.n }).toEqual(rate);
      expect(scores.exactMatch).toMatchObject({ value: 1, n: 1, overAll: { value: 0.25, n: 4 } });
    });

    it("has an interval from 0 to 1 for an eval that gives fractions", () => {
      const { scores } = figuresOf([0, 0, 0.2, 0.33].map((value, i) => task(i, { "eval:terms": value })));
      expect(scores["eval:terms"]?.low).toBeGreaterThanOrEqual(0);
    });

    it("ignores a failed question without gold emails in scores about gold emails", () => {
      const { scores } = figuresOf([
        failed(1, { goldSources: 0 }),
        task(2, { exactMatch: 1, foundGold: 1 }),
        task(3, { exactMatch: 1, foundGold: null }, { goldSources: 0 }),
        failed(3, { goldSources: 0, epoch: 2 }),
      ]);
      expect(scores.foundGold?.overAll).toMatchObject({ value: 1, n: 1 });
      expect(scores.exactMatch?.overAll).toMatchObject({ value: 0.5, n: 4 });
    });

    it("ignores a failed question without numbers or dates in scores about them", () => {
      const { scores } = figuresOf([
        failed(1, { groundTruth: "a green folder" }),
        failed(2, { groundTruth: "$1.5 million" }),
        failed(3, { groundTruth: "on May 5, 2001" }),
        task(4, { exactMatch: 1, numberMatch: 1, dateMatch: null }, { groundTruth: "40 barrels" }),
        task(5, { exactMatch: 1, numberMatch: null, dateMatch: null }, { groundTruth: "Kay Mann" }),
        failed(5, { groundTruth: "Kay Mann", epoch: 2 }),
        task(6, { exactMatch: 1, numberMatch: null, dateMatch: 1 }, { groundTruth: "9:30 am" }),
      ]);
      expect(scores.numberMatch?.overAll).toMatchObject({ value: 0.5, n: 2 });
      expect(scores.dateMatch?.overAll).toMatchObject({ value: 0.5, n: 2 });
      expect(scores.exactMatch?.overAll).toMatchObject({ value: 3 / 7, n: 7 });
    });

    it("counts a failed task as wrong even if the other answers to its question were not judged", () => {
      const { scores } = figuresOf([
        task(1, { judgeCorrect: 1 }),
        task(2, { judgeCorrect: null }),
        failed(2, { epoch: 2 }),
      ]);
      expect(scores.judgeCorrect).toMatchObject({ value: 1, n: 1, overAll: { value: 0.5, n: 2 } });
    });

    it("equals the sum of its values over all tasks that it applies to, with failed tasks as wrong", () => {
      const question = fc.record({
        answer: fc.constantFrom("$40", "May 5, 2001", "Kay Mann", "I don't know", ""),
        goldMails: fc.constantFrom(0, 1, 2),
        reply: fc.constantFrom("$40", "May 5, 2001", "Kay Mann", "I don't know"),
        verdict: fc.constantFrom("correct" as const, "partly" as const, "wrong" as const),
        failed: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
      });
      const runs = fc.array(question, { minLength: 1, maxLength: 30 });
      fc.assert(
        fc.property(runs, (questions) => {
          const results: TaskResult[] = [];
          const sums = new Map<string, { sum: number; scored: number; failed: number }>();
          for (const [id, { answer, goldMails, reply, verdict, failed }] of questions.entries()) {
            const gold = ["<gold@x>", "<second@x>"].slice(0, goldMails);
            // An answer with sources and a verdict has every score that applies to its question.
            const answered = trace(
              { taskId: id, answer: reply, sources: ["<gold@x>"], judge: { ...JUDGED, verdict } },
              { id, answer, message_ids: gold },
            );
            const scores = scoreTrace(answered, itself, SCORER_NAMES);
            for (const [i, isFailed] of failed.entries()) {
              const attempt = { ...answered, epoch: i + 1 };
              const ended = isFailed ? { ...attempt, ending: "timeout" as const, scores: {} } : { ...attempt, scores };
              results.push(toTaskResult(ended));
              for (const [name, { value }] of Object.entries(scores)) {
                if (value === null) continue;
                const score = sums.get(name) ?? { sum: 0, scored: 0, failed: 0 };
                sums.set(name, score);
                if (isFailed) score.failed++;
                else [score.sum, score.scored] = [score.sum + value, score.scored + 1];
              }
            }
          }
          const { scores } = figuresOf(results);
          for (const [name, { better, n, value, overAll }] of Object.entries(scores)) {
            const { sum, scored, failed } = sums.get(name) ?? { sum: 0, scored: 0, failed: 0 };
            expect(n, name).toBe(scored);
            if (n > 0) expect(value, name).toBeCloseTo(sum / scored, 12);
            if (better === "lower" || name === "artReward" || n === 0) continue;
            expect(overAll.n, name).toBe(scored + failed);
            expect(overAll.value, name).toBeCloseTo(sum / (scored + failed), 12);
          }
        }),
        { seed: 62, numRuns: 100 },
      );
    });

    it("ignores failures if lower is better, even on a scale from 0 to 1", () => {
      const { hallucination, goldRank } = figuresOf([
        task(1, { hallucination: 0, goldRank: 1 }),
        task(2, { hallucination: 1, goldRank: 1 }),
        failed(3),
      ]).scores;
      expect(hallucination).toMatchObject({ better: "lower", value: 0.5, n: 2, overAll: { value: null, n: 0 } });
      expect(goldRank).toMatchObject({ better: "lower", value: 1, n: 2, overAll: { value: null, n: 0 } });
    });

    it("ignores failures if the scale is not 0 to 1, whatever the values are", () => {
      const { artReward } = figuresOf([task(1, { artReward: 0.1 }), task(2, { artReward: 0.3 }), failed(3)]).scores;
      expect(artReward).toMatchObject({ value: 0.2, n: 2, overAll: { value: null, n: 0 } });
    });

    it("keeps its interval within its scale, even for few tasks, slices and mailboxes", () => {
      const results = [
        task(1, { semanticScore: 1, artReward: 1.4, goldRank: 1 }, { inbox: "a@x" }),
        task(2, { semanticScore: 0.1, artReward: -1.9, goldRank: 5 }, { inbox: "a@x" }),
        task(3, { semanticScore: 1, artReward: 1.3, goldRank: 1 }, { inbox: "b@x" }),
      ];
      const { scores, slices } = figuresOf(results);
      const scales = { semanticScore: [0, 1], artReward: [-2, 1.5], goldRank: [1, Number.POSITIVE_INFINITY] } as const;
      for (const [name, [min, max]] of Object.entries(scales)) {
        const figures = [scores[name], scores[name]?.byInbox, ...slices.inbox.map((part) => part.scores[name])];
        for (const interval of [...figures, ...slices.year.map((part) => part.scores[name])]) {
          expect(interval?.low ?? min, name).toBeGreaterThanOrEqual(min);
          expect(interval?.high ?? min, name).toBeLessThanOrEqual(max);
        }
        expect(scores[name]?.low, name).not.toBeNull();
      }
    });

    it("ignores failures if 0 does not mean wrong", () => {
      const { bonus } = figuresOf([task(1, { bonus: 1.5 }), task(2, { bonus: -0.5 }), failed(3)]).scores;
      expect(bonus).toMatchObject({ label: "bonus", kind: "mean", value: 0.5, n: 2, overAll: { value: null, n: 0 } });
    });

    it("treats the epochs of a question as a cluster, and reports pass@k and pass^k over questions", () => {
      const right = [2, 0, 1, 2];
      const results = right.flatMap((times, i) =>
        [1, 2].map((epoch) => task(i, { exactMatch: epoch <= times ? 1 : 0 }, { epoch })),
      );
      const { exactMatch } = figuresOf(results).scores;
      expect(exactMatch).toMatchObject({ value: 5 / 8, n: 8, method: "clustered_wilson" });
      expect(exactMatch?.low).toBeLessThan(wilson(5, 8).low ?? 0);
      const [one, two, ...more] = exactMatch?.repeats ?? [];
      expect(more).toEqual([]);
      expect(one).toMatchObject({ k: 1, passAtK: { value: 5 / 8, n: 4 }, passHatK: { value: 5 / 8, n: 4 } });
      expect(two).toMatchObject({ k: 2, passAtK: { value: 3 / 4, n: 4 }, passHatK: { value: 2 / 4, n: 4 } });
    });

    it("gets a wider interval for new mailboxes if the mailboxes differ", () => {
      const results = Array.from({ length: 80 }, (_, i) =>
        task(i, { exactMatch: i % 8 < 4 ? 1 : 0 }, { inbox: `${i % 8}@x.example` }),
      );
      const { exactMatch } = figuresOf(results).scores;
      expect(exactMatch?.byInbox.inboxes).toBe(8);
      expect(exactMatch?.byInbox.low).toBeLessThan(exactMatch?.low ?? 0);
      expect(exactMatch?.byInbox.high).toBeGreaterThan(exactMatch?.high ?? 1);
    });
  });

  describe("slices", () => {
    const results = [
      task(
        1,
        { exactMatch: 1 },
        { inbox: "b@x", howRealistic: 0.699999988079071, goldSources: 10, queryDate: "2001-05-05" },
      ),
      task(2, { exactMatch: 0 }, { inbox: "a@x", howRealistic: 1, goldSources: 2, queryDate: "2000-01-01" }),
      failed(3, { inbox: "a@x", howRealistic: 0.95, goldSources: 2, queryDate: "2001-12-31" }),
    ];

    it("divide the tasks in the order of their values, and each has n and an interval", () => {
      const { slices } = figuresOf(results);
      const parts = (slice: keyof typeof slices) => (slices[slice] ?? []).map(({ value, tasks }) => [value, tasks]);
      expect(parts("inbox")).toEqual([
        ["a@x", 2],
        ["b@x", 1],
      ]);
      expect(parts("realism")).toEqual([
        ["0.7-0.8", 1],
        ["0.9-1", 2],
      ]);
      expect(parts("sources")).toEqual([
        ["2", 2],
        ["10", 1],
      ]);
      expect(parts("year")).toEqual([
        ["2000", 1],
        ["2001", 2],
      ]);
      expect(slices.inbox[0]?.scores.exactMatch).toEqual({ value: 0, n: 1, ...wilson(0, 1), method: "wilson" });
    });

    it("add up to the denominators of the entire run", () => {
      const many = Array.from({ length: 200 }, (_, i) =>
        task(i, { exactMatch: i % 3 === 0 ? 1 : 0 }, { inbox: `${i % 7}@x`, queryDate: `${1999 + (i % 4)}-01-01` }),
      );
      const { scores, slices } = figuresOf(many);
      for (const slice of [slices.inbox, slices.year]) {
        const estimates = slice.map((part) => part.scores.exactMatch ?? { n: 0, value: 0 });
        expect(estimates.reduce((sum, { n }) => sum + n, 0)).toBe(scores.exactMatch?.n);
        const right = estimates.reduce((sum, { n, value }) => sum + n * (value ?? 0), 0);
        expect(right / 200).toBeCloseTo(scores.exactMatch?.value ?? 0, 12);
      }
    });
  });
});

/** A judgment without its verdict. */
const JUDGED = {
  model: "script/judge",
  baseUrl: null,
  protocol: "verdict" as const,
  version: 1,
  promptHash: "0123456789ab",
  votes: 1,
  reason: "",
  agreement: 1,
  cast: [],
  usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
  costUsd: 0.5,
};

const RUN = {
  runId: "r",
  agentId: "a",
  model: "m",
  split: "test",
  plannedTasks: 3,
  totalTimeMs: 5,
  status: "completed",
  startedAt: "2026-01-01",
  completedAt: "2026-01-02",
} as const;

function totalsOf(...results: readonly TaskResult[]) {
  const [tally, scores] = [new RunAggregate(), new AllScores(SCORES, RESULT_FILE_SCORERS)];
  for (const result of results) {
    tally.add(result);
    scores.add(result);
  }
  return tally.totals({ ...RUN, ...scores.figures() });
}

describe("RunAggregate", () => {
  const usage = { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40 };

  const answered = (changes: Partial<TaskResult> = {}): TaskResult =>
    task(1, GRADED, { executionTimeMs: 1000, turns: 3, usage, costUsd: 0.25, ...changes });

  const scoring = (scores: TaskResult["scores"], changes: Partial<TaskResult> = {}) =>
    answered({ scores: { ...GRADED, ...scores }, ...changes });

  const GRADED = { exactMatch: 1, semanticScore: 1, sourcesCorrect: 1, foundGold: 1, readGold: 1 };

  const failed = (changes: Partial<TaskResult> = {}) =>
    answered({ scores: {}, ending: "model_error", error: "500", agentAnswer: "", ...changes });

  describe("totals", () => {
    test("equal zero, with null averages, if there are no tasks", () => {
      const { overAllTasks, ...totals } = totalsOf();
      expect(totals).toEqual({
        ...RUN,
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
        judgeCostUsd: 0,
        totalCostUsd: 0,
        retries: 0,
        cachedReplies: 0,
        spent: { usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }, costUsd: 0 },
      });
      expect(overAllTasks.tasks).toBe(0);
      expect(overAllTasks.exactMatchAccuracy).toBeNull();
    });

    test("show null averages over completed tasks, and 0 over all tasks, if all tasks failed", () => {
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

    test("show both denominators, completed tasks and all tasks, and count failures as wrong", () => {
      const totals = totalsOf(
        answered(),
        scoring({ exactMatch: 0, semanticScore: 0.25, sourcesCorrect: 0, readGold: 0 }),
        scoring({ exactMatch: 0, semanticScore: 0, readGold: 0 }, { ending: "out_of_turns", executionTimeMs: 4000 }),
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

    test("compute gold scores only over tasks with gold emails", () => {
      const without = scoring({ sourcesCorrect: null, foundGold: null, readGold: null, exactMatch: 0 });
      const totals = totalsOf(answered(), without, without);
      expect(totals).toMatchObject({ sourcesCorrect: 1, foundGold: 1, readGold: 1 });
      expect(totals.exactMatchAccuracy).toBeCloseTo(1 / 3, 12);
    });

    test("count a failed question without gold emails as wrong, but not in gold scores", () => {
      expect(totalsOf(answered(), failed({ taskId: 2, goldSources: 0 }), failed({ taskId: 3 })).overAllTasks).toEqual({
        tasks: 3,
        exactMatchAccuracy: 1 / 3,
        avgSemanticScore: 1 / 3,
        sourcesCorrect: 0.5,
        foundGold: 0.5,
        readGold: 0.5,
      });
    });

    test("include failed tasks in turns, tokens, cost and retries", () => {
      expect(totalsOf(answered({ retries: 1 }), failed({ turns: 2, retries: 5, costUsd: 0.5 }))).toMatchObject({
        turns: 5,
        usage: { inputTokens: 200, outputTokens: 20, cachedInputTokens: 80 },
        costUsd: 0.75,
        retries: 6,
      });
    });

    test("show no cost if one task's cost is unknown, in any order", () => {
      expect(totalsOf(answered(), answered({ costUsd: null })).costUsd).toBeNull();
      expect(totalsOf(answered({ costUsd: null }), answered()).costUsd).toBeNull();
    });
  });

  test("reports the tasks done so far as progress", () => {
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
  });
});

describe("a suite run's totals", () => {
  const MIXED = [
    suiteResult("a", 1, { tags: ["cli", "verbose"], actionNumber: 5 }),
    suiteResult("b", 0.5, { tool: "jupyter", actionNumber: 6, relatedApps: ["jupyter", "excel"] }),
    suiteResult("c", 0, { state: "max_steps", actionNumber: 15 }),
    suiteResult("d", 1, { state: "timeout", actionNumber: 16 }),
    suiteResult("e", null, { state: "agent_error", actionNumber: null }),
    suiteResult("f", null, { state: "unsupported", tool: "excel" }),
  ];

  it("average only graded tasks, and count failed ones without a grade as wrong over all tasks", () => {
    const { scores, overAllTasks, completedTasks, failedTasks, notRunnableTasks } = totalsOf(...MIXED);
    expect({ completedTasks, failedTasks, notRunnableTasks }).toEqual({
      completedTasks: 3,
      failedTasks: 2,
      notRunnableTasks: 1,
    });
    expect(scores.taskScore).toMatchObject({ value: 2.5 / 4, n: 4, overAll: { value: 2.5 / 5, n: 5 } });
    expect(scores.taskSolved).toMatchObject({ value: 2 / 4, n: 4, ...wilson(2, 4), overAll: { value: 2 / 5, n: 5 } });
    expect(scores.taskScore?.byInbox).toEqual({ low: null, high: null, inboxes: 0 });
    expect(overAllTasks).toMatchObject({ exactMatchAccuracy: null, avgSemanticScore: null, foundGold: null });
  });

  it("count tasks and graded tasks per state", () => {
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

  it("show no score if no task was graded", () => {
    const { scores, suite } = totalsOf(suiteResult("e", null), suiteResult("f", null, { state: "needs_account" }));
    expect(scores.taskScore).toMatchObject({ value: null, n: 0, low: null, high: null });
    expect(suite?.graded).toBe(0);
  });

  it("divide the tasks by tool, difficulty, guidance, application and tag, including ungraded ones", () => {
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

  it("contain no suite fields if the tasks are questions", () => {
    const { suite: _, ...question } = suiteResult("1", null, {}, { inbox: "ann@x.example", ending: "answered" });
    const totals = totalsOf(question);
    expect(totals).not.toHaveProperty("suite");
    expect(Object.keys(totals.slices)).toEqual(["inbox", "realism", "sources", "year"]);
  });
});
