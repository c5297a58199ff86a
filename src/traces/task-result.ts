import { z } from "zod";
import {
  addCost,
  addUsage,
  answeredByField,
  answeredBySchema,
  NO_USAGE,
  repliesBy,
  type Usage,
  usageSchema,
} from "../models/model.js";
import { canBeRetried, ENDINGS } from "../tasks/ending.js";
import { instructionOf, questionOf, taskIdSchema } from "../tasks/question.js";
import { TASK_STATES } from "../tasks/suite-task.js";
import { isSuiteTrace, type Trace, type Turn } from "./trace.js";

export const runStatusSchema = z.enum(["running", "completed", "interrupted"]);

export type RunStatus = z.output<typeof runStatusSchema>;

/** A trace as its line of the results file. */
export function toTaskResult(trace: Trace): TaskResult {
  const score = (name: string) => trace.scores[name]?.value ?? null;
  const truth = (name: string) => (score(name) === null ? null : score(name) === 1);
  const { spent, judgeCostUsd } = taskCost(trace);
  return {
    taskId: trace.taskId,
    epoch: trace.epoch,
    ...taskFields(trace),
    agentAnswer: trace.answer ?? "",
    exactMatch: truth("exactMatch"),
    semanticScore: score("semanticScore"),
    executionTimeMs: Math.round(trace.durationMs),
    ...roundedTimes(trace),
    traceId: trace.traceId,
    ...(canBeRetried(trace.ending) ? { error: trace.error ?? trace.ending } : {}),
    ...(trace.ending === "refused" && trace.error !== null ? { refusal: trace.error } : {}),
    ending: trace.ending,
    turns: trace.turns.length,
    ...answeredByField(repliesBy(trace.turns)),
    usage: sumUsage(trace.turns),
    costUsd: sumCost(trace.turns),
    judgeCostUsd,
    sources: trace.sources,
    sourcesCorrect: truth("sourcesCorrect"),
    foundGold: truth("foundGold"),
    readGold: truth("readGold"),
    retries: trace.turns.reduce((sum, turn) => sum + turn.retries.length, 0),
    ...repairedField(trace.toolCalls.filter((call) => call.repairs !== undefined).length),
    cachedReplies: trace.turns.filter((turn) => turn.cached).length,
    spent,
    scores: Object.fromEntries(Object.entries(trace.scores).map(([name, { value }]) => [name, value])),
  };
}

/** The field for a number of repaired tool calls, which is absent if there are none. */
export function repairedField(repairedCalls: number): { readonly repairedCalls?: number } {
  return repairedCalls === 0 ? {} : { repairedCalls };
}

/** What the result says of its task: of a suite's, with its grade. */
function taskFields(trace: Trace) {
  const question = questionOf(trace.task);
  const fields = {
    inbox: question?.inbox_address ?? "",
    queryDate: question?.query_date ?? null,
    howRealistic: question?.how_realistic ?? null,
    goldSources: question?.message_ids.length ?? 0,
    question: instructionOf(trace.task),
    groundTruth: question?.answer ?? "",
  };
  if (!isSuiteTrace(trace)) return fields;
  const { suite: name, tool, snapshot, tags, relatedApps, actionNumber, counterpart } = trace.task;
  return {
    ...fields,
    suite: { name, tool, snapshot, tags, relatedApps, actionNumber, counterpart, ...trace.grade },
  };
}

/** To a hundredth: a tool often takes less than a millisecond. */
function roundedTimes(trace: Trace) {
  const rounded = (ms: number) => Math.round(ms * 100) / 100;
  const { modelTimeMs, toolTimeMs, waitingTimeMs } = timesOf(trace);
  return {
    modelTimeMs: rounded(modelTimeMs),
    toolTimeMs: rounded(toolTimeMs),
    waitingTimeMs: rounded(waitingTimeMs),
  };
}

/** Sums of successful model calls, tool calls, and waiting (rate limiting, failed attempts, pauses). */
export function timesOf({ turns, toolCalls }: Pick<Trace, "turns" | "toolCalls">) {
  return {
    modelTimeMs: turns.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
    toolTimeMs: toolCalls.reduce((sum, { durationMs }) => sum + durationMs, 0),
    waitingTimeMs: turns.reduce((sum, { waitedMs }) => sum + (waitedMs ?? 0), 0),
  };
}

/** Model and tool time together, by which agents are compared; null in results without it. */
export function modelAndToolTimeOf({
  modelTimeMs,
  toolTimeMs,
}: Partial<Pick<TaskResult, "modelTimeMs" | "toolTimeMs">>): number | null {
  return modelTimeMs === undefined || toolTimeMs === undefined ? null : modelTimeMs + toolTimeMs;
}

/** A task's share of a run's budget. */
export type TaskCost = Pick<TaskResult, "spent" | "judgeCostUsd">;

export function taskCost({ turns, judge }: Pick<Trace, "turns" | "judge">): TaskCost {
  const uncached = turns.filter((turn) => !turn.cached);
  return {
    spent: { usage: sumUsage(uncached), costUsd: sumCost(uncached) },
    judgeCostUsd: judge === null ? 0 : judge.costUsd,
  };
}

export function sumUsage(turns: readonly Pick<Turn, "usage">[]): Usage {
  return turns.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE);
}

export function sumCost(turns: readonly Pick<Turn, "costUsd">[]): number | null {
  return turns.reduce<number | null>((sum, { costUsd }) => addCost(sum, costUsd), 0);
}

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
    refusal: z
      .string()
      .exactOptional()
      .describe("Why the model or its provider declined to answer; absent if neither did, or no reason is known."),
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
    repairedCalls: z
      .number()
      .int()
      .positive()
      .exactOptional()
      .describe("Tool calls whose arguments were repaired; absent if none were."),
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
