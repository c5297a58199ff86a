import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { evaluateTask } from "../../src/suites/evaluate-task.js";
import { FolderMachine } from "../../src/suites/folder-machine.js";
import type { SuiteDialect } from "../../src/tasks/suite-task.js";
import { needs, SUITES } from "../machine-requirements.js";
import { readTaskForGrading } from "./read-task.js";
import { readSuiteLines } from "./suite-data.js";
import { temporaryFolder } from "./temporary-folder.js";

interface OracleLine {
  readonly suite: SuiteDialect;
  readonly tool: string;
  readonly uuid: string;
  readonly state: string;
  readonly files: Readonly<Record<string, string>>;
  readonly derived?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
  readonly expected_score: number;
  readonly grading: "files" | "script" | "process";
  readonly func: string;
}

/** What an agent would have left behind, with the score of it. */
const lines = readSuiteLines<OracleLine>("oracle", "oracle.jsonl");
const onlyFiles = lines.filter(({ grading }) => grading === "files");

async function grade(line: OracleLine) {
  const suiteRoot = join(SUITES, line.suite);
  const task = readTaskForGrading(suiteRoot, line.suite, line.tool, line.uuid);
  const folder = temporaryFolder();
  const root = join(folder, "machine");
  mkdirSync(root);
  const machine = new FolderMachine(root);
  for (const [path, file] of Object.entries(line.files)) {
    const source = join(task.folder, file);
    // The shared data leaves out archives and scripts, which untouched tasks start with.
    if (existsSync(source) || line.state !== "initial") await machine.copyIn(source, path);
  }
  for (const [path, file] of Object.entries(line.derived ?? {})) {
    await machine.copyIn(join(SUITES, "oracle", file), path);
  }
  for (const path of line.remove ?? []) rmSync(join(root, path), { recursive: true, force: true });
  return await evaluateTask(
    task,
    machine,
    { workFolder: join(folder, "collected"), suiteRoot, timeScale: 0 },
    new AbortController().signal,
  );
}

describe("tasks of the real suites, left as an agent would leave them", needs("suites"), () => {
  it.for(onlyFiles)("$suite $func $uuid $state gives $expected_score", async (line) => {
    expect(await grade(line)).toMatchObject({ score: line.expected_score, state: "success" });
  });

  it.for(lines.filter(({ grading }) => grading !== "files"))(
    "$suite $func $uuid $state is not graded in a folder",
    async (line) => {
      const { score, state, reason } = await grade(line);
      expect({ score, state }).toEqual({ score: null, state: "missing_files" });
      expect(reason).toMatch(/script|runs/);
    },
  );

  it("there are hundreds", () => expect(onlyFiles.length).toBeGreaterThan(200));
});
