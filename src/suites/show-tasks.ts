import { pairTasks, type SuiteTask, type TaskEvaluation } from "../tasks/suite-task.js";
import { checkSuite } from "./check-suite.js";
import { classifyTask, type TaskRequirement } from "./named-paths.js";
import { findTask, type SuiteSelectionOptions, selectSuiteTasks } from "./select-tasks.js";
import { openSuiteFolder, type SuiteFinding } from "./suite-folder.js";
import { readSuite } from "./task-file.js";

export interface ShownTask {
  readonly task: SuiteTask;
  readonly runnable: TaskRequirement;
  /** The other task of its pair, also where only that one names it. */
  readonly pairedWith: string | null;
  readonly findings: readonly SuiteFinding[];
}

/** A task of a suite by its id, or the beginning of it, with what is wrong or odd about it. */
export function showTask(folder: string, id: string): ShownTask {
  const read = readSuite(openSuiteFolder(folder));
  const all = read.tasks.map(({ task }) => task);
  const task = findTask(all, id);
  const found = read.tasks.find((one) => one.task === task);
  return {
    task,
    runnable: found === undefined ? "unknown" : classifyTask(found),
    pairedWith: pairTasks(all).get(task.id) ?? null,
    findings: checkSuite(read).filter((finding) => finding.task === task.id),
  };
}

export interface ListedTask {
  readonly id: string;
  readonly tool: string;
  readonly tags: readonly string[];
  readonly actionNumber: number | null;
  /** The evaluation functions, `compare_csv` or `check_yaml_file and compare_csv`. */
  readonly evaluation: string;
  readonly counterpart: string | null;
  readonly runnable: TaskRequirement;
}

interface TaskList {
  readonly suite: string;
  readonly tasks: readonly ListedTask[];
  /** Files and folders of tasks that cannot be read. */
  readonly unreadable: number;
}

export function listTasks(folder: string, options: SuiteSelectionOptions): TaskList {
  const suite = openSuiteFolder(folder);
  const { tasks, problems } = readSuite(suite);
  const all = tasks.map(({ task }) => task);
  const selected = selectSuiteTasks(all, options, suite);
  const classes = new Map(tasks.map((read) => [read.task, classifyTask(read)]));
  const pairs = pairTasks(all);
  return {
    suite: suite.name,
    tasks: selected.map((task) => ({
      id: task.id,
      tool: task.tool,
      tags: task.tags,
      actionNumber: task.actionNumber,
      evaluation: nameEvaluation(task.evaluation),
      counterpart: pairs.get(task.id) ?? null,
      runnable: classes.get(task) ?? "unknown",
    })),
    unreadable: new Set(problems.map(({ file }) => file)).size,
  };
}

function nameEvaluation(evaluation: TaskEvaluation | null): string {
  if (evaluation === null) return "none";
  return [...new Set(evaluation.metrics.map(({ func }) => func))].join(` ${evaluation.conjunction} `);
}
