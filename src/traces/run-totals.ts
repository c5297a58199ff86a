// The schema of a run's totals, as in its results file.
import { z } from "zod";
import { answeredBySchema } from "../models/answering-model.js";
import { usageSchema } from "../models/usage.js";
import { estimateSchema, intervalSchema } from "../statistics/estimate.js";
import { ENDINGS } from "../tasks/ending.js";
import { TASK_STATES } from "../tasks/suite-task.js";
import { HEADLINE_SCORERS } from "./headline-score.js";
import { runLimitsSchema, runSettingsSchema } from "./run-settings.js";
import { runStatusSchema, spentSchema, taskResultSchema } from "./task-result.js";
import type { QUESTION_SLICES, SUITE_SLICES } from "./task-slices.js";

const tasks = z.number().int().nonnegative();
const meanTime = z.number().nonnegative().nullable();
const share = z.number().min(0).max(1).nullable();

const averages = {
  exactMatchAccuracy: share.describe("Fraction of exact matches, or null without tasks."),
  avgSemanticScore: share.describe("Mean word overlap (semanticScore)."),
  sourcesCorrect: share.describe("Fraction of answers that cite an email that contains the gold answer."),
  foundGold: share.describe("Fraction of tasks in which a search listed an email that contains the gold answer."),
  readGold: share.describe("Fraction of tasks in which the agent opened an email that contains the gold answer."),
};

/** Fractions and means from 0 to 1, or null without tasks. */
const averagesSchema = z.strictObject({
  tasks: tasks.describe("Number of tasks in the averages."),
  ...averages,
});

export type Averages = Readonly<z.output<typeof averagesSchema>>;

