import { z } from "zod";
import type { CallBudget } from "../models/call-budget.js";
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

/** A mail as a tool returned it: its Message-ID, and what else the tool said of it. */
export type ReturnedMail = JsonRecord & { readonly message_id: string };

/** A search is recognised by its result, whatever the tool is called: a list of mails, or one under `emails`. */
export function listedMails({ result }: Pick<ToolCallRecord, "result">): ReturnedMail[] {
  const list = Array.isArray(result) ? result : isObject(result) ? result.emails : undefined;
  return Array.isArray(list) ? (list as readonly JsonValue[]).filter(hasId) : [];
}

/** Reading is recognised by its result too: one mail with its body. */
export function openedMail({ result }: Pick<ToolCallRecord, "result">): ReturnedMail | null {
  return isObject(result) && result.body !== undefined && hasId(result) ? result : null;
}

function hasId(value: JsonValue): value is ReturnedMail {
  return isObject(value) && typeof value.message_id === "string";
}

function isObject(value: JsonValue): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type AssistantMessage = Extract<Message, { role: "assistant" }>;

export interface CallStep {
  readonly call: ToolCall;
  /** Null: it was not made. */
  readonly record: ToolCallRecord | null;
  /** What the model was told of it; null: nothing, as the task ended. */
  readonly result: ToolMessage | null;
}

export interface Step {
  /** What was said since the last reply, without results of tools. */
  readonly before: readonly Message[];
  /** Null: the task ended without one. */
  readonly reply: AssistantMessage | null;
  /** Null: not known, as of programs that tell of no model call. */
  readonly turn: Turn | null;
  readonly calls: readonly CallStep[];
  /** Results of no call of this reply, as some external agents tell them. */
  readonly otherResults: readonly ToolMessage[];
}

/** What of a trace its steps are made of. */
type Conversation = Pick<ChatTrace, "messages" | "toolCalls" | "turns"> & Partial<Pick<ChatTrace, "historyLength">>;

/** The messages of this trace, without those of earlier chats in the same session. */
export function ownMessages({
  messages,
  historyLength = 0,
}: Pick<Conversation, "messages" | "historyLength">): readonly Message[] {
  return historyLength === 0 ? messages : [...messages.slice(0, 1), ...messages.slice(1 + historyLength)];
}

export function stepsOf(trace: Conversation): Step[] {
  const drafts = draftsOf(ownMessages(trace));
  const replies = drafts.filter(({ reply }) => reply !== null).length;
  // A failed attempt is a turn without a reply; a program's replies are one turn.
  const missing = Math.max(0, replies - trace.turns.length);
  const steps = drafts.map((draft, i) => ({ ...draft, turn: trace.turns[i - missing] ?? null }));
  const attempts = trace.turns.slice(drafts.length - missing).map((turn) => ({ ...draftOf(), turn }));
  const records = [...trace.toolCalls];
  return [...steps, ...attempts].map((step) => withCalls(step, records));
}

