import { UserError } from "../../domain/errors.js";
import type { PlannedSuiteTask } from "../../domain/tasks/planned-task.js";
import { isQuestion } from "../../domain/tasks/question.js";
import type { Suite, TaskOpening } from "../../domain/tasks/suite.js";
import { HOME } from "../../domain/tasks/task-machine.js";
import { readSnapshots } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import { similarity } from "../../scoring/semantic-score.js";
import { needsMachine } from "../../suites/definition/functions/needs-machine.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder, type SuiteFolder } from "../../suites/definition/suite-folder.js";
import { SuiteDocuments } from "../../suites/documents/open-documents.js";
import { attachedInbox } from "../../suites/email/attached-inbox.js";
import { collectLeftBehind } from "../../suites/left-behind/collect-left-behind.js";
import { taskMailbox } from "../mailbox/task-mailbox.js";
import type { AppContext } from "../use-case-context.js";
import { openSuiteTask } from "./open-suite-task.js";
import { openOracle, type SuiteOracle } from "./oracle/open-oracle.js";
import { type SuiteSelectionOptions, selectSuiteTasks } from "./select-suite-tasks.js";
import { digestOf } from "./suite-digest.js";
import { openSuiteResources, type SuiteResourceOptions, type SuiteResources } from "./suite-resources.js";
import { gradeRollout, ungraded } from "./task-record.js";

export interface FolderSuiteOptions extends SuiteSelectionOptions, SuiteResourceOptions {
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
  const oracle = options.oracle === undefined ? null : openOracle(options.oracle, folder);
  const documents = new SuiteDocuments(folder.content, context.settings.cacheDir);
  const resources = await openSuiteResources(folder, options, context);
  return {
    async list() {
      const tasks = readTasks(folder, options, context);
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
      variables: { ...mailbox?.variables, ...(hasMachine ? { snapshot: task.snapshot, home: HOME } : {}) },
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

function readTasks(folder: SuiteFolder, options: FolderSuiteOptions, { note }: AppContext): PlannedSuiteTask[] {
  const { name, root } = folder;
  const { tasks, problems } = readSuite(folder);
  const unreadable = new Set(problems.map(({ file }) => file)).size;
  if (unreadable > 0) {
    note(`art-e: ${unreadable} tasks of ${name} cannot be read and are left out: art-e suite check ${root}`);
  }
  const all = tasks.map(({ task }) => task);
  const selected = selectSuiteTasks(all, options, folder);
  if (selected.length === 0) {
    throw new UserError("tasks_none", `No task of ${name} is selected.`, `List them: art-e suite list ${root}`);
  }
  return selected.slice(0, options.limit ?? undefined).map((one) => ({ ...one, suite: { name, root } }));
}
