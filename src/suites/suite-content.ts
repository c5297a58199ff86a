// A suite's content, independent of its folder: task definitions, files in the task folders (inputs, setup scripts,
// gold files), shared files that tasks name, `snapshots.json` and the documents. Account settings are not part of it.
// A symbolic link is represented by its target path and is not followed.
import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { join, normalize, posix, relative } from "node:path";
import { sha256OfFile } from "../platform/sha256.js";
import type { PlannedSuiteTask } from "../tasks/question.js";
import type { SuiteTask } from "../tasks/suite-task.js";
import { fileStateOf, type SuiteFolder, stateOf } from "./suite-folder.js";
import { listSuiteDocuments } from "./task/document-search.js";
import { isBelow } from "./task/suite-files.js";
import { readSuite } from "./task/task-file.js";
import { suiteFilesOf } from "./task-needs.js";

/** The tasks that a run stored, with the digest of their suite. */
interface StoredSuite {
  readonly sha256: string;
  readonly tasks: readonly PlannedSuiteTask[];
}

/** Adds the SHA-256 of its content and the suite to each task. */
export async function planTasks(
  tasks: readonly SuiteTask[],
  suite: SuiteFolder,
  signal: AbortSignal,
): Promise<PlannedSuiteTask[]> {
  const { name, root } = suite;
  const plannedTasks: PlannedSuiteTask[] = [];
  // One task after another, because a suite can have thousands of files.
  for (const task of tasks) {
    plannedTasks.push({ ...task, suite: { name, root }, sha256: await taskDigest(task, suite, signal) });
  }
  return plannedTasks;
}

async function taskDigest(task: SuiteTask, suite: SuiteFolder, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify({ ...task, folder: relative(suite.root, task.folder) }));
  const shared = suiteFilesOf(task)
    .filter((path) => fileStateOf(suite.root, path) !== "outside")
    .map((path) => normalize(path))
    .filter((path) => !isBelow(join(suite.root, path), task.folder));
  for (const path of [...new Set([...shared, SNAPSHOTS])].sort()) {
    for (const line of await contentLines(join(suite.root, path), path, signal)) hash.update(line);
  }
  for (const line of await contentLines(task.folder, "", signal)) hash.update(line);
  return hash.digest("hex");
}

const SNAPSHOTS = "snapshots.json";

/** Returns one line per file, link or special file below a path, in a fixed order. Empty folders are ignored. */
async function contentLines(path: string, name: string, signal: AbortSignal): Promise<string[]> {
  signal.throwIfAborted();
  const state = stateOf(path);
  const line = (value: string) => [`\n${JSON.stringify([name, state, value])}`];
  if (state === "missing") return [];
  if (state === "link") return line(await readlink(path));
  // If the file is unreadable, that is reported when the task needs it.
  if (state === "file") return line(await sha256OfFile(path, signal).catch((error) => unreadable(error, signal)));
  if (state !== "folder") return line("");
  const entries: Dirent[] = await readdir(path, { withFileTypes: true }).catch(() => []);
  const lines: string[] = [];
  for (const { name: entry } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    lines.push(...(await contentLines(join(path, entry), posix.join(name, entry), signal)));
  }
  return lines;
}

function unreadable(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) throw error;
  return "unreadable";
}

/** Returns the SHA-256 of the tasks' content with the suite's documents. The order of the tasks does not matter. */
export async function suiteDigest(
  tasks: readonly PlannedSuiteTask[],
  suite: SuiteFolder,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash("sha256");
  for (const line of [...new Set(tasks.map(({ id, sha256 }) => `${id} ${sha256}\n`))].sort()) hash.update(line);
  for (const { path, file } of await listSuiteDocuments(suite.content)) {
    hash.update(`${path} ${await sha256OfFile(file, signal)}\n`);
  }
  return hash.digest("hex");
}

/** Describes how a folder differs from the suite that a run stored. Empty if it contains the same tasks and files. */
export async function suiteDifferences(
  stored: StoredSuite,
  suite: SuiteFolder,
  signal: AbortSignal,
): Promise<string[]> {
  const ids = new Set(stored.tasks.map(({ id }) => id));
  const here = readSuite(suite).tasks.filter(({ task }) => ids.has(task.id));
  const plannedTasks = await planTasks(
    here.map(({ task }) => task),
    suite,
    signal,
  );
  const byId = new Map(plannedTasks.map((task) => [task.id, task]));
  const missing = stored.tasks.filter(({ id }) => !byId.has(id)).map(({ id }) => id);
  if (missing.length > 0) return [`${naming(missing)} missing from ${suite.root}`];
  const changed = stored.tasks.filter(({ id, sha256 }) => sha256 !== byId.get(id)?.sha256).map(({ id }) => id);
  if (changed.length > 0) return [`${naming(changed)} different in ${suite.root} (definition or files)`];
  const isUnchanged = (await suiteDigest(plannedTasks, suite, signal)) === stored.sha256;
  return isUnchanged ? [] : [`the documents are different in ${suite.root}`];
}

function naming(ids: readonly string[]): string {
  const [first] = ids;
  return ids.length === 1 ? `task ${first} is` : `${ids.length} tasks (${first}, ...) are`;
}
