import { cpSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { ROOT, workFolder } from "../art-e.js";

const DEMO = join(ROOT, "fixtures/suites/demo");
const TASK = "84401e16-fcb1-5115-a576-2bce8b3d06fe";
const FOLDER = `examples/terminal/${TASK}`;

describe("suite folders with the same task definitions", needs("sandbox", machinesStart), () => {
  const { artE, path } = workFolder();

  const copy = (folder: string) => cpSync(DEMO, path(folder), { recursive: true });
  const write = (file: string, content: string) => writeFileSync(path(file), content);

  /** Runs the oracle agent over one task and returns its run id and grade. */
  async function run(flags: string) {
    const { code, stdout, stderr } = await artE(`run -a oracle ${flags} --task ${TASK} --json --quiet`);
    // 3: the only task was not graded.
    if (code !== 0 && code !== 3) throw new Error(`${code}: ${stderr}`);
    const { runId } = JSON.parse(stdout);
    return { runId, ...gradeOf(runId) };
  }

  function query<T>(sql: string, ...values: string[]): T {
    const db = new Database(path("art-e.db"));
    try {
      return db.prepare(sql).get(...values) as T;
    } finally {
      db.close();
    }
  }

  function gradeOf(runId: string) {
    const { result } = query<{ result: string }>("SELECT result FROM results WHERE run_id = ?", runId);
    const { score, state } = JSON.parse(result).suite;
    return { score, state };
  }

  /** Deletes the answer, so that the run looks as if it had been interrupted before its only task. */
  function interrupt(runId: string): void {
    const db = new Database(path("art-e.db"));
    db.prepare("DELETE FROM results WHERE run_id = ?").run(runId);
    db.prepare("UPDATE runs SET status = 'interrupted' WHERE id = ?").run(runId);
    db.close();
  }

  beforeEach(() => {
    rmSync(path("art-e.db"), { force: true });
    for (const folder of ["a", "b", "old", "new"]) rmSync(path(folder), { recursive: true, force: true });
    copy("a/demo");
    copy("b/demo");
    // The oracle copies the answer from next to its own file, so that it is the same for both folders.
    const line = readFileSync(path("a/demo/oracle.jsonl"), "utf8")
      .split("\n")
      .find((one) => one.includes(TASK) && one.includes('"gold"'));
    const { files, ...rest } = JSON.parse(line ?? "");
    const [[place, gold]] = Object.entries(files) as [[string, string]];
    cpSync(path(`a/demo/${FOLDER}/${gold}`), path("answer.csv"));
    write("oracle.jsonl", JSON.stringify({ ...rest, derived: { [place]: "answer.csv" } }));
    write(`b/demo/${FOLDER}/${gold}`, "x,y\n1,2\n");
  });

  it("use their own gold files for grading, in any order", { tags: ["slow"] }, async () => {
    const scores: unknown[] = [];
    for (const folder of ["a", "b", "a"])
      scores.push((await run(`--suite ${folder}/demo --oracle oracle.jsonl`)).score);
    expect(scores).toEqual([1, 0, 1]);
  });

  it("appear in the run's settings, even if all files are the same", { tags: ["slow"] }, async () => {
    copy("new/renamed");
    rmSync(path("b"), { recursive: true });
    copy("b/demo");
    const source = async (folder: string) => {
      const { runId } = await run(`--suite ${folder} --oracle oracle.jsonl`);
      return query<object>("SELECT source, dataset_id FROM runs WHERE id = ?", runId);
    };
    const [a, b] = [await source("a/demo"), await source("b/demo")];
    const { dataset_id } = a as { dataset_id: string };
    expect(a).toEqual({ source: path("a/demo"), dataset_id });
    expect(b).toEqual({ source: path("b/demo"), dataset_id });
  });

  describe("art-e run --resume", () => {
    it("continues in the folder that --suite specifies", async () => {
      const { runId } = await run("--suite a/demo --oracle oracle.jsonl");
      interrupt(runId);
      renameSync(path("a"), path("new"));
      const lost = await artE(`run --resume ${runId} --quiet`);
      expect(lost).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`its suite is no longer in ${path("a/demo")}`),
      });
      expect(lost.stderr).toContain(`art-e run --resume ${runId} --suite DIR`);
      expect(await artE(`run --resume ${runId} --suite new/demo --quiet`)).toMatchObject({ code: 0 });
      expect(gradeOf(runId)).toEqual({ score: 1, state: "success" });
      expect(query("SELECT source FROM runs WHERE id = ?", runId)).toEqual({ source: path("new/demo") });
    });

    it("finds a suite that was moved together with the database, and its oracle file", { tags: ["slow"] }, async () => {
      copy("old/suites/demo");
      const db = path("old/art-e.db");
      const begun = await artE(`run -a oracle --suite old/suites/demo --task ${TASK} --json --quiet --db ${db}`);
      const { runId } = JSON.parse(begun.stdout);
      const file = new Database(db);
      file.prepare("DELETE FROM results").run();
      file.prepare("UPDATE runs SET status = 'interrupted'").run();
      file.close();
      renameSync(path("old"), path("new"));
      const resumed = await artE(`run --resume ${runId} --json --db new/art-e.db --no-progress`);
      expect(resumed).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`Using ${path("new/suites/demo")}, which has the same tasks and files.`),
      });
      const moved = new Database(path("new/art-e.db"));
      const result = moved.prepare("SELECT result FROM results").pluck().get() as string;
      moved.close();
      expect(JSON.parse(result).suite).toMatchObject({ score: 1, state: "success" });
    });

    it("rejects a folder if a task is missing, or if its definition or an input file changed, unless forced", {
      tags: ["slow"],
    }, async () => {
      const { runId } = await run("--suite a/demo --oracle oracle.jsonl");
      interrupt(runId);
      const expectRefused = async (why: string) =>
        expect(await artE(`run --resume ${runId} --quiet`)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining(`task ${TASK} is ${why} ${path("a/demo")}`),
        });
      renameSync(path(`a/demo/${FOLDER}`), path("moved-task"));
      await expectRefused("missing from");
      renameSync(path("moved-task"), path(`a/demo/${FOLDER}`));
      write(`a/demo/${FOLDER}/more.csv`, "1\n");
      await expectRefused("different in");
      rmSync(path(`a/demo/${FOLDER}/more.csv`));
      const definition = `a/demo/${FOLDER}/${TASK}.json`;
      const changed = { ...JSON.parse(readFileSync(path(definition), "utf8")), instruction: "No." };
      write(definition, JSON.stringify(changed));
      await expectRefused("different in");
      expect(await artE(`run --resume ${runId} --force --quiet`)).toMatchObject({ code: 0 });
    });
  });

  it("allow a repeat in the folder that --suite specifies", { tags: ["slow"] }, async () => {
    const { runId } = await run("--suite a/demo --oracle oracle.jsonl");
    renameSync(path("a"), path("new"));
    const repeated = await artE(`run --repeat ${runId} --suite new/demo --json --quiet`);
    expect(repeated).toMatchObject({ code: 0 });
    const id = JSON.parse(repeated.stdout).runId;
    expect(gradeOf(id)).toEqual({ score: 1, state: "success" });
    expect(query("SELECT source FROM runs WHERE id = ?", id)).toEqual({ source: path("new/demo") });
  });

  it.each([
    ["outside the task's folder", "outside"],
    ["a link to a file outside the task's folder", "link"],
  ])("do not grade a task if its gold file is %s", async (_, where) => {
    const definition = `a/demo/${FOLDER}/${TASK}.json`;
    const task = JSON.parse(readFileSync(path(definition), "utf8"));
    const { local_expected } = task.evaluation.arguments;
    if (where === "link") {
      rmSync(path(`a/demo/${FOLDER}/${local_expected}`));
      symlinkSync(path("answer.csv"), path(`a/demo/${FOLDER}/${local_expected}`));
    } else {
      task.evaluation.arguments.local_expected = "../../../../../answer.csv";
      write(definition, JSON.stringify(task));
    }
    const { score, state } = await run("--suite a/demo --oracle oracle.jsonl");
    expect({ score, state }).toEqual({ score: null, state: "missing_files" });
  });
});
