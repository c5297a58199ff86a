import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { Database } from "../../src/store/sqlite.js";
import { GradingPool } from "../../src/suites/grading/grading-pool.js";
import { FolderMachine } from "../../src/suites/machines/folder-machine.js";
import type { Grade, SuiteTask, TaskEvaluation } from "../../src/tasks/suite-task.js";
import { importSource } from "../import-source.js";
import { temporaryFolder, writeFiles } from "./temporary-folder.js";

/** Grading in separate processes of the built program, including files that an agent made to harm their reader. */

const never = new AbortController().signal;

const SOURCES = {
  suite: { form: "examples" as const, name: "suite", root: "/nowhere", content: "/nowhere" },
  functions: undefined,
  accounts: { folder: null, env: {} },
};
const graders = new GradingPool(SOURCES, { heapMb: 96, busyMs: 60_000 });
afterAll(() => graders.close());

type Files = Parameters<typeof writeFiles>[1];

/** A task with this evaluation and its gold files, and a machine that only contains `left`. */
function prepare(dialect: "flowbook" | "spider2v", evaluation: Partial<TaskEvaluation>, gold: Files, left: Files) {
  const folder = temporaryFolder();
  writeFiles(join(folder, "task"), gold);
  writeFiles(join(folder, "machine"), left);
  const whole = { postconfig: [], metrics: [], conjunction: "and", ...evaluation };
  const task = { dialect, folder: join(folder, "task"), tags: [], config: [], evaluation: whole };
  return { task: task as unknown as SuiteTask, folder, machine: new FolderMachine(join(folder, "machine")) };
}

const metric = (func: string, options: JsonObject) => ({
  metrics: [{ func, result: null, expected: null, options }],
});
const CSV = metric("compare_csv", { local_expected: "gold.csv", vm_result: "/a.csv" });

function gradeCsv(left: string | Buffer, signal = never): Promise<Grade> {
  const { task, folder, machine } = prepare("flowbook", CSV, { "gold.csv": "a,b\n1,2\n" }, { "a.csv": left });
  return graders.evaluate(task, machine, join(folder, "work"), signal);
}

/** A table and a view of the same columns. The view counts without end. */
function endlessDatabase(): Buffer {
  const path = join(temporaryFolder(), "endless.sqlite");
  const db = new Database(path);
  db.exec(`CREATE TABLE t (n INTEGER); CREATE VIEW v AS
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c`);
  db.close();
  return readFileSync(path);
}

function endlessTask() {
  const getter = (func: string, args: JsonObject) => ({ func, arguments: args });
  const evaluation = {
    metrics: [
      {
        func: "check_local_database",
        result: getter("vm_file", { path: "/left.sqlite", dest: "left.sqlite" }),
        expected: getter("local_file", { path: "gold.sqlite", dest: "gold.sqlite" }),
        options: { db_type: "sqlite3", check_type: ["view-schema-content"] },
      },
    ],
  };
  const prepared = prepare("spider2v", evaluation, {}, { "left.sqlite": endlessDatabase() });
  writeFiles(prepared.folder, { "gold.sqlite": endlessDatabase() });
  const sources = {
    ...SOURCES,
    suite: { ...SOURCES.suite, name: "suite", root: prepared.folder, content: prepared.folder },
  };
  return { ...prepared, sources };
}

describe("the grading pool", () => {
  it("returns the same grades as grading in this process, both sequentially and concurrently", async () => {
    expect(await gradeCsv("a,b\n1,2\n")).toEqual({ score: 1, state: "success", reason: "" });
    const grades = await Promise.all(["a,b\n1,2\n", "a,b\n1,3\n", "", "a\n"].map((text) => gradeCsv(text)));
    expect(grades.map(({ score }) => score)).toEqual([1, 0, 0, 0]);
    expect(grades[2]?.reason).toContain("compare_csv: ");
    const { task, folder, machine } = prepare("flowbook", CSV, {}, { "a.csv": "a\n" });
    expect(await graders.evaluate(task, machine, join(folder, "work"), never)).toEqual({
      score: null,
      state: "missing_files",
      reason: "the gold file gold.csv is missing from the task's folder",
    });
  });

  it("kills a process that runs out of memory, and starts another for the next task", async () => {
    const grade = await gradeCsv(`a,b\n${"1,2\n".repeat(3_000_000)}`);
    expect(grade).toMatchObject({ score: null, state: "eval_error" });
    expect(grade.reason).toMatch(
      /^grading failed: its process ended \(SIG\w+\), probably because it ran out of memory/,
    );
    expect(await gradeCsv("a,b\n1,2\n")).toMatchObject({ score: 1 });
  });

  it("kills a process that never ends, even inside a library", async () => {
    const { task, folder, machine, sources } = endlessTask();
    const own = new GradingPool(sources, { heapMb: 96, busyMs: 1_000 });
    try {
      expect(await own.evaluate(task, machine, join(folder, "work"), never)).toEqual({
        score: null,
        state: "eval_error",
        reason: "grading failed: reading the agent's files took longer than 1 s",
      });
    } finally {
      await own.close();
    }
  });

  it("kills the process of an interrupted task", async () => {
    const stop = new AbortController();
    const { task, folder, machine, sources } = endlessTask();
    const own = new GradingPool(sources);
    const grading = own.evaluate(task, machine, join(folder, "work"), stop.signal);
    const rejected = expect(grading).rejects.toThrow("the task was stopped");
    await expect.poll(() => existsSync(join(folder, "work/gold.sqlite"))).toBe(true);
    stop.abort(new Error("the task was stopped"));
    await rejected;
    await own.close();
  });

  it("leaves no process if the program is killed", async () => {
    const { task, folder, sources } = endlessTask();
    const program = `
      ${importSource("suites/grading/grading-pool", "GradingPool")}
      ${importSource("suites/machines/folder-machine", "FolderMachine")}
      import { readdirSync, readFileSync } from "node:fs";
      const machine = new FolderMachine(${JSON.stringify(join(folder, "machine"))});
      const work = ${JSON.stringify(join(folder, "work"))};
      new GradingPool(${JSON.stringify(sources)}).evaluate(${JSON.stringify(task)}, machine, work, new AbortController().signal);
      const children = () => readFileSync("/proc/self/task/" + process.pid + "/children", "utf8").trim();
      setInterval(() => console.log(children()), 200);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let child = "";
    (parent.stdout as Readable).on("data", (text: Buffer) => {
      child = String(text).trim().split("\n").at(-1) ?? "";
    });
    await expect.poll(() => child !== "" && existsSync(join(folder, "work/gold.sqlite"))).toBe(true);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await expect
      .poll(() => existsSync(`/proc/${child}/cmdline`) && readFileSync(`/proc/${child}/cmdline`, "utf8"))
      .not.toMatch(/grading-process/);
  });
});
