import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Completion, type Model, ModelError } from "../../src/models/model.js";
import { UserError } from "../../src/platform/errors.js";
import { checkMailboxes } from "../../src/questions/check-mailboxes.js";
import { createRun } from "../../src/runs/create-run.js";
import { newRunPlan, type RunPlan } from "../../src/runs/plan-run.js";
import { resumeRun } from "../../src/runs/resume-run.js";
import { WAIT_INDEFINITELY } from "../../src/store/write-transaction.js";
import type { Question, QuestionSet } from "../../src/tasks/question.js";
import { attemptPages } from "../../src/traces/results-store.js";
import type { RunOwner } from "../../src/traces/run-lock.js";
import { getRun } from "../../src/traces/runs-store.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, MARCUS, openDemo, openEmpty, RUTH, type TestDb } from "./demo-setup.js";
import {
  answersOf,
  baseline,
  benchmark,
  type Finished,
  REPLY,
  remote,
  resumed,
  settingsOf,
  unhurried,
  WORKER,
} from "./run-setup.js";

describe("creating a run", () => {
  /** Runs that are resumed. */

  /** N of the demo's questions. */
  const TASKS = 24;
  let demo: TestDb;
  let set: QuestionSet;

  beforeEach(async () => {
    demo = await openDemo();
    const all = await demoSet();
    set = { ...all, questions: all.questions.slice(0, TASKS) };
  });

  afterEach(() => demo.close());

  /** Stops the run after N finished tasks. */
  function stopAfter(tasks: number) {
    const controller = new AbortController();
    let finished = 0;
    return {
      signal: controller.signal,
      onEvent: (event: { type: string }) => {
        if (event.type === "task_finished" && ++finished === tasks) controller.abort(new Error("Ctrl-C"));
      },
    };
  }

  const begun = ({ events }: Finished) =>
    events.flatMap((event) => (event.type === "task_started" ? event.taskId : []));

  /** Answers immediately. Throws for the named questions while they are listed, and counts requests. */
  function answering() {
    const failing = new Set<string>();
    const asked: string[] = [];
    const model: Model = {
      id: "anthropic/claude-sonnet-4-5",
      async complete({ messages }): Promise<Completion> {
        const question = messages.find(({ role }) => role === "user")?.content ?? "";
        asked.push(question);
        if (failing.has(question)) throw new ModelError("bad_request", "400 no", { status: 400, retryable: false });
        return { ...REPLY, usage: { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 0 } };
      },
    };
    return { model, failing, asked };
  }

  test("keeps a plan as long as its run, and frees its questions when they are in the database", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    // In a separate function, so that the test keeps no reference.
    const planned = (): { plan: RunPlan; question: WeakRef<Question> } => {
      const tasks = set.questions.map((question) => ({ kind: "question" as const, task: { ...question } }));
      const dataset = { source: "demo", revision: null, sha256: "0", split: "test" as const };
      const parts = { set: dataset, tasks, settings: settingsOf(demo.db, { model: answering().model, set }) };
      const plan = newRunPlan(demo.db, { ...parts, suite: {}, model: {} } as never, { epochs: 2, tags: [] } as never);
      return { plan, question: new WeakRef(tasks[0]?.task as Question) };
    };
    const { plan, question } = planned();
    await delay(1);
    collectGarbage();
    expect(question.deref()).toBeDefined();
    const session = await plan.begin(WORKER, WAIT_INDEFINITELY);
    expect(session.left).toBe(2 * TASKS);
    await delay(1);
    collectGarbage();
    expect(question.deref()).toBeUndefined();
    expect(await plan.tasks()).toBe(2 * TASKS);
  });

  describe("a resumed run", () => {
    test("answers exactly the missing tasks, in the run's order, and reports the finished ones", async () => {
      const wanted = { agentId: "baseline", model: unhurried(await baseline()), set, concurrency: 1 };
      const questions = set.questions.toReversed();
      const first = await benchmark(demo.db, { ...wanted, questions, ...stopAfter(10) });
      expect(first).toMatchObject({ run: { status: "interrupted" }, stopped: { by: "user" }, requestedTasks: TASKS });
      expect(first.results).toHaveLength(10);
      const second = await resumed(demo.db, wanted, first.run.id);
      const ids = questions.map(({ id }) => id);
      // The eleventh was started while the tenth was saved.
      expect([begun(first), begun(second)]).toEqual([ids.slice(0, 11), ids.slice(10)]);
      expect(second.events.slice(0, 11)).toEqual([
        { type: "run_started", runId: first.run.id, tasks: TASKS },
        ...first.results.map((result) => ({ type: "task_kept", result })),
      ]);
      expect(second).toMatchObject({ run: { status: "completed" }, stopped: null, requestedTasks: TASKS });
      expect(second.results).toHaveLength(TASKS);
      const earlier = new Set(first.results.map(({ traceId }) => traceId));
      expect(second.results.filter(({ traceId }) => earlier.has(traceId))).toEqual(first.results);
    });

    test("reaches the same answers and totals as an uninterrupted run", async () => {
      const wanted = { agentId: "baseline", model: await baseline(), set, concurrency: 4 };
      const whole = await benchmark(demo.db, wanted);
      let part = await benchmark(demo.db, { ...wanted, ...stopAfter(5) });
      for (const tasks of [1, 8, 3]) part = await resumed(demo.db, { ...wanted, ...stopAfter(tasks) }, part.run.id);
      part = await resumed(demo.db, wanted, part.run.id);
      expect(answersOf(part)).toBe(answersOf(whole));
      const figures = ({ totals }: Finished) => {
        const {
          runId: _,
          startedAt: __,
          completedAt: ___,
          totalTimeMs: ____,
          avgExecutionTimeMs: _____,
          avgModelTimeMs: _model,
          avgToolTimeMs: _tool,
          avgWaitingTimeMs: _waiting,
          ...same
        } = totals;
        return same;
      };
      expect(figures(part)).toEqual(figures(whole));
    });

    test("adds up its working time, and records when it last ended", async () => {
      const wanted = { agentId: "baseline", model: await baseline(), set };
      const first = await benchmark(demo.db, { ...wanted, ...stopAfter(10) });
      const { run, totals } = await resumed(demo.db, wanted, first.run.id);
      expect(run.activeMs).toBeGreaterThan(first.run.activeMs);
      expect(totals).toMatchObject({ totalTimeMs: run.activeMs, startedAt: first.run.startedAt });
      expect((run.completedAt ?? "") > (first.run.completedAt ?? "")).toBe(true);
    });

    test("makes no request, and stays unchanged, if no task is missing", async () => {
      const { model, asked } = answering();
      const wanted = { model, set, questions: set.questions.slice(0, 3) };
      const first = await benchmark(demo.db, wanted);
      const second = await resumed(demo.db, wanted, first.run.id, true);
      expect(asked).toHaveLength(3);
      expect(second.results).toEqual(first.results);
      expect(second.run.status).toBe("completed");
    });
  });

  describe("failed tasks", () => {
    test("stay failed by default, and a repeat adds only the cost of the failed attempt", async () => {
      const { model, failing, asked } = answering();
      const questions = set.questions.slice(0, 5);
      const [one, two] = questions.slice(1, 3).map(({ question }) => question);
      failing.add(one ?? "").add(two ?? "");
      const wanted = { model, set, questions };
      const first = await benchmark(demo.db, wanted);
      expect(first.totals).toMatchObject({ completedTasks: 3, failedTasks: 2 });
      await resumed(demo.db, wanted, first.run.id);
      expect(asked).toHaveLength(5);

      failing.delete(one ?? "");
      const again = await resumed(demo.db, wanted, first.run.id, true);
      expect(asked.slice(5).sort()).toEqual([one, two].sort());
      expect(again.events[0]).toMatchObject({ tasks: 5 });
      expect(again.totals).toMatchObject({ totalTasks: 5, completedTasks: 4, failedTasks: 1 });
      expect(again.totals.endings).toEqual({ answered: 4, model_error: 1 });
      const attempts = [...attemptPages(demo.db, first.run.id)].flat();
      expect(attempts.flatMap(({ result, isSuperseded }) => (isSuperseded ? result.taskId : []))).toEqual(
        questions
          .slice(1, 3)
          .map(({ id }) => id)
          .sort((a, b) => a - b),
      );
      const overAll = again.totals.overAllTasks;
      expect(overAll.tasks).toBe(5);
    });

    test("keep the cost of their failed attempts when they are answered", async () => {
      let down = true;
      const usage = { inputTokens: 1000, outputTokens: 20, cachedInputTokens: 0 };
      const provider = await startFakeProvider(({ turn }) => {
        if (turn === 0) return { toolCalls: [{ name: "email_get", arguments: { message_id: "<a@b>" } }], usage };
        return down ? { fail: "status", status: 400 } : { content: "done", usage };
      });
      const wanted = {
        model: await remote("anthropic", provider.baseUrl("anthropic")),
        set,
        questions: set.questions.slice(0, 1),
      };
      const first = await benchmark(demo.db, wanted);
      expect(first.totals).toMatchObject({ failedTasks: 1, usage, turns: 1 });
      down = false;
      const { totals, results } = await resumed(demo.db, wanted, first.run.id, true);
      expect(results).toMatchObject([{ ending: "answered", turns: 2, usage: { inputTokens: 2000, outputTokens: 40 } }]);
      expect(totals).toMatchObject({ completedTasks: 1, failedTasks: 0, turns: 3, endings: { answered: 1 } });
      expect(totals.usage).toEqual({ inputTokens: 3000, outputTokens: 60, cachedInputTokens: 0 });
      expect(totals.costUsd).toBeCloseTo((3 * (1000 * 3 + 20 * 15)) / 1e6, 12);
      expect(totals.avgExecutionTimeMs).toBe(results[0]?.executionTimeMs);
      await provider.close();
    });
  });

  describe("a question with three epochs", () => {
    test("gets one result per epoch, and the first epoch of all questions comes first", async () => {
      const { model } = answering();
      const questions = set.questions.slice(0, 4);
      const wanted = { model, set, questions, epochs: 3, concurrency: 1 };
      const first = await benchmark(demo.db, { ...wanted, ...stopAfter(6) });
      const ids = questions.map(({ id }) => id);
      // The seventh was answered while the sixth was saved.
      expect(begun(first)).toEqual([...ids, ...ids.slice(0, 3)]);
      const { results, traces, totals, ...second } = await resumed(demo.db, wanted, first.run.id);
      expect(begun({ results, traces, totals, ...second })).toEqual([...ids.slice(3), ...ids]);
      const pairs = ids.toSorted((a, b) => a - b).flatMap((id) => [1, 2, 3].map((epoch) => [id, epoch]));
      expect(results.map(({ taskId, epoch }) => [taskId, epoch])).toEqual(pairs);
      expect(traces.map(({ taskId, epoch }) => [taskId, epoch])).toEqual(pairs);
      expect(totals).toMatchObject({ totalTasks: 12, completedTasks: 12 });
      expect(new Set(results.map(({ traceId }) => traceId)).size).toBe(12);
    });
  });

  describe("a locked run", () => {
    const other = (gone: boolean): RunOwner => ({ name: "there:2", isGone: (name) => gone && name === WORKER.name });

    async function held() {
      const model = await baseline();
      const settings = settingsOf(demo.db, { model, set, agentId: "baseline" });
      const tasks = set.questions.map((question) => ({ kind: "question" as const, task: question, epoch: 1 }));
      await createRun(demo.db, { runId: "run_held", set, tasks, settings, worker: WORKER });
      return { run: getRun(demo.db, "run_held"), settings };
    }

    test("stays unchanged, and rejects another process", async () => {
      const { run, settings } = await held();
      const changed = { ...settings, maxTurns: 99 };
      const request = { settings: changed, retryFailed: false, worker: other(false) };
      await expect(resumeRun(demo.db, run, request)).rejects.toThrow(
        expect.objectContaining({ code: "run_busy", exitCode: 1, message: expect.stringContaining(WORKER.name) }),
      );
      expect(getRun(demo.db, run.id)).toEqual(run);
    });

    test("belongs to another worker after the first was killed, and rejects a third worker", async () => {
      const { run, settings } = await held();
      const session = await resumeRun(demo.db, run, { settings, retryFailed: false, worker: other(true) });
      expect(Array.from(session.tasks, ({ task }) => task)).toEqual(set.questions);
      const third = resumeRun(demo.db, run, { settings, retryFailed: false, worker: WORKER });
      await expect(third).rejects.toThrow("there:2");
    });

    test.each(["completed", "interrupted"])("becomes free if it is %s", async (how) => {
      const stop = how === "completed" ? {} : { ...stopAfter(3), concurrency: 1 };
      const left = how === "completed" ? 0 : TASKS - 3;
      const model = unhurried(await baseline());
      const { run } = await benchmark(demo.db, { agentId: "baseline", model, set, ...stop });
      expect(run.status).toBe(how);
      const request = { settings: run.settings, retryFailed: false, worker: other(false) };
      await expect(resumeRun(demo.db, run, request)).resolves.toMatchObject({ finished: run.totalTasks - left, left });
    });
  });
});

