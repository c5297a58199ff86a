import { z } from "zod";
import type { TaskCalls } from "../models/call-budget.js";
import {
  callWaitSchema,
  FINISH_REASONS,
  type Message,
  messageSchema,
  retrySchema,
  sentParametersSchema,
  type ToolCall,
  type ToolMessage,
  usageSchema,
} from "../models/model.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { extrasShape } from "../models/request-extras.js";
import { type JsonObject, type JsonValue, jsonValueSchema } from "../platform/json.js";
import { ENDINGS } from "../tasks/ending.js";
import { gradeSchema, instructionOf, questionSchema, suiteTaskFactsSchema, taskIdSchema } from "../tasks/question.js";
import { finalStateSchema } from "../tasks/suite-task.js";

type JsonRecord = { readonly [key: string]: JsonValue };

/** An email in a tool's result: its Message-ID and any other fields. */
export type ReturnedMail = JsonRecord & { readonly message_id: string };

type AssistantMessage = Extract<Message, { role: "assistant" }>;

export interface CallStep {
  readonly call: ToolCall;
  /** Record of the executed call, or null if it was not executed. */
  readonly record: ToolCallRecord | null;
  /** Result that the model received, or null if the task ended first. */
  readonly result: ToolMessage | null;
}

export interface Step {
  /** Messages since the last reply, without tool results. */
  readonly before: readonly Message[];
  /** The reply, or null if the task ended without one. */
  readonly reply: AssistantMessage | null;
  /** The model call, or null if unknown, as for external agents that do not report model calls. */
  readonly turn: Turn | null;
  readonly calls: readonly CallStep[];
  /** Results for which this reply contains no call. Some external agents report these. */
  readonly otherResults: readonly ToolMessage[];
}

/** The parts of a trace that its steps consist of. */
type Conversation = Pick<ChatTrace, "messages" | "toolCalls" | "turns"> & Partial<Pick<ChatTrace, "historyLength">>;

interface UnfinishedStep {
  readonly before: Message[];
  reply: AssistantMessage | null;
  readonly results: ToolMessage[];
}

export interface JudgeCase {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}

/** Port for judges. Never throws: a failure is an unscored judgment with a reason. */
export interface Judge {
  readonly settings: JudgeSettings;
  /** A null `answer` means that the agent did not answer. */
  judge(
    item: Omit<JudgeCase, "answer"> & { readonly answer: string | null },
    signal: AbortSignal,
    calls?: TaskCalls,
  ): Promise<Judgement>;
}

export type Trace = QuestionTrace | SuiteTrace;

/** A trace's record of its task: the question, or the facts and the grade of a suite task. */
export type TaskRecord = Pick<QuestionTrace, "kind" | "task"> | Pick<SuiteTrace, "kind" | "task" | "grade" | "left">;

/** The mail that a chat can see: one mailbox up to a date, or everything. */
export interface MailboxBinding {
  readonly inbox: string | null;
  /** `YYYY-MM-DD`: the last visible date. */
  readonly queryDate: string | null;
}

type AnyTrace = Trace | ChatTrace;

