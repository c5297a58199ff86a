import type { Question } from "./question.js";
import type { SuiteTask } from "./suite-task.js";

/** A suite's task with the suite that it is of. */
export interface PlannedSuiteTask extends SuiteTask {
  /** Name, and absolute path of the root folder. */
  readonly suite: { readonly name: string; readonly root: string };
}

/** A question about a mailbox, or a task of a suite. */
export type Task = Question | PlannedSuiteTask;

/** One task to be done in a run. `epoch` counts its repeats from 1. */
export interface PlannedTask<T extends Task = Task> {
  readonly task: T;
  readonly epoch: number;
}
