import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../src/store/sqlite.js";
import type { PlannedTask } from "../../src/tasks/question.js";
import { type ResultWriter, threadedResultWriter } from "../../src/traces/result-writer.js";
import { remainingPositions, saveRunTasks, tasksAt } from "../../src/traces/results-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, QUESTIONS, saveRun, saveTask } from "./saved-runs.js";

describe("planned tasks", () => {
  const [ONE, TWO] = QUESTIONS.questions;

  if (ONE === undefined || TWO === undefined) throw new Error("two questions are needed");

  const PLAN = [
    { kind: "question" as const, task: TWO, epoch: 1 },
    { kind: "question" as const, task: ONE, epoch: 1 },
    { kind: "question" as const, task: TWO, epoch: 2 },
    { kind: "question" as const, task: ONE, epoch: 2 },
  ];

  let test: TestDb;

  beforeEach(() => {
    test = openEmpty();
    saveRun(test.db, "run_a");
    saveRunTasks(test.db, "run_a", PLAN);
  });

  afterEach(() => test.close());

  const remaining = (runId: string, retryFailed: boolean) => [
    ...tasksAt(test.db, runId, [...remainingPositions(test.db, runId, retryFailed)].flat()),
  ];

  const left = (retryFailed = false) => remaining("run_a", retryFailed).map(({ task, epoch }) => [task.id, epoch]);
  const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

  describe("a run's remaining positions", () => {
    it("include all tasks at first, in order and with the original questions", () => {
      expect(remaining("run_a", false)).toEqual(
        PLAN.map((planned) => ({ ...planned, task: { ...planned.task, split: "test" } })),
      );
    });

    it("include tasks that have no result in this epoch and run", () => {
      saveRun(test.db, "run_b");
      saveTask(test.db, "run_b", 1, 1);
      saveTask(test.db, "run_a", 2, 1);
      expect(left()).toEqual([
        [1, 1],
        [2, 2],
        [1, 2],
      ]);
    });

    it("include failed tasks only if retryFailed is set, based on their last attempt", () => {
      saveTask(test.db, "run_a", 1, null, "trace_1");
      saveTask(test.db, "run_a", 2, null, "trace_2");
      saveTask(test.db, "run_a", 2, 0, "trace_3");
      const unanswered = [
        [2, 2],
        [1, 2],
      ];
      expect(left()).toEqual(unanswered);
      expect(left(true)).toEqual([[1, 1], ...unanswered]);
      saveTask(test.db, "run_a", 1, null, "trace_4");
      expect(left(true)).toEqual([[1, 1], ...unanswered]);
    });

    it("form an empty list for an unknown run", () => {
      expect(remaining("run_x", true)).toEqual([]);
    });

    it("come one page at a time, and tasks a few at a time when needed", () => {
      saveRun(test.db, "run_b");
      const plan = Array.from({ length: 301 }, (_, i) => ({ kind: "question" as const, task: ONE, epoch: i + 1 }));
      saveRunTasks(test.db, "run_b", plan);
      test.db.exec("DELETE FROM run_tasks WHERE run_id = 'run_b' AND position BETWEEN 101 AND 200");
      const pages = [...remainingPositions(test.db, "run_b", false)];
      expect(pages.map(({ length }) => length)).toEqual([100, 0, 100, 1]);
      const tasks = tasksAt(test.db, "run_b", pages.flat());
      expect(tasks.next().value?.epoch).toBe(1);
      test.db.exec("UPDATE art_e_tasks SET question = 'Another?' WHERE id = 1");
      const others = [...tasks];
      expect(others.map(({ epoch }) => epoch)).toEqual([...range(2, 100), ...range(201, 301)]);
      const isReadLater = ({ kind, task }: PlannedTask) => kind === "question" && task.question === "Another?";
      expect(others.filter(isReadLater).map(({ epoch }) => epoch)).toEqual([...range(21, 100), ...range(201, 301)]);
    });

    it("belong to the run's own split of a dataset", () => {
      test.db.exec("UPDATE art_e_tasks SET split = 'train' WHERE id = 1");
      expect(left()).toEqual([
        [2, 1],
        [2, 2],
      ]);
    });
  });
});

