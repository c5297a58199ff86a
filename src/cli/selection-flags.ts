import { z } from "zod";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../platform/huggingface.js";
import { SPLITS } from "../tasks/question.js";
import { COUNTERPARTS } from "../tasks/suite-task.js";
import type { TraceSelection } from "../trace-formats/export-traces.js";
import { BANDS } from "../traces/score.js";
import type { RunStatus } from "../traces/task-result.js";
import { contradiction, day, ids, listText, numberBetween, oneOf, text, wholeNumber, wordList } from "./read-flags.js";

/** `0.5`, or `METRIC=VALUE,METRIC=VALUE`. */
const scores = z
  .string()
  .regex(
    /^(?:[\w.-]+=)?-?\d+(?:\.\d+)?(?:,[\w.-]+=-?\d+(?:\.\d+)?)*$/,
    "expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE",
  )
  .meta({ isList: true })
  .transform((list) =>
    list.split(",").map((part) => {
      const [value = "", metric = null] = part.split("=").reverse();
      return { metric, value: Number(value) };
    }),
  );

const taskNames = listText
  .transform(wordList)
  .pipe(z.array(z.string()).min(1, "expected ids of tasks, separated by commas"));

export const traceSelectionShape = {
  by: text
    .regex(/^[\w.-]+$/, "expected the name of a score")
    .optional()
    .meta({ description: "The score that the next four go by [default: semantic; of a suite: taskScore]" }),
  band: oneOf(BANDS).optional().meta({ description: "Only scores high (> 0.8), medium (0.5-0.8), low (< 0.5)" }),
  minScore: scores
    .optional()
    .meta({ description: "Only scores of at least this: 0.5, or by name: readGold=1,judgeCorrect=1" }),
  maxScore: scores.optional().meta({ description: "Only scores of at most this" }),
  bestOfEpochs: z
    .boolean()
    .default(false)
    .meta({ description: "Of each question's repeats only the one with the best score" }),
  failed: z.boolean().default(false).meta({ description: "Only failed tasks" }),
  ids: taskNames.optional().meta({ description: "Only these tasks: 3,7" }),
  limit: wholeNumber(1).optional().meta({ description: "At most so many, by task id", alias: "l" }),
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

const STATUSES = { running: "running", completed: "completed", stopped: "interrupted" } as const satisfies Record<
  string,
  RunStatus
>;

export const runFilterShape = {
  agent: text.optional().meta({ description: "Only runs of this agent" }),
  model: text.optional().meta({ description: "Only runs with this in their model's name" }),
  dataset: text.optional().meta({ description: "Only runs with this in the name of their dataset or suite" }),
  status: oneOf(["running", "completed", "stopped"])
    .transform((status) => STATUSES[status])
    .optional()
    .meta({ description: "Only runs that are running, completed or stopped" }),
  since: day.optional().meta({ description: "Only runs begun on this day (UTC) or later, YYYY-MM-DD" }),
  before: day.optional().meta({ description: "Only runs begun before this day (UTC), YYYY-MM-DD" }),
};

export const datasetSchema = z.object({
  split: oneOf(SPLITS).optional().meta({
    description: "Dataset split: train or test [default: test, or the file's only split]",
    alias: "s",
  }),
  dataset: text.optional().meta({
    description: `A file of questions (Parquet, CSV, JSON, JSONL) instead of ${QUESTIONS_DATASET}`,
    alias: "csv-path",
  }),
  useJson: z.boolean().default(false).meta({ description: "Load by the JSON rows API instead of the Parquet file" }),
  revision: text
    .optional()
    .meta({ description: `Revision of the dataset [default: ${QUESTIONS_REVISION.slice(0, 8)}]` }),
});

/** Which questions of a dataset are meant. */
export const questionsSchema = datasetSchema.extend({
  minRealism: numberBetween(0, 1).optional().meta({ description: "Only questions at least so realistic, 0-1" }),
  maxSources: wholeNumber(1)
    .optional()
    .meta({ description: "Only questions with at most so many gold mails (ART: 1)" }),
  ids: ids.optional().meta({ description: "Only these task ids, separated by commas" }),
  inbox: text.optional().meta({ description: "Only questions about this mailbox" }),
  excludeKnownBad: z.boolean().default(false).meta({ description: "Leave out the questions ART found to be wrong" }),
  shuffle: z.boolean().default(false).meta({ description: "In random order, by --seed" }),
  seed: wholeNumber(0, 2 ** 32 - 1)
    .optional()
    .meta({ description: "Seed of --shuffle [default: 1]" }),
});

/** The folder of a suite, as an argument. */
export const suiteDir = text.meta({
  description: "The suite: a folder that holds examples/<tool>/<id>/<id>.json, or Harbor tasks",
});

const words = listText.transform(wordList);

/** Which tasks of a suite are meant. */
export const suiteSelectionShape = {
  task: words.optional().meta({ description: "Task ids, or their beginnings, separated by commas" }),
  tool: text
    .optional()
    .meta({ description: "Tasks of this folder of examples/ (or of Harbor tasks), such as jupyter" }),
  tag: words.optional().meta({ description: "Tasks with all of these tags, separated by commas" }),
  index: text.optional().meta({ description: "Tasks that an index file lists, such as test_one.json" }),
  counterparts: oneOf(COUNTERPARTS)
    .optional()
    .meta({ description: "both: whole pairs, counterparts added; abstract or verbose: one of each pair" }),
  runnable: z.boolean().optional().meta({ description: "Only tasks that can be run here" }),
};

/** The user's own set-up and evaluation functions. */
export const functionsShape = {
  functions: text
    .optional()
    .meta({ description: "A module of your own set-up and evaluation functions; it runs with your rights" }),
};

/** What tasks of suites take from outside of the suite. */
export const suiteResourceShape = {
  ...functionsShape,
  accountSettings: text.optional().meta({
    description: "A folder of VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]",
  }),
};
