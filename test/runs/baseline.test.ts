import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readCorpusStats } from "../../src/mail/corpus.js";
import { compareTaskIds, type QuestionSet } from "../../src/tasks/question.js";
import { ENRON, needs } from "../machine-requirements.js";
import { questionsIn } from "../questions/question-file.js";
import { demoSet, openDemo, openWith, question, type TestDb, unanswerableSet } from "./demo-setup.js";
import { answersOf, baseline, benchmark, type Finished } from "./run-setup.js";

describe("the offline baseline", () => {
  let demo: TestDb;
  let set: QuestionSet;
  let alone: Finished;

  beforeAll(async () => {
    demo = await openDemo();
    set = await demoSet();
    alone = await benchmark(demo.db, { agentId: "baseline", model: await baseline(), set, concurrency: 1 });
  });

  afterAll(() => demo.close());

  describe("over the demo questions", () => {
    test("completes every question", () => {
      expect(alone.results).toHaveLength(set.questions.length);
      expect(alone.results.map((result) => result.taskId)).toEqual(
        set.questions.map(({ id }) => id).sort((a, b) => a - b),
      );
      expect(alone.totals).toMatchObject({
        totalTasks: 73,
        completedTasks: 73,
        failedTasks: 0,
        retries: 0,
        costUsd: 0,
      });
      for (const result of alone.results) {
        expect(result.error).toBeUndefined();
        expect(["answered", "dont_know"]).toContain(result.ending);
      }
    });

    test("usually finds the gold email, and never in mail from after the question's date", () => {
      const { foundGold, readGold, sourcesCorrect } = alone.totals;
      expect(foundGold).toBeGreaterThanOrEqual(0.95);
      expect(readGold).toBeGreaterThanOrEqual(0.8);
      expect(sourcesCorrect).toBeGreaterThanOrEqual(0.6);
      for (const { toolCalls, task } of alone.traces) {
        const dates = JSON.stringify(toolCalls.map((call) => call.result)).matchAll(/"date":"(\d{4}-\d\d-\d\d)/g);
        for (const [, day] of dates) expect((day ?? "") <= task.query_date, `${task.id}: ${day}`).toBe(true);
      }
    });

    test("returns identical answers with one and with sixteen concurrent tasks", async () => {
      const many = await benchmark(demo.db, { agentId: "baseline", model: await baseline(), set, concurrency: 16 });
      expect(many.results).toHaveLength(73);
      expect(answersOf(many)).toBe(answersOf(alone));
    });

    test("supports ART's tools too", async () => {
      const art = await benchmark(demo.db, { agentId: "art-e", model: await baseline(), set });
      expect(art.totals).toMatchObject({ completedTasks: 73, failedTasks: 0 });
      expect(art.totals.foundGold).toBeGreaterThan(0.3);
      for (const { toolCalls, turns } of art.traces) {
        expect(toolCalls.length).toBe(turns.length);
        for (const { name } of toolCalls)
          expect(["search_emails", "read_email", "return_final_answer"]).toContain(name);
      }
    });

    test("leaves gold scores empty if a question has no gold email", async () => {
      const unanswerable = await unanswerableSet();
      const { totals, results } = await benchmark(demo.db, {
        agentId: "baseline",
        model: await baseline(),
        set: unanswerable,
      });
      for (const result of results) {
        expect(result).toMatchObject({ sourcesCorrect: null, foundGold: null, readGold: null });
        expect(result.semanticScore).not.toBeNull();
      }
      expect(totals).toMatchObject({ completedTasks: 8, sourcesCorrect: null, foundGold: null, readGold: null });
      expect(totals.avgSemanticScore).not.toBeNull();
    });

    test("finds mail from after the question's date if the cutoff is off", async () => {
      const unanswerable = await unanswerableSet();
      const ask = {
        agentId: "baseline",
        model: await baseline(),
        set: unanswerable,
        questions: [question(unanswerable.questions, 101)],
      };
      const seen = async (cutoff: "query_date" | "off") =>
        JSON.stringify((await benchmark(demo.db, { ...ask, cutoff })).traces).includes("0.62 of a Halvorsen share");
      expect(await seen("query_date")).toBe(false);
      expect(await seen("off")).toBe(true);
    });
  });

  describe("a run's output", () => {
    test("contains the run's settings, mail and questions", () => {
      const { run, totals } = alone;
      expect(run).toMatchObject({
        id: totals.runId,
        agentId: "baseline",
        model: "offline/baseline",
        split: "test",
        status: "completed",
        totalTasks: 73,
        dataset: { source: set.source, revision: null, sha256: set.sha256 },
        settings: {
          cutoff: "query_date",
          concurrency: 1,
          maxTurns: 10,
          tools: ["email_search", "email_get", "return_final_answer"],
        },
      });
      expect(run.corpusFingerprint).toMatch(/^[0-9a-f]{64}$/);
      expect(run.completedAt).toBe(totals.completedAt);
      expect(demo.db.prepare("SELECT count(*) FROM art_e_tasks").pluck().get()).toBe(73 + 8);
    });

    test("contains one trace per result, with its conversation, question and scores", () => {
      expect(alone.traces.map(({ traceId }) => traceId)).toEqual(alone.results.map(({ traceId }) => traceId));
      const trace = alone.traces[0];
      expect(trace).toMatchObject({
        runId: alone.totals.runId,
        agentId: "baseline",
        model: "offline/baseline",
        error: null,
      });
      expect(trace?.task).toEqual(set.questions.find(({ id }) => id === trace?.taskId));
      expect(trace?.messages[0]?.content).toBe(
        `Answer the question from the mailbox ${trace?.task.inbox_address} as of ${trace?.task.query_date}.`,
      );
      expect(Object.keys(trace?.scores ?? {}).sort()).toEqual(
        ["exactMatch", "foundGold", "readGold", "semanticScore", "sourcesCorrect"].sort(),
      );
      expect(new Set(alone.traces.map(({ sessionId }) => sessionId)).size).toBe(73);
    });

    test("reports the run, each task as started and finished once, and each finished task as saved", async () => {
      const model = await baseline();
      let unsaved = 0;
      const { events, totals } = await benchmark(demo.db, {
        agentId: "baseline",
        model,
        set,
        onEvent: (event) => {
          if (event.type !== "task_finished") return;
          const row = demo.db
            .prepare("SELECT result FROM results WHERE trace_id = ?")
            .pluck()
            .get(event.result.traceId);
          if (row !== JSON.stringify(event.result)) unsaved++;
        },
      });
      expect(unsaved).toBe(0);
      expect(events[0]).toEqual({ type: "run_started", runId: totals.runId, tasks: 73 });
      expect(events.at(-1)).toEqual({ type: "run_finished", runId: totals.runId, interrupted: false });
      const begun = events.flatMap((event) => (event.type === "task_started" ? event.taskId : []));
      const ended = events.flatMap((event) => (event.type === "task_finished" ? event.result.taskId : []));
      expect(begun).toEqual(set.questions.map(({ id }) => id));
      expect([...ended].sort(compareTaskIds)).toEqual([...begun].sort(compareTaskIds));
    });

    test("reports a task as finished before the next one starts if only one can run", async () => {
      const { events } = await benchmark(demo.db, {
        agentId: "baseline",
        model: await baseline(),
        set,
        concurrency: 1,
      });
      const told = events.flatMap((event) =>
        event.type === "task_started" || event.type === "task_answered" ? [[event.type, event.taskId]] : [],
      );
      expect(told).toEqual(
        set.questions.flatMap(({ id }) => [
          ["task_started", id],
          ["task_answered", id],
        ]),
      );
    });

    test("contains null averages, not NaN, if a run has no questions", async () => {
      const { totals, run } = await benchmark(demo.db, {
        agentId: "baseline",
        model: await baseline(),
        set,
        questions: [],
      });
      expect(run.status).toBe("completed");
      const nothing = {
        exactMatchAccuracy: null,
        avgSemanticScore: null,
        sourcesCorrect: null,
        foundGold: null,
        readGold: null,
      };
      expect(totals).toMatchObject({
        totalTasks: 0,
        completedTasks: 0,
        avgExecutionTimeMs: null,
        ...nothing,
        overAllTasks: { tasks: 0, ...nothing },
        endings: {},
      });
    });
  });
});

describe("over real Enron mail", needs("real-mail"), () => {
  let real: TestDb;
  let alone: Finished;

  const run = async (concurrency: number) => {
    const set = await questionsIn(join(ENRON, "questions.jsonl"));
    return benchmark(real.db, { agentId: "baseline", model: await baseline(), set, concurrency });
  };

  beforeAll(async () => {
    real = await openWith(join(ENRON, "emails.csv"));
    alone = await run(1);
  }, 60_000);
  afterAll(() => real?.close());

  test("imports all of it", () => {
    expect(readCorpusStats(real.db)).toMatchObject({ messages: 1329, inboxes: 5, unresolvedOwners: 0 });
  });

  test("completes every question without a failure", () => {
    expect(alone.totals).toMatchObject({ totalTasks: 60, completedTasks: 60, failedTasks: 0 });
  });

  test("finds and cites the gold email at the rate expected from a keyword search", () => {
    const missed = alone.results.filter((result) => !result.sourcesCorrect).map((result) => result.taskId);
    expect(alone.totals.foundGold).toBeGreaterThanOrEqual(0.97);
    expect(alone.totals.sourcesCorrect, `not cited: ${missed.join(", ")}`).toBeGreaterThanOrEqual(0.8);
  });

  test("returns identical answers with one and with sixteen concurrent tasks", async () => {
    expect(answersOf(await run(16))).toBe(answersOf(alone));
  });
});
