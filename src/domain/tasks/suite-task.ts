import type { JsonObject } from "../json.js";
import type { TaskState } from "./task-state.js";

/** The two dialects that task files are written in. Functions of the same name may grade differently in each. */
export type SuiteDialect = "flowbook" | "spider2v";

/** A function that a task's file names, with its arguments as they stand there. */
export interface FunctionCall {
  readonly func: string;
  readonly arguments: JsonObject;
}

/** One comparison. Flowbook: `options` holds all arguments, and there are no getters. */
export interface Metric {
  readonly func: string;
  /** Gets what the agent left behind. */
  readonly result: FunctionCall | null;
  /** Gets what it is compared with. */
  readonly expected: FunctionCall | null;
  readonly options: JsonObject;
}

export interface TaskEvaluation {
  /** Run in the task's machine before anything is collected from it. */
  readonly postconfig: readonly FunctionCall[];
  readonly metrics: readonly Metric[];
  readonly conjunction: "and" | "or";
}

/** A task of a suite folder, with both spellings of its file brought to one. */
export interface SuiteTask {
  readonly id: string;
  readonly dialect: SuiteDialect;
  /** The folder of `examples/` that the task is in: `jupyter`. */
  readonly tool: string;
  /** Absolute path of the task's folder: its inputs, scripts and gold files. */
  readonly folder: string;
  readonly instruction: string;
  /** Names what the task's machine holds. */
  readonly snapshot: string;
  readonly source: readonly string[];
  readonly relatedApps: readonly string[];
  readonly tags: readonly string[];
  /** Steps that a person takes; null where the file does not say. */
  readonly actionNumber: number | null;
  /** The same task with an abstract instead of a verbose instruction, or the reverse. */
  readonly counterpart: string | null;
  readonly config: readonly FunctionCall[];
  readonly evaluation: TaskEvaluation | null;
}

/** What grading a task gave. */
export interface Grade {
  /** 0 to 1; null: not graded, which is never averaged as 0. */
  readonly score: number | null;
  readonly state: Extract<TaskState, "success" | "eval_error" | "unsupported" | "needs_account">;
  /** Why it is not 1, in a line for the user. */
  readonly reason: string;
}
