import { z } from "zod";
import { answeredBySchema } from "../models/answered-by.js";
import { usageSchema } from "../models/model.js";
import { ENDINGS } from "../tasks/task-ending.js";
import { taskIdSchema } from "../tasks/task-id.js";
import { TASK_STATES } from "../tasks/task-state.js";

const mark = z.boolean().nullable();
const time = z.number().nonnegative();

export const spentSchema = z
  .strictObject({
    usage: usageSchema.strict().describe("Tokens."),
    costUsd: z.number().nullable().describe("Null: the price of the model is not known."),
  })
  .readonly()
  .describe("What was asked of the model now: without replies from the cache.");

export type Spent = z.output<typeof spentSchema>;

const suiteResultSchema = z
  .strictObject({
    name: z.string().describe("The suite."),
    tool: z.string().describe("The folder of examples/ that the task is in."),
    snapshot: z.string().describe("What its machine holds."),
    tags: z.array(z.string()).readonly().describe("What the task file says of it."),
    relatedApps: z.array(z.string()).readonly().describe("The applications it is about."),
    actionNumber: z.number().nullable().describe("Steps that a person takes."),
    counterpart: z.string().nullable().describe("The same task with the other style of instruction."),
    state: z.enum(TASK_STATES).describe("How it ended, as suites name it."),
    score: z.number().nullable().describe("0 to 1; null where it was not graded, which is never averaged as 0."),
    reason: z.string().describe("Why the score is not 1, or why there is none."),
  })
  .readonly();

/** One line of the results file. The first nine names are those of the published runner. */
export const taskResultSchema = z
  .strictObject({
    taskId: taskIdSchema.describe("The question's id in the dataset."),
    epoch: z.number().int().positive().describe("Which repeat of the question, from 1."),
    inbox: z.string().describe("Address of the mailbox that the question is about; empty for a task of a suite."),
    queryDate: z.iso
      .date()
      .nullable()
      .describe("YYYY-MM-DD: the day the question is asked on; null for a task of a suite."),
    howRealistic: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe("0 to 1, as the dataset rates the question; null for a task of a suite."),
    goldSources: z.number().int().nonnegative().describe("How many mails the dataset names as holding the answer."),
    question: z.string().describe("The question."),
    groundTruth: z.string().describe("The gold answer."),
    agentAnswer: z.string().describe("The agent's answer; empty where it gave none."),
    exactMatch: mark.describe(
      "Equal to the gold answer after lower case, trimming, and white space made single. Null where the task failed, as are all scores: a failure is never graded.",
    ),
    semanticScore: z.number().min(0).max(1).nullable().describe("Jaccard similarity of the two answers' word sets."),
    executionTimeMs: z.number().nonnegative().describe("How long the task took, waiting included, in ms."),
    modelTimeMs: time
      .exactOptional()
      .describe("What the model calls took that succeeded, in ms. Absent: an earlier version wrote it."),
    toolTimeMs: time.exactOptional().describe("What the tools took, in ms."),
    waitingTimeMs: time
      .exactOptional()
      .describe("What throttling, failed model calls and the pauses between them took, in ms."),
    traceId: z.string().describe("The trace of what was said and done."),
    error: z.string().exactOptional().describe("Why it failed; absent where it did not."),
    ending: z.enum(ENDINGS).describe("Why the agent stopped."),
    turns: z.number().int().nonnegative().describe("Model calls."),
    answeredBy: answeredBySchema
      .exactOptional()
      .describe("How many of the replies name which model as theirs; absent where none names one."),
    usage: usageSchema.strict().describe("Tokens of the task; inputTokens includes the cached ones."),
    costUsd: z.number().nullable().describe("US dollars; null where the price of the model is not known."),
    judgeCostUsd: z
      .number()
      .nullable()
      .describe("What judging the answer cost; 0 where nobody was asked, null where the price is not known."),
    sources: z.array(z.string()).readonly().describe("The Message-IDs that the agent cites."),
    sourcesCorrect: mark.describe("Whether a cited mail holds the answer; copies count as that mail."),
    foundGold: mark.describe("Whether a search listed a mail that holds the answer."),
    readGold: mark.describe("Whether the agent opened a mail that holds the answer."),
    retries: z.number().int().nonnegative().describe("Model calls that were made again."),
    cachedReplies: z
      .number()
      .int()
      .nonnegative()
      .describe("Replies kept from an earlier run; usage and costUsd count them, spent does not."),
    spent: spentSchema,
    suite: suiteResultSchema.exactOptional().describe("Of a task of a suite; absent for questions about mailboxes."),
    scores: z
      .record(z.string(), z.number().nullable())
      .readonly()
      .describe("Every score by its scorer's name; null where it could not be told. Empty where the task failed."),
  })
  .describe("One question answered.");

export type TaskResult = Readonly<z.output<typeof taskResultSchema>>;
