import { basename, join, relative } from "node:path";
import { z } from "zod";
import { SUITE_DIALECTS, type SuiteTask, TASK_STATES } from "./suite-task.js";

/** Where a run's tasks came from, recorded with the run. The same content can be in several places. */
export interface TaskSet {
  /** Dataset name with its revision, the path of a local file, or a suite's folder. */
  readonly source: string;
  /** The pinned revision; null for local files. */
  readonly revision: string | null;
  /** SHA-256 of the file, or of the suite's tasks with their files. */
  readonly sha256: string;
  /** `suite` for tasks of folders, which have no splits. */
  readonly split: string;
}

/** The questions of ART-E have numbers, as in their dataset; the tasks of other suites have texts. */
export const taskIdSchema = z.union([z.int(), z.string().min(1)]);

export type TaskId = z.output<typeof taskIdSchema>;

/** Numbers first and by value, as the database sorts them; then texts. */
export function compareTaskIds(a: TaskId, b: TaskId): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return a < b ? -1 : Number(a > b);
  return typeof a === "number" ? -1 : 1;
}

export interface QuestionStatistics {
  readonly split: Split;
  readonly totalTasks: number;
  readonly uniqueInboxes: number;
  /** Null without tasks, as are all averages and dates. */
  readonly averageRealism: number | null;
  readonly averageMessageIds: number | null;
  /** Of `query_date`, `YYYY-MM-DD`. */
  readonly firstDate: string | null;
  readonly lastDate: string | null;
  readonly realismHistogram: readonly RealismBin[];
}

/** Questions with `from <= how_realistic < to`; the last bin includes 1. */
export interface RealismBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** A suite task and the suite folder that it was found in. */
export interface PlannedSuiteTask extends SuiteTask {
  /** Name, and absolute path of the root folder. */
  readonly suite: { readonly name: string; readonly root: string };
  /** SHA-256 of its definition and files, or null if it was stored by a version that did not read the files. */
  readonly sha256: string | null;
}

/** What is stored of a suite task: nothing about the folder that it was found in, since copies of it are in others. */
export function portableTask({ suite, sha256: _, ...task }: PlannedSuiteTask): SuiteTask {
  return { ...task, folder: relative(suite.root, task.folder) };
}

/** A stored suite task in the suite folder `root`. */
export function placeSuiteTask(stored: SuiteTask, root: string, sha256: string | null): PlannedSuiteTask {
  return { ...stored, folder: join(root, stored.folder), suite: { name: basename(root), root }, sha256 };
}

/** The task in another folder with the same suite. */
export function moveSuiteTask(task: PlannedSuiteTask, root: string): PlannedSuiteTask {
  return placeSuiteTask(portableTask(task), root, task.sha256);
}

/** A question about a mailbox, or a task of a suite. */
export type Task = Question | PlannedSuiteTask;

/** One task to be done in a run. `epoch` counts its repeats from 1. */
export interface PlannedTask<T extends Task = Task> {
  readonly task: T;
  readonly epoch: number;
}

export const SPLITS = ["train", "test"] as const;

export type Split = (typeof SPLITS)[number];

/** A date with or without a time after it; the time is dropped. Impossible dates such as 2001-02-31 are refused. */
const day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}(?!\d)/, "must begin with a date YYYY-MM-DD")
  .transform((text) => text.slice(0, 10))
  .pipe(z.iso.date("is not a date in the calendar"));

/**
 * One question with its gold answer, as in `corbt/enron_emails_sample_questions`.
 * Unknown columns are dropped; `query_date` keeps its day only.
 */
export const questionSchema = z.object({
  id: z.number().int(),
  question: z.string().min(1),
  answer: z.string(),
  message_ids: z.array(z.string()),
  how_realistic: z.number().min(0).max(1),
  inbox_address: z
    .string()
    .min(1)
    .transform((address) => address.trim().toLowerCase()),
  query_date: day,
  split: z.enum(SPLITS).optional(),
});

export type Question = z.output<typeof questionSchema>;

/** Tells a question from a task of a suite. */
export function isQuestion(task: Question | { readonly instruction: string }): task is Question {
  return "question" in task;
}

/** Questions, and where they came from. */
export interface QuestionSet extends TaskSet {
  readonly split: Split;
  readonly questions: readonly Question[];
}

/** What a run keeps of a suite's task, wherever its folder may be later. */
export const suiteTaskFactsSchema = z.object({
  id: z.string().min(1),
  /** The suite's name. */
  suite: z.string(),
  dialect: z.enum(SUITE_DIALECTS),
  tool: z.string(),
  instruction: z.string(),
  snapshot: z.string(),
  tags: z.array(z.string()).readonly(),
  relatedApps: z.array(z.string()).readonly(),
  actionNumber: z.number().nullable(),
  counterpart: z.string().nullable(),
  /** Of a task that asks a question of a mailbox: with its gold answer, and the id that it has in its dataset. */
  emailQuestion: questionSchema.exactOptional(),
});

export type SuiteTaskFacts = Readonly<z.output<typeof suiteTaskFactsSchema>>;

/** What evaluation functions gave, and how the task ended as suites name it. */
export const gradeSchema = z.object({
  /** 0 to 1; null: not graded, which is never averaged as 0. */
  score: z.number().nullable(),
  state: z.enum(TASK_STATES),
  reason: z.string(),
});

export type TaskGrade = Readonly<z.output<typeof gradeSchema>>;

/** A question about a mailbox, or a task of a suite. */
export type TaskFacts = Question | SuiteTaskFacts;

/** What the agent is asked to do. */
export function instructionOf(task: TaskFacts): string {
  return isQuestion(task) ? task.question : task.instruction;
}

/** The question that a task asks of a mailbox; null: it is graded by what is left behind. */
export function questionOf(task: TaskFacts): Question | null {
  return isQuestion(task) ? task : (task.emailQuestion ?? null);
}
