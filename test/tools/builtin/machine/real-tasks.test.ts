import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TaskMachine } from "../../../../src/domain/tasks/task-machine.js";
import { evaluateTask } from "../../../../src/suites/evaluation/evaluate-task.js";
import { never, openEmpty, type TestDb } from "../../../app/run/demo-setup.js";
import { needs, SUITES } from "../../../machine-requirements.js";
import { readTaskForGrading } from "../../../suites/read-task.js";
import { temporaryFolder } from "../../../suites/temporary-folder.js";
import { callTool, sandboxed } from "./machines.js";

let empty: TestDb;
beforeAll(() => {
  empty = openEmpty();
});
afterAll(async () => {
  empty.close();
  await sandboxed?.close();
});

const DESKTOP = "/home/user/Desktop";

const CLEAR = `
import json
path = "Desktop/linear_regression.ipynb"
notebook = json.load(open(path, encoding="utf-8"))
for cell in notebook["cells"]:
    if cell["cell_type"] == "code":
        cell["outputs"], cell["execution_count"] = [], None
json.dump(notebook, open(path, "w", encoding="utf-8"), indent=1)`;

const SELECT = `
import csv
rows = [row for row in csv.DictReader(open("Desktop/products.csv", newline="")) if row["model_year"] == "2019"]
mean = sum(float(row["list_price"]) for row in rows) / len(rows)
with open("Desktop/result.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(row for row in rows if float(row["list_price"]) > mean)`;

/** Id, the files that its set-up copies to the desktop, and a program that solves it. */
const TASKS = [
  ["575a50fd-5608-4d68-897f-256478a2d0f1", ["linear_regression.ipynb"], CLEAR],
  ["a4773fa9-c715-4293-8774-e99caa9d8e7c", ["products.csv", "result.csv"], SELECT],
] as const;

describe("real tasks in a sandbox", needs("suites"), () => {
  describe.each(TASKS)("%s", (id, files, code) => {
    test(
      "is 0 untouched, and 1 when it was solved through the tools",
      needs("sandbox", sandboxed !== null),
      async () => {
        const machine = sandboxed as TaskMachine;
        const suiteRoot = join(SUITES, "flowbook");
        const task = readTaskForGrading(suiteRoot, "flowbook", "jupyter", id);
        for (const name of files) {
          expect(existsSync(join(task.folder, name))).toBe(true);
          await machine.copyIn(join(task.folder, name), `${DESKTOP}/${name}`);
        }
        const grade = () => evaluateTask(task, machine, { workFolder: temporaryFolder(), suiteRoot }, never);
        expect(await grade()).toMatchObject({ state: "success", score: 0 });
        expect(await callTool(empty, machine, "execute_python", { code })).toMatchObject({
          value: { exit_code: 0, stderr: "" },
        });
        expect(await grade()).toMatchObject({ state: "success", score: 1 });
      },
    );
  });
});
