import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { Rollout, Suite, TaskOpening } from "../agents/agent.js";
import { shellWord } from "../platform/command-line.js";
import type { AppContext } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import { taskMailbox } from "../questions/dataset.js";
import type { MachineHostChoice } from "../sandbox/bubblewrap-machine.js";
import { missingForImage, writeDockerfile } from "../sandbox/docker-machine.js";
import { chooseMachineHost, openDockerMachine, openTaskMachine } from "../sandbox/open-task-machine.js";
import { checkSnapshots, readSnapshots, type Snapshot, snapshotOf } from "../sandbox/snapshots.js";
import { HOME, type OpenedMachine, type TaskMachines } from "../sandbox/task-machine.js";
import { similarity } from "../scoring/scorers.js";
import type { Ending } from "../tasks/ending.js";
import { isQuestion, type PlannedSuiteTask, type SuiteTaskFacts } from "../tasks/question.js";
import type { Grade, TaskState } from "../tasks/suite-task.js";
import type { SuiteTrace } from "../traces/trace.js";
import { ACCOUNT_PREFIX, AccountSettings } from "./accounts.js";
import { SuiteDocuments } from "./documents.js";
import { attachedInbox, questionOfTask } from "./email-task.js";
import { folderMachines } from "./folder-machine.js";
import { GradingProcesses } from "./grading-processes.js";
import { HarborMachines } from "./harbor-machine.js";
import { UNSUPPORTED } from "./harbor-task.js";
import { harborOracle } from "./harbor-trial.js";
import { collectLeftBehind } from "./left-behind.js";
import { customFunctions } from "./load-custom-functions.js";
import { needsMachine } from "./named-paths.js";
import { openSuiteTask, type SuiteTaskSources } from "./open-suite-task.js";
import { openOracle, type SuiteOracle } from "./oracle.js";
import { type SuiteSelectionOptions, selectSuiteTasks } from "./select-tasks.js";
import { openSuiteFolder, type SuiteFinding, type SuiteFolder } from "./suite-folder.js";
import { type ReadSuite, readSuite } from "./task-file.js";

/** The Dockerfile of a snapshot, of the suite in this folder or a built-in one. */
export async function snapshotImage(name: string, folder: string | undefined): Promise<string> {
  const root = folder === undefined ? null : openSuiteFolder(folder).root;
  return writeDockerfile(snapshotOf(name, await readSnapshots(root)));
}

interface FolderSuiteOptions extends SuiteSelectionOptions, SuiteResourceOptions {
  /** Null: all that are selected. */
  readonly limit: number | null;
  /** Whether mail of after a task's day is invisible to its agent. */
  readonly cutoff: "query_date" | "off";
  /** Path of the oracle file that the agent may apply. */
  readonly oracle?: string | undefined;
}

/** The tasks of a suite's folder, each in a machine of its own. Throws a UserError where the folder cannot be used. */
export async function openFolderSuite(
  path: string,
  options: FolderSuiteOptions,
  context: AppContext,
): Promise<Suite<PlannedSuiteTask>> {
  const folder = openSuiteFolder(path);
  await readSnapshots(folder.root);
  const oracle = options.oracle === undefined ? null : openOracleOf(folder, options.oracle);
  const documents = new SuiteDocuments(folder.content, context.settings.cacheDir);
  const resources = await openSuiteResources(folder, options, context);
  return {
    async list() {
      const read = readSuite(folder);
      const tasks = await withMachines(readTasks(read, options, context), read, resources, context);
      return { set: { source: folder.root, revision: null, sha256: digestOf(tasks), split: "suite" }, tasks };
    },
    async open(task, signal) {
      if (isQuestion(task)) throw new Error(`task ${task.id} is a question, and the run is over the suite ${path}`);
      return openTask(task, { resources, documents, oracle, cutoff: options.cutoff }, signal);
    },
    async close() {
      await Promise.all([documents.close(), resources.close()]);
    },
  };
}

function openOracleOf(folder: SuiteFolder, path: string): SuiteOracle {
  return folder.form === "harbor" ? harborOracle : openOracle(path, folder);
}

/** Those Harbor tasks that can be done here; each of the others is named with why not. */
async function withMachines(
  tasks: readonly PlannedSuiteTask[],
  { suite, tasks: read }: ReadSuite,
  resources: SuiteResources,
  { note }: AppContext,
): Promise<readonly PlannedSuiteTask[]> {
  if (suite.form !== "harbor") return tasks;
  const { machines } = await resources.sources();
  const findingsOf = new Map(read.map(({ task, findings }) => [task.folder, findings]));
  const refused: string[] = [];
  const left: PlannedSuiteTask[] = [];
  for (const task of tasks) {
    const obstacle = findingsOf.get(task.folder)?.find(({ code }) => code === UNSUPPORTED);
    const reason = obstacle === undefined ? await machines.missingFor(task.snapshot) : describeObstacle(obstacle);
    if (reason === null) left.push(task);
    else refused.push(`${task.id}: ${reason}`);
  }
  if (left.length === 0) {
    throw new UserError(
      "tasks_none",
      `No selected task of ${suite.name} can be done here: ${refused.slice(0, 3).join("; ")}.`,
      `See what each needs: art-e suite check ${shellWord(suite.root)}`,
    );
  }
  for (const one of refused) note(`art-e: left out: ${one}`);
  return left;
}

