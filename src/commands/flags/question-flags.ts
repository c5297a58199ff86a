import { z } from "zod";
import { hubOf } from "../../app/settings/settings.js";
import { UserError } from "../../domain/errors.js";
import { type Question, type QuestionSet, SPLITS } from "../../domain/tasks/question.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../../huggingface/hub.js";
import { loadQuestions } from "../../questions/load-questions.js";
import { KNOWN_BAD_IDS, type Selection, selectQuestions } from "../../questions/select-questions.js";
import { count } from "../../reports/text/format-number.js";
import type { CommandContext, Flags } from "../cli/command.js";
import { openProgressLater, rate } from "../cli/progress.js";
import { ids, oneOf, text, whole, within } from "../cli/read-flags.js";

/** Which dataset. */
export const DATASET_FLAGS: Flags = {
  split: { alias: "s", type: "string", requiresArg: true, describe: "Dataset split: train or test [default: test]" },
  dataset: {
    alias: "csv-path",
    type: "string",
    requiresArg: true,
    describe: `A file of questions (Parquet, CSV, JSON, JSONL) instead of ${QUESTIONS_DATASET}`,
  },
  "use-json": { type: "boolean", describe: "Load by the JSON rows API instead of the Parquet file" },
  revision: {
    type: "string",
    requiresArg: true,
    describe: `Revision of the dataset [default: ${QUESTIONS_REVISION.slice(0, 8)}]`,
  },
};

export const datasetSchema = z.object({
  split: oneOf(SPLITS).default("test"),
  dataset: text.optional(),
  useJson: z.boolean().default(false),
  revision: text.optional(),
});

/** Which of its questions. */
export const SELECTION_FLAGS: Flags = {
  "min-realism": { type: "number", requiresArg: true, describe: "Only questions at least so realistic, 0-1" },
  "max-sources": {
    type: "number",
    requiresArg: true,
    describe: "Only questions with at most so many gold mails (ART: 1)",
  },
  ids: { type: "string", requiresArg: true, describe: "Only these task ids, separated by commas" },
  inbox: { type: "string", requiresArg: true, describe: "Only questions about this mailbox" },
  "exclude-known-bad": { type: "boolean", describe: "Leave out the questions ART found to be wrong" },
  shuffle: { type: "boolean", describe: "In random order, by --seed" },
  seed: { type: "number", requiresArg: true, describe: "Seed of --shuffle [default: 1]" },
};

export const selectionSchema = z.object({
  minRealism: within(0, 1).optional(),
  maxSources: whole(1).optional(),
  ids: ids.optional(),
  inbox: text.optional(),
  excludeKnownBad: z.boolean().default(false),
  shuffle: z.boolean().default(false),
  seed: whole(0, 2 ** 32 - 1).optional(),
});

type DatasetFlags = z.output<typeof datasetSchema>;
type SelectionFlags = z.output<typeof selectionSchema>;

/** Flags that cannot be meant together, told before anything is opened or downloaded. */
export function refuseContradictions(flags: DatasetFlags & Partial<SelectionFlags>): void {
  if (flags.dataset !== undefined && (flags.useJson || flags.revision !== undefined)) {
    throw new UserError(
      "flags_contradict",
      `--dataset names a file, ${flags.useJson ? "--use-json" : "--revision"} the dataset on the hub.`,
      "Leave one of them out.",
    );
  }
  if (flags.seed !== undefined && !flags.shuffle) {
    throw new UserError(
      "flags_contradict",
      "--seed is for --shuffle, which is not given.",
      "Add --shuffle, or leave --seed out.",
    );
  }
}

/** Loads the dataset, showing a download. */
export async function loadDataset(flags: DatasetFlags, { settings, signal }: CommandContext): Promise<QuestionSet> {
  const started = performance.now();
  const bar = openProgressLater(settings, "Questions");
  return loadQuestions(
    {
      split: flags.split,
      dataset: flags.dataset ?? null,
      useJson: flags.useJson,
      hub: { ...hubOf(settings), revision: flags.revision ?? QUESTIONS_REVISION },
      cacheDir: settings.cacheDir,
      onProgress: (done, total) =>
        bar.update(done, total, `${count(done)}  ${rate(done, performance.now() - started)}`),
    },
    signal,
  ).finally(() => bar.stop());
}

/** Known bad questions are known by the ids of the published dataset; in another file these may be other questions. */
export function noteKnownBad(
  { questions }: QuestionSet,
  { dataset, excludeKnownBad }: DatasetFlags & SelectionFlags,
  { out }: CommandContext,
): void {
  if (!excludeKnownBad || dataset === undefined) return;
  const left = questions.filter(({ id }) => KNOWN_BAD_IDS.has(id)).map(({ id }) => id);
  if (left.length === 0) return;
  const ids = left.length === 1 ? `question ${left[0]}` : `questions ${left.join(", ")}`;
  out.note(`Left out as known to be bad: ${ids}, taking ${dataset} for a copy of ${QUESTIONS_DATASET}.`);
}

/** Takes the questions asked for; `limit` 0 means all. None left is an error. */
export function select(set: QuestionSet, flags: SelectionFlags, limit: number): readonly Question[] {
  const { shuffle, seed, ...rest } = flags;
  const selection: Selection = { ...rest, shuffleSeed: shuffle ? (seed ?? 1) : null, limit };
  const questions = selectQuestions(set.questions, selection);
  if (questions.length > 0) return questions;
  throw new UserError(
    "questions_none",
    `None of the ${count(set.questions.length)} questions of ${set.source} is left by the flags given.`,
    "Loosen --min-realism, --max-sources, --ids or --inbox.",
  );
}
