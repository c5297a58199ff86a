import { z } from "zod";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../../platform/huggingface.js";
import { SPLITS } from "../../tasks/question.js";
import { COUNTERPARTS } from "../../tasks/suite-task.js";
import type { TraceSelection } from "../../trace-formats/export-traces.js";
import { BANDS } from "../../traces/score.js";
import type { RunStatus } from "../../traces/task-result.js";
import {
  address,
  contradiction,
  day,
  file,
  folder,
  ids,
  listText,
  numberBetween,
  oneOf,
  text,
  wholeNumber,
  wordList,
} from "./read-flags.js";

/** A score for the default metric, such as `0.5`, or scores per metric, such as `METRIC=VALUE,METRIC=VALUE`. */
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
    .meta({
      placeholder: "SCORE",
      description: "Score for the next four flags [default: semantic, or taskScore for a suite]",
    }),
  band: oneOf(BANDS)
    .optional()
    .meta({ description: "Only traces with a high (> 0.8), medium (0.5 to 0.8) or low (< 0.5) score" }),
  minScore: scores
    .optional()
    .meta({ placeholder: "N", description: "Minimum score: 0.5, or by name: readGold=1,judgeCorrect=1" }),
  maxScore: scores.optional().meta({ placeholder: "N", description: "Maximum score" }),
  bestOfEpochs: z.boolean().default(false).meta({ description: "Only the best repeat of each question" }),
  failed: z.boolean().default(false).meta({ description: "Only failed tasks" }),
  ids: taskNames.optional().meta({ description: "Only these tasks: 3,7" }),
  limit: wholeNumber(1)
    .optional()
    .meta({ description: "Maximum number of traces, in the order of task ids", alias: "l" }),
};

const shape = z.object(traceSelectionShape);

/** Returns the selected traces. Throws a UserError for flags that contradict each other. */
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
  agent: text.optional().meta({ placeholder: "ID", description: "Only runs of this agent" }),
  model: text.optional().meta({ placeholder: "TEXT", description: "Only runs with this text in the model name" }),
  dataset: file
    .optional()
    .meta({ placeholder: "TEXT", description: "Only runs with this text in the dataset or suite name" }),
  status: oneOf(["running", "completed", "stopped"])
    .transform((status) => STATUSES[status])
    .optional()
    .meta({ description: "Only runs with this status: running, completed or stopped" }),
  since: day.optional().meta({ description: "Only runs started on this date (UTC) or later (YYYY-MM-DD)" }),
  before: day.optional().meta({ description: "Only runs started before this date (UTC, YYYY-MM-DD)" }),
};

export const datasetSchema = z.object({
  split: oneOf(SPLITS).optional().meta({
    placeholder: "train|test",
    description: "Dataset split: train or test [default: test, or the file's only split]",
    alias: "s",
  }),
  dataset: file.optional().meta({
    description: `File of questions (Parquet, CSV, JSON, JSONL) instead of ${QUESTIONS_DATASET}`,
    alias: "csv-path",
  }),
  useJson: z
    .boolean()
    .default(false)
    .meta({ description: "Load the questions from the JSON rows API instead of the Parquet file" }),
  revision: text
    .optional()
    .meta({ placeholder: "COMMIT", description: `Dataset revision [default: ${QUESTIONS_REVISION.slice(0, 8)}]` }),
});

/** Flags that select questions from a dataset. */
export const questionsSchema = datasetSchema.extend({
  minRealism: numberBetween(0, 1).optional().meta({ description: "Minimum realism of the questions, from 0 to 1" }),
  maxSources: wholeNumber(1).optional().meta({ description: "Maximum number of gold emails per question (ART: 1)" }),
  ids: ids.optional().meta({ description: "Only these task ids, separated by commas" }),
  inbox: address.optional().meta({ description: "Only questions about this mailbox" }),
  excludeKnownBad: z
    .boolean()
    .default(false)
    .meta({ description: "Leave out the questions that ART found to be wrong" }),
  shuffle: z.boolean().default(false).meta({ description: "Ask in random order (see --seed)" }),
  seed: wholeNumber(0, 2 ** 32 - 1)
    .optional()
    .meta({ description: "Seed for --shuffle [default: 1]" }),
});

export const suiteDir = text.meta({
  description: "Suite folder with examples/<tool>/<id>/<id>.json, or with Harbor tasks",
});

const words = listText.transform(wordList);

/** Flags that select suite tasks. */
export const suiteSelectionShape = {
  task: words.optional().meta({ description: "Task ids, or starts of ids, separated by commas" }),
  tool: folder
    .optional()
    .meta({ description: "Only tasks in this folder of examples/ (or of Harbor tasks), such as jupyter" }),
  tag: words.optional().meta({ description: "Only tasks with all of these tags, separated by commas" }),
  index: file.optional().meta({ description: "Only tasks listed in this index file, such as test_one.json" }),
  counterparts: oneOf(COUNTERPARTS)
    .optional()
    .meta({ description: "Pairs of tasks: both (add counterparts), abstract or verbose (one of each pair)" }),
  runnable: z.boolean().optional().meta({ description: "Only tasks that can run on this machine" }),
};

export const functionsShape = {
  functions: file
    .optional()
    .meta({ description: "Module with custom setup and evaluation functions. It runs with your permissions" }),
};

/** Flags for resources of suite tasks that are not part of the suite. */
export const suiteResourceShape = {
  ...functionsShape,
  accountSettings: folder.optional().meta({
    description: "Folder with VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]",
  }),
};