const describeObstacle = ({ field, message }: SuiteFinding) => (field === "" ? message : `${field}: ${message}`);

interface OpeningContext {
  readonly resources: SuiteResources;
  readonly documents: SuiteDocuments;
  readonly oracle: SuiteOracle | null;
  readonly cutoff: "query_date" | "off";
}

async function openTask(
  task: PlannedSuiteTask,
  { resources, documents, oracle, cutoff }: OpeningContext,
  signal: AbortSignal,
): Promise<TaskOpening> {
  const hasMachine = needsMachine(task);
  const sources = await (hasMachine ? resources.sources() : resources.withoutMachines());
  const opening = await openSuiteTask(task, sources, signal);
  if (!opening.ok) return { ok: false, reason: opening.reason, record: ungraded(task, opening) };
  const { machine, secrets, grade, close } = opening.opened;
  const ownDocuments = documents.open(task.folder);
  const begun = new Date();
  const inbox = attachedInbox(task);
  const mailbox = inbox === null ? null : taskMailbox(inbox, cutoff);
  return {
    ok: true,
    opened: {
      instruction: task.instruction,
      variables: {
        ...mailbox?.variables,
        ...(hasMachine ? { snapshot: task.snapshot, home: machine.workdir ?? HOME } : {}),
      },
      access: {
        ...(mailbox?.access ?? { inbox: null, cutoff: null }),
        ...(hasMachine ? { machine } : {}),
        documents: ownDocuments,
        ...(oracle === null ? {} : { oracle: oracle.open(task, machine) }),
      },
      secrets,
      async grade(rollout, stop) {
        const left = hasMachine ? await collectLeftBehind(machine, begun, stop) : null;
        const gradeIt = () => grade(stop, (gold) => similarity(rollout.answer, gold));
        const record = await gradeRollout(task, rollout, gradeIt);
        return left === null ? record : { ...record, left };
      },
      async close() {
        await ownDocuments.close();
        await close();
      },
    },
  };
}

function readTasks(
  { suite: folder, tasks, problems }: ReadSuite,
  options: FolderSuiteOptions,
  { note }: AppContext,
): PlannedSuiteTask[] {
  const { name, root } = folder;
  const unreadable = new Set(problems.map(({ file }) => file)).size;
  if (unreadable > 0) {
    note(`art-e: ${unreadable} tasks of ${name} cannot be read and are left out: art-e suite check ${shellWord(root)}`);
  }
  const all = tasks.map(({ task }) => task);
  const selected = selectSuiteTasks(all, options, folder);
  if (selected.length === 0) {
    throw new UserError(
      "tasks_none",
      `No task of ${name} is selected.`,
      `List them: art-e suite list ${shellWord(root)}`,
    );
  }
  return selected.slice(0, options.limit ?? undefined).map((one) => ({ ...one, suite: { name, root } }));
}

type SuiteTaskRecord = Pick<SuiteTrace, "task" | "grade">;

/** How suites name what ended an agent's work; what was graded well is a success whatever the agent said. */
const STATES: Readonly<Record<Ending, TaskState>> = {
  answered: "success",
  dont_know: "success",
  out_of_turns: "max_steps",
  out_of_budget: "max_steps",
  timeout: "timeout",
  model_error: "agent_error",
  tool_protocol_error: "agent_error",
  interrupted: "agent_error",
  not_started: "setup_error",
};

/** What a trace keeps of a task, graded also where the agent's turns or time ran out. */
async function gradeRollout(
  task: PlannedSuiteTask,
  { ending }: Rollout,
  grade: () => Promise<Grade>,
): Promise<SuiteTaskRecord> {
  // A fault of the model's server says nothing of the agent, and an interrupted task is done again.
  if (ending === "model_error" || ending === "interrupted") {
    return ungraded(task, { state: STATES[ending], reason: "" });
  }
  const graded = await grade();
  const state = graded.state === "success" ? STATES[ending] : graded.state;
  return { task: factsOf(task), grade: { ...graded, state } };
}

/** What a trace keeps of a task that says nothing of the agent. */
export function ungraded(
  task: PlannedSuiteTask,
  { state, reason }: { readonly state: TaskState; readonly reason: string },
): SuiteTaskRecord {
  return { task: factsOf(task), grade: { score: null, state, reason } };
}

function factsOf(task: PlannedSuiteTask): SuiteTaskFacts {
  const { id, suite, dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart } = task;
  const emailQuestion = questionOfTask(task);
  return {
    id,
    suite: suite.name,
    ...{ dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart },
    ...(emailQuestion === null ? {} : { emailQuestion }),
  };
}

/** What a suite's tasks take from outside of it. */
interface SuiteResourceOptions {
  /** The user's module of set-up and evaluation functions. */
  readonly functions?: string | undefined;
  /** The user's folder of the settings of accounts. */
  readonly accountSettings?: string | undefined;
}

