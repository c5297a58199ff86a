// Where agents get their tasks: the ART-E questions or a suite folder, one opened task at a time.
import type { Ending } from "../tasks/ending.js";
import type { Task } from "../tasks/question.js";
import type { ToolContext } from "../tools/tool.js";
import type { TaskRecord } from "../traces/trace.js";
import type { TaskVariables } from "./prompt-template.js";
import type { Rollout } from "./rollout.js";

/** Port: opens tasks for agents, such as the ART-E questions or the tasks in a folder. */
export interface Suite {
  /** Prepares a task for an agent. The caller must close it. Throws if `signal` aborts. */
  open(task: Task, signal: AbortSignal): Promise<TaskOpening>;
  close(): Promise<void>;
}

export type TaskOpening =
  | OpenedTask
  /** The task cannot be set up. Contains the reason and the task's record for the trace. */
  | {
      readonly ok: false;
      readonly ending: Extract<Ending, "not_started" | "not_runnable">;
      readonly reason: string;
      readonly record: TaskRecord;
    };

export interface OpenedTask {
  readonly ok: true;
  readonly instruction: string;
  readonly variables: TaskVariables;
  readonly access: TaskAccess;
  /** Values of account settings, which must never appear in a trace. */
  readonly secrets?: readonly string[];
  /** Grades the agent's work and returns the task's record for the trace. Throws if `signal` aborts. */
  grade(rollout: Rollout, signal: AbortSignal): Promise<TaskRecord>;
  close(): Promise<void>;
}

export type TaskAccess = Omit<ToolContext, "signal" | "workspace">;
