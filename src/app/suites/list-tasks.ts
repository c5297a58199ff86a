import { pairTasks } from "../../domain/tasks/pair-tasks.js";
import type { TaskEvaluation } from "../../domain/tasks/suite-task.js";
import { classifyTask, type TaskRequirement } from "../../suites/definition/functions/task-requirement.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";
import { type SuiteSelectionOptions, selectSuiteTasks } from "./select-suite-tasks.js";

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

export interface TaskList {
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

export function nameEvaluation(evaluation: TaskEvaluation | null): string {
  if (evaluation === null) return "none";
  return [...new Set(evaluation.metrics.map(({ func }) => func))].join(` ${evaluation.conjunction} `);
}
