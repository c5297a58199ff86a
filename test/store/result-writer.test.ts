/** The thread is a file of the built program. */
import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ResultWriter } from "../../src/store/result-writer.js";
import { openEmpty, type TestDb } from "../runner/demo-setup.js";
import { finished, saveRun } from "./saved-runs.js";

const { threadedResultWriter } = (await import(join(import.meta.dirname, "../../dist/store/result-writer.js"))) as {
  threadedResultWriter(path: string): ResultWriter;
};

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
  return writer.save(trace, result, false);
};
const saved = () => test.db.prepare("SELECT task_id FROM results ORDER BY task_id").pluck().all();

it("saves all that finish at once", async () => {
  const tasks = Array.from({ length: 200 }, (_, i) => i + 1);
  await Promise.all(tasks.map((task) => save(task)));
  expect(saved()).toEqual(tasks);
});

it("has a task in the file when it says so", async () => {
  for (const task of [1, 2, 3]) {
    await save(task);
    expect(saved()).toContain(task);
  }
});

it("saves the others where one cannot be saved, and says which", async () => {
  await save(1, "trace_taken");
  const outcomes = await Promise.allSettled(
    [2, 3, 4, 5].map((task) => save(task, task === 4 ? "trace_taken" : undefined)),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[2]).toMatchObject({ reason: { code: "db_unwritable", message: expect.stringContaining("UNIQUE") } });
  expect(saved()).toEqual([1, 2, 3, 5]);
});

it("tells all that wait of a file that another program holds, when it has waited once", {
  timeout: 60_000,
}, async () => {
  await save(1);
  const other = new Database(test.db.name);
  other.exec("BEGIN IMMEDIATE");
  try {
    const outcomes = await Promise.allSettled([2, 3, 4, 6, 7, 8].map((task) => save(task)));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("locked") } });
    }
  } finally {
    other.close();
  }
  await save(5);
  expect(saved()).toEqual([1, 5]);
});

it("does not let the log grow with the run", async () => {
  const answer = "long ".repeat(400_000);
  const long = Array.from({ length: 20 }, (_, i) => {
    const { trace, result } = finished("run", i + 1, 1);
    return writer.save({ ...trace, answer }, { ...result, agentAnswer: answer }, false);
  });
  await Promise.all(long);
  expect(saved()).toHaveLength(20);
  expect(statSync(`${test.db.name}-wal`).size).toBeLessThan(64 * 1024 * 1024);
});

it("leaves no log to whoever closes the file last", async () => {
  await save(1);
  expect(statSync(`${test.db.name}-wal`).size).toBeGreaterThan(0);
  await writer.close();
  expect(statSync(`${test.db.name}-wal`).size).toBe(0);
  expect(saved()).toEqual([1]);
});

it("fails what comes when it is closed", async () => {
  await writer.close();
  await expect(save(1)).rejects.toThrow("a thread ended");
});
