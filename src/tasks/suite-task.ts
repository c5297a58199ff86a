import { z } from "zod";
import type { JsonObject } from "../platform/json.js";

/** What came of an oracle. */
type AppliedOracle =
  | {
      readonly ok: true;
      /** What was put in place, to be shown. */
      readonly applied: JsonObject;
    }
  | { readonly ok: false; readonly reason: string };

/** Port: what an oracle file says that an agent leaves behind for a task. */
export interface TaskOracle {
  /** Puts it in place. Throws where `signal` aborts. */
  apply(signal: AbortSignal): Promise<AppliedOracle>;
}

/** A part of a document that a search has found. */
export interface DocumentHit {
  readonly path: string;
  /** Character of the document where the part begins. */
  readonly offset: number;
  readonly snippet: string;
  /** Whether the part holds all words of the query, or matches best on any of them. */
  readonly match: "all_words" | "best_match";
}

export interface DocumentPage {
  readonly path: string;
  readonly content: string;
  readonly offset: number;
  /** Characters of the whole document. */
  readonly length: number;
  /** Null: the document ends here. */
  readonly nextOffset: number | null;
}

/** Port: the documents that a task's agent may search and read. */
export interface TaskDocuments {
  /** Any string is a safe query. */
  search(query: string, limit: number, signal: AbortSignal): Promise<readonly DocumentHit[]>;
  /** Null: there is no document of that path. */
  read(path: string, offset: number, signal: AbortSignal): Promise<DocumentPage | null>;
}

/** The dialects that task files are written in. Functions of the same name may grade differently in each. */
export const SUITE_DIALECTS = ["flowbook", "spider2v", "harbor"] as const;

export type SuiteDialect = (typeof SUITE_DIALECTS)[number];

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
  readonly state: "success" | "eval_error" | "setup_error" | ObstacleState;
  /** Why it is not 1, in a line for the user. */
  readonly reason: string;
}

interface Counterpart {
  readonly id: string;
  readonly counterpart: string | null;
}

/**
 * The counterpart of each task by id: the one that it names, or that names it. One real task names itself; the task
 * that names it is its counterpart all the same.
 */
export function pairTasks(tasks: readonly Counterpart[]): ReadonlyMap<string, string> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const nameOf = (task: Counterpart) =>
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

/** At most so many pictures of a task are kept, of so many bytes each and together. */
export const MAX_PICTURES = 8;
export const MAX_PICTURE_BYTES = 300_000;
export const MAX_PICTURES_BYTES = 1_000_000;

/** A picture that an agent left in its task's machine: a file, or an output of a notebook's cell. */
const pictureSchema = z.object({
  /** Of the file, in the machine. */
  path: z.string(),
  /** Of a notebook: the index of the cell that shows it, from 0. */
  cell: z.number().int().nonnegative().nullable(),
  width: z.number().int().positive(),
  height: z.number().int().positive(),
  /** A PNG in base64. */
  data: z.base64().max(Math.ceil(MAX_PICTURE_BYTES / 3) * 4),
});

export type Picture = Readonly<z.output<typeof pictureSchema>>;

export const finalStateSchema = z.object({
  pictures: z.array(pictureSchema).max(MAX_PICTURES).readonly(),
  /** Pictures that were too many or too large. */
  omitted: z.number().int().nonnegative(),
});

/** What an agent left in its task's machine, as far as it is kept. */
export type FinalState = Readonly<z.output<typeof finalStateSchema>>;

/** What a task needs that is not here, which says nothing of an agent. */
export const OBSTACLE_STATES = [
  /** A function that cannot be run here, such as one for a screen, or that is not known. */
  "unsupported",
  "needs_account",
  "needs_server",
  /** Its snapshot lacks programs or modules here, which can be installed. */
  "not_ready",
  /** The suite lacks files that the task names. */
  "missing_files",
  /** The run's oracle file has no line for it. */
  "no_oracle",
] as const;

export type ObstacleState = (typeof OBSTACLE_STATES)[number];

/** Why a task cannot be run here. */
export interface Obstacle {
  readonly state: ObstacleState;
  /** In a line for the user. */
  readonly reason: string;
}

/** Which of the two tasks of a pair are taken. */
export const COUNTERPARTS = ["both", "abstract", "verbose"] as const;

export const TASK_STATES = [
  "success",
  "max_steps",
  "timeout",
  "agent_error",
  "setup_error",
  "eval_error",
  ...OBSTACLE_STATES,
] as const;

/** How a task of a suite ended. A score of null goes with the obstacles and the errors. */
export type TaskState = (typeof TASK_STATES)[number];
