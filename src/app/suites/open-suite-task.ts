import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Grade, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { OpenedMachine, TaskMachine, TaskMachines } from "../../domain/tasks/task-machine.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import { evaluateTask } from "../../suites/evaluation/evaluate-task.js";
import type { EvaluationOptions } from "../../suites/evaluation/evaluation-context.js";
import { runSetUp, type SetUpRefusal, type SetUpStep } from "../../suites/setup/run-set-up.js";

/**
 * A task whose machine is open and set up. Gold files and scripts that grade stay outside until `grade`: what the
 * task's set-up names is all that is in the machine while an agent works.
 */
export interface OpenedSuiteTask {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  /** What set-up did, and what it passed over for want of a screen. */
  readonly steps: readonly SetUpStep[];
  /** Collects and grades what is in the machine, where what the agent started still runs, or the answer. */
  grade(signal: AbortSignal, scoreAnswer?: EvaluationOptions["scoreAnswer"]): Promise<Grade>;
  /** Ends what runs in the machine and removes it, with what was collected. */
  close(): Promise<void>;
}

export type TaskOpening = { readonly ok: true; readonly opened: OpenedSuiteTask } | SetUpRefusal;

/** Opens a machine of the task's snapshot and sets it up. Close what was opened. Throws only where `signal` aborts. */
export async function openSuiteTask(
  task: SuiteTask,
  suite: SuiteFolder,
  machines: TaskMachines,
  signal: AbortSignal,
): Promise<TaskOpening> {
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
    const setUp = await runSetUp({ task, machine, options: { suiteRoot: suite.root }, signal });
    if (setUp.ok) return { ok: true, opened: await openedTask(task, suite, machine, setUp.steps) };
    await machine.close();
    return setUp;
  } catch (error) {
    await machine.close();
    throw error;
  }
}

async function openedTask(
  task: SuiteTask,
  { root: suiteRoot }: SuiteFolder,
  machine: OpenedMachine,
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
    return await evaluateTask(task, machine, { workFolder, suiteRoot, ...answered }, signal);
  };
  return { task, machine, steps, grade, close };
}
