// Questions of a dataset: loads, checks and selects them, and offers them as tasks.
import { questionRecord } from "../agents/new-trace.js";
import type { OpenedTask, Suite, TaskAccess } from "../agents/task-source.js";
import { endOfDay } from "../mail/date-range.js";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { hubOf } from "../platform/huggingface.js";
import { nearestNames } from "../platform/near-names.js";
import { meanOf } from "../statistics/intervals.js";
import { seededRandom } from "../statistics/seeded-random.js";
import { goalMessageIds } from "../tasks/mailbox-changes.js";
import {
  type AskedFor,
  askedFor,
  goldEmailsOf,
  type Question,
  type QuestionSet,
  type QuestionStatistics,
  type RealismBin,
  type Split,
  type TaskSet,
} from "../tasks/question.js";
import { count, rate } from "../text/format.js";
import { goalOracle } from "../tools/goal-oracle.js";
import { MailboxState } from "../tools/mailbox-state.js";
import { DEFAULT_SPLIT, validateQuestions } from "./dataset/dataset-files.js";
import { loadQuestions } from "./dataset/download-questions.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "./published-dataset.js";

export type QuestionOptions = DatasetOptions & SelectionOptions;

interface DatasetOptions {
  /** If undefined, selects the only split in `dataset`, otherwise `test`. */
  readonly split?: Split | undefined;
  /** Path of a question file that replaces the published dataset. */
  readonly dataset?: string | undefined;
  readonly useJson: boolean;
  readonly revision?: string | undefined;
}

export interface SelectionOptions {
  /** Minimum `how_realistic`, 0 to 1. */
  readonly minRealism?: number | undefined;
  /** Maximum number of gold emails. ART uses 1. */
  readonly maxSources?: number | undefined;
  /** Selects these ids, in dataset order. */
  readonly ids?: readonly number[] | undefined;
  /** Selects the questions about this mailbox. */
  readonly inbox?: string | undefined;
  /** Whether to leave out `KNOWN_BAD_IDS`. Intended for the hub's dataset and copies of it. */
  readonly excludeKnownBad: boolean;
  readonly shuffle: boolean;
  /** Seed of the shuffle, 1 by default. */
  readonly seed?: number | undefined;
  /** Maximum number of questions (0 = all). */
  readonly limit: number;
}

export interface SelectedQuestions {
  readonly set: TaskSet;
  readonly questions: readonly Question[];
  /** Number of questions that match without the limit. Absent if unknown. */
  readonly matching?: number;
}

const BINS = 10;

export function questionStatistics({ split, questions }: Pick<QuestionSet, "split" | "questions">): QuestionStatistics {
  const dates = questions.map((question) => question.query_date).sort();
  return {
    split,
    totalTasks: questions.length,
    uniqueInboxes: new Set(questions.map((question) => question.inbox_address)).size,
    averageRealism: meanOf(questions.map((question) => question.how_realistic)),
    averageMessageIds: meanOf(questions.map((question) => question.message_ids.length)),
    firstDate: dates[0] ?? null,
    lastDate: dates.at(-1) ?? null,
    realismHistogram: histogram(questions.map((question) => question.how_realistic)),
  };
}

function histogram(values: readonly number[]): RealismBin[] {
  // i / 10 equals the literals 0.1, 0.2, ...; i * 0.1 does not.
  const bounds = Array.from({ length: BINS + 1 }, (_, i) => i / BINS);
  return bounds.slice(0, BINS).map((from, i) => {
    const to = bounds[i + 1] ?? 1;
    const isLast = i === BINS - 1;
    return { from, to, count: values.filter((value) => value >= from && (value < to || isLast)).length };
  });
}

/** Loads a dataset and returns the selected questions. */
export async function loadSelection(options: QuestionOptions, context: AppContext): Promise<SelectedQuestions> {
  const dataset = await loadDataset(options, context);
  noteKnownBad(dataset, options, context);
  const { source, revision, sha256, split } = dataset;
  const questions = select(dataset, options);
  const matching = selectQuestions(dataset.questions, { ...options, limit: 0 }).length;
  return { set: { source, revision, sha256, split }, questions, matching };
}

