import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { estimatePace, RunSubscriptions } from "../../src/runs/run-progress.js";
import { type Db, openReadOnly } from "../../src/store/open-store.js";
import { type RunProcessState, type RunProgress, runProgressSchema } from "../../src/traces/progress.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { acquireRunLock, thisProcess } from "../../src/traces/run-lock.js";
import { deleteRun, finishRun, setRunName } from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { finished, saveRun } from "../traces/saved-runs.js";
import { openEmpty, type TestDb } from "./demo-setup.js";

describe("watching a run", () => {
  let test: TestDb;
  let reader: Db;
  let faults: unknown[];
  let subscriptions: RunSubscriptions;

  beforeEach(() => {
    test = openEmpty();
    reader = openReadOnly(test.db.name);
    faults = [];
    subscriptions = subscriptionsOf(reader);
  });

  afterEach(() => {
    reader.close();
    test.close();
  });

  const subscriptionsOf = (db: Db, process: RunProcessState | null = null) =>
    new RunSubscriptions(
      db,
      () => process,
      (fault) => faults.push(fault),
    );

  let traces = 0;

  function saveTask(task: number, score: number | null, more: Partial<TaskResult> = {}): void {
    const { trace, result } = finished("run_1", task, score, `trace_${++traces}`);
    const scores: Record<string, number> = score === null ? {} : { semanticScore: score };
    openRowWriter(test.db)(toResultRow(trace, { ...result, scores, ...more }));
  }

  const costs = (usd: number): Partial<TaskResult> => ({
    costUsd: usd,
    judgeCostUsd: usd / 2,
    spent: { usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }, costUsd: usd },
  });

  /** A listener, and its received values. */
  function listen(runId = "run_1") {
    const told: RunProgress[] = [];
    const unsubscribe = subscriptions.subscribe(runId, (progress) => told.push(runProgressSchema.parse(progress)));
    return { told, newest: () => told.at(-1), unsubscribe };
  }

  describe("a subscription to a run", () => {
    it("sends its state immediately, then every change, and nothing if nothing changes", async () => {
      saveRun(test.db, "run_1");
      acquireRunLock(test.db, "run_1", thisProcess);
      saveTask(1, 0.5, costs(2));
      const first = listen();
      await expect.poll(first.newest).toMatchObject({ doneTasks: 1, totalTasks: 2, status: "running", spentUsd: 3 });
      expect(first.newest()?.headline).toMatchObject({
        scorer: "semanticScore",
        label: "Word overlap",
        value: 0.5,
        n: 1,
      });
      await subscriptions.refresh();
      await subscriptions.refresh();
      expect(first.told).toHaveLength(1);

      const second = listen();
      expect(second.newest()).toMatchObject({ doneTasks: 1 });
      saveTask(2, null, { ...costs(1), error: "no such model" });
      await subscriptions.refresh();
      for (const { newest } of [first, second]) {
        expect(newest()).toMatchObject({ doneTasks: 2, failedTasks: 1, spentUsd: 4.5, endings: { answered: 1 } });
        expect(newest()?.headline).toMatchObject({ value: 0.5, n: 1, overAll: { value: 0.25, n: 2 } });
        expect(newest()?.failures).toMatchObject([{ taskId: 2, ending: "model_error", error: "no such model" }]);
        expect(newest()?.newest.map(({ taskId, score }) => [taskId, score])).toEqual([
          [2, null],
          [1, 0.5],
        ]);
      }

      // Answered again: the failure is gone, but its cost is not.
      second.unsubscribe();
      saveTask(2, 1, costs(1));
      finishRun(test.db, "run_1", "completed", "2026-01-01T00:01:00.000Z", 60_000);
      await subscriptions.refresh();
      expect(first.newest()).toMatchObject({
        status: "completed",
        doneTasks: 2,
        failedTasks: 0,
        failures: [],
        spentUsd: 6,
      });
      expect(first.newest()?.headline).toMatchObject({ value: 0.75, n: 2, overAll: { value: 0.75, n: 2 } });
      expect(second.newest()?.doneTasks).toBe(2);
      expect(second.newest()?.status).toBe("running");
      first.unsubscribe();
      expect(faults).toEqual([]);
    });

    it("detects that the run's process has died, even if it wrote nothing", async () => {
      saveRun(test.db, "run_1");
      const name = thisProcess.name.replace(/:\d+.*/, ":999999999@1");
      acquireRunLock(test.db, "run_1", { name, isGone: () => false });
      const { newest, unsubscribe } = listen();
      await expect.poll(newest).toMatchObject({ status: "interrupted", msLeft: null });
      unsubscribe();
    });

    it("reports changes to a finished run, including writes on the same connection", async () => {
      saveRun(test.db, "run_1");
      finishRun(test.db, "run_1", "completed", "2026-01-01T00:01:00.000Z", 60_000);
      subscriptions = subscriptionsOf(test.db);
      const { told, newest, unsubscribe } = listen();
      await expect.poll(newest).toMatchObject({ status: "completed", name: null });
      await subscriptions.refresh();
      expect(told).toHaveLength(1);
      setRunName(test.db, "run_1", "first");
      await subscriptions.refresh();
      expect(newest()).toMatchObject({ name: "first" });
      unsubscribe();
      expect(faults).toEqual([]);
    });

    it("lists no finished task as running, even before the process reports its end", async () => {
      saveRun(test.db, "run_1");
      acquireRunLock(test.db, "run_1", thisProcess);
      saveTask(1, 0.5);
      saveTask(2, null);
      const ends = (later: number) => new Date(Date.parse("2026-01-01T00:00:00.000Z") + later).toISOString();
      const underWay = [
        // The saved attempt, a second attempt, and an unsaved one.
        { taskId: 1, epoch: 1, startedAt: ends(0), activity: null, since: ends(0) },
        { taskId: 2, epoch: 1, startedAt: ends(3_600_000), activity: null, since: ends(3_600_000) },
        { taskId: 1, epoch: 2, startedAt: ends(0), activity: null, since: ends(0) },
      ];
      const process = {
        state: "running" as const,
        underWay,
        underWayCount: 103,
        limiter: null,
        workers: null,
        retries: [],
        retriesUnderWay: 0,
      };
      subscriptions = subscriptionsOf(reader, process);
      const { newest, unsubscribe } = listen();
      await expect.poll(newest).toMatchObject({ doneTasks: 2 });
      const told = newest()?.process;
      expect(told?.underWay.map(({ taskId, epoch }) => `${taskId}/${epoch}`)).toEqual(["2/1", "1/2"]);
      expect(told?.underWayCount).toBe(102);
      unsubscribe();
      expect(faults).toEqual([]);
    });

    it("ends without a fault if the run is deleted, and starts again for the next listener", async () => {
      saveRun(test.db, "run_1");
      const told: string[] = [];
      const unsubscribe = subscriptions.subscribe(
        "run_1",
        ({ runId }) => told.push(runId),
        () => told.push("deleted"),
      );
      await expect.poll(() => told).toEqual(["run_1"]);
      deleteRun(test.db, "run_1");
      await subscriptions.refresh();
      expect({ told, faults }).toEqual({ told: ["run_1", "deleted"], faults: [] });
      unsubscribe();
      saveRun(test.db, "run_1");
      saveTask(1, 1);
      const second = listen();
      await expect.poll(second.newest).toMatchObject({ doneTasks: 1 });
      second.unsubscribe();
    });
  });
});

const NOW = 10_000_000;
const ago = (...seconds: number[]) => seconds.map((second) => NOW - 1_000 * second);

it("estimates the remaining time from recently finished tasks, not from old ones", () => {
  // Three tasks per minute: after the first, three in sixty seconds.
  expect(estimatePace(ago(0, 20, 40, 60), 30, NOW)).toEqual({ tasksPerMinute: 3, msLeft: 600_000 });
  expect(estimatePace(ago(0, 20, 40, 60, 3_600, 7_200), 30, NOW)).toEqual({ tasksPerMinute: 3, msLeft: 600_000 });
  // No task has finished for the same time again, so the estimate doubles.
  expect(estimatePace(ago(60, 80, 100, 120), 30, NOW)).toEqual({ tasksPerMinute: 1.5, msLeft: 1_200_000 });
});

it("does not estimate the remaining time if too few tasks are finished", () => {
  const unknown = { tasksPerMinute: null, msLeft: null };
  expect(estimatePace([], 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(10, 20), 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(10, 2_000, 3_000, 4_000), 3, NOW)).toEqual(unknown);
  expect(estimatePace(ago(0, 0, 0), 3, NOW)).toEqual(unknown);
});