interface UnfinishedStep {
  readonly before: Message[];
  reply: AssistantMessage | null;
  readonly results: ToolMessage[];
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

/** Takes the records of the calls out of `records`, so that each belongs to one call. */
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

/** From the strictest to the mildest: of tied votes the stricter one counts. */
export const VERDICTS = ["wrong", "abstained", "partly", "correct"] as const;

export type Verdict = (typeof VERDICTS)[number];

/** How a judge is asked. `art`: one word, True or False, as the published figures were made. */
const JUDGE_PROTOCOLS = ["verdict", "art"] as const;

/** Everything that decides a verdict besides the question and the two answers. */
export const judgeSettingsSchema = z.object({
  model: z.string(),
  /** Null: the provider's own server. */
  baseUrl: z.string().nullable(),
  protocol: z.enum(JUDGE_PROTOCOLS),
  /** Incremented when the wording of the protocol changes. */
  version: z.number().int().positive(),
  votes: z.number().int().positive(),
  /** Absent: the model's default. */
  reasoningEffort: z.enum(REASONING_EFFORTS).exactOptional(),
  ...extrasShape,
});

export type JudgeSettings = z.output<typeof judgeSettingsSchema>;

/** One vote of a judge. `verdict` null: it failed, or its reply could not be read; `reason` then says why. */
const voteSchema = z.object({
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  /** The model that answered, as the server names it; absent where it names none. */
  model: z.string().exactOptional(),
  /** Taken from the cache; no cost now. */
  cached: z.boolean(),
});

export type Vote = z.output<typeof voteSchema>;

export const judgementSchema = judgeSettingsSchema.extend({
  /** Null: the answer is unscored, never wrong. */
  verdict: z.enum(VERDICTS).nullable(),
  reason: z.string(),
  /** Share of the votes that could be read which went to the verdict; null where none was cast. */
  agreement: z.number().min(0).max(1).nullable(),
  /** Empty if no judge was needed. */
  cast: z.array(voteSchema),
  usage: usageSchema,
  /** In US dollars; null: not known. */
  costUsd: z.number().nullable(),
});

export type Judgement = z.output<typeof judgementSchema>;

export interface JudgeCase {
  readonly question: string;
  readonly gold: string;
  readonly answer: string;
}

/** Port. Never throws: what failed is an unscored judgement that says why. */
export interface Judge {
  readonly settings: JudgeSettings;
  /** `answer` null: none was given. */
  judge(
    item: Omit<JudgeCase, "answer"> & { readonly answer: string | null },
    signal: AbortSignal,
    budget?: CallBudget,
  ): Promise<Judgement>;
}

/** One tool call as it was made. Exactly one of `result` and `error` is not null. */
export const toolCallRecordSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonValueSchema,
  result: jsonValueSchema,
  error: z.string().nullable(),
  errorKind: z.enum(["unparsable_call", "unknown_tool", "bad_arguments", "invalid_email", "failed"]).nullable(),
  /** What was repaired in the arguments before the call, one line per parameter; absent if nothing was. */
  repairs: z.array(z.string()).readonly().exactOptional(),
  /** Index of the turn that asked for it. */
  turn: z.number().int().nonnegative(),
  startedAt: z.string(),
  durationMs: z.number().nonnegative(),
});

export type ToolCallRecord = z.output<typeof toolCallRecordSchema>;

const turnSchema = z.object({
  startedAt: z.string(),
  model: z.string().exactOptional(),
  /** The id that the provider gave the reply; absent where it gave none. */
  responseId: z.string().exactOptional(),
  latencyMs: z.number().nonnegative(),
  finishReason: z.enum(FINISH_REASONS),
  rawFinishReason: z.string(),
  usage: usageSchema.nullable(),
  costUsd: z.number().nullable(),
  retries: z.array(retrySchema),
  /** What went to the provider; absent where that is not known. */
  sent: sentParametersSchema.optional(),
  /** Time spent on rate limiting, failed attempts and pauses before the call. */
  waitedMs: z.number().nonnegative().optional(),
  /** What that time went into, in order; absent where there was none, or it is not known. */
  waits: z.array(callWaitSchema).optional(),
  /** The reply came from the cache: usage, cost, latency, waiting and retries are those of the original call. */
  cached: z.boolean().default(false),
});

export type Turn = z.output<typeof turnSchema>;

const anyTrace = z.object({
  traceId: z.string(),
  sessionId: z.string(),
  runId: z.string(),
  taskId: taskIdSchema,
  /** Which repeat of the question, from 1. */
  epoch: z.number().int().positive(),
  agentId: z.string(),
  model: z.string(),
  startedAt: z.string(),
  endedAt: z.string(),
  durationMs: z.number().nonnegative(),
  ending: z.enum(ENDINGS),
  /** Error message for the user, if the ending is not an answer. */
  error: z.string().nullable(),
  messages: z.array(messageSchema),
  toolCalls: z.array(toolCallRecordSchema),
  turns: z.array(turnSchema),
  maxTurns: z.number().int(),
  answer: z.string().nullable(),
  sources: z.array(z.string()),
  scores: z.record(z.string(), z.object({ value: z.number().nullable(), explanation: z.string().optional() })),
  /** What a model said of the answer; null where none was asked. */
  judge: judgementSchema.nullable(),
  /** The conversation's ids at the server of an external agent. */
  remote: z.object({ sessionId: z.string().nullable(), traceId: z.string().nullable() }).optional(),
});

