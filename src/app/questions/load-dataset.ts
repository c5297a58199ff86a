import { UserError } from "../../domain/errors.js";
import type { Question, QuestionSet, Split } from "../../domain/tasks/question.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../../huggingface/dataset-names.js";
import { nearestNames } from "../../platform/nearest-names.js";
import { loadQuestions } from "../../questions/load-questions.js";
import { KNOWN_BAD_IDS, type Selection, selectQuestions } from "../../questions/select-questions.js";
import { count, rate } from "../../reports/text/format-number.js";
import { hubOf } from "../settings/endpoints.js";
import type { AppContext } from "../use-case-context.js";

/** Which dataset. */
export interface DatasetOptions {
  readonly split: Split;
  /** A file of questions instead of the published dataset. */
  readonly dataset?: string | undefined;
  readonly useJson: boolean;
  readonly revision?: string | undefined;
}

/** Which of its questions. */
export interface SelectionOptions {
  readonly minRealism?: number | undefined;
  readonly maxSources?: number | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly inbox?: string | undefined;
  readonly excludeKnownBad: boolean;
  readonly shuffle: boolean;
  readonly seed?: number | undefined;
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

/** Loads the dataset, with a progress bar for downloads. */
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
  { dataset, excludeKnownBad }: DatasetOptions & SelectionOptions,
  { note }: AppContext,
): void {
  if (!excludeKnownBad || dataset === undefined) return;
  const left = questions.filter(({ id }) => KNOWN_BAD_IDS.has(id)).map(({ id }) => id);
  if (left.length === 0) return;
  const ids = left.length === 1 ? `question ${left[0]}` : `questions ${left.join(", ")}`;
  note(`Left out as known to be bad: ${ids}, taking ${dataset} for a copy of ${QUESTIONS_DATASET}.`);
}

/** Selects questions; `limit` 0 means all. Throws where none is left. */
export function select(set: QuestionSet, options: SelectionOptions, limit: number): readonly Question[] {
  const { shuffle, seed, ...rest } = options;
  const selection: Selection = { ...rest, shuffleSeed: shuffle ? (seed ?? 1) : null, limit };
  const questions = selectQuestions(set.questions, selection);
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
