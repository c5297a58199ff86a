import type { TaskResult } from "./result.js";

/** Everything that happens in a run, as its listeners hear it. A listener must not throw. */
export type RunEvent =
  /** `done`: what earlier sessions of the run have finished, read from the file one by one. */
  | {
      readonly type: "run_started";
      readonly runId: string;
      readonly tasks: number;
      readonly done: Iterable<TaskResult>;
    }
  | { readonly type: "task_started"; readonly taskId: number }
  /** Already saved when it is told. */
  | { readonly type: "task_finished"; readonly result: TaskResult }
  | { readonly type: "run_finished"; readonly runId: string; readonly interrupted: boolean };

export type Emit = (event: RunEvent) => void;
