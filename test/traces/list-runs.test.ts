import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import {
  addRunTags,
  costOfRun,
  deleteRun,
  finishRun,
  getRun,
  listRuns,
  removeRunTags,
  scoreSums,
  setRunName,
  setRunNote,
} from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun } from "./saved-runs.js";

let test: TestDb;
beforeEach(() => {
  test = openEmpty();
});
afterEach(() => test.close());

let attempts = 0;

/** An attempt at a task, with its result as given. */
function saveTask(run: string, task: number, more: Partial<TaskResult> = {}, hasFailed = false): void {
  const { trace, result } = finished(run, task, hasFailed ? null : 0.5, `trace_${++attempts}`);
  openRowWriter(test.db)(toResultRow(trace, { ...result, ...more }, hasFailed ? "failed" : "finished"));
}

const listed = (filter: Parameters<typeof listRuns>[1]) => listRuns(test.db, filter).map(({ id }) => id);

describe("a list of runs", () => {
  it("tells those that match every filter given, newest first", () => {
    saveRun(test.db, "run_old", "2026-01-01T10:00:00.000Z");
    saveRun(test.db, "run_new", "2026-01-02T10:00:00.000Z");
    addRunTags(test.db, "run_old", ["nightly", "a"]);
    setRunName(test.db, "run_old", "Before the Fix");
    setRunNote(test.db, "run_new", "with a longer prompt");
    finishRun(test.db, "run_new", "completed", "2026-01-02T10:01:00.000Z", 10);
    expect(listed({})).toEqual(["run_new", "run_old"]);
    expect(listed({ agent: "email-search", model: "script", dataset: "questions" })).toEqual(["run_new", "run_old"]);
    expect(listed({ agent: "other" })).toEqual([]);
    expect(listed({ model: "scr_pt" })).toEqual([]);
    expect(listed({ tag: "nightly" })).toEqual(["run_old"]);
    expect(listed({ text: "before the" })).toEqual(["run_old"]);
    expect(listed({ text: "LONGER" })).toEqual(["run_new"]);
    expect(listed({ since: "2026-01-02" })).toEqual(["run_new"]);
    expect(listed({ before: "2026-01-02" })).toEqual(["run_old"]);
    expect(listed({ status: "completed" })).toEqual(["run_new"]);
    expect(listed({ status: "interrupted", tag: "a" })).toEqual(["run_old"]);
    expect(listRuns(test.db)[1]).toMatchObject({ name: "Before the Fix", note: null, tags: ["a", "nightly"] });
  });

  it("counts tasks, completed tasks, and the cost of all attempts", () => {
    saveRun(test.db, "run_a");
    saveTask("run_a", 1, { costUsd: 0.25 }, true);
    saveTask("run_a", 1, { costUsd: 0.5 });
    saveTask("run_a", 2, { costUsd: 0.125 }, true);
    expect(listRuns(test.db)).toMatchObject([{ tasks: 2, completedTasks: 1, totalTasks: 2 }]);
    expect(costOfRun(test.db, "run_a")).toBe(0.875);
    saveTask("run_a", 2, { costUsd: null });
    expect(listRuns(test.db)).toMatchObject([{ completedTasks: 2 }]);
    expect(costOfRun(test.db, "run_a")).toBeNull();
  });
});

describe("the sums of a score", () => {
  it("are of completed tasks that have one, task by task", () => {
    saveRun(test.db, "run_a");
    saveTask("run_a", 1, { scores: { exactMatch: 1, semanticScore: 0.5 } });
    saveTask("run_a", 2, { scores: { exactMatch: null, semanticScore: 0.25 } });
    expect(scoreSums(test.db, "run_a", "semanticScore")).toEqual([
      { n: 1, sum: 0.5, squares: 0.25 },
      { n: 1, sum: 0.25, squares: 0.0625 },
    ]);
    expect(scoreSums(test.db, "run_a", "exactMatch")).toEqual([{ n: 1, sum: 1, squares: 1 }]);
    expect(scoreSums(test.db, "run_a", "judgeCorrect")).toEqual([]);
  });
});

describe("a run", () => {
  it("is found by its name, before another whose id begins with that", () => {
    saveRun(test.db, "run_a");
    saveRun(test.db, "baseline-2");
    setRunName(test.db, "run_a", "baseline");
    expect(getRun(test.db, "baseline").id).toBe("run_a");
    expect(getRun(test.db, "baseline-").id).toBe("baseline-2");
    setRunName(test.db, "run_a", null);
    expect(getRun(test.db, "baseline").id).toBe("baseline-2");
  });

  it("is the latest only with a result, be it a failed one, where any run has one; but to go on, the newest is", () => {
    saveRun(test.db, "run_a", "2026-01-01T00:00:00.000Z");
    saveRun(test.db, "run_b", "2026-01-02T00:00:00.000Z");
    expect(getRun(test.db, "latest").id).toBe("run_b");
    saveTask("run_a", 1);
    expect(getRun(test.db, "latest").id).toBe("run_a");
    expect(getRun(test.db, "latest", "newest").id).toBe("run_b");
    saveTask("run_b", 1, {}, true);
    expect(getRun(test.db, "latest").id).toBe("run_b");
  });

  it("loses tags that are taken away, and keeps the others", () => {
    saveRun(test.db, "run_a");
    addRunTags(test.db, "run_a", ["x", "y", "x"]);
    removeRunTags(test.db, "run_a", ["x", "z"]);
    expect(getRun(test.db, "run_a").tags).toEqual(["y"]);
  });

  it("is deleted with all that is its own, and nothing of another", () => {
    for (const id of ["run_a", "run_b"]) {
      saveRun(test.db, id);
      saveTask(id, 1);
      addRunTags(test.db, id, ["t"]);
    }
    deleteRun(test.db, "run_a");
    for (const table of ["runs", "results", "traces", "run_tags"]) {
      expect([table, test.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()]).toEqual([table, 1]);
    }
    expect(getRun(test.db, "latest").id).toBe("run_b");
    expect(test.db.pragma("foreign_key_check")).toEqual([]);
  });
});
