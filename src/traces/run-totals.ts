import { z } from "zod";
import { answeredBySchema, usageSchema } from "../models/model.js";
import { type Estimate, estimateSchema, intervalSchema } from "../statistics/estimate.js";
import { ENDINGS } from "../tasks/ending.js";
import { TASK_STATES } from "../tasks/suite-task.js";
import { runLimitsSchema, runSettingsSchema } from "./run-settings.js";
import { runStatusSchema, spentSchema, taskResultSchema } from "./task-result.js";
import type { QUESTION_SLICES, SUITE_SLICES } from "./task-slices.js";

/**
 * The scorers whose figure stands for a whole run, best first: what a training environment paid, a judge's verdict,
 * what a suite's own functions gave, and where nobody judged, how far the answers' words agree.
 */
export const HEADLINE_SCORERS = ["reward", "judgeCorrect", "taskScore", "semanticScore"] as const;

export interface Headline extends Estimate {
  readonly scorer: (typeof HEADLINE_SCORERS)[number];
}

/** The scorer whose figure stands for a run, of those that `has` knows; null: none of them does. */
export function headlineScorer(has: (scorer: Headline["scorer"]) => boolean): Headline["scorer"] | null {
  return HEADLINE_SCORERS.find(has) ?? null;
}

const tasks = z.number().int().nonnegative();
const meanTime = z.number().nonnegative().nullable().exactOptional();
const share = z.number().min(0).max(1).nullable();

const averages = {
  exactMatchAccuracy: share.describe("Share of exact matches; null where there is nothing to take it over."),
  avgSemanticScore: share.describe("Mean semantic score."),
  sourcesCorrect: share.describe("Share of answers that cite a mail which holds the answer."),
  foundGold: share.describe("Share of tasks where a search listed a mail that holds the answer."),
  readGold: share.describe("Share of tasks where the agent opened a mail that holds the answer."),
};

/** Shares and means from 0 to 1; null where there is nothing to take them over. */
const averagesSchema = z.strictObject({
  tasks: tasks.describe("How many tasks the averages are taken over."),
  ...averages,
});

export type Averages = Readonly<z.output<typeof averagesSchema>>;

