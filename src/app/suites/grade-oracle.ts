import { mkdirSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import pLimit from "p-limit";
import type { SuiteTask, TaskState } from "../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import { fileStateOf } from "../../suites/definition/file-in-folder.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder, type SuiteFolder } from "../../suites/definition/suite-folder.js";
import { evaluateTask } from "../../suites/evaluation/evaluate-task.js";
import { FolderMachine } from "../../suites/machines/folder-machine.js";
import { type AppContext, Interrupted } from "../use-case-context.js";
import { type OracleLine, readOracle } from "./read-oracle.js";

export interface GradedLine {
  readonly suite: string;
  readonly uuid: string;
  readonly state: string;
  readonly expected: number;
  readonly score: number | null;
  readonly status: TaskState;
  readonly reason: string;
}

export interface OracleReport {
  readonly lines: readonly GradedLine[];
  readonly equal: number;
  readonly different: number;
  /** Lines of other suites, which are not among `lines`, and those that cannot be graded here. */
  readonly skipped: number;
}

/** Files are read and compared while others are: more at once gains nothing on two cores. */
const CONCURRENCY = 4;

/** Puts in place what each line of an oracle file says an agent left behind, and compares the grade with its score. */
export async function gradeOracle(folder: string, oracleFile: string, context: AppContext): Promise<OracleReport> {
  const suite = openSuiteFolder(folder);
  const tasks = new Map(readSuite(suite).tasks.map(({ task }) => [task.id, task]));
  const all = readOracle(oracleFile);
  const own = all.filter((line) => line.suite === suite.name);
  const derived = dirname(resolve(oracleFile));
  const bar = context.progress("Grading");
  const limit = pLimit(CONCURRENCY);
  let done = 0;
  const lines = await limit.map(own, async (line) => {
    if (context.signal.aborted) throw new Interrupted("Stopped; nothing was saved.");
    const graded = await gradeLine(line, tasks.get(line.uuid), suite, derived, context.signal);
    bar.update(++done, own.length, "");
    return graded;
  });
  bar.stop();
  const skipped = lines.filter(isSkipped).length;
  const equal = lines.filter((line) => !isSkipped(line) && isEqual(line)).length;
  return { lines, equal, different: lines.length - equal - skipped, skipped: skipped + all.length - own.length };
}

/** Whether it cannot be graded here, so that its score says nothing. */
export function isSkipped({ status }: GradedLine): boolean {
  return status === "unsupported" || status === "needs_account";
}

export function isEqual({ score, expected }: GradedLine): boolean {
  return score !== null && Math.abs(score - expected) < 1e-9;
}

async function gradeLine(
  line: OracleLine,
  task: SuiteTask | undefined,
  suite: SuiteFolder,
  derivedFolder: string,
  signal: AbortSignal,
): Promise<GradedLine> {
  const { uuid, state, expected_score: expected } = line;
  const graded = (status: TaskState, score: number | null, reason: string): GradedLine => {
    return { suite: line.suite, uuid, state, expected, score, status, reason };
  };
  if (task === undefined) return graded("setup_error", null, "the suite has no such task");
  if (line.grading !== "files" || line.processes.length > 0) {
    return graded("unsupported", null, `graded by a ${line.grading}, which takes a machine that runs commands`);
  }
  const work = mkdtempSync(join(tmpdir(), "art-e-oracle-"));
  try {
    const [files, workFolder] = [join(work, "machine"), join(work, "work")];
    mkdirSync(files);
    mkdirSync(workFolder);
    const machine = new FolderMachine(files);
    const placed = await placeFiles(line, task, derivedFolder, machine);
    if (placed.refused !== null) return graded("setup_error", null, placed.refused);
    // Waiting is for programs, and none runs here.
    const options = { workFolder, suiteRoot: suite.root, timeScale: 0 };
    const grade = await evaluateTask(task, machine, options, signal);
    const missing = placed.missing.length === 0 ? "" : `not in place, as missing: ${placed.missing.join(", ")}`;
    return graded(grade.state, grade.score, [grade.reason, missing].filter((part) => part !== "").join("; "));
  } catch (error) {
    if (signal.aborted) throw error;
    return graded("eval_error", null, (error as Error).message);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Placed {
  /** Files that are not there: what was left out of a suite may not matter to the grade. */
  readonly missing: readonly string[];
  /** Why nothing is graded; null: it is. */
  readonly refused: string | null;
}

/** Copies a line's files in, but for those that it removes. */
async function placeFiles(
  { files, derived, remove }: OracleLine,
  task: SuiteTask,
  derivedFolder: string,
  machine: TaskMachine,
): Promise<Placed> {
  const sources = [
    ...Object.entries(files).map(([path, file]) => ({ path, file, folder: task.folder })),
    ...Object.entries(derived).map(([path, file]) => ({ path, file, folder: derivedFolder })),
  ].filter(({ path }) => !remove.some((removed) => path === removed || path.startsWith(`${removed}/`)));
  const missing: string[] = [];
  for (const { path, file, folder } of sources) {
    const found = fileStateOf(folder, file);
    if (found === "file") await machine.copyIn(join(folder, file), path);
    else if (found === "missing") missing.push(file);
    else return { missing, refused: `${file} cannot be put in place: ${REFUSALS[found]}` };
  }
  return { missing, refused: null };
}

const REFUSALS = {
  outside: "it is outside of its folder",
  link: "it leads over a link, which is not followed",
  folder: "it is a folder",
  special: "it is no regular file",
} as const;
