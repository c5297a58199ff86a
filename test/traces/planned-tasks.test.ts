import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isQuestion, type PlannedTask } from "../../src/tasks/question.js";
import { remainingPositions, saveRunTasks, tasksAt } from "../../src/traces/results-store.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { QUESTIONS, saveRun, saveTask } from "./saved-runs.js";

const [ONE, TWO] = QUESTIONS.questions;
if (ONE === undefined || TWO === undefined) throw new Error("two questions are needed");
const PLAN = [
  { task: TWO, epoch: 1 },
  { task: ONE, epoch: 1 },
  { task: TWO, epoch: 2 },
  { task: ONE, epoch: 2 },
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

describe("what is left of a run", () => {
  it("is all of it at first, in its order, each question as it was asked", () => {
    expect(remaining("run_a", false)).toEqual(
      PLAN.map(({ task, epoch }) => ({ task: { ...task, split: "test" }, epoch })),
    );
  });

  it("is what has no result of that repeat, in that run", () => {
    saveRun(test.db, "run_b");
    saveTask(test.db, "run_b", 1, 1);
    saveTask(test.db, "run_a", 2, 1);
    expect(left()).toEqual([
      [1, 1],
      [2, 2],
      [1, 2],
    ]);
  });

  it("holds failed tasks only where they are to be tried again, by their last attempt", () => {
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

  it("is nothing of a run that is not there", () => {
    expect(remaining("run_x", true)).toEqual([]);
  });

  it("is looked for a page of the order at a time, and read when its turn comes, a few tasks ahead", () => {
    saveRun(test.db, "run_b");
    const plan = Array.from({ length: 301 }, (_, i) => ({ task: ONE, epoch: i + 1 }));
    saveRunTasks(test.db, "run_b", plan.slice(0, 150));
    saveRunTasks(test.db, "run_b", plan.slice(150), 150);
    test.db.exec("DELETE FROM run_tasks WHERE run_id = 'run_b' AND position BETWEEN 101 AND 200");
    const pages = [...remainingPositions(test.db, "run_b", false)];
    expect(pages.map(({ length }) => length)).toEqual([100, 0, 100, 1]);
    const tasks = tasksAt(test.db, "run_b", pages.flat());
    expect(tasks.next().value?.epoch).toBe(1);
    test.db.exec("UPDATE art_e_tasks SET question = 'Another?' WHERE id = 1");
    const others = [...tasks];
    expect(others.map(({ epoch }) => epoch)).toEqual([...range(2, 100), ...range(201, 301)]);
    const isReadLater = ({ task }: PlannedTask) => isQuestion(task) && task.question === "Another?";
    expect(others.filter(isReadLater).map(({ epoch }) => epoch)).toEqual([...range(21, 100), ...range(201, 301)]);
  });

  it("comes from the run's own split of a dataset", () => {
    test.db.exec("UPDATE art_e_tasks SET split = 'train' WHERE id = 1");
    expect(left()).toEqual([
      [2, 1],
      [2, 2],
    ]);
  });
});