describe("checking mailboxes", () => {
  let demo: TestDb;

  beforeAll(async () => {
    demo = await openDemo();
  });

  afterAll(() => demo.close());

  const about = (inbox_address: string, id = 1): Question => ({
    id,
    question: "?",
    answer: "a",
    message_ids: [],
    how_realistic: 1,
    inbox_address,
    query_date: "2001-05-14",
  });

  function refusal(action: () => void): UserError {
    try {
      action();
    } catch (error) {
      if (error instanceof UserError) return error;
      throw error;
    }
    throw new Error("not refused");
  }

  describe("checkMailboxes with missing mail", () => {
    test.each([false, true])("rejects a file without mail, even with partial mailboxes allowed (%s)", (partial) => {
      const { db, close } = openEmpty();
      const error = refusal(() => checkMailboxes(db, [about(MARCUS)], partial));
      expect(error).toMatchObject({
        code: "corpus_empty",
        message: `${db.name} does not contain any mail.`,
        exitCode: 2,
      });
      expect(error.hint).toContain("art-e import");
      close();
    });

    test("names a mailbox that is not imported", () => {
      const questions = [about(MARCUS), about("kay.mann@enron.example"), about("kay.mann@enron.example")];
      const error = refusal(() => checkMailboxes(demo.db, questions, false));
      expect(error).toMatchObject({
        code: "inbox_missing",
        message: "2 of 3 questions are about mailboxes that were not imported: kay.mann@enron.example.",
      });
      expect(error.hint).toContain(MARCUS);
      expect(error.hint).toContain("--owner-map");
      expect(error.hint).toContain("--partial-inboxes");
    });

    test("suggests only flags that the command has", () => {
      const error = refusal(() => checkMailboxes(demo.db, [about("kay.mann@enron.example")]));
      expect(error.hint).toContain("--owner-map at import. Imported:");
    });

    test("rejects a person whose mail was only in other people's folders", () => {
      expect(refusal(() => checkMailboxes(demo.db, [about("amontero@merriwellgas.example")], false)).code).toBe(
        "inbox_missing",
      );
    });

    test("does not name every missing mailbox if there are many", () => {
      const questions = Array.from({ length: 8 }, (_, i) => about(`p${i}@x.example`));
      expect(refusal(() => checkMailboxes(demo.db, questions, false)).message).toBe(
        "8 of 8 questions are about mailboxes that were not imported: p0@x.example, p1@x.example, p2@x.example, p3@x.example, p4@x.example, and 3 more.",
      );
    });
  });

  describe("checkMailboxes with mail", () => {
    test("accepts questions about imported mailboxes, and an empty list of questions", () => {
      expect(() => checkMailboxes(demo.db, [about(MARCUS), about(RUTH)], false)).not.toThrow();
      expect(() => checkMailboxes(demo.db, [], false)).not.toThrow();
    });

    test("accepts any mail of a mailbox if the user allows it", () => {
      const questions = [about("amontero@merriwellgas.example"), about("nobody@x.example")];
      expect(() => checkMailboxes(demo.db, questions, true)).not.toThrow();
      expect(refusal(() => checkMailboxes(demo.db, questions, false)).code).toBe("inbox_missing");
    });
  });
});