/** What the tasks of a run are opened with. Close it in the end. */
interface SuiteResources {
  /** Machines are looked for when the first task is opened. */
  sources(): Promise<SuiteTaskSources>;
  /** For tasks that take none: a folder stands for it. */
  withoutMachines(): SuiteTaskSources;
  close(): Promise<void>;
}

/** Throws a UserError where the module or the folder cannot be used. */
async function openSuiteResources(
  suite: SuiteFolder,
  { functions, accountSettings }: SuiteResourceOptions,
  context: AppContext,
): Promise<SuiteResources> {
  const folder = accountSettings === undefined ? null : resolve(accountSettings);
  const env = accountVariables(context);
  const accounts = new AccountSettings(suite, folder, env);
  const custom = await customFunctions(functions);
  const path = functions === undefined ? null : resolve(functions);
  const graders = new GradingProcesses({ suite, functions: path, accounts: { folder, env } });
  let machines: Promise<TaskMachines> | undefined;
  return {
    async sources() {
      machines ??= findSandboxedMachines(suite, context, folder);
      return { suite, machines: await machines, accounts, custom, graders };
    },
    withoutMachines: () => ({ suite, machines: folderMachines, accounts, custom, graders }),
    close: () => graders.close(),
  };
}

function accountVariables({ settings: { env } }: AppContext): Record<string, string> {
  const found = Object.entries(env).filter(([name, value]) => name.startsWith(ACCOUNT_PREFIX) && value !== undefined);
  return Object.fromEntries(found as [string, string][]);
}

/** A suite's folder, as machines that have one each tell whether theirs is the same. */
export interface IdentifiedSuite {
  readonly name: string;
  /** SHA-256 of what all of its task files say. */
  readonly digest: string;
  /** By their ids. */
  readonly tasks: ReadonlyMap<string, PlannedSuiteTask>;
  /** Whether any task is about a mailbox. */
  readonly hasMail: boolean;
}

/** Throws a UserError where it is no suite. */
export function identifySuite(path: string): IdentifiedSuite {
  const folder = openSuiteFolder(path);
  const { name, root } = folder;
  const tasks = readSuite(folder).tasks.map(({ task }) => ({ ...task, suite: { name, root } }));
  return {
    name,
    digest: digestOf(tasks),
    tasks: new Map(tasks.map((task) => [task.id, task])),
    hasMail: tasks.some((task) => attachedInbox(task) !== null),
  };
}

/** Of what the task files say: two runs with one digest were over the same tasks. */
function digestOf(tasks: readonly PlannedSuiteTask[]): string {
  const texts = tasks.map((task) => JSON.stringify({ ...task, folder: "", suite: "" }));
  return createHash("sha256")
    .update([...new Set(texts)].join("\n"))
    .digest("hex");
}

/**
 * The sandboxed machines that a suite's tasks can have here. Throws a UserError where its snapshots.json is wrong.
 * `secret`: a folder that no machine may show.
 */
export async function findSandboxedMachines(
  suite: SuiteFolder,
  context: AppContext,
  secret: string | null = null,
): Promise<TaskMachines> {
  // No agent may find the golds, or what others did.
  const hidden = [suite.root, dirname(resolve(context.settings.db)), ...(secret === null ? [] : [secret])];
  const choice = await chooseMachineHost();
  if (suite.form === "harbor") return new HarborMachines(choice, suite.root, hidden);
  return new SandboxedMachines(choice, await readSnapshots(suite.root), hidden);
}

class SandboxedMachines implements TaskMachines {
  readonly #missing = new Map<string, Promise<string | null>>();

  constructor(
    private readonly choice: MachineHostChoice,
    private readonly snapshots: ReadonlyMap<string, Snapshot>,
    private readonly hidden: readonly string[],
  ) {}

  missingFor(name: string): Promise<string | null> {
    const asked = this.#missing.get(name) ?? this.#lookFor(name);
    this.#missing.set(name, asked);
    return asked;
  }

  async #lookFor(name: string): Promise<string | null> {
    const snapshot = this.snapshots.get(name);
    if (snapshot !== undefined && isOfImage(snapshot)) return missingForImage(snapshot.image);
    if (!this.choice.ok) return `no machine for tasks here: ${this.choice.why}. ${this.choice.hint}`;
    if (snapshot === undefined) return `there is no snapshot "${name}": snapshots.json in the suite's folder adds one`;
    const { snapshots, install, withoutPackage } = await checkSnapshots([snapshot]);
    const why = withoutPackage.length === 0 && install !== null ? install : (snapshots[0]?.why ?? null);
    return why === null ? null : `the snapshot ${name} is not ready here: ${why}`;
  }

  async open(name: string, signal: AbortSignal): Promise<OpenedMachine> {
    const snapshot = snapshotOf(name, this.snapshots);
    if (isOfImage(snapshot)) return await openDockerMachine(snapshot, signal);
    if (!this.choice.ok) throw new Error(this.choice.why);
    return await openTaskMachine(this.choice.host, snapshot, { hidden: this.hidden }, signal);
  }
}

function isOfImage(snapshot: Snapshot): snapshot is Snapshot & { readonly image: string } {
  return snapshot.image !== null;
}
