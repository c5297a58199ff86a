// A task's line in the results file, and how it follows from the trace.
import { z } from "zod";
import { exposureOf } from "../attacks/obedience.js";
import { answeredByField, answeredBySchema, repliesBy } from "../models/answering-model.js";
import { addCost, addUsage, NO_USAGE, type Usage, usageSchema } from "../models/usage.js";
import { definedProperties } from "../platform/optional-values.js";
import { ATTACK_KINDS } from "../tasks/attack.js";
import { canBeRetried, ENDINGS } from "../tasks/ending.js";
import { goldEmailsOf, instructionOf, questionOf, taskIdSchema } from "../tasks/question.js";
import { countMatches, SELECTION_KINDS } from "../tasks/selection.js";
import { TASK_STATES } from "../tasks/suite-task.js";
import { observedWork } from "./observed-work.js";
import type { ScorableQuestion } from "./score.js";
import type { Trace, Turn } from "./trace.js";

export const runStatusSchema = z.enum(["running", "completed", "interrupted"]);

export type RunStatus = z.output<typeof runStatusSchema>;

/** A run's consumption, apart from scores and endings. */
export type Consumption = Pick<
  TaskResult,
  "usage" | "costUsd" | "spent" | "turns" | "answeredBy" | "retries" | "cachedReplies"
>;

/** A task's contribution to the run's budgets. */
export type TaskCost = Pick<TaskResult, "spent" | "judgeCostUsd">;

export const spentSchema = z
  .strictObject({
    usage: usageSchema.strict().describe("Tokens."),
    costUsd: z.number().nullable().describe("US dollars, or null if the model's price is unknown."),
  })
  .readonly()
  .describe("Usage of new model calls, excluding replies from the cache.");

export type Spent = z.output<typeof spentSchema>;

/** Converts a trace to its line in the results file. */
export function toTaskResult(trace: Trace): TaskResult {
  const score = (name: string) => trace.scores[name]?.value ?? null;
  const truth = (name: string) => (score(name) === null ? null : score(name) === 1);
  const { judgeCostUsd } = taskCost(trace);
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
    ...consumptionOf(trace.turns),
    ...unknownCalls(trace),
    judgeCostUsd,
    sources: trace.sources,
    sourcesCorrect: truth("sourcesCorrect"),
    foundGold: truth("foundGold"),
    readGold: truth("readGold"),
    ...repairedField(trace.toolCalls.filter((call) => call.repairs !== undefined).length),
    scores: Object.fromEntries(Object.entries(trace.scores).map(([name, { value }]) => [name, value])),
    ...failedScorersField(trace),
  };
}

/** The numbers of calls if art-e did not see the agent's. It knows the requests that it repeated itself. */
function unknownCalls(trace: Trace): Partial<Pick<TaskResult, "turns" | "retries">> {
  if (observedWork(trace).modelCalls) return {};
  return { turns: null, ...(trace.turns.some(({ retries }) => retries.length > 0) ? {} : { retries: null }) };
}

/** Returns the facts of a result that decide which scores it can have. */
export function scorableOf({
  groundTruth,
  goldSources,
  asksForActions,
  selects,
  attack,
}: TaskResult): ScorableQuestion {
  const exposure = attack?.shown !== true ? null : attack.control === true ? "control" : "attack";
  const asksFor = asksForActions === true ? "actions" : selects === undefined ? "answer" : "emails";
  return { goldAnswer: groundTruth, goldMails: goldSources, asksFor, exposure };
}

function failedScorersField({ scores }: Trace): { readonly failedScorers?: readonly string[] } {
  const names = Object.keys(scores).filter((name) => scores[name]?.failed === true);
  return names.length === 0 ? {} : { failedScorers: names };
}

/** Returns the field for a number of repaired tool calls, or no field if it is 0. */
export function repairedField(repairedCalls: number): { readonly repairedCalls?: number } {
  return repairedCalls === 0 ? {} : { repairedCalls };
}

/** Returns the fields about the task, including the grade of a suite task. */
function taskFields(trace: Trace) {
  const question = questionOf(trace);
  const gold = question === null ? [] : goldEmailsOf(question);
  const fields = {
    inbox: question?.inbox_address ?? "",
    queryDate: question?.query_date ?? null,
    howRealistic: question?.how_realistic ?? null,
    goldSources: gold.length,
    ...(question === null ? {} : { goldEmails: gold }),
    question: instructionOf(trace),
    groundTruth: question?.answer ?? "",
    ...(question?.goal === undefined ? {} : { asksForActions: true as const }),
    ...(question?.select === undefined ? {} : { selects: question.select.kind }),
    ...selectionField(trace),
    ...attackField(trace),
  };
  if (trace.kind !== "suite") return fields;
  const { suite: name, tool, snapshot, tags, relatedApps, actionNumber, counterpart } = trace.task;
  return {
    ...fields,
    suite: { name, tool, snapshot, tags, relatedApps, actionNumber, counterpart, ...trace.grade },
  };
}

