import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { Grade, SuiteTask } from "../../../domain/tasks/suite-task.js";
import type { TaskMachines } from "../../../domain/tasks/task-machine.js";
import type { TaskState } from "../../../domain/tasks/task-state.js";
import { similarity } from "../../../scoring/semantic-score.js";
import type { CustomFunctions } from "../../../suites/custom/custom-functions.js";
import type { SuiteFolder } from "../../../suites/definition/suite-folder.js";
import { evaluateTask } from "../../../suites/evaluation/evaluate-task.js";
import type { EvaluationOptions } from "../../../suites/evaluation/evaluation-context.js";
import { folderMachines } from "../../../suites/machines/folder-machines.js";
import { openSuiteTask } from "../open-suite-task.js";
import { applyOracleLine } from "./apply-oracle-line.js";
import { placeFiles } from "./place-files.js";
import type { OracleLine } from "./read-oracle.js";

export interface LineSources {
  readonly suite: SuiteFolder;
  /** Holds the files that lines derive. */
  readonly derivedFolder: string;
  /** For lines that take commands to be run. */
  readonly machines: () => Promise<TaskMachines>;
  readonly custom: CustomFunctions;
}

export interface LineGrade {
  readonly status: TaskState;
  readonly score: number | null;
  readonly reason: string;
}

/** Grades a task with what a line says an agent left behind. Throws a UserError where the suite cannot be graded. */
export async function gradeOracleLine(
  line: OracleLine,
  task: SuiteTask,
  sources: LineSources,
  signal: AbortSignal,
): Promise<LineGrade> {
  try {
    const takesCommands = line.grading !== "files" || line.processes.length > 0;
    return await (takesCommands ? gradeInMachine : gradeInFolder)(line, task, sources, signal);
  } catch (error) {
    if (signal.aborted || error instanceof UserError) throw error;
    return { status: "eval_error", score: null, reason: (error as Error).message };
  }
}

/** Files are all that counts: neither set-up nor a machine that runs is needed. */
async function gradeInFolder(
  line: OracleLine,
  task: SuiteTask,
  { suite, derivedFolder, custom }: LineSources,
  signal: AbortSignal,
): Promise<LineGrade> {
  const machine = await folderMachines.open(task.snapshot, signal);
  const workFolder = await mkdtemp(join(tmpdir(), "art-e-oracle-"));
  try {
    const { refused, missing } = await placeFiles(line, task, derivedFolder, machine);
    if (refused !== null) return failed(refused);
    // Waiting is for programs, and none runs here.
    const options = { workFolder, suiteRoot: suite.root, timeScale: 0, custom, ...answerOptions(line) };
    return graded(await evaluateTask(task, machine, options, signal), missing);
  } finally {
    await Promise.all([machine.close(), rm(workFolder, { recursive: true, force: true })]);
  }
}

/** Set up as for an agent; then the line's files are put in place, and its processes started. */
async function gradeInMachine(
  line: OracleLine,
  task: SuiteTask,
  { suite, derivedFolder, machines, custom }: LineSources,
  signal: AbortSignal,
): Promise<LineGrade> {
  const opening = await openSuiteTask(task, { suite, machines: await machines(), custom }, signal);
  if (!opening.ok) return { status: opening.state, score: null, reason: opening.reason };
  const { machine, grade, close } = opening.opened;
  try {
    const { refused, missing } = await applyOracleLine(line, task, derivedFolder, machine, signal);
    return refused === null ? graded(await grade(signal, answerOptions(line).scoreAnswer), missing) : failed(refused);
  } finally {
    await close();
  }
}

function answerOptions({ answer }: OracleLine): Pick<EvaluationOptions, "scoreAnswer"> {
  return answer === undefined ? {} : { scoreAnswer: (gold) => similarity(answer, gold) };
}

const failed = (reason: string): LineGrade => ({ status: "setup_error", score: null, reason });

function graded({ state, score, reason }: Grade, missing: readonly string[]): LineGrade {
  const left = missing.length === 0 ? "" : `not in place, as missing: ${missing.join(", ")}`;
  return { status: state, score, reason: [reason, left].filter((part) => part !== "").join("; ") };
}
