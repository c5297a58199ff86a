import type { SuiteTask } from "../../domain/tasks/suite-task.js";
import { readIndexFile } from "../../suites/definition/selection/index-file.js";
import { selectTasks, type TaskSelection } from "../../suites/definition/selection/select-tasks.js";
import type { SuiteFolder } from "../../suites/definition/suite-folder.js";

/** Which tasks of a suite a user asks for; what is undefined selects all. */
export interface SuiteSelectionOptions {
  /** Ids, or their beginnings. */
  readonly task?: readonly string[] | undefined;
  readonly tool?: string | undefined;
  /** All of them. */
  readonly tag?: readonly string[] | undefined;
  /** Path of an index file. */
  readonly index?: string | undefined;
  readonly counterparts?: NonNullable<TaskSelection["counterparts"]> | undefined;
}

/** The selected tasks, in the order of the suite or of the index file. */
export function selectSuiteTasks(
  tasks: readonly SuiteTask[],
  { task, tool, tag, index, counterparts }: SuiteSelectionOptions,
  suite: SuiteFolder,
): SuiteTask[] {
  return selectTasks(tasks, {
    ids: task ?? null,
    tool: tool ?? null,
    tags: tag ?? [],
    index: index === undefined ? null : readIndexFile(index, suite),
    counterparts: counterparts ?? null,
  });
}