function selectionField(trace: Trace): Pick<TaskResult, "selection"> {
  if (trace.kind === "suite" || trace.selection === undefined) return {};
  return { selection: countMatches(trace.selection) };
}

function attackField(trace: Trace): Pick<TaskResult, "attack"> {
  if (trace.kind === "suite" || trace.attack === undefined) return {};
  const { kind, control } = trace.attack;
  return { attack: { kind, ...definedProperties({ control }), shown: exposureOf(trace) !== null } };
}

/** Rounded to 0.01 ms, because a tool often takes less than a millisecond. */
function roundedTimes(trace: Trace) {
  const rounded = (ms: number) => Math.round(ms * 100) / 100;
  const { modelTimeMs, toolTimeMs, waitingTimeMs } = timesOf(trace);
  return {
    modelTimeMs: rounded(modelTimeMs),
    toolTimeMs: rounded(toolTimeMs),
    waitingTimeMs: rounded(waitingTimeMs),
  };
}

/**
 * Returns the milliseconds spent on successful model calls, on tool calls and on waiting (rate limiting, failed
 * attempts, pauses).
 */
export function timesOf({ turns, toolCalls }: Pick<Trace, "turns" | "toolCalls">) {
  return {
    modelTimeMs: turns.reduce((sum, { latencyMs }) => sum + latencyMs, 0),
    toolTimeMs: toolCalls.reduce((sum, { durationMs }) => sum + durationMs, 0),
    waitingTimeMs: turns.reduce((sum, { waitedMs }) => sum + (waitedMs ?? 0), 0),
  };
}

/** Returns the sum of model and tool time, for comparing agents. */
export function modelAndToolTimeOf({
  modelTimeMs,
  toolTimeMs,
}: Pick<TaskResult, "modelTimeMs" | "toolTimeMs">): number {
  return modelTimeMs + toolTimeMs;
}

export function consumptionOf(turns: readonly Turn[]): Consumption {
  return {
    turns: turns.length,
    ...answeredByField(repliesBy(turns)),
    usage: sumUsage(turns),
    costUsd: sumCost(turns),
    retries: turns.reduce((sum, turn) => sum + turn.retries.length, 0),
    cachedReplies: turns.filter((turn) => turn.cached).length,
    spent: taskCost({ turns, judge: null }).spent,
  };
}

