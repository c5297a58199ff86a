import { dirname, resolve } from "node:path";
import pLimit from "p-limit";
import type { TaskMachines } from "../../../domain/tasks/task-machine.js";
import type { TaskState } from "../../../domain/tasks/task-state.js";
import { readSuite } from "../../../suites/definition/read-suite.js";
import { openSuiteFolder } from "../../../suites/definition/suite-folder.js";
import { type AppContext, Interrupted } from "../../use-case-context.js";
import { customFunctions } from "../custom-functions.js";
import { findSandboxedMachines } from "../sandboxed-machines.js";
import { gradeOracleLine, type LineGrade, type LineSources } from "./grade-oracle-line.js";
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

const STOPPED = "Stopped; nothing was saved.";
/** Files are read and compared while others are: more at once gains nothing on two cores. */
const CONCURRENCY = 4;

/** Puts in place what each line of an oracle file says an agent left behind, and compares the grade with its score. */
export async function gradeOracle(
  folder: string,
  oracleFile: string,
  functions: string | undefined,
  context: AppContext,
): Promise<OracleReport> {
  const suite = openSuiteFolder(folder);
  const tasks = new Map(readSuite(suite).tasks.map(({ task }) => [task.id, task]));
  const all = readOracle(oracleFile);
  const own = all.filter((line) => line.suite === suite.name);
  let machines: Promise<TaskMachines> | undefined;
  const sources: LineSources = {
    suite,
    derivedFolder: dirname(resolve(oracleFile)),
    custom: await customFunctions(functions),
    machines: () => {
      machines ??= findSandboxedMachines(suite, context);
      return machines;
    },
  };
  const bar = context.progress("Grading");
  const limit = pLimit(CONCURRENCY);
  let done = 0;
  const grading = own.map((line) =>
    limit(async () => {
      if (context.signal.aborted) throw new Interrupted(STOPPED);
      const task = tasks.get(line.uuid);
      const grade = task === undefined ? UNKNOWN_TASK : await gradeOracleLine(line, task, sources, context.signal);
      bar.update(++done, own.length, "");
      return toGradedLine(line, grade);
    }),
  );
  // Whatever one of them throws, the others close their machines first.
  await Promise.allSettled(grading);
  bar.stop();
  if (context.signal.aborted) throw new Interrupted(STOPPED);
  const lines = await Promise.all(grading);
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

const UNKNOWN_TASK: LineGrade = { status: "setup_error", score: null, reason: "the suite has no such task" };

function toGradedLine(line: OracleLine, { score, status, reason }: LineGrade): GradedLine {
  const { suite, uuid, state, expected_score: expected } = line;
  return { suite, uuid, state, expected, score, status, reason };
}
