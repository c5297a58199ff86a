// Grades the results in an oracle file to show that the suite's grading works.
import { rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import pLimit from "p-limit";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { makeTemporaryFolder } from "../sandbox/workspace.js";
import { type Grade, OBSTACLE_STATES, type SuiteTask } from "../tasks/suite-task.js";
import { similarity } from "../text/word-overlap.js";
import type { EvaluationOptions } from "./functions/grading-function.js";
import { evaluateTask } from "./grading/evaluate-task.js";
import { folderMachines } from "./machines/folder-machine.js";
import { applyOracleLine, isForSuite, type OracleLine, placeFiles, readOracle } from "./oracle.js";
import { openSuiteFolder } from "./suite-folder.js";
import { openSuiteTask, openTaskSources } from "./task/open-task.js";
import { readSuite } from "./task/task-file.js";
import type { TaskSources } from "./task-needs.js";

interface GradedLine {
  readonly suite: string;
  readonly uuid: string;
  readonly state: string;
  readonly expected: number;
  readonly score: number | null;
  readonly status: Grade["state"];
  readonly reason: string;
}

export interface OracleReport {
  readonly lines: readonly GradedLine[];
  readonly equal: number;
  readonly different: number;
  /** Number of lines that belong to other suites (these are not in `lines`) or cannot be graded on this machine. */
  readonly skipped: number;
}

interface LineSources extends TaskSources {
  /** Folder of the files in `derived`. */
  readonly derivedFolder: string;
}

const STOPPED = "Interrupted. Nothing was saved.";
/** Number of tasks graded concurrently. On two cores, a higher number is not faster. */
const CONCURRENCY = 4;

/**
 * Puts the files of each line of an oracle file in place, grades the task, and compares the grade with the line's
 * score.
 */
export async function gradeOracle(
  folder: string,
  oracleFile: string,
  functions: string | undefined,
  context: AppContext,
): Promise<OracleReport> {
  const suite = openSuiteFolder(folder);
  const tasks = new Map(readSuite(suite).tasks.map(({ task }) => [task.id, task]));
  const all = readOracle(oracleFile);
  const own = all.filter(isForSuite(oracleFile, suite));
  const sources = {
    ...(await openTaskSources(suite, { functions }, context)),
    derivedFolder: dirname(resolve(oracleFile)),
  };
  const bar = context.progress("Grading");
  const limit = pLimit(CONCURRENCY);
  let done = 0;
  const grading = own.map((line) =>
    limit(async (): Promise<GradedLine> => {
      if (context.signal.aborted) throw new Interrupted(STOPPED);
      const task = tasks.get(line.uuid);
      const {
        state: status,
        score,
        reason,
      } = task === undefined ? UNKNOWN_TASK : await gradeOracleLine(line, task, sources, context.signal);
      bar.update(++done, own.length, "");
      const { suite, uuid, state, expected_score: expected } = line;
      return { suite, uuid, state, expected, score, status, reason };
    }),
  );
  // If grading one task throws, wait until the others have closed their machines.
  await Promise.allSettled(grading);
  bar.stop();
  if (context.signal.aborted) throw new Interrupted(STOPPED);
  const lines = await Promise.all(grading);
  const skipped = lines.filter(isSkipped).length;
  const equal = lines.filter((line) => !isSkipped(line) && isEqual(line)).length;
  return { lines, equal, different: lines.length - equal - skipped, skipped: skipped + all.length - own.length };
}

/** Returns whether a line could not be graded on this machine, so that its score is meaningless. */
export function isSkipped({ status }: GradedLine): boolean {
  return (OBSTACLE_STATES as readonly Grade["state"][]).includes(status);
}

export function isEqual({ score, expected }: GradedLine): boolean {
  return score !== null && Math.abs(score - expected) < 1e-9;
}

const failed = (reason: string): Grade => ({ state: "setup_error", score: null, reason });

const UNKNOWN_TASK = failed("unknown task");

/** Grades a task with a line's files. Throws a UserError if the suite cannot be graded. */
async function gradeOracleLine(
  line: OracleLine,
  task: SuiteTask,
  sources: LineSources,
  signal: AbortSignal,
): Promise<Grade> {
  try {
    const takesCommands = line.grading !== "files" || line.processes.length > 0;
    return await (takesCommands ? gradeInMachine : gradeInFolder)(line, task, sources, signal);
  } catch (error) {
    if (signal.aborted || error instanceof UserError) throw error;
    return { state: "eval_error", score: null, reason: (error as Error).message };
  }
}

/** Grades in a folder if only files matter and neither setup nor a running machine is needed. */
async function gradeInFolder(
  line: OracleLine,
  task: SuiteTask,
  { suite, derivedFolder, custom }: LineSources,
  signal: AbortSignal,
): Promise<Grade> {
  const machine = await folderMachines.open(task.snapshot, signal);
  const workFolder = await makeTemporaryFolder("oracle");
  try {
    const { refused, missing } = await placeFiles(line, task, derivedFolder, machine);
    if (refused !== null) return failed(refused);
    // Skip sleeps, because they wait for programs and a folder cannot run any.
    const options = { workFolder, suiteRoot: suite.root, timeScale: 0, custom, scoreAnswer: answerScorer(line) };
    return graded(await evaluateTask(task, machine, options, signal), missing);
  } finally {
    await Promise.all([machine.close(), rm(workFolder, { recursive: true, force: true })]);
  }
}

/** Grades in a machine that is set up as for an agent. Then adds the line's files and starts its processes. */
async function gradeInMachine(
  line: OracleLine,
  task: SuiteTask,
  { derivedFolder, ...sources }: LineSources,
  signal: AbortSignal,
): Promise<Grade> {
  const opening = await openSuiteTask(task, sources, signal);
  if (!opening.ok) return { state: opening.state, score: null, reason: opening.reason };
  const { machine, grade, close } = opening.opened;
  try {
    const { refused, missing } = await applyOracleLine(line, task, derivedFolder, machine, signal);
    return refused === null ? graded(await grade(signal, answerScorer(line)), missing) : failed(refused);
  } finally {
    await close();
  }
}

function answerScorer({ answer }: OracleLine): EvaluationOptions["scoreAnswer"] {
  return answer === undefined ? undefined : (gold) => similarity(answer, gold);
}

function graded({ reason, ...grade }: Grade, missing: readonly string[]): Grade {
  const missingText = missing.length === 0 ? "" : `missing files: ${missing.join(", ")}`;
  return { ...grade, reason: [reason, missingText].filter((part) => part !== "").join("; ") };
}