/** A score over a run. At its top the estimate over the completed tasks. */
export const scoreFiguresSchema = estimateSchema.extend({
  label: z.string().describe("The scorer's name for people."),
  kind: z.enum(["rate", "mean"]).describe("rate: 0 or 1 a task; mean: any number."),
  better: z.enum(["higher", "lower"]).describe("Which way is better."),
  meaning: z.string().describe("What it measures, and over which tasks."),
  overAll: estimateSchema.describe(
    "The same with failed tasks as wrong (0). Nothing (n 0) where a failure has no such value: lower is better, the score goes beyond 0 to 1, or it is of tasks of a suite, which are never 0 ungraded.",
  ),
  byInbox: intervalSchema
    .extend({ inboxes: z.number().int().describe("How many inboxes there are.") })
    .describe(
      "A 95 % interval with inboxes as clusters: for other people's mailboxes, where the other interval is for other questions about these.",
    ),
  repeats: z
    .array(
      z.strictObject({
        k: z.number().int().positive().describe("How many tries."),
        passAtK: estimateSchema.describe("pass@k: chance that at least one of k tries is right. n counts questions."),
        passHatK: estimateSchema.describe("pass^k: chance that all of k tries are right. n counts questions."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("Of rates where questions were asked more than once; absent elsewhere."),
});

export type ScoreFigures = Readonly<z.output<typeof scoreFiguresSchema>>;

const sliceSchema = z.strictObject({
  value: z.string().describe("What its tasks have in common, such as the address or the year."),
  tasks: tasks.describe("Its tasks, failed ones included."),
  scores: z.record(z.string(), estimateSchema).readonly().describe("By scorer, over its completed tasks."),
});

export type Slice = Readonly<z.output<typeof sliceSchema>>;

const parts = z.array(sliceSchema).readonly();
const suiteParts = parts.exactOptional();

const suiteTotalsSchema = z
  .strictObject({
    name: z.string().describe("The suite."),
    graded: tasks.describe("Tasks that have a score; the others are in no average."),
    states: z
      .partialRecord(
        z.enum(TASK_STATES),
        z.strictObject({
          tasks: tasks.describe("Its tasks."),
          graded: tasks.describe("How many of them have a score."),
        }),
      )
      .readonly()
      .describe("How many tasks ended how, as suites name it."),
  })
  .readonly();

export type SuiteTotals = z.output<typeof suiteTotalsSchema>;

/** The totals of a run; the averages at the top are over the completed tasks, as the published runner takes them. */
export const runTotalsSchema = z.strictObject({
  runId: z.string().describe("The run."),
  name: z.string().exactOptional().describe("What a person calls the run; absent where it has no name."),
  agentId: z.string().describe("The agent that was tested."),
  model: z.string().describe("provider/name of the model it ran with."),
  split: z.string().describe("test or train."),
  status: runStatusSchema.describe(
    "completed, or interrupted: some tasks have no result yet; running while it goes on.",
  ),
  plannedTasks: tasks.describe("Tasks that the run is to answer."),
  totalTasks: tasks.describe("Tasks with a result."),
  completedTasks: tasks.describe("Tasks that did not fail."),
  failedTasks: tasks.describe(
    "Tasks that ended as model_error, timeout, interrupted or not_started; they are never graded.",
  ),
  mostFrequentError: z
    .strictObject({
      message: z.string().describe("The error message."),
      tasks: tasks.describe("Failed tasks with it."),
    })
    .readonly()
    .exactOptional()
    .describe("The most frequent error of the failed tasks; absent if none failed."),
  refusals: z
    .array(
      z.strictObject({
        reason: z.string().describe("The provider's name for the refusal, and its or the model's words."),
        tasks: tasks.describe("Refused tasks with this reason."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("Why tasks ended as refused, the most frequent reason first, at most 20; absent if none did."),
  notRunnableTasks: tasks
    .exactOptional()
    .describe("Tasks of a suite that cannot be run here, as what they need is not here; absent where there is none."),
  ...averages,
  avgExecutionTimeMs: z.number().nullable().describe("Mean time of a completed task, waiting included, in ms."),
  avgModelTimeMs: meanTime.describe(
    "Mean time of its model calls, in ms. Null: of no task; absent: an earlier version wrote it.",
  ),
  avgToolTimeMs: meanTime.describe("Mean time of its tools, in ms."),
  avgWaitingTimeMs: meanTime.describe("Mean time of its throttling, failed model calls and pauses, in ms."),
  totalTimeMs: z.number().int().describe("Time that was worked on the run, in ms."),
  startedAt: z.string().describe("ISO 8601."),
  completedAt: z.string().describe("ISO 8601."),
  overAllTasks: averagesSchema.describe("The same averages over every task asked, failures counted as wrong."),
  endings: z.partialRecord(z.enum(ENDINGS), tasks).readonly().describe("How many tasks ended how."),
  turns: tasks.describe("Model calls."),
  answeredBy: answeredBySchema
    .exactOptional()
    .describe("How many of the replies name which model as theirs; absent where none names one."),
  usage: usageSchema.strict().describe("Tokens of the run; inputTokens includes the cached ones."),
  costUsd: z.number().nullable().describe("US dollars; null where the price of the model is not known."),
  retries: tasks.describe("Model calls that were made again."),
  repairedCalls: tasks
    .exactOptional()
    .describe("Tool calls whose arguments were repaired, such as an array sent as JSON text; absent if none were."),
  cachedReplies: tasks.describe("Replies kept from an earlier run; usage and costUsd count them, spent does not."),
  spent: spentSchema,
  scores: z
    .record(z.string(), scoreFiguresSchema)
    .readonly()
    .describe("Every score by its scorer's name, with its 95 % interval and its denominator."),
  suite: suiteTotalsSchema.exactOptional().describe("Of a run over the tasks of a suite; absent elsewhere."),
  slices: z
    .strictObject({
      inbox: parts.describe("By the mailbox that the question is about."),
      realism: parts.describe("By how realistic the dataset calls the question, in tenths."),
      sources: parts.describe("By how many mails the dataset names as holding the answer."),
      year: parts.describe("By the year of the question's day."),
      tool: suiteParts.describe("Of a suite: by the folder that the task is in. Absent elsewhere, as are the next."),
      difficulty: suiteParts.describe("By the steps that a person takes."),
      guidance: suiteParts.describe("By the style of the instruction: abstract or verbose."),
      app: suiteParts.describe("By each application that the task is about."),
      tag: suiteParts.describe("By each of its tags."),
    } satisfies Record<(typeof QUESTION_SLICES)[number], typeof parts> &
      Record<(typeof SUITE_SLICES)[number], typeof suiteParts>)
    .readonly()
    .describe("The scores by what the tasks can be divided by."),
});

export type RunTotals = Readonly<z.output<typeof runTotalsSchema>>;

export const benchmarkResultSchema = runTotalsSchema.extend({
  settings: runSettingsSchema,
  limits: runLimitsSchema,
  versions: z.record(z.string(), z.string()).readonly().describe("Of art-e, Node and SQLite."),
  dataset: z
    .strictObject({
      source: z.string().describe("Dataset name with its revision, or the path of a local file."),
      revision: z.string().nullable().describe("The pinned revision; null for local files."),
      sha256: z.string().describe("SHA-256 of the bytes read."),
    })
    .readonly()
    .describe("Where the questions came from."),
  corpusFingerprint: z.string().describe("Two databases with one fingerprint give every agent the same mail."),
  taskResults: z.array(taskResultSchema).readonly().describe("One per task, by task id and epoch."),
});

export type BenchmarkResult = Readonly<z.output<typeof benchmarkResultSchema>>;
