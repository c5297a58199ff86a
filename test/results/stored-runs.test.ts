import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AppContext } from "../../src/platform/app-context.js";
import { runDetails } from "../../src/results/stored-runs.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { finished, saveRun, saveTask } from "../traces/saved-runs.js";

let test: TestDb;
beforeEach(() => {
  test = openEmpty();
});
afterEach(() => test.close());

it("lists failed tasks first, then unscored and bad ones, and tasks that the score does not apply to last", async () => {
  saveRun(test.db, "run_a");
  const save = (taskId: number, sourcesCorrect: number | null, goldSources = 1) => {
    const { trace, result } = finished("run_a", taskId, 0.5);
    const scored = { ...result, goldSources, scores: { sourcesCorrect } };
    openRowWriter(test.db)(toResultRow(trace, scored));
  };
  save(1, null, 0);
  save(2, 1);
  save(3, 0);
  save(4, null);
  saveTask(test.db, "run_a", 5, null);
  const { tasks } = await runDetails("run_a", { db: join(test.folder, "art-e.db") } as AppContext["settings"]);
  expect(tasks.map(({ taskId }) => taskId)).toEqual([5, 4, 3, 2, 1]);
});
