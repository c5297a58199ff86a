// A task suite as a source of tasks for a run: opens them, grades them, and identifies the suite by its content.
import { resolve } from "node:path";
import type { Rollout } from "../agents/rollout.js";
import type { Suite, TaskOpening } from "../agents/task-source.js";
import type { AppContext } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { presentProperties } from "../platform/optional-values.js";
import { taskMailbox } from "../questions/dataset.js";
import { writeDockerfile } from "../sandbox/docker-machine.js";
import { readSnapshots, snapshotOf } from "../sandbox/machine-snapshots.js";
import { HOME } from "../sandbox/task-machine.js";
import type { Ending } from "../tasks/ending.js";
import type { PlannedSuiteTask, SuiteTaskFacts, TaskSet } from "../tasks/question.js";
import type { Grade, SuiteTask, TaskState } from "../tasks/suite-task.js";
import { SUITE_SPLIT } from "../tasks/task-kind.js";
import { similarity } from "../text/word-overlap.js";
import type { SuiteTrace } from "../traces/trace.js";
import { attachedInbox, questionOfTask } from "./email-task.js";
import { GradingPool } from "./grading/grading-pool.js";
import { folderMachines } from "./machines/folder-machine.js";
import { planTasks, suiteDigest } from "./suite-content.js";
import { openSuiteFolder, type SuiteFolder } from "./suite-folder.js";
import { collectFinalState } from "./task/collected-images.js";
import { SuiteDocuments } from "./task/document-search.js";
import { accountVariables, openSuiteTask, openTaskSources, type TaskSourceOptions } from "./task/open-task.js";
import { type SuiteSelectionOptions, selectSuiteTasks } from "./task/select-tasks.js";
import { readSuite } from "./task/task-file.js";
import type { SetUpRefusal } from "./task/task-setup.js";
import { findObstacle, needsMachine, type TaskSources } from "./task-needs.js";

interface SuiteOptions extends SuiteSelectionOptions, TaskSourceOptions {
  /** Maximum number of tasks, or null for all selected ones. */
  readonly limit: number | null;
  /** Whether the agent can see mail from after a task's date. */
  readonly cutoff: "query_date" | "off";
}

interface ListedSuite extends Suite {
  list(): Promise<{ readonly set: TaskSet; readonly tasks: readonly PlannedSuiteTask[] }>;
}

type SuiteTaskRecord = Pick<SuiteTrace, "kind" | "task" | "grade">;

/** A suite's folder, identified by its content: the coordinator and each worker has its own copy. */
export interface IdentifiedSuite {
  readonly name: string;
  /** SHA-256 of all tasks with their files. */
  readonly digest: string;
  /** Tasks by id. */
  readonly tasks: ReadonlyMap<string, PlannedSuiteTask>;
  /** Whether any task is about a mailbox. */
  readonly hasMail: boolean;
}

/** Returns the Dockerfile for a snapshot that is built in, or that belongs to the suite in `folder`. */
export async function snapshotImage(name: string, folder: string | undefined): Promise<string> {
  const root = folder === undefined ? null : openSuiteFolder(folder).root;
  return writeDockerfile(snapshotOf(name, await readSnapshots(root)));
}

/** Opens the tasks of a suite's folder, each in its own machine. Throws a UserError if the folder cannot be used. */
export async function openSuite(path: string, options: SuiteOptions, context: AppContext): Promise<ListedSuite> {
  const folder = openSuiteFolder(path);
  const sources = await openTaskSources(folder, options, context);
  const documents = new SuiteDocuments(folder.content, context.settings.cacheDir);
  const { functions, accountSettings } = options;
  const graders = new GradingPool({
    suite: folder,
    functions,
    accounts: {
      folder: accountSettings === undefined ? null : resolve(accountSettings),
      env: accountVariables(context),
    },
  });
  return {
    async list() {
      const tasks = await planTasks(await readTasks(folder, options, sources, context), folder, context.signal);
      const sha256 = await suiteDigest(tasks, folder, context.signal);
      const set = { source: folder.root, revision: null, sha256, split: SUITE_SPLIT };
      return { set, tasks };
    },
    async open({ kind, task }, signal) {
      if (kind === "question") throw new Error(`task ${task.id} is a question, not a task from the suite ${path}`);
      const hasMachine = needsMachine(task);
      const machines = hasMachine ? sources.machines : folderMachines;
      const opening = await openSuiteTask(task, { ...sources, machines, graders }, signal);
      if (!opening.ok) return refusal(task, opening);
      const { machine, secrets, grade, close } = opening.opened;
      const ownDocuments = documents.open(task.folder);
      const start = new Date();
      const inbox = attachedInbox(task);
      const mailbox = inbox === null ? null : taskMailbox(inbox, options.cutoff);
      const oracle = sources.oracle?.open(task, machine);
      return {
        ok: true,
        instruction: task.instruction,
        variables: {
          ...mailbox?.variables,
          ...(hasMachine ? { snapshot: task.snapshot, home: machine.workdir ?? HOME } : {}),
        },
        access: {
          ...(mailbox?.access ?? { inbox: null, cutoff: null }),
          ...(hasMachine ? { machine } : {}),
          documents: ownDocuments,
          ...presentProperties({ oracle }),
        },
        secrets,
        async grade(rollout, stop) {
          const finalState = hasMachine ? await collectFinalState(machine, start, stop) : null;
          const record = await gradeRollout(task, rollout, async () => {
            const graded = await grade(stop, (gold) => similarity(rollout.answer, gold));
            return oracle?.excuse(graded) ?? graded;
          });
          return finalState === null ? record : { ...record, left: finalState };
        },
        async close() {
          await ownDocuments.close();
          await close();
        },
      };
    },
    async close() {
      await Promise.all([documents.close(), graders.close()]);
    },
  };
}

