import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Grade, SuiteTask } from "../../domain/tasks/suite-task.js";
import type { TaskMachine } from "../../domain/tasks/task-machine.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";
import { evaluateTask } from "../../suites/evaluation/evaluate-task.js";
import { runSetUp, type SetUpRefusal, type SetUpStep } from "../../suites/setup/run-set-up.js";
import type { TaskMachines } from "./task-machines.js";

/**
 * A task whose machine is open and set up. Gold files and scripts that grade stay outside until `grade`: nothing but
 * what the task's set-up names is in the machine while an agent works.
 */
export interface OpenedSuiteTask {
  readonly task: SuiteTask;
  readonly machine: TaskMachine;
  /** What set-up did, and what it passed over for want of a screen. */
  readonly steps: readonly SetUpStep[];
  /** Collects and grades what is in the machine. What the agent started still runs. */
  grade(signal: AbortSignal): Promise<Grade>;
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
  const missing = machines.missingFor(task.snapshot);
  if (missing !== null) return { ok: false, state: "unsupported", reason: missing };
  try {
    const machine = await machines.open(task.snapshot, signal);
    return await setUp(task, suite, machine, () => machine.close(), signal);
  } catch (error) {
    if (signal.aborted) throw error;
    return { ok: false, state: "setup_error", reason: `its machine did not start: ${(error as Error).message}` };
  }
}

async function setUp(
  task: SuiteTask,
  suite: SuiteFolder,
  machine: TaskMachine,
  closeMachine: () => Promise<void>,
  signal: AbortSignal,
): Promise<TaskOpening> {
  const options = { suiteRoot: suite.root };
  let result: Awaited<ReturnType<typeof runSetUp>>;
  try {
    result = await runSetUp({ task, machine, options, signal });
  } catch (error) {
    await closeMachine();
    throw error;
  }
  if (!result.ok) {
    await closeMachine();
    return result;
  }
  const work = await mkdtemp(join(tmpdir(), "art-e-task-"));
  const opened: OpenedSuiteTask = {
    task,
    machine,
    steps: result.steps,
    grade: (gradeSignal) => evaluateTask(task, machine, { ...options, workFolder: join(work, "collected") }, gradeSignal),
    close: async () => {
      await closeMachine();
      await rm(work, { recursive: true, force: true });
    },
  };
  return { ok: true, opened };
}
