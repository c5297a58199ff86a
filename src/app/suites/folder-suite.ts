import { createHash } from "node:crypto";
import { UserError } from "../../domain/errors.js";
import type { PlannedSuiteTask } from "../../domain/tasks/planned-task.js";
import { isQuestion } from "../../domain/tasks/question.js";
import type { Suite, TaskOpening } from "../../domain/tasks/suite.js";
import { HOME } from "../../domain/tasks/task-machine.js";
import { readSnapshots } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder, type SuiteFolder } from "../../suites/definition/suite-folder.js";
import { SuiteDocuments } from "../../suites/documents/open-documents.js";
import type { AppContext } from "../use-case-context.js";
import { openSuiteTask, type SuiteTaskSources } from "./open-suite-task.js";
import { type SuiteSelectionOptions, selectSuiteTasks } from "./select-suite-tasks.js";
import { openSuiteResources, type SuiteResourceOptions } from "./suite-resources.js";
import { gradeRollout, ungraded } from "./task-record.js";

export interface FolderSuiteOptions extends SuiteSelectionOptions, SuiteResourceOptions {
  /** Null: all that are selected. */
  readonly limit: number | null;
}

/** The tasks of a suite's folder, each in a machine of its own. Throws a UserError where the folder cannot be used. */
export async function openFolderSuite(
  path: string,
  options: FolderSuiteOptions,
  context: AppContext,
): Promise<Suite<PlannedSuiteTask>> {
  const folder = openSuiteFolder(path);
  await readSnapshots(folder.root);
  const documents = new SuiteDocuments(folder.content, context.settings.cacheDir);
  const resources = await openSuiteResources(folder, options, context);
  return {
    async list() {
      const tasks = readTasks(folder, options, context);
      return { set: { source: folder.root, revision: null, sha256: digestOf(tasks), split: "suite" }, tasks };
    },
    async open(task, signal) {
      if (isQuestion(task)) throw new Error(`task ${task.id} is a question, and the run is over the suite ${path}`);
      return openTask(task, await resources.sources(), documents, signal);
    },
    async close() {
      await Promise.all([documents.close(), resources.close()]);
    },
  };
}

async function openTask(
  task: PlannedSuiteTask,
  sources: SuiteTaskSources,
  documents: SuiteDocuments,
  signal: AbortSignal,
): Promise<TaskOpening> {
  const opening = await openSuiteTask(task, sources, signal);
  if (!opening.ok) return { ok: false, reason: opening.reason, record: ungraded(task, opening) };
  const { machine, secrets, grade, close } = opening.opened;
  const ownDocuments = documents.open(task.folder);
  return {
    ok: true,
    opened: {
      instruction: task.instruction,
      variables: { snapshot: task.snapshot, home: HOME },
      access: { inbox: null, cutoff: null, machine, documents: ownDocuments },
      secrets,
      grade: (rollout, stop) => gradeRollout(task, rollout, () => grade(stop)),
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

/** Of what the task files say: two runs with one digest were over the same tasks. */
function digestOf(tasks: readonly PlannedSuiteTask[]): string {
  const texts = tasks.map((task) => JSON.stringify({ ...task, folder: "", suite: "" }));
  return createHash("sha256")
    .update([...new Set(texts)].join("\n"))
    .digest("hex");
}
