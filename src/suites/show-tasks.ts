// Shows a suite's tasks: one in full, or a filtered list.
import type { AppContext } from "../platform/app-context.js";
import { readSnapshots } from "../sandbox/machine-snapshots.js";
import { type Obstacle, pairTasks, type SuiteTask, type TaskEvaluation } from "../tasks/suite-task.js";
import { checkSuite } from "./check-suite.js";
import { openSuiteFolder, type SuiteFinding } from "./suite-folder.js";
import { openTaskSources, type TaskSourceOptions } from "./task/open-task.js";
import { findTask, type SuiteSelectionOptions, selectSuiteTasks } from "./task/select-tasks.js";
import { type ReadTask, readSuite } from "./task/task-file.js";
import { classifyTask, findObstacle, type TaskRequirement } from "./task-needs.js";

export interface ShownTask {
  readonly task: SuiteTask;
  readonly takes: TaskRequirement;
  /** Why the task cannot run on this machine, or null if it can. */
  readonly obstacle: Obstacle | null;
  /** The other task in the pair, even if only the other task refers to this one. */
  readonly pairedWith: string | null;
  /** What the task's machine lacks compared with its application, or null if nothing is known. */
  readonly machineNote: string | null;
  readonly findings: readonly SuiteFinding[];
}

export interface ListedSuiteTask {
  readonly id: string;
  readonly tool: string;
  readonly tags: readonly string[];
  readonly actionNumber: number | null;
  /** The evaluation functions, such as `compare_csv` or `check_yaml_file and compare_csv`. */
  readonly evaluation: string;
  readonly counterpart: string | null;
  readonly takes: TaskRequirement;
  /** Why the task cannot run on this machine, or null if it can. */
  readonly obstacle: Obstacle | null;
}

/** Returns a task by its id or a prefix of it, with its problems. */
export async function showTask(
  folder: string,
  id: string,
  options: TaskSourceOptions,
  context: AppContext,
): Promise<ShownTask> {
  const suite = openSuiteFolder(folder);
  const read = readSuite(suite);
  const sources = await openTaskSources(suite, options, context);
  const all = read.tasks.map(({ task }) => task);
  const task = findTask(all, id);
  const entry = read.tasks[all.indexOf(task)] as ReadTask;
  return {
    task,
    takes: classifyTask(entry, sources.custom),
    obstacle: await findObstacle(task, sources),
    pairedWith: pairTasks(all).get(task.id) ?? null,
    machineNote: (await readSnapshots(suite.root)).get(task.snapshot)?.note ?? null,
    findings: checkSuite(read, sources.custom).filter((finding) => finding.task === task.id),
  };
}

export async function listTasks(
  folder: string,
  options: SuiteSelectionOptions & TaskSourceOptions,
  context: AppContext,
) {
  const suite = openSuiteFolder(folder);
  const sources = await openTaskSources(suite, options, context);
  const { tasks, problems } = readSuite(suite);
  const all = tasks.map(({ task }) => task);
  const selected = await selectSuiteTasks(all, options, sources);
  const readOf = new Map(tasks.map((read) => [read.task, read]));
  const pairs = pairTasks(all);
  const list = async (task: SuiteTask): Promise<ListedSuiteTask> => ({
    id: task.id,
    tool: task.tool,
    tags: task.tags,
    actionNumber: task.actionNumber,
    evaluation: nameEvaluation(task.evaluation),
    counterpart: pairs.get(task.id) ?? null,
    takes: classifyTask(readOf.get(task) as ReadTask, sources.custom),
    obstacle: await findObstacle(task, sources),
  });
  return {
    suite: suite.name,
    tasks: await Promise.all(selected.map(list)),
    /** Number of unreadable task files and folders. */
    unreadable: new Set(problems.map(({ file }) => file)).size,
  };
}

function nameEvaluation(evaluation: TaskEvaluation | null): string {
  if (evaluation === null) return "none";
  return [...new Set(evaluation.metrics.map(({ func }) => func))].join(` ${evaluation.conjunction} `);
}
