import { join } from "node:path";
import { checkSuite } from "../../src/suites/check-suite.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { type ReadSuite, type ReadTask, readSuite } from "../../src/suites/task/task-file.js";
import { temporaryFolder, writeFiles } from "./temporary-folder.js";

/** Small suites for tests, removed afterward. */

export const DEMO_SUITE = join(import.meta.dirname, "../../fixtures/suites/demo");

/** Contents per path in the suite. Values other than strings are written as JSON. */
export function writeSuite(files: Readonly<Record<string, unknown>>): string {
  const folder = temporaryFolder();
  const texts = Object.entries(files).map(([path, content]) => [
    path,
    typeof content === "string" ? content : JSON.stringify(content),
  ]);
  writeFiles(folder, Object.fromEntries(texts));
  return folder;
}

/** A task without faults. */
export function flowbookTask(id: string, counterpart: string, changes: object = {}) {
  return {
    id,
    snapshot: "jupyter",
    instruction: "Sort the table.",
    source: ["written for a test"],
    related_apps: ["jupyter"],
    tags: ["cli", "traditional_data_processing", id < counterpart ? "abstract" : "verbose"],
    action_number: 3,
    config: [upload("in.csv", "/home/user/in.csv")],
    evaluation: {
      func: "compare_csv",
      arguments: { local_expected: "gold.csv", vm_result: "/home/user/out.csv" },
    },
    counterpart,
    ...changes,
  };
}

export function upload(local: string, remote: string) {
  return { func: "upload_file_to_vm", arguments: { local_path: local, remote_path: remote } };
}

/** The same task in Spider2-V's spelling. Paths are relative to the suite's root. */
export function spiderTask(id: string, counterpart: string, changes: object = {}) {
  const { evaluation, ...task } = flowbookTask(id, counterpart);
  const folder = `examples/excel/${id}`;
  return {
    ...task,
    config: [
      { type: "copyfile_from_host_to_guest", parameters: { src: `${folder}/in.csv`, dest: "/home/user/in.csv" } },
    ],
    evaluator: {
      func: evaluation.func,
      result: { type: "vm_file", path: "/home/user/out.csv", dest: "out.csv" },
      expected: { type: "local_file", path: `${folder}/gold.csv`, dest: "gold.csv" },
    },
    ...changes,
  };
}

/** A task's file with its input and gold file. */
export function taskFiles(tool: string, task: { readonly id: string }): Record<string, unknown> {
  const folder = `examples/${tool}/${task.id}`;
  return {
    [`${folder}/${task.id}.json`]: task,
    [`${folder}/in.csv`]: "a\n2\n1\n",
    [`${folder}/gold.csv`]: "a\n1\n2\n",
  };
}

export function read(files: Readonly<Record<string, unknown>>): ReadSuite {
  return readSuite(openSuiteFolder(writeSuite(files)));
}

/** The only task of a suite with one task. */
export function readOne(tool: string, task: { readonly id: string }): ReadTask {
  const { tasks, problems } = read(taskFiles(tool, task));
  if (tasks[0] === undefined) throw new Error(`not read: ${JSON.stringify(problems)}`);
  return tasks[0];
}

/** Findings of the check, as `level code field: message`. */
export function findingsIn(files: Readonly<Record<string, unknown>>): string[] {
  return checkSuite(read(files)).map(({ level, code, field, message }) => `${level} ${code} ${field}: ${message}`);
}