/** A conversation of one person with one agent: several chats with the same mailbox and cutoff date. */
export interface ChatSession extends MailboxBinding {
  readonly id: string;
  readonly agentId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Recognizes a search by its result, not by the tool's name: a list of emails, or a list under `emails`. */
export function listedMails({ result }: Pick<ToolCallRecord, "result">): ReturnedMail[] {
  const list = Array.isArray(result) ? result : isObject(result) ? result.emails : undefined;
  return Array.isArray(list) ? (list as readonly JsonValue[]).filter(hasId) : [];
}

/** Also recognizes an opened email by the result: one email with its body. */
export function openedMail({ result }: Pick<ToolCallRecord, "result">): ReturnedMail | null {
  return isObject(result) && result.body !== undefined && hasId(result) ? result : null;
}

function hasId(value: JsonValue): value is ReturnedMail {
  return isObject(value) && typeof value.message_id === "string";
}

function isObject(value: JsonValue): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the messages of this trace, without messages from earlier chats in the same session. */
export function ownMessages({
  messages,
  historyLength = 0,
}: Pick<Conversation, "messages" | "historyLength">): readonly Message[] {
  return historyLength === 0 ? messages : [...messages.slice(0, 1), ...messages.slice(1 + historyLength)];
}

export function stepsOf(trace: Conversation): Step[] {
  const drafts = draftsOf(ownMessages(trace));
  const replies = drafts.filter(({ reply }) => reply !== null).length;
  // A failed attempt is a turn without a reply, and an external agent's replies form one turn.
  const missing = Math.max(0, replies - trace.turns.length);
  const steps = drafts.map((draft, i) => ({ ...draft, turn: trace.turns[i - missing] ?? null }));
  const attempts = trace.turns.slice(drafts.length - missing).map((turn) => ({ ...draftOf(), turn }));
  const records = [...trace.toolCalls];
  return [...steps, ...attempts].map((step) => withCalls(step, records));
}

function draftOf(): UnfinishedStep {
  return { before: [], reply: null, results: [] };
}

function draftsOf(messages: readonly Message[]): UnfinishedStep[] {
  const drafts: UnfinishedStep[] = [];
  let last = draftOf();
  for (const message of messages) {
    if (message.role === "tool") {
      (drafts.at(-1) ?? last).results.push(message);
    } else if (message.role === "assistant") {
      last.reply = message;
      drafts.push(last);
      last = draftOf();
    } else last.before.push(message);
  }
  return last.before.length > 0 || last.results.length > 0 ? [...drafts, last] : drafts;
}

/** Removes the records of the calls from `records`, so that each belongs to only one call. */
function withCalls({ results, ...step }: UnfinishedStep & { turn: Turn | null }, records: ToolCallRecord[]): Step {
  const otherResults = [...results];
  const calls = (step.reply?.toolCalls ?? []).map((call) => ({
    call,
    record: takeFirst(records, ({ id, name }) => id === call.id && name === call.name),
    result: takeFirst(otherResults, ({ toolCallId }) => toolCallId === call.id),
  }));
  return { ...step, calls, otherResults };
}

function takeFirst<T>(items: T[], matches: (item: T) => boolean): T | null {
  const index = items.findIndex(matches);
  return index === -1 ? null : (items.splice(index, 1)[0] ?? null);
}

/** Verdicts from the strictest to the mildest. If votes are tied, the strictest verdict wins. */
export const VERDICTS = ["wrong", "abstained", "partly", "correct"] as const;

export type Verdict = (typeof VERDICTS)[number];

/** How to prompt a judge. `art` requests one word, True or False, like the prompt used for the published figures. */
const JUDGE_PROTOCOLS = ["verdict", "art"] as const;

/**
 * Other forms of a prompt that mean the same. `position`: the texts are in another order. `wording`: the instructions
 * are in other words. Verdicts that change between them depend on the form of the prompt.
 */
export const PROMPT_VARIANTS = ["position", "wording"] as const;

export type PromptVariant = (typeof PROMPT_VARIANTS)[number];

/** An answer that a person labeled, for the judge's prompt. */
const judgeExampleSchema = z.object({
  question: z.string().describe("Question."),
  gold: z.string().describe("Gold answer."),
  answer: z.string().describe("Labeled answer."),
  label: z.enum(["good", "bad"]).describe("Label from a person."),
});

export type JudgeExample = z.output<typeof judgeExampleSchema>;

/** Everything that determines a verdict, except the question and the two answers. */
export const judgeSettingsSchema = z.object({
  model: z.string(),
  /** Base URL, or null for the provider's own server. */
  baseUrl: z.string().nullable(),
  protocol: z.enum(JUDGE_PROTOCOLS),
  /** Incremented when the wording of the protocol changes. */
  version: z.number().int().positive(),
  votes: z.number().int().positive(),
  /** Absent: the model's default. */
  reasoningEffort: z.enum(REASONING_EFFORTS).exactOptional(),
  examples: z
    .array(judgeExampleSchema)
    .readonly()
    .exactOptional()
    .describe("Labeled answers in the prompt. Absent if there are none."),
  ...extrasShape,
});

export type JudgeSettings = z.output<typeof judgeSettingsSchema>;

/** A judge's vote. If the judge failed or its reply could not be read, `verdict` is null and `reason` explains why. */
const voteSchema = z.object({
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  model: z
    .string()
    .exactOptional()
    .describe("The model that answered, as reported by the server. Absent if the server does not report it."),
  cached: z.boolean().describe("Whether the vote came from the cache, without new cost."),
});

export type Vote = z.output<typeof voteSchema>;

export const judgementSchema = judgeSettingsSchema.omit({ examples: true }).extend({
  promptHash: z.string().describe("Start of the SHA-256 of the judge's instructions and examples."),
  verdict: z
    .enum(VERDICTS)
    .nullable()
    .describe("The verdict, or null for an unscored answer, which never counts as wrong."),
  reason: z.string(),
  agreement: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe("Fraction of the readable votes that agree with the verdict, or null without votes."),
  cast: z.array(voteSchema).describe("Empty if no judge was needed."),
  usage: usageSchema,
  costUsd: z.number().nullable().describe("US dollars, or null if unknown."),
});

export type Judgement = z.output<typeof judgementSchema>;

/** An executed tool call. Exactly one of `result` and `error` is not null. */
export const toolCallRecordSchema = z.object({
  id: z.string().describe("Id of the call in the conversation."),
  name: z.string().describe("Tool id."),
  arguments: jsonValueSchema.describe("Arguments as the model wrote them."),
  result: jsonValueSchema.describe("The result, or null after an error."),
  error: z.string().nullable().describe("Error message for the model, or null."),
  errorKind: z
    .enum(["unparsable_call", "unknown_tool", "bad_arguments", "invalid_email", "failed"])
    .nullable()
    .describe("Kind of error, or null."),
  repairs: z
    .array(z.string())
    .readonly()
    .exactOptional()
    .describe("Repairs of the arguments before the call, with one line per parameter. Absent if nothing was repaired."),
  turn: z.number().int().nonnegative().describe("Index of the turn that requested the call."),
  startedAt: z.string().describe("ISO 8601."),
  durationMs: z.number().nonnegative().describe("Milliseconds."),
});

export type ToolCallRecord = z.output<typeof toolCallRecordSchema>;

export const turnSchema = z.object({
  startedAt: z.string().describe("ISO 8601."),
  model: z
    .string()
    .exactOptional()
    .describe("The answering model according to the server. Absent if the server does not report it."),
  responseId: z.string().exactOptional().describe("The provider's id of the reply. Absent if the provider gave none."),
  latencyMs: z.number().nonnegative().describe("Milliseconds of the successful HTTP attempt."),
  finishReason: z.enum(FINISH_REASONS).describe("Why the reply ended."),
  rawFinishReason: z.string().describe("The provider's own name for the finish reason."),
  usage: usageSchema.nullable().describe("Tokens, or null if the server did not report them."),
  costUsd: z.number().nullable().describe("US dollars, or null if unknown."),
  retries: z.array(retrySchema).describe("Failed HTTP attempts before the reply."),
  sent: sentParametersSchema.optional().describe("Parameters sent to the provider. Absent if unknown."),
  waitedMs: z
    .number()
    .nonnegative()
    .optional()
    .describe("Milliseconds of rate limiting, failed attempts and pauses before the call."),
  waits: z
    .array(callWaitSchema)
    .optional()
    .describe("The parts of `waitedMs` in order. Absent without a wait, or if its parts are unknown."),
  cached: z
    .boolean()
    .default(false)
    .describe(
      "Whether the reply came from the cache. Usage, cost, latency, waiting and retries are then from the original call.",
    ),
  resumed: z
    .literal(true)
    .exactOptional()
    .describe(
      "Whether the reply was paid before the run was resumed. Cost, latency, waiting and retries are from the original call. Absent for other replies.",
    ),
});

export type Turn = z.output<typeof turnSchema>;

const anyTrace = z.object({
  traceId: z.string().describe("Id of the trace."),
  sessionId: z.string().describe("Id of the conversation. Chats of one session share it."),
  runId: z.string().describe("Run id."),
  taskId: taskIdSchema.describe("Id of the task in its dataset or suite."),
  epoch: z.number().int().positive().describe("Epoch of the question, from 1."),
  agentId: z.string().describe("Agent id."),
  model: z.string().describe("Requested model as provider/name."),
  startedAt: z.string().describe("ISO 8601."),
  endedAt: z.string().describe("ISO 8601."),
  durationMs: z.number().nonnegative().describe("Milliseconds from the start to the answer, including waiting."),
  ending: z.enum(ENDINGS).describe("How the task ended."),
  error: z.string().nullable().describe("Error message for the user if the agent did not answer, otherwise null."),
  messages: z.array(messageSchema).describe("The conversation, beginning with the system prompt."),
  toolCalls: z.array(toolCallRecordSchema).describe("Executed tool calls, in order."),
  turns: z.array(turnSchema).describe("Model calls, in order."),
  maxTurns: z.number().int().describe("Maximum number of model calls."),
  answer: z.string().nullable().describe("The answer, or null if the agent did not answer."),
  sources: z.array(z.string()).describe("Message-IDs that the agent cited."),
  scores: z.record(
    z.string(),
    z.object({
      value: z.number().nullable(),
      explanation: z.string().optional(),
      /** Set if the scorer itself failed. Absent if it returned a value or does not apply. */
      failed: z.literal(true).exactOptional(),
    }),
  ),
  judge: judgementSchema.nullable().describe("The judge's judgment of the answer, or null without a judge."),
  remote: z
    .object({ sessionId: z.string().nullable(), traceId: z.string().nullable() })
    .optional()
    .describe("The conversation's ids on the external agent's server."),
});

/** An answered question: enough to replay it, score it again and write an eval from it. */
export const traceSchema = anyTrace.extend({ kind: z.literal("question"), task: questionSchema });

export type QuestionTrace = z.output<typeof traceSchema>;

/** A suite task. The trace includes the grade, because the machine no longer exists. */
export const suiteTraceSchema = anyTrace.extend({
  kind: z.literal("suite"),
  task: suiteTaskFactsSchema,
  grade: gradeSchema,
  /** Images collected from the machine. Absent if none were requested. */
  left: finalStateSchema.exactOptional(),
});

export type SuiteTrace = z.output<typeof suiteTraceSchema>;

/** Key for a trace's facts, as a JSON string, in formats that support custom keys. */
export const FACTS_KEY = "art_e.trace";

/**
 * Returns a trace without its messages, and its tool calls without the data that the messages contain. Used for formats
 * that have their own form of conversation and a field for additional data.
 */
export function toTraceFacts(trace: Trace | ChatTrace): JsonObject {
  const paired = new Map(callsOf(trace).map((call) => [call.record, call]));
  const toolCalls = trace.toolCalls.map((record) => {
    const call = paired.get(record);
    return call === undefined ? record : recordFacts(record, call);
  });
  const { messages, ...facts } = { ...trace, toolCalls };
  return facts as JsonObject;
}

/** Restores a trace as unchecked JSON, or returns null if `facts` are invalid. */
export function fromTraceFacts(facts: unknown, messages: readonly Message[]): JsonObject | null {
  const parsed = factsSchema.safeParse(facts);
  if (!parsed.success) return null;
  const { toolCalls: records, historyLength = 0 } = parsed.data;
  const toolCalls: ToolCallRecord[] = records.map((record) => ({ ...record, arguments: {}, result: null }));
  const paired = new Map(
    callsOf({ messages: [...messages], toolCalls, turns: [], historyLength }).map((call) => [call.record, call]),
  );
  const whole = records.map(({ resultIsText, id, name, ...record }, i) => {
    const call = paired.get(toolCalls[i] ?? null);
    const { arguments: args = call?.call.arguments ?? {}, result = resultOf(call, resultIsText), ...rest } = record;
    return { id, name, arguments: args, result, ...rest };
  });
  const fields = Object.entries(facts as JsonObject).flatMap(([key, value]): [string, JsonValue][] =>
    key === "toolCalls"
      ? [
          ["messages", messages as unknown as JsonValue],
          [key, whole],
        ]
      : [[key, value]],
  );
  return Object.fromEntries(fields);
}

const recordFactsSchema = toolCallRecordSchema
  .partial({ arguments: true, result: true })
  .extend({ resultIsText: z.boolean().optional() });

const factsSchema = z.looseObject({
  toolCalls: z.array(recordFactsSchema),
  historyLength: z.number().int().nonnegative().optional(),
});

function callsOf(trace: Conversation): CallStep[] {
  return stepsOf(trace).flatMap(({ calls }) => calls.filter(({ record }) => record !== null));
}

/** Leaves out `arguments` and `result` if the messages contain them. */
function recordFacts(record: ToolCallRecord, { call, result }: CallStep): JsonObject {
  const { id, name, arguments: args, result: value, ...rest } = record;
  const json = JSON.stringify(args);
  // Different formats convert other arguments differently.
  const isRepeated = json.startsWith("{") && json === JSON.stringify(call.arguments);
  const text = result?.content;
  return {
    id,
    name,
    ...(isRepeated ? {} : { arguments: args }),
    ...(text === value ? { resultIsText: true } : text === JSON.stringify(value) ? {} : { result: value }),
    ...rest,
  };
}

function resultOf(call: CallStep | undefined, isText = false): JsonValue {
  const result = call?.result ?? null;
  if (result === null) return null;
  if (isText) return result.content;
  try {
    return JSON.parse(result.content) as JsonValue;
  } catch {
    return result.content;
  }
}

/** The trace of one chat. Its question does not belong to a run or have a gold answer. */
export const chatTraceSchema = traceSchema
  .omit({ runId: true, taskId: true, epoch: true, task: true, judge: true, remote: true })
  .extend({
    kind: z.literal("chat"),
    agentVersion: z.number().int(),
    question: z.string(),
    inbox: z.string().nullable(),
    queryDate: z.string().nullable(),
    /** Number of messages from earlier chats, between the system prompt and the question. */
    historyLength: z.number().int().nonnegative(),
  });

export type ChatTrace = z.output<typeof chatTraceSchema>;

export const anyTraceSchema = z.discriminatedUnion("kind", [traceSchema, suiteTraceSchema, chatTraceSchema]);

/** Returns the question of a chat, or the instruction of a task. */
export function askedOf(trace: AnyTrace): string {
  return trace.kind === "chat" ? trace.question : instructionOf(trace);
}

export const RATINGS = ["positive", "neutral", "negative"] as const;

export interface Feedback {
  readonly id: string;
  readonly traceId: string;
  readonly rating: (typeof RATINGS)[number];
  readonly notes: string | null;
  readonly createdAt: string;
}