/** Checks questions that a program passes. Throws a UserError that names the first bad one, or for duplicate ids. */
export async function checkQuestions(
  tasks: readonly unknown[],
  signal: AbortSignal,
): Promise<Pick<QuestionSet, "split" | "questions">> {
  const rows = Array.from(tasks, (value, i) => ({ where: `task ${i}`, value }));
  const checked = await validateQuestions(rows, { name: "tasks", wanted: undefined, unmarked: DEFAULT_SPLIT }, signal);
  if (checked.questions.length === tasks.length) return checked;
  throw new UserError("split_mixed", "The tasks belong to both splits, test and train.", "Run each split separately.");
}

/** Opens questions as tasks. They need no setup, because the mail is already imported. */
export function questionSuite(cutoff: "query_date" | "off"): Suite {
  return {
    async open({ kind, task }) {
      if (kind !== "question") throw new Error(`task ${task.id} is a suite task, but the run's tasks are questions`);
      return openQuestion(task, cutoff);
    },
    close: async () => {},
  };
}

function openQuestion(question: Question, cutoff: "query_date" | "off"): OpenedTask {
  const { variables, access } = taskMailbox(question, cutoff);
  return {
    ok: true,
    instruction: question.question,
    variables,
    access: { ...access, ...solutionOf(question, access.state) },
    grade: async () => questionRecord(question, access.state),
    close: async () => {},
  };
}

/** Returns the gold solution of a task that asks for actions or emails, and whether it needs the tools for actions. */
function solutionOf({ goal, select }: Question, state: MailboxState): Pick<TaskAccess, "asksForActions" | "oracle"> {
  if (goal !== undefined) return { asksForActions: true, oracle: goalOracle(goal, state) };
  if (select === undefined) return {};
  const sources = goldEmailsOf({ message_ids: [], select });
  return { oracle: { apply: async () => ({ ok: true, applied: { answer: "Done.", sources } }) } };
}

/** Throws for contradictory options before anything is opened or downloaded. */
export function refuseContradictions(
  options: DatasetOptions & Partial<SelectionOptions> & { readonly until?: object | undefined },
): void {
  if (options.dataset !== undefined && (options.useJson || options.revision !== undefined)) {
    throw new UserError(
      "flags_contradict",
      `--dataset cannot be combined with ${options.useJson ? "--use-json" : "--revision"}, which selects the dataset on the hub.`,
      "Remove one of them.",
    );
  }
  if (options.seed !== undefined && !options.shuffle && options.until === undefined) {
    throw new UserError("flags_contradict", "--seed requires --shuffle.", "Add --shuffle or remove --seed.");
  }
}

export async function loadDataset(
  options: DatasetOptions,
  { settings, progress, signal }: AppContext,
): Promise<QuestionSet> {
  const started = performance.now();
  const bar = progress("Questions");
  return loadQuestions(
    {
      split: options.split,
      dataset: options.dataset ?? null,
      useJson: options.useJson,
      hub: { ...hubOf(settings.env), revision: options.revision ?? QUESTIONS_REVISION },
      cacheDir: settings.cacheDir,
      onProgress: (done, total) =>
        bar.update(done, total, `${count(done)}  ${rate(done, performance.now() - started)}`),
    },
    signal,
  ).finally(() => bar.stop());
}

/**
 * Reports known-bad questions that were left out of a different dataset. The ids refer to the published dataset, so
 * they might belong to other questions in a different file.
 */
export function noteKnownBad(
  { questions }: QuestionSet,
  { dataset, excludeKnownBad }: QuestionOptions,
  { note }: AppContext,
): void {
  if (!excludeKnownBad || dataset === undefined) return;
  const badIds = questions.filter(({ id }) => KNOWN_BAD_IDS.has(id)).map(({ id }) => id);
  if (badIds.length === 0) return;
  const ids = badIds.length === 1 ? `question ${badIds[0]}` : `questions ${badIds.join(", ")}`;
  note(`Left out ${ids} as known to be bad, assuming that ${dataset} is a copy of ${QUESTIONS_DATASET}.`);
}

