import type { TaskId } from "../tasks/task-id.js";
import type { TaskResult } from "./benchmark-result.js";
import type { TaskActivity } from "./task-activity.js";

/** Events of a run. A listener must not throw. */
export type RunEvent =
  /** `tasks`: of the whole run, finished or not. */
  | { readonly type: "run_started"; readonly runId: string; readonly tasks: number }
  /** Finished by an earlier session of the run. Emitted before any task starts. */
  | { readonly type: "task_kept"; readonly result: TaskResult }
  | { readonly type: "task_started"; readonly taskId: TaskId; readonly epoch: number }
  /** Only of tasks that this process answers. */
  | {
      readonly type: "task_activity";
      readonly taskId: TaskId;
      readonly epoch: number;
      readonly activity: TaskActivity;
    }
  /** Frees its slot. An interrupted task emits no `answered`. */
  | { readonly type: "task_answered"; readonly taskId: TaskId; readonly epoch: number }
  /** Already saved when emitted. */
  | { readonly type: "task_finished"; readonly result: TaskResult }
  | { readonly type: "run_finished"; readonly runId: string; readonly interrupted: boolean };

export type Emit = (event: RunEvent) => void;
