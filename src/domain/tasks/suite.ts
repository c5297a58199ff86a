import type { Rollout } from "../agents/agent-backend.js";
import type { TaskVariables } from "../agents/prompt.js";
import type { ToolContext } from "../agents/tool.js";
import type { TaskRecord } from "../runs/trace.js";
import type { Task } from "./planned-task.js";

/** Where a run's tasks came from, recorded with it so that they can be had again. */
export interface TaskSet {
  /** Dataset name with its revision, the path of a local file, or a suite's folder. */
  readonly source: string;
  /** The pinned revision; null for local files. */
  readonly revision: string | null;
  /** SHA-256 of what was read. */
  readonly sha256: string;
  /** `suite` for tasks of folders, which have no splits. */
  readonly split: string;
}

/** Port: tasks for agents, such as the questions of ART-E or those of a folder. */
export interface Suite<T extends Task = Task> {
  /** The tasks that the user selected. */
  list(): Promise<TaskList<T>>;
  /** Gets a task ready for an agent. Close what was opened. Throws where `signal` aborts. */
  open(task: Task, signal: AbortSignal): Promise<TaskOpening>;
  close(): Promise<void>;
}

export interface TaskList<T extends Task = Task> {
  readonly set: TaskSet;
  readonly tasks: readonly T[];
}

export type TaskOpening =
  | { readonly ok: true; readonly opened: OpenedTask }
  /** It cannot be set up: why, and what its trace keeps of it. */
  | { readonly ok: false; readonly reason: string; readonly record: TaskRecord };

/** A task that is ready for an agent. */
export interface OpenedTask {
  /** What the agent is told. */
  readonly instruction: string;
  /** What prompts and external agents are told of its mailbox or machine. */
  readonly variables: TaskVariables;
  /** What tools may touch. */
  readonly access: TaskAccess;
  /** What no trace may hold: the values of account settings. */
  readonly secrets?: readonly string[];
  /** Grades what the agent did. Gives what the trace keeps of the task. Throws where `signal` aborts. */
  grade(rollout: Rollout, signal: AbortSignal): Promise<TaskRecord>;
  close(): Promise<void>;
}

export type TaskAccess = Omit<ToolContext, "signal" | "workspace">;
