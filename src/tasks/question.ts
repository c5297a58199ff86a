// The types and schemas of questions and of the facts that a run records about a task.
import { basename, join, relative } from "node:path";
import { z } from "zod";
import { isDontKnow } from "../text/abstention.js";
import { utcDay } from "../text/utc-day.js";
import { goalSchema, outgoingEmailSchema } from "./mailbox-changes.js";
import { selectionSchema } from "./selection.js";
import { SUITE_DIALECTS, type SuiteTask, TASK_STATES } from "./suite-task.js";

/** The origin of a run's tasks, recorded with the run. The same content can exist in several places. */
export interface TaskSet {
  /** Dataset name and revision, path of a local file, or suite folder. */
  readonly source: string;
  /** The pinned revision, or null for local files. */
  readonly revision: string | null;
  /** SHA-256 of the file, or of all suite tasks and their files. */
  readonly sha256: string;
  /** A dataset split, or `SUITE_SPLIT` for suite tasks, which do not have splits. */
  readonly split: string;
}

/** ART-E questions have numeric ids, as in their dataset. Suite tasks have string ids. */
export const taskIdSchema = z.union([z.int(), z.string().min(1)]);

export type TaskId = z.output<typeof taskIdSchema>;

export interface QuestionStatistics {
  readonly split: Split;
  readonly totalTasks: number;
  readonly uniqueInboxes: number;
  /** Null without tasks, like the other averages and dates. */
  readonly averageRealism: number | null;
  readonly averageMessageIds: number | null;
  /** Earliest `query_date`, as `YYYY-MM-DD`. */
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

/** A suite task and the suite folder it was found in. */
export interface PlannedSuiteTask extends SuiteTask {
  /** The suite's name and the absolute path of its root folder. */
  readonly suite: { readonly name: string; readonly root: string };
  /** SHA-256 of the task definition and its files. */
  readonly sha256: string;
}

/** A question about a mailbox or a suite task. */
export type Task =
  | { readonly kind: "question"; readonly task: Question }
  | { readonly kind: "suite"; readonly task: PlannedSuiteTask };

/** A single execution of a task in a run. `epoch` counts the repetitions from 1. */
export type PlannedTask = Task & { readonly epoch: number };

/** Questions and their origin. */
export interface QuestionSet extends TaskSet {
  readonly split: Split;
  readonly questions: readonly Question[];
}

/** A question about a mailbox, or the facts about a suite task. */
export type TaskFacts =
  | { readonly kind: "question"; readonly task: Question }
  | { readonly kind: "suite"; readonly task: SuiteTaskFacts };

export const SPLITS = ["train", "test"] as const;

export type Split = (typeof SPLITS)[number];

/**
 * A question with its gold answer, in the format of `corbt/enron_emails_sample_questions`. Drops unknown columns.
 * `query_date` is a date in UTC.
 */
export const questionSchema = z
  .object({
    id: z.number().int(),
    question: z.string().min(1),
    answer: z.string(),
    message_ids: z.array(z.string()),
    how_realistic: z.number().min(0).max(1),
    inbox_address: z
      .string()
      .min(1)
      .transform((address) => address.trim().toLowerCase()),
    query_date: utcDay,
    split: z.enum(SPLITS).optional(),
    /** For a task that asks for actions instead of an answer: the state in which it must leave the mailbox. */
    goal: goalSchema.exactOptional(),
    /** Drafts that are in the mailbox at the start of such a task. */
    drafts: z.array(outgoingEmailSchema).readonly().exactOptional(),
    /** For a task that asks which emails meet a description: the right ones. */
    select: selectionSchema.exactOptional(),
  })
  .superRefine(({ goal, select, query_date }, context) => {
    const fail = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if (select !== undefined && goal !== undefined) fail(["select"], "a task cannot have both a goal and a selection");
    if (select !== undefined && select.from > query_date) fail(["select", "from"], "is after the date of the task");
  });

export type Question = z.output<typeof questionSchema>;

/** The facts about a suite task that a run stores. They stay valid if the suite folder moves. */
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
  /** For a task that asks about a mailbox: the question with its gold answer and its id in the dataset. */
  emailQuestion: questionSchema.exactOptional(),
});

export type SuiteTaskFacts = Readonly<z.output<typeof suiteTaskFactsSchema>>;

/** The result of the evaluation functions, and the task state in the suites' terms. */
export const gradeSchema = z.object({
  /** 0 to 1, or null if not graded. Averages leave out null instead of counting it as 0. */
  score: z.number().nullable(),
  state: z.enum(TASK_STATES),
  reason: z.string(),
});

export type TaskGrade = Readonly<z.output<typeof gradeSchema>>;

/** Compares ids in the database's order: numbers first, by value, then strings. */
export function compareTaskIds(a: TaskId, b: TaskId): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return a < b ? -1 : Number(a > b);
  return typeof a === "number" ? -1 : 1;
}

/** The stored form of a suite task. It omits the suite folder, because copies of the suite can be elsewhere. */
export function portableTask({ suite, sha256: _, ...task }: PlannedSuiteTask): SuiteTask {
  return { ...task, folder: relative(suite.root, task.folder) };
}

/** Returns a stored suite task as a task in the suite folder `root`. */
export function placeSuiteTask(stored: SuiteTask, root: string, sha256: string): PlannedSuiteTask {
  return { ...stored, folder: join(root, stored.folder), suite: { name: basename(root), root }, sha256 };
}

/** Returns the same task in another copy of the suite. */
export function moveSuiteTask(task: PlannedSuiteTask, root: string): PlannedSuiteTask {
  return placeSuiteTask(portableTask(task), root, task.sha256);
}

/** The text that the agent receives. */
export function instructionOf({ kind, task }: TaskFacts): string {
  return kind === "question" ? task.question : task.instruction;
}

/** The question that a task asks about a mailbox, or null if the task is graded by the files it produces. */
export function questionOf({ kind, task }: TaskFacts): Question | null {
  return kind === "question" ? task : (task.emailQuestion ?? null);
}

/** What a task about a mailbox asks for: an answer, changes in the mailbox, or a selection of emails. */
export type AskedFor = "answer" | "actions" | "emails";

export function askedFor({ goal, select }: Pick<Question, "goal" | "select">): AskedFor {
  return goal !== undefined ? "actions" : select !== undefined ? "emails" : "answer";
}

/** A task that asks for emails. */
export type SelectionTask = Question & Required<Pick<Question, "select">>;

/** Returns the emails that a right answer rests on, or that are to be selected. Copies are left out. */
export function goldEmailsOf({ message_ids, select }: Pick<Question, "message_ids" | "select">): readonly string[] {
  return select?.emails.flatMap((email) => email.message_ids.slice(0, 1)) ?? message_ids;
}

/** Whether abstaining is the correct response. It is only for a task that asks for an answer. */
export function isUnanswerable({
  answer,
  message_ids,
  ...task
}: Pick<Question, "goal" | "select"> & {
  readonly answer: string;
  readonly message_ids: { readonly length: number };
}): boolean {
  if (askedFor(task) !== "answer") return false;
  return isDontKnow(answer) || (answer.trim() === "" && message_ids.length === 0);
}
