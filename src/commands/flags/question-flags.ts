import { z } from "zod";
import { SPLITS } from "../../domain/tasks/question.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../../huggingface/dataset-names.js";
import type { Flags } from "../cli/command.js";
import { ids } from "../cli/list-flags.js";
import { numberBetween, oneOf, text, wholeNumber } from "../cli/read-flags.js";

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
  minRealism: numberBetween(0, 1).optional(),
  maxSources: wholeNumber(1).optional(),
  ids: ids.optional(),
  inbox: text.optional(),
  excludeKnownBad: z.boolean().default(false),
  shuffle: z.boolean().default(false),
  seed: wholeNumber(0, 2 ** 32 - 1).optional(),
});
