import type { TaskResult } from "./benchmark-result.js";

/** Everything that happens in a run, as its listeners hear it. A listener must not throw. */
export type RunEvent =
  /** `tasks`: of the whole run, finished or not. */
  | { readonly type: "run_started"; readonly runId: string; readonly tasks: number }
  /** Finished by an earlier session of the run. Told before any task is started. */
  | { readonly type: "task_kept"; readonly result: TaskResult }
  | { readonly type: "task_started"; readonly taskId: number }
  /** Its place is another's now. What was interrupted is never answered. */
  | { readonly type: "task_answered"; readonly taskId: number }
  /** Already saved when it is told. */
  | { readonly type: "task_finished"; readonly result: TaskResult }
  | { readonly type: "run_finished"; readonly runId: string; readonly interrupted: boolean };

export type Emit = (event: RunEvent) => void;