/** A task that does not start. Missing requirements are not an error, but a failed setup is. */
function refusal(task: PlannedSuiteTask, { state, reason }: SetUpRefusal): TaskOpening {
  const ending = state === "setup_error" ? "not_started" : "not_runnable";
  return { ok: false, ending, reason, record: ungraded(task, { state, reason }) };
}

async function readTasks(
  folder: SuiteFolder,
  options: SuiteOptions,
  sources: TaskSources,
  { note }: AppContext,
): Promise<readonly SuiteTask[]> {
  const { name, root } = folder;
  const { tasks, problems } = readSuite(folder);
  const unreadable = new Set(problems.map(({ file }) => file)).size;
  if (unreadable > 0) {
    note(
      `art-e: ${unreadable} unreadable tasks of ${name} were skipped. Run ${commandLine`art-e suite check ${root}`} for details.`,
    );
  }
  const all = tasks.map(({ task }) => task);
  const selected = await selectSuiteTasks(all, options, sources);
  if (selected.length === 0) {
    throw new UserError(
      "tasks_none",
      `No task in ${name} matches the selection.`,
      `Run ${commandLine`art-e suite list ${root}`} to list the tasks.`,
    );
  }
  const runnable = folder.form === "harbor" ? await withMachines(selected, sources, note) : selected;
  return runnable.slice(0, options.limit ?? undefined);
}

/** Returns the Harbor tasks that can run on this machine. Reports why the others cannot. */
async function withMachines(
  tasks: readonly SuiteTask[],
  sources: TaskSources,
  note: AppContext["note"],
): Promise<readonly SuiteTask[]> {
  const runnable: SuiteTask[] = [];
  const refusals: string[] = [];
  for (const task of tasks) {
    const obstacle = await findObstacle(task, sources);
    if (obstacle === null) runnable.push(task);
    else refusals.push(`${task.id}: ${obstacle.reason}`);
  }
  if (runnable.length === 0) {
    const { name, root } = sources.suite;
    throw new UserError(
      "tasks_none",
      `None of the selected tasks in ${name} can run on this machine: ${refusals.slice(0, 3).join("; ")}.`,
      `Run ${commandLine`art-e suite check ${root}`} to see what each task needs.`,
    );
  }
  for (const one of refusals) note(`art-e: skipped: ${one}`);
  return runnable;
}

/** The suites' names for how a task ended. A graded task is a success, regardless of the agent's answer. */
const STATES: Readonly<Record<Ending, TaskState>> = {
  answered: "success",
  dont_know: "success",
  refused: "agent_error",
  out_of_turns: "max_steps",
  out_of_budget: "max_steps",
  timeout: "timeout",
  model_error: "agent_error",
  tool_protocol_error: "agent_error",
  interrupted: "agent_error",
  // If no agent worked on the task, the state is the reason.
  not_started: "setup_error",
  not_runnable: "unsupported",
};

/** Returns the suite record of a trace. Tasks that ran out of turns or time are also graded. */
async function gradeRollout(
  task: PlannedSuiteTask,
  { ending }: Rollout,
  grade: () => Promise<Grade>,
): Promise<SuiteTaskRecord> {
  // A model server's error is not the agent's fault, and an interrupted task is run again.
  if (ending === "model_error" || ending === "interrupted") {
    return ungraded(task, { state: STATES[ending], reason: "" });
  }
  const graded = await grade();
  const state = graded.state === "success" ? STATES[ending] : graded.state;
  return { kind: "suite", task: factsOf(task), grade: { ...graded, state } };
}

/** Returns the suite record of a task without a grade, which does not count for or against the agent. */
export function ungraded(
  task: PlannedSuiteTask,
  { state, reason }: { readonly state: TaskState; readonly reason: string },
): SuiteTaskRecord {
  return { kind: "suite", task: factsOf(task), grade: { score: null, state, reason } };
}

function factsOf(task: PlannedSuiteTask): SuiteTaskFacts {
  const { id, suite, dialect, tool, instruction, snapshot, tags, relatedApps, actionNumber, counterpart } = task;
  const emailQuestion = questionOfTask(task);
  return {
    id,
    suite: suite.name,
    dialect,
    tool,
    instruction,
    snapshot,
    tags,
    relatedApps,
    actionNumber,
    counterpart,
    ...presentProperties({ emailQuestion }),
  };
}

/** Identifies a suite. Throws a UserError if the folder is not a suite. */
export async function identifySuite(path: string, signal: AbortSignal): Promise<IdentifiedSuite> {
  const folder = openSuiteFolder(path);
  const read = readSuite(folder).tasks.map(({ task }) => task);
  const tasks = await planTasks(read, folder, signal);
  return {
    name: folder.name,
    digest: await suiteDigest(tasks, folder, signal),
    tasks: new Map(tasks.map((task) => [task.id, task])),
    hasMail: tasks.some((task) => attachedInbox(task) !== null),
  };
}
