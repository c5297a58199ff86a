import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redact } from "../platform/text.js";
import type { OpenedMachine, TaskMachine, TaskMachines } from "../sandbox/task-machine.js";
import type { Grade, SuiteTask } from "../tasks/suite-task.js";
import { type AccountSettings, RedactedMachine } from "./accounts.js";
import type { CustomFunctions } from "./custom-functions.js";
import { isGradedByAnswer } from "./email-task.js";
import { evaluateTask } from "./evaluate-task.js";
import type { EvaluationOptions } from "./grading-function.js";
import type { GradingProcesses } from "./grading-processes.js";
import { runSetUp, type SetUpRefusal, type SetUpStep } from "./setup.js";
import { ACCOUNT_TAG, type SuiteFolder } from "./suite-folder.js";

/**
 * A task whose machine is open and set up. Gold files and scripts that grade stay outside until `grade`: what the
 * task's set-up names is all that is in the machine while an agent works.
 */
export interface OpenedSuiteTask {
  readonly task: SuiteTask;
  /** As an agent sees it: without the values of account settings. */
  readonly machine: TaskMachine;
  /** These values, which nothing that is kept may hold. */
  readonly secrets: readonly string[];
  /** What set-up did, and what it passed over for want of a screen. */
  readonly steps: readonly SetUpStep[];
  /** Collects and grades what is in the machine, where what the agent started still runs, or the answer. */
  grade(signal: AbortSignal, scoreAnswer?: EvaluationOptions["scoreAnswer"]): Promise<Grade>;
  /** Ends what runs in the machine and removes it, with what was collected. */
  close(): Promise<void>;
}

export type TaskOpening = { readonly ok: true; readonly opened: OpenedSuiteTask } | SetUpRefusal;

/** What the tasks of a suite are opened with. */
export interface SuiteTaskSources {
  readonly suite: SuiteFolder;
  readonly machines: TaskMachines;
  /** For tasks tagged `account`, which cannot be opened without. */
  readonly accounts?: AccountSettings | undefined;
  readonly custom?: CustomFunctions | undefined;
  /** Grades what was left behind elsewhere than in this process. */
  readonly graders?: GradingProcesses | undefined;
}

/** Opens a machine of the task's snapshot and sets it up. Close what was opened. Throws only where `signal` aborts. */
export async function openSuiteTask(
  task: SuiteTask,
  sources: SuiteTaskSources,
  signal: AbortSignal,
): Promise<TaskOpening> {
  const { suite, machines, accounts, custom } = sources;
  const secrets = task.tags.includes(ACCOUNT_TAG) ? (accounts?.secrets() ?? []) : [];
  const missing = await machines.missingFor(task.snapshot);
  if (missing !== null) return { ok: false, state: "unsupported", reason: missing };
  let machine: OpenedMachine;
  try {
    machine = await machines.open(task.snapshot, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    return { ok: false, state: "setup_error", reason: `its machine did not start: ${(error as Error).message}` };
  }
  try {
    const setUp = await runSetUp({ task, machine, options: { suiteRoot: suite.root, accounts, custom }, signal });
    if (setUp.ok) return { ok: true, opened: await openedTask(task, sources, machine, secrets, setUp.steps) };
    await machine.close();
    return { ...setUp, reason: redact(setUp.reason, secrets) };
  } catch (error) {
    await machine.close();
    throw error;
  }
}

async function openedTask(
  task: SuiteTask,
  { suite: { root: suiteRoot }, accounts, custom, graders }: SuiteTaskSources,
  machine: OpenedMachine,
  secrets: readonly string[],
  steps: readonly SetUpStep[],
): Promise<OpenedSuiteTask> {
  const work = await mkdtemp(join(tmpdir(), "art-e-task-"));
  const close = async () => {
    await machine.close();
    await rm(work, { recursive: true, force: true });
  };
  const grade: OpenedSuiteTask["grade"] = async (signal, scoreAnswer) => {
    const workFolder = await mkdtemp(join(work, "collected-"));
    const answered = scoreAnswer === undefined ? {} : { scoreAnswer };
    const grade =
      graders === undefined || isGradedByAnswer(task)
        ? await evaluateTask(task, machine, { workFolder, suiteRoot, accounts, custom, ...answered }, signal)
        : await graders.evaluate(task, machine, workFolder, signal);
    return { ...grade, reason: redact(grade.reason, secrets) };
  };
  const shown = secrets.length === 0 ? machine : new RedactedMachine(machine, secrets);
  return { task, machine: shown, secrets, steps, grade, close };
}
