// Opens a suite task: finds its machine and snapshot, and sets it up.
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { AppContext } from "../../platform/app-context.js";
import { compact } from "../../platform/optional-values.js";
import { redact } from "../../platform/secrets.js";
import { missingForImage } from "../../sandbox/docker-machine.js";
import {
  checkSnapshots,
  missingOptional,
  readSnapshots,
  type Snapshot,
  snapshotOf,
} from "../../sandbox/machine-snapshots.js";
import { chooseMachineHost, openDockerMachine, openTaskMachine } from "../../sandbox/open-task-machine.js";
import type { OpenedMachine, TaskMachine, TaskMachines } from "../../sandbox/task-machine.js";
import { makeTemporaryFolder } from "../../sandbox/workspace.js";
import type { Grade, SuiteTask } from "../../tasks/suite-task.js";
import { isGradedByAnswer } from "../email-task.js";
import type { EvaluationOptions } from "../functions/grading-function.js";
import { customFunctions } from "../functions/load-custom-functions.js";
import { evaluateTask } from "../grading/evaluate-task.js";
import type { GradingPool } from "../grading/grading-pool.js";
import { HarborMachines } from "../harbor/harbor-machine.js";
import { harborOracle } from "../harbor/harbor-trial.js";
import { openOracle } from "../oracle.js";
import { ACCOUNT_TAG, type SuiteFolder } from "../suite-folder.js";
import { findObstacle, type TaskSources } from "../task-needs.js";
import { ACCOUNT_PREFIX, AccountSettings, redactedMachine } from "./account-settings.js";
import { runSetUp, type SetUpRefusal } from "./task-setup.js";

/** Sources for suite tasks outside of the suite's folder. */
export interface TaskSourceOptions {
  /** Path of the user's module with setup and evaluation functions. */
  readonly functions?: string | undefined;
  /** The user's folder with account settings. */
  readonly accountSettings?: string | undefined;
  /** Path of the oracle file that the agent can apply. */
  readonly oracle?: string | undefined;
}

type MachineObstacle = Awaited<ReturnType<TaskMachines["findObstacle"]>>;

/**
 * A task whose machine is open and set up. Gold files and grading scripts stay outside until `grade`. While the agent
 * is working, the machine contains only the files from the task's setup.
 */
interface OpenedSuiteTask {
  /** The machine as the agent sees it, without the values of account settings. */
  readonly machine: TaskMachine;
  /** Values of account settings, which must never be stored. */
  readonly secrets: readonly string[];
  /** Collects and grades the files in the machine, while the agent's processes still run, or grades the answer. */
  grade(signal: AbortSignal, scoreAnswer?: EvaluationOptions["scoreAnswer"]): Promise<Grade>;
  /** Ends all processes in the machine, and removes it and the collected files. */
  close(): Promise<void>;
}

interface OpenedTaskSources extends TaskSources {
  /** Grades in other processes instead of this one. */
  readonly graders?: GradingPool | undefined;
}

/** Opens the sources. Throws a UserError if the module, the folder, the oracle file or snapshots.json is unusable. */
export async function openTaskSources(
  suite: SuiteFolder,
  { functions, accountSettings, oracle }: TaskSourceOptions,
  context: AppContext,
): Promise<TaskSources> {
  const folder = accountSettings === undefined ? null : resolve(accountSettings);
  return {
    suite,
    machines: await findSandboxedMachines(suite, context, folder),
    accounts: new AccountSettings(suite, folder, accountVariables(context)),
    custom: await customFunctions(functions),
    oracle: oracle === undefined ? undefined : suite.form === "harbor" ? harborOracle : openOracle(oracle, suite),
  };
}

export function accountVariables({ settings: { env } }: AppContext): Record<string, string> {
  const entries = Object.entries(env).filter(([name, value]) => name.startsWith(ACCOUNT_PREFIX) && value !== undefined);
  return Object.fromEntries(entries as [string, string][]);
}

/**
 * Returns the sandboxed machines that a suite's tasks can have on this host. Throws a UserError if its snapshots.json
 * is invalid. `secret` is a folder that no machine may show.
 */
export async function findSandboxedMachines(
  suite: SuiteFolder,
  context: AppContext,
  secret: string | null = null,
): Promise<TaskMachines> {
  // Agents must not find the gold files or the results of other agents.
  const hidden = compact([suite.root, dirname(resolve(context.settings.db)), secret]);
  if (suite.form === "harbor") return new HarborMachines(await chooseMachineHost(), suite.root, hidden);
  return new SandboxedMachines(await readSnapshots(suite.root), hidden);
}

class SandboxedMachines implements TaskMachines {
  private readonly obstacles = new Map<string, Promise<MachineObstacle>>();