/** One question answered: enough to replay it, score it again and write an eval from it. */
export const traceSchema = anyTrace.extend({ task: questionSchema });

export type QuestionTrace = z.output<typeof traceSchema>;

/** One task of a suite: what its evaluation functions gave belongs to it, as the machine is gone. */
export const suiteTraceSchema = anyTrace.extend({
  task: suiteTaskFactsSchema,
  grade: gradeSchema,
  /** Absent where nothing was looked for. */
  left: finalStateSchema.exactOptional(),
});

export type SuiteTrace = z.output<typeof suiteTraceSchema>;

export type Trace = QuestionTrace | SuiteTrace;

/** What a trace keeps of its task: the question, or the facts of a suite's task with its grade. */
export type TaskRecord = Pick<QuestionTrace, "task"> | Pick<SuiteTrace, "task" | "grade" | "left">;

export function isSuiteTrace(trace: Trace): trace is SuiteTrace {
  return "grade" in trace;
}

/** Where a format has a store of its own keys for a trace's facts, they stand under this one, as a text of JSON. */
export const FACTS_KEY = "art_e.trace";

/**
 * A trace without its messages, and its tool calls without what the messages say too: for formats that write the
 * conversation in a form of their own and have a field for what is beyond them.
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

/** The trace again, as unchecked JSON. Null where `facts` are none. */
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
    const { arguments: given = call?.call.arguments ?? {}, result = resultOf(call, resultIsText), ...rest } = record;
    return { id, name, arguments: given, result, ...rest };
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

/** `arguments` and `result` are left out where the messages have them. */
function recordFacts(record: ToolCallRecord, { call, result }: CallStep): JsonObject {
  const { id, name, arguments: given, result: value, ...rest } = record;
  const json = JSON.stringify(given);
  // Formats write other arguments as they can, and not always in one way.
  const isRepeated = json.startsWith("{") && json === JSON.stringify(call.arguments);
  const text = result?.content;
  return {
    ...{ id, name },
    ...(isRepeated ? {} : { arguments: given }),
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

/** What a chat may see: a mailbox and its mail up to a day, or all there is. */
export interface MailboxBinding {
  readonly inbox: string | null;
  /** `YYYY-MM-DD`: the last day of mail. */
  readonly queryDate: string | null;
}

/** The trace of one chat: of a question that belongs to no run and has no gold answer. */
export const chatTraceSchema = traceSchema
  .omit({ runId: true, taskId: true, epoch: true, task: true, judge: true, remote: true })
  .extend({
    agentVersion: z.number().int(),
    question: z.string(),
    inbox: z.string().nullable(),
    queryDate: z.string().nullable(),
    /** How many messages between the system prompt and the question were said in earlier chats. */
    historyLength: z.number().int().nonnegative(),
  });

export type ChatTrace = z.output<typeof chatTraceSchema>;

export function isChatTrace(trace: Trace | ChatTrace): trace is ChatTrace {
  return !("task" in trace);
}

/** What the agent was asked, in a chat or as a task. */
export function askedOf(trace: Trace | ChatTrace): string {
  return isChatTrace(trace) ? trace.question : instructionOf(trace.task);
}

/** A conversation of one person with one agent: several chats with one mailbox and date limit. */
export interface ChatSession extends MailboxBinding {
  readonly id: string;
  readonly agentId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export const RATINGS = ["positive", "neutral", "negative"] as const;

export interface Feedback {
  readonly id: string;
  readonly traceId: string;
  readonly rating: (typeof RATINGS)[number];
  readonly notes: string | null;
  readonly createdAt: string;
}
