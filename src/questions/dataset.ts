import type { OpenedTask, Suite } from "../agents/agent.js";
import { endOfDay } from "../mail/search-query.js";
import { hubOf } from "../models/open-model.js";
import type { AppContext } from "../platform/app-context.js";
import { nearestNames } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../platform/huggingface.js";
import { meanOf, seededRandom } from "../statistics/intervals.js";
import {
  isQuestion,
  type Question,
  type QuestionSet,
  type QuestionStatistics,
  type RealismBin,
  type Split,
} from "../tasks/question.js";
import { count, rate } from "../text/format.js";
import { loadQuestions } from "./published-questions.js";

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

export type QuestionOptions = DatasetOptions & SelectionOptions;

/** The questions of ART-E, or of a file like theirs: each is about one mailbox, and its answer is scored. */
export function artESuite(
  cutoff: "query_date" | "off",
  options: QuestionOptions,
  context: AppContext,
): Suite<Question> {
  return {
    async list() {
      const set = await loadDataset(options, context);
      noteKnownBad(set, options, context);
      const { source, revision, sha256, split } = set;
      return { set: { source, revision, sha256, split }, tasks: select(set, options) };
    },
    open: questionOpener(cutoff),
    close: async () => {},
  };
}

/** Nothing needs to be set up: the mail is there. */
export function questionOpener(cutoff: "query_date" | "off"): Suite["open"] {
  return async (task) => {
    if (!isQuestion(task)) throw new Error(`task ${task.id} is of a folder, and the run is over questions`);
    return { ok: true, opened: openQuestion(task, cutoff) };
  };
}

function openQuestion(question: Question, cutoff: "query_date" | "off"): OpenedTask {
  return {
    instruction: question.question,
    ...taskMailbox(question, cutoff),
    grade: async () => ({ task: question }),
    close: async () => {},
  };
}

export interface DatasetOptions {
  /** Undefined: the only split of `dataset`, otherwise `test`. */
  readonly split?: Split | undefined;
  /** A file of questions instead of the published dataset. */
  readonly dataset?: string | undefined;
  readonly useJson: boolean;
  readonly revision?: string | undefined;
}

export interface SelectionOptions {
  /** Minimum of `how_realistic`, 0 to 1. */
  readonly minRealism?: number | undefined;
  /** Maximum number of gold messages; ART uses 1. */
  readonly maxSources?: number | undefined;
  /** Only these, in the order of the dataset. */
  readonly ids?: readonly number[] | undefined;
  /** Only of this mailbox. */
  readonly inbox?: string | undefined;
  /** Leaves out `KNOWN_BAD_IDS`; for the hub's dataset or a copy of it. */
  readonly excludeKnownBad: boolean;
  readonly shuffle: boolean;
  /** Of the shuffle; undefined: 1. */
  readonly seed?: number | undefined;
  /** 0: all. */
  readonly limit: number;
}

/** Refuses contradictory options, before anything is opened or downloaded. */
export function refuseContradictions(options: DatasetOptions & Partial<SelectionOptions>): void {
  if (options.dataset !== undefined && (options.useJson || options.revision !== undefined)) {
    throw new UserError(
      "flags_contradict",
      `--dataset names a file, ${options.useJson ? "--use-json" : "--revision"} the dataset on the hub.`,
      "Leave one of them out.",
    );
  }
  if (options.seed !== undefined && !options.shuffle) {
    throw new UserError(
      "flags_contradict",
      "--seed is for --shuffle, which is not given.",
      "Add --shuffle, or leave --seed out.",
    );
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
 * Known bad questions are identified by id in the published dataset. In another file the ids may be other questions:
 * notes it.
 */
export function noteKnownBad(
  { questions }: QuestionSet,
  { dataset, excludeKnownBad }: QuestionOptions,
  { note }: AppContext,
): void {
  if (!excludeKnownBad || dataset === undefined) return;
  const left = questions.filter(({ id }) => KNOWN_BAD_IDS.has(id)).map(({ id }) => id);
  if (left.length === 0) return;
  const ids = left.length === 1 ? `question ${left[0]}` : `questions ${left.join(", ")}`;
  note(`Left out as known to be bad: ${ids}, taking ${dataset} for a copy of ${QUESTIONS_DATASET}.`);
}

/** Selects questions. Throws where none is left. */
export function select(set: QuestionSet, options: SelectionOptions): readonly Question[] {
  const questions = selectQuestions(set.questions, options);
  if (questions.length > 0) return questions;
  const { inbox } = options;
  const inboxes = new Set(set.questions.map(({ inbox_address }) => inbox_address));
  const isUnknown = inbox !== undefined && !inboxes.has(inbox.trim().toLowerCase());
  // The nearest only: addresses of one company are alike.
  const [near] = isUnknown ? nearestNames(inbox, inboxes) : [];
  throw new UserError(
    "questions_none",
    `None of the ${count(set.questions.length)} questions of ${set.source} is left by the flags given.`,
    isUnknown
      ? `None of them is about --inbox ${inbox}.${near === undefined ? "" : ` Did you mean ${near}?`}`
      : "Loosen --min-realism, --max-sources, --ids or --inbox.",
  );
}

/** Questions that ART excludes for a wrong gold answer; ids of `corbt/enron_emails_sample_questions` only. */
export const KNOWN_BAD_IDS: ReadonlySet<number> = new Set([49, 101, 129, 171, 208, 266, 327]);

/**
 * Filters, shuffles, then takes the first `limit`, so that with one seed a smaller limit gives a prefix of a larger
 * one.
 * @throws UserError where `ids` are not in the dataset
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
  const kept = questions.filter(
    (question) =>
      question.how_realistic >= minRealism &&
      question.message_ids.length <= maxSources &&
      (ids === null || ids.has(question.id)) &&
      (inbox === undefined || question.inbox_address === inbox) &&
      !(excludeKnownBad && KNOWN_BAD_IDS.has(question.id)),
  );
  const ordered = shuffle ? shuffled(kept, seed) : kept;
  return limit === 0 ? ordered : ordered.slice(0, limit);
}

function knownIds(questions: readonly Question[], ids: readonly number[]): ReadonlySet<number> {
  const present = new Set(questions.map((question) => question.id));
  const unknown = [...new Set(ids)].filter((id) => !present.has(id));
  if (unknown.length === 0) return new Set(ids);
  throw new UserError(
    "question_ids_unknown",
    `the dataset has no question with id ${unknown.join(", ")}`,
    "Check the ids, and whether they are of the other split (--split).",
  );
}

/** A Fisher-Yates permutation that depends on the seed and the length only. */
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

/** What a task about a mailbox tells an agent of it, and lets its tools read. */
export function taskMailbox(
  { inbox_address, query_date }: Pick<Question, "inbox_address" | "query_date">,
  cutoff: "query_date" | "off",
): Pick<OpenedTask, "variables"> & { readonly access: { readonly inbox: string; readonly cutoff: string | null } } {
  return {
    variables: { inbox_address, query_date },
    access: { inbox: inbox_address, cutoff: cutoff === "off" ? null : endOfDay(query_date) },
  };
}