  constructor(
    private readonly snapshots: ReadonlyMap<string, Snapshot>,
    private readonly hidden: readonly string[],
  ) {}

  async findObstacle(name: string, scripts: readonly string[]): Promise<MachineObstacle> {
    const lookup = this.obstacles.get(name) ?? this.lookFor(name);
    this.obstacles.set(name, lookup);
    const obstacle = await lookup;
    const snapshot = this.snapshots.get(name);
    if (obstacle !== null || snapshot === undefined || isOfImage(snapshot)) return obstacle;
    const missing = await missingOptional(snapshot, scripts);
    if (missing.length === 0) return null;
    return notReady(
      `the snapshot ${name} does not have programs that the task's scripts call: ${missing.map(([program]) => program).join(", ")}`,
    );
  }

  private async lookFor(name: string): Promise<MachineObstacle> {
    const snapshot = this.snapshots.get(name);
    if (snapshot === undefined) {
      return notReady(`unknown snapshot "${name}": add it to snapshots.json in the suite's folder`);
    }
    if (isOfImage(snapshot)) {
      const missing = await missingForImage(snapshot.image);
      return missing === null ? null : notReady(missing);
    }
    if (snapshot.unavailable !== null) {
      return { state: "needs_server", reason: `the snapshot ${name} is not available: ${snapshot.unavailable}` };
    }
    const choice = await chooseMachineHost();
    if (!choice.ok) return notReady(`cannot start machines for tasks: ${choice.why}. ${choice.hint}`);
    const { snapshots, install, withoutPackage } = await checkSnapshots([snapshot]);
    const why = withoutPackage.length === 0 && install !== null ? install : (snapshots[0]?.why ?? null);
    return why === null ? null : notReady(`the snapshot ${name} is not ready: ${why}`);
  }

  async open(name: string, signal: AbortSignal): Promise<OpenedMachine> {
    const snapshot = snapshotOf(name, this.snapshots);
    if (isOfImage(snapshot)) return await openDockerMachine(snapshot, signal);
    const choice = await chooseMachineHost();
    if (!choice.ok) throw new Error(choice.why);
    return await openTaskMachine(choice.host, snapshot, { hidden: this.hidden }, signal);
  }
}

const notReady = (reason: string): MachineObstacle => ({ state: "not_ready", reason });

function isOfImage(snapshot: Snapshot): snapshot is Snapshot & { readonly image: string } {
  return snapshot.image !== null;
}

/** Opens a machine of the task's snapshot and sets it up. The caller must close it. Throws only if `signal` aborts. */
export async function openSuiteTask(
  task: SuiteTask,
  sources: OpenedTaskSources,
  signal: AbortSignal,
): Promise<{ readonly ok: true; readonly opened: OpenedSuiteTask } | SetUpRefusal> {
  const { suite, machines, accounts, custom } = sources;
  const secrets = task.tags.includes(ACCOUNT_TAG) ? (accounts?.secrets() ?? []) : [];
  const obstacle = await findObstacle(task, sources);
  if (obstacle !== null) return { ok: false, ...obstacle };
  let machine: OpenedMachine;
  try {
    machine = await machines.open(task.snapshot, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    return { ok: false, state: "setup_error", reason: `its machine did not start: ${(error as Error).message}` };
  }
  try {
    const refusal = await runSetUp({ task, machine, options: { suiteRoot: suite.root, accounts, custom }, signal });
    if (refusal === null) return { ok: true, opened: await openedTask(task, sources, machine, secrets) };
    await machine.close();
    return { ...refusal, reason: redact(refusal.reason, secrets) };
  } catch (error) {
    await machine.close();
    throw error;
  }
}

async function openedTask(
  task: SuiteTask,
  { suite: { root: suiteRoot }, accounts, custom, graders }: OpenedTaskSources,
  machine: OpenedMachine,
  secrets: readonly string[],
): Promise<OpenedSuiteTask> {
  const work = await makeTemporaryFolder("task");
  const close = async () => {
    await machine.close();
    await rm(work, { recursive: true, force: true });
  };
  const grade: OpenedSuiteTask["grade"] = async (signal, scoreAnswer) => {
    const workFolder = await mkdtemp(join(work, "collected-"));
    const grade =
      graders === undefined || isGradedByAnswer(task)
        ? await evaluateTask(task, machine, { workFolder, suiteRoot, accounts, custom, scoreAnswer }, signal)
        : await graders.evaluate(task, machine, workFolder, signal);
    return { ...grade, reason: redact(grade.reason, secrets) };
  };
  const visibleMachine = secrets.length === 0 ? machine : redactedMachine(machine, secrets);
  return { machine: visibleMachine, secrets, grade, close };
}