/** Selects questions. Throws a UserError if none match. */
export function select(set: QuestionSet, options: SelectionOptions): readonly Question[] {
  const questions = selectQuestions(set.questions, options);
  if (questions.length > 0) return questions;
  const { inbox } = options;
  const inboxes = new Set(set.questions.map(({ inbox_address }) => inbox_address));
  const isUnknown = inbox !== undefined && !inboxes.has(inbox.trim().toLowerCase());
  // Suggest only the nearest address, because all addresses in a company are similar.
  const [near] = isUnknown ? nearestNames(inbox, inboxes) : [];
  throw new UserError(
    "questions_none",
    `None of the ${count(set.questions.length)} questions in ${set.source} match the flags.`,
    isUnknown
      ? `No question is about --inbox ${inbox}.${near === undefined ? "" : ` Did you mean ${near}?`}`
      : "Relax --min-realism, --max-sources, --ids or --inbox.",
  );
}

/** Rejects tasks that ask for actions or emails, for a command that needs gold answers or can also use one of these. */
export function requireAnswers(questions: readonly Question[], command: string, alsoUsable: AskedFor = "answer"): void {
  const task = questions.find((question) => !["answer", alsoUsable].includes(askedFor(question)));
  if (task === undefined) return;
  throw new UserError(
    "question_without_answer",
    `${command} needs questions with answers, but question ${task.id} asks for ${askedFor(task)}.`,
    `Pass a dataset whose rows have ${alsoUsable === "emails" ? "no goal" : "neither goal nor select"}.`,
  );
}

/**
 * Questions that ART excludes because of a wrong gold answer. The ids belong to `corbt/enron_emails_sample_questions`.
 */
export const KNOWN_BAD_IDS: ReadonlySet<number> = new Set([49, 101, 129, 171, 208, 266, 327]);

/**
 * Filters, shuffles, and then takes the first `limit` questions. With the same seed, a smaller limit therefore selects
 * a prefix of a larger one.
 * @throws UserError if `ids` are not in the dataset
 */
export function selectQuestions(questions: readonly Question[], selection: SelectionOptions): Question[] {
  const {
    minRealism = 0,
    maxSources = Number.POSITIVE_INFINITY,
    excludeKnownBad,
    shuffle,
    seed = 1,
    limit,
  } = selection;
  const ids = selection.ids === undefined ? null : knownIds(questions, selection.ids);
  const inbox = selection.inbox?.trim().toLowerCase();
  const matches = questions.filter(
    (question) =>
      question.how_realistic >= minRealism &&
      question.message_ids.length <= maxSources &&
      (ids === null || ids.has(question.id)) &&
      (inbox === undefined || question.inbox_address === inbox) &&
      !(excludeKnownBad && KNOWN_BAD_IDS.has(question.id)),
  );
  const ordered = shuffle ? shuffled(matches, seed) : matches;
  return limit === 0 ? ordered : ordered.slice(0, limit);
}

function knownIds(questions: readonly Question[], ids: readonly number[]): ReadonlySet<number> {
  const present = new Set(questions.map((question) => question.id));
  const unknown = [...new Set(ids)].filter((id) => !present.has(id));
  if (unknown.length === 0) return new Set(ids);
  throw new UserError(
    "question_ids_unknown",
    `Unknown question ids: ${unknown.join(", ")}.`,
    "Check the ids, or select the other split with --split.",
  );
}

/** A Fisher-Yates permutation that depends only on the seed and the length. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  const random = seededRandom(seed);
  for (let last = result.length - 1; last > 0; last--) {
    const other = random(last + 1);
    const [a, b] = [result[last], result[other]] as [T, T];
    result[last] = b;
    result[other] = a;
  }
  return result;
}

/** Returns the first items of all lists, then the second ones, and so on. */
export function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat();
}

/** The prompt variables of a mailbox task, the mail that its tools can access, and a new state for its actions. */
export function taskMailbox(
  { inbox_address, query_date, drafts = [], goal }: Pick<Question, "inbox_address" | "query_date" | "drafts" | "goal">,
  cutoff: "query_date" | "off",
): Pick<OpenedTask, "variables"> & { readonly access: Required<Pick<TaskAccess, "inbox" | "cutoff" | "state">> } {
  const goalIds = goal === undefined ? [] : goalMessageIds(goal);
  const state = new MailboxState({ owner: inbox_address, now: `${query_date}T12:00:00Z`, drafts, goalIds });
  return {
    variables: { inbox_address, query_date },
    access: { inbox: inbox_address, cutoff: cutoff === "off" ? null : endOfDay(query_date), state },
  };
}