/** A score over a run. The top-level fields are the estimate over the completed tasks. */
export const scoreFiguresSchema = estimateSchema.extend({
  label: z.string().describe("Display name of the scorer."),
  kind: z.enum(["rate", "mean"]).describe("rate for 0 or 1 per task, mean for any number."),
  better: z.enum(["higher", "lower"]).describe("Whether higher or lower is better."),
  meaning: z.string().describe("Explanation of the score and of the tasks that it covers."),
  overAll: estimateSchema.describe(
    "The same estimate with failed tasks counted as wrong (0). Empty (n is 0) if failures cannot count as 0: if lower is better, if the score is not limited to 0 to 1, or for a training environment's reward. Suite tasks that are not runnable or could not be graded are left out.",
  ),
  micro: estimateSchema
    .exactOptional()
    .describe(
      "F1, precision or recall over the emails of all tasks together, with mailboxes as clusters. n counts the emails in the denominator. Present only for these scores of selected emails.",
    ),
  corrected: estimateSchema
    .exactOptional()
    .describe(
      "The rate without the errors of the eval or judge and of the labels, which the eval's newest test measured. Absent without a test on the current labels.",
    ),
  byInbox: intervalSchema
    .extend({ inboxes: z.number().int().describe("Number of inboxes.") })
    .describe(
      "95% interval with inboxes as clusters. It generalizes to other people's mailboxes, whereas the other interval generalizes to other questions about the same mailboxes.",
    ),
  repeats: z
    .array(
      z.strictObject({
        k: z.number().int().positive().describe("Number of attempts."),
        passAtK: estimateSchema.describe(
          "pass@k: probability that at least one of k attempts is right. n counts questions.",
        ),
        passHatK: estimateSchema.describe("pass^k: probability that all k attempts are right. n counts questions."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("pass@k and pass^k of a rate for questions with several epochs. Absent for other scores."),
});

export type ScoreFigures = Readonly<z.output<typeof scoreFiguresSchema>>;

export type Repeats = NonNullable<ScoreFigures["repeats"]>;

/** Returns the figures for the largest k, or null if no question has several values. */
export function mostTries(repeats: Repeats): Repeats[number] | null {
  const last = repeats.at(-1);
  return last === undefined || last.k === 1 ? null : last;
}

export const headlineSchema = estimateSchema
  .extend({
    scorer: z.enum(HEADLINE_SCORERS),
    label: z.string().describe("Display name of the score."),
    overAll: estimateSchema.describe(
      "The same with failed tasks as wrong. Empty (n is 0) if they cannot count as wrong.",
    ),
    passHatK: estimateSchema
      .extend({ k: z.number().int().positive().describe("Number of attempts.") })
      .strict()
      .optional()
      .describe(
        "pass^k for the largest k. Absent if no question has several values, and for scores that are not rates.",
      ),
  })
  .strict()
  .nullable()
  .describe("Headline score over the completed tasks, or null if no task is scored yet.");

const sliceSchema = z.strictObject({
  value: z.string().describe("Property that the tasks share, such as the address or the year."),
  tasks: tasks.describe("Number of tasks, including failed ones."),
  scores: z.record(z.string(), estimateSchema).readonly().describe("Scores by scorer, over the completed tasks."),
});

export type Slice = Readonly<z.output<typeof sliceSchema>>;

const parts = z.array(sliceSchema).readonly();
const suiteParts = parts.exactOptional();

const suiteTotalsSchema = z
  .strictObject({
    name: z.string().describe("Suite name."),
    graded: tasks.describe("Number of tasks with a score. The averages exclude other tasks."),
    states: z
      .partialRecord(
        z.enum(TASK_STATES),
        z.strictObject({
          tasks: tasks.describe("Number of tasks."),
          graded: tasks.describe("Number of tasks with a score."),
        }),
      )
      .readonly()
      .describe("Number of tasks per ending, in the suite's terms."),
  })
  .readonly();

export type SuiteTotals = z.output<typeof suiteTotalsSchema>;

/** The totals of a run. The averages at the top are over the completed tasks, as in the published runner. */
export const runTotalsSchema = z.strictObject({
  runId: z.string().describe("Run id."),
  name: z.string().exactOptional().describe("Name given by a user. Absent for a run without a name."),
  agentId: z.string().describe("Tested agent."),
  model: z.string().describe("Model as provider/name."),
  split: z.string().describe("Dataset split: test or train."),
  status: runStatusSchema.describe("completed, running, or interrupted if some tasks do not have a result yet."),
  plannedTasks: tasks.describe("Number of planned tasks."),
  totalTasks: tasks.describe("Number of tasks with a result."),
  completedTasks: tasks.describe("Number of tasks that did not fail."),
  failedTasks: tasks.describe(
    "Number of tasks that ended as model_error, timeout, interrupted or not_started. They are never graded.",
  ),
  mostFrequentError: z
    .strictObject({
      message: z.string().describe("Error message."),
      tasks: tasks.describe("Number of failed tasks with this message."),
    })
    .readonly()
    .exactOptional()
    .describe("Most frequent error of the failed tasks. Absent if no task failed."),
  refusals: z
    .array(
      z.strictObject({
        reason: z
          .string()
          .describe("The provider's name for the refusal, with the explanation that the provider or the model gave."),
        tasks: tasks.describe("Number of tasks refused for this reason."),
      }),
    )
    .readonly()
    .exactOptional()
    .describe("Reasons of refused tasks, most frequent first, at most 20. Absent if no task was refused."),
  notRunnableTasks: tasks
    .exactOptional()
    .describe("Number of suite tasks with requirements that the machine does not meet. Absent if it is 0."),
  ...averages,
  avgExecutionTimeMs: z
    .number()
    .nullable()
    .describe("Mean duration of a completed task in milliseconds, including waiting."),
  avgModelTimeMs: meanTime.describe("Mean milliseconds of model calls per task, or null without tasks."),
  avgToolTimeMs: meanTime.describe("Mean milliseconds of tool calls per task."),
  avgWaitingTimeMs: meanTime.describe("Mean milliseconds of rate limiting, failed model calls and pauses per task."),
  totalTimeMs: z.number().int().describe("Milliseconds of work on the run."),
  startedAt: z.string().describe("ISO 8601."),
  completedAt: z.string().describe("ISO 8601."),
  overAllTasks: averagesSchema.describe("The same averages over all tasks, with failures counted as wrong."),
  endings: z.partialRecord(z.enum(ENDINGS), tasks).readonly().describe("Number of tasks per ending."),
  turns: tasks.nullable().describe("Number of model calls, or null if unknown, as for most external agents."),
  answeredBy: answeredBySchema
    .exactOptional()
    .describe("Number of replies per model name that the server reported. Absent if it reported none."),
  usage: usageSchema.strict().describe("Tokens used in the run. inputTokens includes cached tokens."),
  costUsd: z.number().nullable().describe("The agent's cost in US dollars, or null if the model's price is unknown."),
  judgeCostUsd: z.number().nullable().describe("Cost of judging in US dollars, or null if a price is unknown."),
  totalCostUsd: z
    .number()
    .nullable()
    .describe("Sum of the agent's cost and the cost of judging, or null if either is unknown."),
  retries: tasks.nullable().describe("Number of retried model calls, or null if the agent's model calls are unknown."),
  repairedCalls: tasks
    .exactOptional()
    .describe("Number of tool calls with repaired arguments, such as an array sent as JSON text. Absent if it is 0."),
  cachedReplies: tasks.describe(
    "Number of replies from the cache. usage and costUsd include these replies, but spent does not.",
  ),
  spent: spentSchema,
  scores: z
    .record(z.string(), scoreFiguresSchema)
    .readonly()
    .describe("Scores by scorer, each with its 95% interval and denominator."),
  suite: suiteTotalsSchema.exactOptional().describe("Totals for suite tasks. Absent for other runs."),
  slices: z
    .strictObject({
      inbox: parts.describe("Per mailbox of the question."),
      realism: parts.describe("Per tenth of the question's realism in the dataset."),
      sources: parts.describe("Per number of emails that the dataset lists as sources of the answer."),
      year: parts.describe("Per year of the question's date."),
      tool: suiteParts.describe("Per suite task folder. Absent for other runs, like the following fields."),
      difficulty: suiteParts.describe("Per number of steps that a person needs."),
      guidance: suiteParts.describe("Per instruction style: abstract or verbose."),
      app: suiteParts.describe("Scores for each application that the task involves."),
      tag: suiteParts.describe("Per task tag."),
    } satisfies Record<(typeof QUESTION_SLICES)[number], typeof parts> &
      Record<(typeof SUITE_SLICES)[number], typeof suiteParts>)
    .readonly()
    .describe("Scores per group of tasks."),
});

export type RunTotals = Readonly<z.output<typeof runTotalsSchema>>;

export const benchmarkResultSchema = runTotalsSchema.extend({
  settings: runSettingsSchema,
  limits: runLimitsSchema,
  versions: z.record(z.string(), z.string()).readonly().describe("Versions of art-e, Node and SQLite."),
  dataset: z
    .strictObject({
      source: z.string().describe("Dataset name with its revision, or the path of a local file."),
      revision: z.string().nullable().describe("Pinned revision, or null for local files."),
      sha256: z.string().describe("SHA-256 of the dataset's bytes."),
    })
    .readonly()
    .describe("Source of the questions."),
  corpusFingerprint: z
    .string()
    .describe("Fingerprint of the mail. Databases with the same fingerprint show the same mail to every agent."),
  taskResults: z.array(taskResultSchema).readonly().describe("Results by task id and epoch."),
});

export type BenchmarkResult = Readonly<z.output<typeof benchmarkResultSchema>>;