export function taskCost({ turns, judge }: { readonly turns: readonly Turn[] } & Pick<Trace, "judge">): TaskCost {
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

const suiteResultSchema = z
  .strictObject({
    name: z.string().describe("Suite name."),
    tool: z.string().describe("Folder in examples/ that contains the task."),
    snapshot: z.string().describe("Snapshot of the task's machine."),
    tags: z.array(z.string()).readonly().describe("Tags from the task file."),
    relatedApps: z.array(z.string()).readonly().describe("Applications that the task involves."),
    actionNumber: z.number().nullable().describe("Number of steps that a person needs."),
    counterpart: z.string().nullable().describe("The same task with the other instruction style."),
    state: z.enum(TASK_STATES).describe("Ending in the suite's terms."),
    score: z.number().nullable().describe("0 to 1, or null for a task without a grade. Averages exclude null."),
    reason: z.string().describe("Reason why the score is below 1 or missing."),
  })
  .readonly();

/** A line of the results file. The first nine fields are named as in the published runner. */
export const taskResultSchema = z
  .strictObject({
    taskId: taskIdSchema.describe("Question id in the dataset."),
    epoch: z.number().int().positive().describe("Epoch of the question, from 1."),
    inbox: z.string().describe("Address of the question's mailbox, or an empty string for a suite task."),
    queryDate: z.iso.date().nullable().describe("Date of the question (YYYY-MM-DD), or null for a suite task."),
    howRealistic: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe("Realism of the question in the dataset, from 0 to 1, or null for a suite task."),
    goldSources: z
      .number()
      .int()
      .nonnegative()
      .describe("Number of emails that the dataset lists as sources of the answer or as emails to select."),
    goldEmails: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Message-IDs of these emails. Absent for a suite task, and in results of earlier versions."),
    question: z.string().describe("Question."),
    groundTruth: z.string().describe("Gold answer."),
    asksForActions: z
      .literal(true)
      .exactOptional()
      .describe("Present if the task asks for actions in the mailbox instead of an answer."),
    selects: z
      .enum(SELECTION_KINDS)
      .exactOptional()
      .describe("What the task asks to select instead of an answer. Absent for other tasks."),
    selection: z
      .strictObject({
        hits: z.int().nonnegative().describe("Number of right emails that the agent selected."),
        misses: z.int().nonnegative().describe("Number of right emails that it did not select."),
        falseAlarms: z.int().nonnegative().describe("Number of other emails that it selected."),
      })
      .readonly()
      .exactOptional()
      .describe("The selected emails. Absent if the task failed or does not ask for emails."),
    attack: z
      .strictObject({
        kind: z.enum(ATTACK_KINDS).describe("Kind of attack."),
        control: z.literal(true).exactOptional().describe("Present if the emails were harmless."),
        shown: z.boolean().describe("Whether a tool returned one of the emails to the agent."),
      })
      .readonly()
      .exactOptional()
      .describe("The emails planted for the task (--perturb hostile). Absent if there were none."),
    agentAnswer: z.string().describe("The agent's answer, or an empty string if there is none."),
    exactMatch: mark.describe(
      "Whether the answer equals the gold answer after lowercasing, trimming and collapsing white space. Like all scores, null for a failed task, because failures are never graded.",
    ),
    semanticScore: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe("Jaccard similarity between the word sets of the two answers."),
    executionTimeMs: z.number().nonnegative().describe("Duration in milliseconds, including waiting."),
    modelTimeMs: time.describe("Milliseconds of successful model calls."),
    toolTimeMs: time.describe("Milliseconds of tool calls."),
    waitingTimeMs: time.describe("Milliseconds of rate limiting, failed model calls and the pauses between them."),
    traceId: z.string().describe("Trace id."),
    error: z.string().exactOptional().describe("Error message. Absent if the task did not fail."),
    refusal: z
      .string()
      .exactOptional()
      .describe(
        "The explanation that the model or its provider gave for the refusal. Absent if there was no refusal or no explanation.",
      ),
    ending: z.enum(ENDINGS).describe("Reason why the agent stopped."),
    turns: z
      .number()
      .int()
      .nonnegative()
      .nullable()
      .describe("Number of model calls, or null if unknown, as for most external agents."),
    answeredBy: answeredBySchema
      .exactOptional()
      .describe("Number of replies per model name that the server reported. Absent if it reported none."),
    usage: usageSchema.strict().describe("Tokens used for the task. inputTokens includes cached tokens."),
    costUsd: z.number().nullable().describe("US dollars, or null if the model's price is unknown."),
    judgeCostUsd: z
      .number()
      .nullable()
      .describe("Cost of judging the answer in US dollars: 0 without a judge, null if the price is unknown."),
    sources: z.array(z.string()).readonly().describe("Message-IDs that the agent cites."),
    sourcesCorrect: mark.describe(
      "Whether a cited email contains the gold answer. A copy counts as the original email.",
    ),
    foundGold: mark.describe("Whether a search listed an email that contains the gold answer."),
    readGold: mark.describe("Whether the agent opened an email that contains the gold answer."),
    retries: z
      .number()
      .int()
      .nonnegative()
      .nullable()
      .describe("Number of retried model calls, or null if the agent's model calls are unknown."),
    repairedCalls: z
      .number()
      .int()
      .positive()
      .exactOptional()
      .describe("Number of tool calls with repaired arguments. Absent if it is 0."),
    cachedReplies: z
      .number()
      .int()
      .nonnegative()
      .describe("Number of replies from the cache. usage and costUsd include these replies, but spent does not."),
    spent: spentSchema,
    suite: suiteResultSchema
      .exactOptional()
      .describe("Facts about a suite task. Absent for questions about mailboxes."),
    scores: z
      .record(z.string(), z.number().nullable())
      .readonly()
      .describe("Scores by scorer. Null if a score could not be determined. A failed task has only those of evals."),
    failedScorers: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Scorers that failed on the task, such as evals that raised an error. Absent if there are none."),
  })
  .describe("Result of a question or suite task.");

export type TaskResult = Readonly<z.output<typeof taskResultSchema>>;
