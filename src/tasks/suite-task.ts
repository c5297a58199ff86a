// The types of a suite task: its functions, documents and gold solution.
import { z } from "zod";
import type { JsonObject } from "../platform/json.js";

/** The result of applying a gold solution. */
type AppliedOracle =
  | {
      readonly ok: true;
      /** The applied solution, for display. */
      readonly applied: JsonObject;
    }
  | { readonly ok: false; readonly reason: string };

/** Port: the gold solution of one task, read from an oracle file. */
export interface TaskOracle {
  /** Puts the solution's files in place. Throws if `signal` aborts. */
  apply(signal: AbortSignal): Promise<AppliedOracle>;
}

/** A passage of a document that matches a search. */
export interface DocumentHit {
  readonly path: string;
  /** Position of the passage in the document, in characters. */
  readonly offset: number;
  readonly snippet: string;
  /** Whether the passage contains all words of the query or is only the best match for some of them. */
  readonly match: "all_words" | "best_match";
}

export interface DocumentPage {
  readonly path: string;
  readonly content: string;
  readonly offset: number;
  /** Length of the entire document, in characters. */
  readonly length: number;
  /** Offset of the next page, or null on the last page. */
  readonly nextOffset: number | null;
}

/** Port: the documents that a task's agent can search and read. */
export interface TaskDocuments {
  /** Searches the documents. Any string is a safe query. */
  search(query: string, limit: number, signal: AbortSignal): Promise<readonly DocumentHit[]>;
  /** Reads one page of a document. Returns null if the path does not exist. */
  read(path: string, offset: number, signal: AbortSignal): Promise<DocumentPage | null>;
}

/** The dialects of task files. A function can grade differently in each dialect. */
export const SUITE_DIALECTS = ["flowbook", "spider2v", "harbor"] as const;

export type SuiteDialect = (typeof SUITE_DIALECTS)[number];

/** A function named in a task file, with its arguments exactly as written there. */
export interface FunctionCall {
  readonly func: string;
  readonly arguments: JsonObject;
}

/** A comparison. In the flowbook dialect, `options` contains all arguments and getters are not used. */
export interface Metric {
  readonly func: string;
  /** Getter for the agent's output. */
  readonly result: FunctionCall | null;
  /** Getter for the expected value. */
  readonly expected: FunctionCall | null;
  readonly options: JsonObject;
}

export interface TaskEvaluation {
  /** Calls that run in the task's machine before its files are collected. */
  readonly postconfig: readonly FunctionCall[];
  readonly metrics: readonly Metric[];
  readonly conjunction: "and" | "or";
}

/** A task in a suite folder. Both spellings of the task file are normalized to this type. */
export interface SuiteTask {
  readonly id: string;
  readonly dialect: SuiteDialect;
  /** The subfolder of `examples/` that contains the task, such as `jupyter`. */
  readonly tool: string;
  /** Absolute path of the task's folder, which contains its inputs, scripts and gold files. */
  readonly folder: string;
  readonly instruction: string;
  /** Name of the machine image that the task runs in. */
  readonly snapshot: string;
  readonly source: readonly string[];
  readonly relatedApps: readonly string[];
  readonly tags: readonly string[];
  /** Number of steps a person takes, or null if the task file does not specify it. */
  readonly actionNumber: number | null;
  /** Id of the same task with the other instruction style (abstract or verbose). */
  readonly counterpart: string | null;
  readonly config: readonly FunctionCall[];
  readonly evaluation: TaskEvaluation | null;
}

/** The result of grading a task. */
export interface Grade {
  /** 0 to 1, or null if not graded. Averages leave out null instead of counting it as 0. */
  readonly score: number | null;
  readonly state: "success" | "eval_error" | "setup_error" | ObstacleState;
  /** Why the score is not 1, in one line. */
  readonly reason: string;
}

/** Why a task cannot run on this machine. */
export interface Obstacle {
  readonly state: ObstacleState;
  /** Reason for the user, in one line. */
  readonly reason: string;
}

/** Limits on the pictures stored per task: their number, the bytes of each, and their total bytes. */
export const MAX_PICTURES = 8;

export const MAX_PICTURE_BYTES = 300_000;

/** A picture that an agent created in the task's machine: a file or an output of a notebook cell. */
const pictureSchema = z.object({
  /** Path of the file in the task's machine. */
  path: z.string(),
  /** Index of the notebook cell that shows the picture, from 0, or null for an image file. */
  cell: z.number().int().nonnegative().nullable(),
  width: z.number().int().positive(),
  height: z.number().int().positive(),
  /** The picture as a base64-encoded PNG. */
  data: z.base64().max(Math.ceil(MAX_PICTURE_BYTES / 3) * 4),
});

export type Picture = Readonly<z.output<typeof pictureSchema>>;

export const finalStateSchema = z.object({
  pictures: z.array(pictureSchema).max(MAX_PICTURES).readonly(),
  /** Number of pictures left out because they were too many or too large. */
  omitted: z.number().int().nonnegative(),
});

/** The images collected from a task's machine. */
export type FinalState = Readonly<z.output<typeof finalStateSchema>>;

/** States of a task whose requirements are missing on this machine. They are not the agent's fault. */
export const OBSTACLE_STATES = [
  /** A function is unknown or unsupported on this machine, for example because it needs a screen. */
  "unsupported",
  "needs_account",
  "needs_server",
  /** The snapshot is missing programs or modules that can be installed. */
  "not_ready",
  /** The suite is missing files that the task names. */
  "missing_files",
  /** The run's oracle file does not have a line for this task. */
  "no_oracle",
] as const;

export type ObstacleState = (typeof OBSTACLE_STATES)[number];

export const TASK_STATES = [
  "success",
  "max_steps",
  "timeout",
  "agent_error",
  "setup_error",
  "eval_error",
  ...OBSTACLE_STATES,
] as const;

/** How a suite task ended. The score is null for obstacles and errors. */
export type TaskState = (typeof TASK_STATES)[number];

/**
 * Maps the id of each task to the id of its counterpart. It is enough that one of the two tasks names the other. One
 * real task names itself and is still paired with the task that names it.
 */
export function pairTasks(tasks: readonly Pick<SuiteTask, "id" | "counterpart">[]): ReadonlyMap<string, string> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const nameOf = (task: Pick<SuiteTask, "counterpart" | "id">) =>
    task.counterpart !== null && task.counterpart !== task.id && byId.has(task.counterpart) ? task.counterpart : null;
  const pairs = new Map<string, string>();
  for (const task of tasks) {
    const other = byId.get(nameOf(task) ?? "");
    if (other === undefined || (nameOf(other) !== null && nameOf(other) !== task.id)) continue;
    if (pairs.has(other.id) && pairs.get(other.id) !== task.id) continue;
    pairs.set(task.id, other.id);
    pairs.set(other.id, task.id);
  }
  return pairs;
}

export const MAX_PICTURES_BYTES = 1_000_000;

/** Which task of each pair is selected. */
export const COUNTERPARTS = ["both", "abstract", "verbose"] as const;