describe("the result writer", () => {
  let test: TestDb;
  let writer: ResultWriter;

  beforeEach(() => {
    test = openEmpty();
    saveRun(test.db, "run");
    writer = threadedResultWriter(test.db.name);
  });

  afterEach(async () => {
    await writer.close();
    test.close();
  });

  const save = (taskId: number, traceId?: string) => {
    const { trace, result } = finished("run", taskId, 1, traceId);
    return writer.save(trace, result);
  };

  const saved = () => test.db.prepare("SELECT task_id FROM results ORDER BY task_id").pluck().all();

  it("saves all tasks that finish together", async () => {
    const tasks = Array.from({ length: 200 }, (_, i) => i + 1);
    await Promise.all(tasks.map((task) => save(task)));
    expect(saved()).toEqual(tasks);
  });

  it("reports a task as saved only after saving it", async () => {
    for (const task of [1, 2, 3]) {
      await save(task);
      expect(saved()).toContain(task);
    }
  });

  it("saves the other tasks if one cannot be saved, and reports which one", async () => {
    await save(1, "trace_taken");
    const outcomes = await Promise.allSettled(
      [2, 3, 4, 5].map((task) => save(task, task === 4 ? "trace_taken" : undefined)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[2]).toMatchObject({
      reason: { code: "db_unwritable", message: expect.stringContaining("UNIQUE") },
    });
    expect(saved()).toEqual([1, 2, 3, 5]);
  });

  describe("waiting for another program that holds the file", { timeout: 60_000 }, () => {
    async function waits(signal: AbortSignal) {
      await writer.close();
      let onWait = () => {};
      const begun = new Promise<void>((resolve) => {
        onWait = resolve;
      });
      writer = threadedResultWriter(test.db.name, { waiting: { signal, onWait: () => onWait() } });
      await save(1);
      const other = new Database(test.db.name);
      other.exec("BEGIN IMMEDIATE");
      const outcomes = Promise.all([2, 3, 4].map((task) => save(task)));
      await begun;
      return { other, outcomes };
    }

    it("lets tasks wait as long as necessary", async () => {
      const { other, outcomes } = await waits(new AbortController().signal);
      other.close();
      expect(await outcomes).toEqual([true, true, true]);
      expect(saved()).toEqual([1, 2, 3, 4]);
    });

    it("stops waiting when aborted, and reports the tasks as unsaved", async () => {
      const stop = new AbortController();
      const { other, outcomes } = await waits(stop.signal);
      stop.abort();
      expect(await outcomes).toEqual([false, false, false]);
      other.close();
      expect(saved()).toEqual([1]);
    });
  });

  describe("after the loss of the file", () => {
    it.each<[string, (path: string) => void]>([
      ["deleted", rmSync],
      [
        "replaced",
        (path) => {
          copyFileSync(path, `${path}.copy`);
          renameSync(`${path}.copy`, path);
        },
      ],
      ["cut off", (path) => truncateSync(path, 5_000)],
    ])("does not report tasks as saved if the file was %s", async (_, lose) => {
      await save(1);
      test.db.pragma("wal_checkpoint(PASSIVE)");
      await save(3);
      lose(test.db.name);
      await expect(save(2)).rejects.toMatchObject({ code: "db_unwritable" });
      expect(writer.recent().map((trace) => JSON.parse(trace).taskId)).toEqual([1, 3, 2]);
    });
  });

  it("keeps the log from growing with the run", async () => {
    const answer = "long ".repeat(400_000);
    const long = Array.from({ length: 20 }, (_, i) => {
      const { trace, result } = finished("run", i + 1, 1);
      return writer.save({ ...trace, answer }, { ...result, agentAnswer: answer });
    });
    await Promise.all(long);
    expect(saved()).toHaveLength(20);
    expect(statSync(`${test.db.name}-wal`).size).toBeLessThan(64 * 1024 * 1024);
  });

  it("leaves no log that the last connection would have to truncate", async () => {
    await save(1);
    expect(statSync(`${test.db.name}-wal`).size).toBeGreaterThan(0);
    await writer.close();
    expect(statSync(`${test.db.name}-wal`).size).toBe(0);
    expect(saved()).toEqual([1]);
  });

  it("rejects tasks after it was closed", async () => {
    await writer.close();
    await expect(save(1)).rejects.toThrow("a thread exited");
  });
});
