import { pairTasks } from "../../domain/tasks/pair-tasks.js";
import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import { checkSuite } from "../../suites/definition/checks/check-suite.js";
import type { SuiteFinding } from "../../suites/definition/finding.js";
import { classifyTask, type TaskRequirement } from "../../suites/definition/functions/task-requirement.js";
import { readSuite } from "../../suites/definition/read-suite.js";
import { findTask } from "../../suites/definition/selection/select-tasks.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";

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
