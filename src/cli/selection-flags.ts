import { z } from "zod";
import { UserError } from "../platform/errors.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../platform/huggingface.js";
import { SPLITS } from "../tasks/question.js";
import type { TraceSelection } from "../trace-formats/export-traces.js";
import { BANDS } from "../traces/score.js";
import type { RunStatus } from "../traces/task-result.js";
import type { Flags } from "./command.js";
import { day, ids, numberBetween, oneOf, text, wholeNumber, wordList } from "./read-flags.js";

/** Which traces of a run. */
export const TRACE_SELECTION_FLAGS: Flags = {
  by: {
    type: "string",
    requiresArg: true,
    describe: "The score that the next four go by [default: semantic; of a suite: taskScore]",
  },
  band: {
    type: "string",
    requiresArg: true,
    describe: "Only scores high (> 0.8), medium (0.5-0.8), low (< 0.5)",
  },
  "min-score": {
    type: "string",
    requiresArg: true,
    describe: "Only scores of at least this: 0.5, or by name: readGold=1,judgeCorrect=1",
  },
  "max-score": { type: "string", requiresArg: true, describe: "Only scores of at most this" },
  "best-of-epochs": { type: "boolean", describe: "Of each question's repeats only the one with the best score" },
  failed: { type: "boolean", describe: "Only failed tasks" },
  ids: { type: "string", requiresArg: true, describe: "Only these tasks: 3,7" },
  limit: { alias: "l", type: "number", requiresArg: true, describe: "At most so many, by task id" },
};

/** `0.5`, or `METRIC=VALUE,METRIC=VALUE`. */
const scores = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z
      .string()
      .regex(
        /^(?:[\w.-]+=)?-?\d+(?:\.\d+)?(?:,[\w.-]+=-?\d+(?:\.\d+)?)*$/,
        "expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE",
      ),
  )
  .transform((list) =>
    list.split(",").map((part) => {
      const [value = "", metric = null] = part.split("=").reverse();
      return { metric, value: Number(value) };
    }),
  );

const taskNames = z
  .union([z.string(), z.number()])
  .transform((value) => wordList(String(value)))
  .pipe(z.array(z.string()).min(1, "expected ids of tasks, separated by commas"));

export const traceSelectionShape = {
  by: text.regex(/^[\w.-]+$/, "expected the name of a score").optional(),
  band: oneOf(BANDS).optional(),
  minScore: scores.optional(),
  maxScore: scores.optional(),
  bestOfEpochs: z.boolean().default(false),
  failed: z.boolean().default(false),
  ids: taskNames.optional(),
  limit: wholeNumber(1).optional(),
};

const shape = z.object(traceSelectionShape);

/** Throws a UserError for flags that contradict each other. */
export function readTraceSelection(flags: z.output<typeof shape>): TraceSelection {
  const { by, band, minScore = [], maxScore = [], bestOfEpochs, failed, ids, limit } = flags;
  for (const { metric, value } of minScore) {
    const max = maxScore.find((bound) => bound.metric === metric)?.value;
    if (max === undefined || value <= max) continue;
    const name = metric === null ? "" : `${metric}=`;
    throw contradiction(`--min-score ${name}${value} is above --max-score ${name}${max}.`, "Swap them.");
  }
  if (failed && (minScore.length > 0 || maxScore.length > 0 || band !== undefined)) {
    throw contradiction(
      "--failed asks for tasks without a score, --band, --min-score and --max-score for tasks with one.",
      "Export them one after the other.",
    );
  }
  const bounds = [
    ...minScore.map(({ metric, value }) => ({ metric, min: value })),
    ...maxScore.map(({ metric, value }) => ({ metric, max: value })),
  ];
  return {
    by: by ?? null,
    band: band ?? null,
    bounds,
    failedOnly: failed,
    ids: ids ?? null,
    bestOfEpochs,
    limit: limit ?? null,
  };
}

function contradiction(message: string, hint: string): UserError {
  return new UserError("flags_contradict", message, hint);
}

const STATUSES = { running: "running", completed: "completed", stopped: "interrupted" } as const satisfies Record<
  string,
  RunStatus
>;

export const runFilterShape = {
  agent: text.optional(),
  model: text.optional(),
  dataset: text.optional(),
  status: oneOf(["running", "completed", "stopped"])
    .transform((status) => STATUSES[status])
    .optional(),
  since: day.optional(),
  before: day.optional(),
};

export const RUN_FILTER_FLAGS: Flags = {
  agent: { type: "string", requiresArg: true, describe: "Only runs of this agent" },
  model: { type: "string", requiresArg: true, describe: "Only runs with this in their model's name" },
  dataset: { type: "string", requiresArg: true, describe: "Only runs with this in the name of their dataset or suite" },
  status: { type: "string", requiresArg: true, describe: "Only runs that are running, completed or stopped" },
  since: { type: "string", requiresArg: true, describe: "Only runs begun on this day (UTC) or later, YYYY-MM-DD" },
  before: { type: "string", requiresArg: true, describe: "Only runs begun before this day (UTC), YYYY-MM-DD" },
};

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
