import { afterEach, beforeEach, expect, it } from "vitest";
import { pageOfRuns } from "../../src/results/run-summaries.js";
import { parseListQuery } from "../../src/store/list-query.js";
import { HEADLINE_SCORERS } from "../../src/traces/headline-score.js";
import { RUN_FIELDS } from "../../src/traces/list-fields.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { openDemo, type TestDb } from "../runs/demo-setup.js";
import { saveTask } from "../traces/saved-runs.js";

let test: TestDb;
beforeEach(async () => {
  test = await openDemo();
});
afterEach(() => test.close());

const list = async (query = "", sort = "") =>
  (await pageOfRuns(test.db, { terms: parseListQuery(query, RUN_FIELDS), sort, offset: 0, limit: 10 })).runs;

const stored = () => test.db.prepare("SELECT run_id FROM run_summaries").pluck().all();

it("stores the figures of a run until one of its results changes", async () => {
  saveSynthetic(test.db, { id: "run_a", tasks: 3 });
  saveSynthetic(test.db, { id: "run_b", tasks: 3 });
  expect(await list()).toMatchObject([{ tasks: 3 }, { tasks: 3 }]);
  expect(stored()).toEqual(["run_a", "run_b"]);
  saveTask(test.db, "run_b", 9, null);
  expect(stored()).toEqual(["run_a"]);
  expect(await list("failed:>0")).toMatchObject([{ id: "run_b", tasks: 4, failedTasks: 1 }]);
  expect((await list("", "-failed")).map(({ id }) => id)).toEqual(["run_b", "run_a"]);
  test.db.exec("UPDATE results SET failed = 1 WHERE run_id = 'run_a'");
  expect(stored()).toEqual(["run_b"]);
});

it("has the headline scores in the same order in the column of traces", () => {
  const sql = test.db.prepare("SELECT sql FROM sqlite_master WHERE name = 'traces'").pluck().get() as string;
  expect([...sql.matchAll(/\$\.scores\.(\w+)\.value/g)].map(([, name]) => name)).toEqual([...HEADLINE_SCORERS]);
});
