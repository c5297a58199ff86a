import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../../src/platform/errors.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { attemptPages, iterateResults, saveTasks } from "../../src/traces/results-store.js";
import { costOfRun, scoreSums } from "../../src/traces/run-figures.js";
import { listRuns } from "../../src/traces/run-list.js";
import { acquireRunLock, thisProcess } from "../../src/traces/run-lock.js";
import { NO_LIMITS } from "../../src/traces/run-settings.js";
import {
  addRunTags,
  deleteRun,
  finishRun,
  getRun,
  removeRunTags,
  reopenRun,
  setRunName,
  setRunNote,
} from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, QUESTION_TASKS, QUESTIONS, SETTINGS, saveRun, saveTask } from "./saved-runs.js";

describe("listing runs", () => {
  let test: TestDb;

  beforeEach(() => {
    test = openEmpty();
  });

  afterEach(() => test.close());

  let attempts = 0;

  /** An attempt at a task with its result. */
  function saveTask(run: string, task: number, more: Partial<TaskResult> = {}, hasFailed = false): void {
    const { trace, result } = finished(run, task, hasFailed ? null : 0.5, `trace_${++attempts}`);
    openRowWriter(test.db)(toResultRow(trace, { ...result, ...more }));
  }

  const listed = (filter: Parameters<typeof listRuns>[1]) => listRuns(test.db, filter).map(({ id }) => id);

  describe("a list of runs", () => {
    it("contains the runs that match every filter, newest first", () => {
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
      expect(costOfRun(test.db, "run_a")).toEqual({ costUsd: 0.875, judgeCostUsd: 0, totalCostUsd: 0.875 });
      saveTask("run_a", 2, { costUsd: null });
      expect(listRuns(test.db)).toMatchObject([{ completedTasks: 2 }]);
      expect(costOfRun(test.db, "run_a")).toEqual({ costUsd: null, judgeCostUsd: 0, totalCostUsd: null });
    });
  });

  describe("scoreSums", () => {
    it("returns the sums over completed tasks that have the score, task by task", () => {
      saveRun(test.db, "run_a");
      saveTask("run_a", 1, { scores: { exactMatch: 1, semanticScore: 0.5 } });
      saveTask("run_a", 2, { scores: { exactMatch: null, semanticScore: 0.25 } });
      expect(scoreSums(test.db, "run_a", ["semanticScore", "exactMatch", "judgeCorrect"])).toEqual([
        { scorer: "exactMatch", taskId: 1, n: 1, sum: 1 },
        { scorer: "semanticScore", taskId: 1, n: 1, sum: 0.5 },
        { scorer: "semanticScore", taskId: 2, n: 1, sum: 0.25 },
      ]);
      expect(scoreSums(test.db, "run_a", ["judgeCorrect"])).toEqual([]);
    });
  });

  describe("the lifecycle of a run", () => {
    it("finds a run by its name before another run whose id starts with that name", () => {
      saveRun(test.db, "run_a");
      saveRun(test.db, "baseline-2");
      setRunName(test.db, "run_a", "baseline");
      expect(getRun(test.db, "baseline").id).toBe("run_a");
      expect(getRun(test.db, "baseline-").id).toBe("baseline-2");
      setRunName(test.db, "run_a", null);
      expect(getRun(test.db, "baseline").id).toBe("baseline-2");
    });

    it("finds the newest run of an agent, unless another run has that name", () => {
      saveRun(test.db, "run_a", "2026-01-01T00:00:00.000Z");
      saveRun(test.db, "run_b", "2026-01-02T00:00:00.000Z");
      const agent = getRun(test.db, "run_a").agentId;
      expect(getRun(test.db, agent).id).toBe("run_b");
      saveTask("run_a", 1);
      expect(getRun(test.db, agent).id).toBe("run_a");
      expect(getRun(test.db, agent, "newest").id).toBe("run_b");
      setRunName(test.db, "run_b", agent);
      expect(getRun(test.db, agent).id).toBe("run_b");
      expect(() => getRun(test.db, `${agent}-unknown`)).toThrow(UserError);
    });

    it("selects the newest run that has a result, even a failed one, as the latest, but for a resume the newest", () => {
      saveRun(test.db, "run_a", "2026-01-01T00:00:00.000Z");
      saveRun(test.db, "run_b", "2026-01-02T00:00:00.000Z");
      expect(getRun(test.db, "latest").id).toBe("run_b");
      saveTask("run_a", 1);
      expect(getRun(test.db, "latest").id).toBe("run_a");
      expect(getRun(test.db, "latest", "newest").id).toBe("run_b");
      saveTask("run_b", 1, {}, true);
      expect(getRun(test.db, "latest").id).toBe("run_b");
    });

    it("removes tags, and keeps the others", () => {
      saveRun(test.db, "run_a");
      addRunTags(test.db, "run_a", ["x", "y", "x"]);
      removeRunTags(test.db, "run_a", ["x", "z"]);
      expect(getRun(test.db, "run_a").tags).toEqual(["y"]);
    });

    it("deletes a run with everything that belongs to it, and nothing else", () => {
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
});

describe("storing runs", () => {
  let test: TestDb;

  beforeEach(() => {
    test = openEmpty();
  });

  afterEach(() => test.close());

  function refusal(id: string): string {
    try {
      return `found ${getRun(test.db, id).id}`;
    } catch (error) {
      if (error instanceof UserError && error.code === "run_unknown") return error.message;
      throw error;
    }
  }

  describe("an unknown run", () => {
    it("appears in the error, whether requested by id or by prefix, unless it is the latest and there is none", () => {
      expect(refusal("run_nobody")).toBe(`Unknown run "run_nobody" in ${test.db.name}.`);
      expect(refusal("latest")).toBe(`No runs in ${test.db.name} yet.`);
      saveRun(test.db, "run_a");
      for (const id of ["run_b", "un_a", "run_a1", "RUN_A", "run_%", "run__"])
        expect(refusal(id)).toMatch(/^Unknown run/);
    });

    it("stays unknown if a prefix is ambiguous", () => {
      saveRun(test.db, "run_a1");
      saveRun(test.db, "run_a2");
      expect(refusal("run_a")).toBe('More than one run starts with "run_a".');
    });
  });

  describe("a stored run", () => {
    it("can be found by its id, by a prefix of it, and by its id even if another id starts with it", () => {
      saveRun(test.db, "run_abc");
      saveRun(test.db, "run_abcdef");
      saveRun(test.db, "run_b");
      expect(["run_abc", "run_abcd", "run_b"].map((id) => getRun(test.db, id).id)).toEqual([
        "run_abc",
        "run_abcdef",
        "run_b",
      ]);
    });

    it("counts as the latest if it was started last or, of several started at the same time, saved last", () => {
      saveRun(test.db, "run_new", "2026-01-02T00:00:00.000Z");
      saveRun(test.db, "run_old", "2026-01-01T00:00:00.000Z");
      expect(getRun(test.db, "latest").id).toBe("run_new");
      saveRun(test.db, "run_newer", "2026-01-02T00:00:00.000Z");
      expect(getRun(test.db, "latest").id).toBe("run_newer");
      expect(listRuns(test.db).map((run) => run.id)).toEqual(["run_newer", "run_new", "run_old"]);
    });

    it("comes back as it was saved, with its dataset", () => {
      const { datasetId: _, source, revision, ...run } = saveRun(test.db, "run_a");
      const { sha256 } = QUESTIONS;
      const dataset = { source, revision, sha256 };
      const labels = { name: null, note: null, tags: [] };
      const expected = { ...run, ...labels, settings: SETTINGS, dataset, limits: NO_LIMITS, output: null };
      acquireRunLock(test.db, "run_a", thisProcess);
      expect(getRun(test.db, "run_a")).toEqual({ ...expected, status: "running", activeMs: 0, completedAt: null });
      finishRun(test.db, "run_a", "interrupted", "2026-01-03T00:00:00.000Z", 1500.4);
      finishRun(test.db, "run_a", "interrupted", "2026-01-04T00:00:00.000Z", 500);
      expect(getRun(test.db, "run_a")).toMatchObject({
        status: "interrupted",
        activeMs: 2000,
        completedAt: "2026-01-04T00:00:00.000Z",
      });
    });

    it("shows its number of finished tasks in the list", () => {
      saveRun(test.db, "run_a");
      saveRun(test.db, "run_b");
      saveTask(test.db, "run_a", 1, 0.5);
      saveTask(test.db, "run_a", 2, null);
      const tasks = listRuns(test.db).map((run) => [run.id, run.tasks, run.totalTasks, run.status]);
      expect(tasks).toEqual([
        ["run_b", 0, 2, "interrupted"],
        ["run_a", 2, 2, "interrupted"],
      ]);
    });

    it("counts as running only as long as its process exists", async () => {
      saveRun(test.db, "run_a");
      const status = (holder: string) => {
        acquireRunLock(test.db, "run_a", { name: holder, isGone: () => true });
        test.db.exec("UPDATE runs SET status = 'running'");
        const listed = listRuns(test.db)[0]?.status;
        expect(getRun(test.db, "run_a").status).toBe(listed);
        return listed;
      };
      expect(status(thisProcess.name)).toBe("running");
      // Another process had this pid.
      expect(status(thisProcess.name.replace(/@\d+$/, "@1"))).toBe("interrupted");
      expect(status(`${hostname()}:${process.pid}`)).toBe("running");
      const child = spawnSync(process.execPath, ["-e", ""]);
      expect(status(`${hostname()}:${child.pid}`)).toBe("interrupted");
      // Processes on another machine cannot be checked.
      expect(status("elsewhere:1@5")).toBe("running");
    });

    it("counts as interrupted if a killed process left it running and another process locks it", () => {
      saveRun(test.db, "run_a");
      acquireRunLock(test.db, "run_a", { name: "elsewhere:1", isGone: () => false });
      test.db.exec("UPDATE runs SET status = 'running'");
      acquireRunLock(test.db, "run_a", { name: thisProcess.name, isGone: () => true });
      expect(getRun(test.db, "run_a").status).toBe("interrupted");
    });

    it("keeps its limits and output until they are set again", () => {
      saveRun(test.db, "run_a");
      const limits = { ...NO_LIMITS, maxCostUsd: 0.5, maxFailures: { share: 0.05 } };
      reopenRun(test.db, "run_a", { settings: SETTINGS, limits, output: "/tmp/results.json" });
      reopenRun(test.db, "run_a", { settings: SETTINGS });
      expect(getRun(test.db, "run_a")).toMatchObject({ limits, output: "/tmp/results.json" });
    });

    it("disappears with its tasks and traces", () => {
      saveRun(test.db, "run_a");
      saveTask(test.db, "run_a", 1, 0.5);
      test.db.exec("DELETE FROM results WHERE run_id = 'run_a'; DELETE FROM runs WHERE id = 'run_a'");
      expect(test.db.prepare("SELECT count(*) FROM traces").pluck().get()).toBe(0);
    });
  });

  describe("a finished task", () => {
    const rows = () =>
      ["traces", "results"].map((table) => test.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());

    it.each([
      ["its trace already exists", "run_a", 2, "trace_run_a_1"],
      ["its trace already exists as an attempt at it", "run_a", 1, "trace_run_a_1"],
      ["there is no such run", "run_b", 1, "trace_other"],
    ])("reaches the database with its trace or not at all (%s)", (_why, run, task, traceId) => {
      saveRun(test.db, "run_a");
      saveTask(test.db, "run_a", 1, 0.5);
      expect(() => saveTask(test.db, run, task, 1, traceId)).toThrow(/constraint failed/);
      expect(rows()).toEqual([1, 1]);
      expect([...iterateResults(test.db, "run_a")].map((result) => result.semanticScore)).toEqual([0.5]);
    });

    it("keeps its trace even after the writer rejected another task", () => {
      saveRun(test.db, "run_a");
      const save = openRowWriter(test.db);
      const { trace, result } = finished("run_a", 1, 1);
      save(toResultRow(trace, result));
      expect(() => save(toResultRow(trace, result))).toThrow();
      const next = finished("run_a", 2, null);
      save(toResultRow(next.trace, next.result));
      expect(rows()).toEqual([2, 2]);
      expect([...iterateResults(test.db, "run_a")]).toEqual([result, next.result]);
    });

    it("replaces an earlier attempt at the same epoch, which is kept for its cost", () => {
      saveRun(test.db, "run_a");
      saveTask(test.db, "run_a", 1, null, "trace_first");
      saveTask(test.db, "run_a", 2, 0.5);
      saveTask(test.db, "run_a", 1, null, "trace_second");
      saveTask(test.db, "run_a", 1, 1, "trace_third");
      expect(rows()).toEqual([4, 4]);
      expect([...iterateResults(test.db, "run_a")].map(({ traceId }) => traceId)).toEqual([
        "trace_third",
        "trace_run_a_2",
      ]);
      const attempts = [...attemptPages(test.db, "run_a")].flat();
      expect(attempts.map(({ result, ...attempt }) => [result.traceId, attempt])).toEqual([
        ["trace_first", { isFailed: true, isSuperseded: true }],
        ["trace_second", { isFailed: true, isSuperseded: true }],
        ["trace_third", { isFailed: false, isSuperseded: false }],
        ["trace_run_a_2", { isFailed: false, isSuperseded: false }],
      ]);
      expect(listRuns(test.db)[0]?.tasks).toBe(2);
    });

    it("appears in the order of task ids, only for its own run", () => {
      saveRun(test.db, "run_a");
      saveRun(test.db, "run_b");
      for (const id of [10, 9, 100, 1]) saveTask(test.db, "run_a", id, 1);
      saveTask(test.db, "run_b", 5, 1);
      expect([...iterateResults(test.db, "run_a")].map((result) => result.taskId)).toEqual([1, 9, 10, 100]);
    });

    it("appears once, page by page, wherever the pages end", () => {
      saveRun(test.db, "run_a");
      const ids = Array.from({ length: 200 }, (_, i) => i - 50);
      for (const id of ids) saveTask(test.db, "run_a", id, 1);
      for (const id of ids.slice(98, 102)) saveTask(test.db, "run_a", id, 1, `trace_again_${id}`);
      const pages = [...attemptPages(test.db, "run_a")].map((page) => page.map(({ result }) => result.taskId));
      expect(pages.map(({ length }) => length)).toEqual([100, 100, 4]);
      expect(pages.flat()).toEqual([...ids, ...ids.slice(98, 102)].sort((a, b) => a - b));
      expect([...iterateResults(test.db, "run_a")].map((result) => result.taskId)).toEqual(ids);
    });
  });

  describe("questions", () => {
    it("exist once, however many runs use them", () => {
      const save = () => saveTasks(test.db, QUESTIONS, QUESTION_TASKS);
      expect(save()).toBe("0123456789abcdef");
      expect(save()).toBe("0123456789abcdef");
      const rows = test.db.prepare("SELECT id, question, message_ids, split FROM art_e_tasks ORDER BY id").all();
      expect(rows).toEqual([
        { id: 1, question: "Question 1?", message_ids: '["<gold@x>"]', split: "test" },
        { id: 2, question: "Question 2?", message_ids: '["<gold@x>"]', split: "test" },
      ]);
      expect(test.db.prepare("SELECT count(*) FROM datasets").pluck().get()).toBe(1);
    });

    it("exist separately per split, even if they are in one file", () => {
      saveTasks(test.db, QUESTIONS, QUESTION_TASKS);
      saveTasks(test.db, { ...QUESTIONS, split: "train" }, QUESTION_TASKS);
      expect(test.db.prepare("SELECT split, count(*) AS n FROM art_e_tasks GROUP BY split").all()).toEqual([
        { split: "test", n: 2 },
        { split: "train", n: 2 },
      ]);
    });
  });
});
