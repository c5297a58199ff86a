// Converts a sample of another program's Inspect log into a trace.
import { z } from "zod";
import type { FinishReason, Message } from "../../models/model.js";
import { cacheWrites, reasoningUsage, type Usage } from "../../models/usage.js";
import { jsonObjectSchema, jsonValueSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import type { NamedCounts } from "../../statistics/intervals.js";
import { type Ending, isFailure } from "../../tasks/ending.js";
import { type Question, questionSchema } from "../../tasks/question.js";
import type { QuestionTrace, ToolCallRecord, Trace, Turn } from "../../traces/trace.js";
import { type ImportedTrace, NO_GOLD, reasoningField, textOfContent, tokenCount } from "../imported-trace.js";

type Fields = Omit<QuestionTrace, "kind" | "runId" | "taskId" | "epoch" | "task" | "judge">;

/** The agent's actions, taken from the transcript in the log. */
interface AgentEvents {
  readonly models: readonly LogEvent[];
  readonly tools: readonly LogEvent[];
}

/**
 * The parts of Inspect's types that are read. Other writers fill them differently, and Inspect adds event kinds and
 * fields. An optional field with an unexpected type therefore counts as missing and never makes a log unreadable.
 */
const text = z.string().nullish().catch(null);

const number = z.number().nullish().catch(null);

const object = z.record(z.string(), z.unknown()).nullish().catch(null);

/** A string, or a list of parts. Some parts are text. */
const contentSchema = z.union([
  z.string(),
  z.array(
    z.looseObject({
      type: z.string(),
      text: z.string().optional().catch(undefined),
      reasoning: text,
      summary: text,
      redacted: z.boolean().nullish().catch(null),
    }),
  ),
]);

const callSchema = z.looseObject({
  id: z.string(),
  function: z.string(),
  arguments: jsonObjectSchema.catch({}),
  parse_error: text,
});

const messageSchema = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: contentSchema,
  model: text,
  tool_calls: z.array(callSchema).nullish(),
  tool_call_id: text,
  function: text,
  error: z.looseObject({ type: z.string(), message: z.string() }).nullish().catch({ type: "unknown", message: "" }),
});

type LogMessage = z.output<typeof messageSchema>;

const usageSchema = z.looseObject({
  input_tokens: number,
  output_tokens: number,
  input_tokens_cache_read: number,
  input_tokens_cache_write: number,
  reasoning_tokens: number,
  total_cost: number,
});

const toolInfoSchema = z.looseObject({ name: z.string(), description: text, parameters: jsonObjectSchema.nullish() });

const outputSchema = z.looseObject({
  completion: text,
  model: text,
  choices: z
    .array(z.looseObject({ stop_reason: text }))
    .nullish()
    .catch(null),
  usage: usageSchema.nullish().catch(null),
  time: number,
});

/** The fields of all event kinds in one schema. The code that uses a field checks the event kind. */
const eventSchema = z.looseObject({
  event: z.string().catch("unknown"),
  timestamp: text,
  completed: text,
  working_time: number,
  pending: z.boolean().nullish().catch(null),
  cache: text,
  action: text,
  span_id: text,
  id: text,
  parent_id: text,
  type: text,
  function: text,
  arguments: jsonValueSchema.optional().catch(undefined),
  result: jsonValueSchema.optional().catch(undefined),
  error: z
    .union([z.string(), z.looseObject({ type: text, message: text })])
    .nullish()
    .catch({ type: "unknown", message: "" }),
  tools: z.array(toolInfoSchema).nullish().catch([]),
  output: outputSchema.nullish().catch(null),
});

type LogEvent = z.output<typeof eventSchema>;

const NO_EVENT: LogEvent = eventSchema.parse({});

export const sampleSchema = z.looseObject({
  id: z.union([z.number(), z.string()]),
  epoch: z.int().positive().default(1),
  input: z.union([z.string(), z.array(messageSchema)]),
  target: z.union([z.string(), z.array(z.string())]),
  messages: listOf(messageSchema),
  output: outputSchema.nullish().catch(null),
  scores: z
    .record(
      z.string(),
      z.looseObject({ value: z.unknown(), explanation: text }).catch({ value: null, explanation: null }),
    )
    .nullish()
    .catch(null),
  metadata: object,
  store: object,
  // An event that is not an object is ignored.
  events: listOf(eventSchema.catch(NO_EVENT)),
  model_usage: z.record(z.string(), usageSchema.nullish().catch(null)).nullish().catch(null),
  attachments: z.record(z.string(), z.string().catch("")).nullish().catch(null),
  // A sample with an error of any form has failed.
  error: z
    .looseObject({ message: z.string().catch("unknown error") })
    .nullish()
    .catch({ message: "unknown error" }),
  limit: z
    .looseObject({ type: z.string().catch("unknown") })
    .nullish()
    .catch({ type: "unknown" }),
  uuid: text,
  started_at: text,
  completed_at: text,
  total_time: number,
});

export type Sample = z.output<typeof sampleSchema>;

const VERSION = 2;

export const headerSchema = z.looseObject({
  version: z.literal(VERSION, `only log version ${VERSION} is supported`),
  status: z.enum(["started", "success", "cancelled", "error"]).nullish().catch("error"),
  eval: z.looseObject({
    eval_id: text,
    run_id: text,
    created: z.string(),
    task: z.string(),
    solver: text,
    model: z.string(),
    task_args: object,
    dataset: z.looseObject({ name: text }),
    config: z.looseObject({ turn_limit: number, time_limit: number, cost_limit: number }),
    model_generate_config: z.looseObject({ max_tokens: number, temperature: number }).nullish().catch(null),
    metadata: object,
  }),
  tags: z.array(z.string()).nullish().catch(null),
});

export type LogHeader = z.output<typeof headerSchema>;

/** Converts another program's sample into a task trace if it has a target, otherwise into a chat. */
export function toTrace(sample: Sample, header: LogHeader, numbers: TaskNumbers, lacking: NamedCounts): ImportedTrace {
  const fields = fieldsOf(sample, header, lacking);
  const { id, epoch, metadata, target } = sample;
  const question = questionAsked(sample, fields.messages);
  const gold = typeof target === "string" ? target : target.join(", ");
  const [inbox, day] = [textIn(metadata, "inbox", "inbox_address"), textIn(metadata, "query_date")];
  const queryDate = questionSchema.shape.query_date.safeParse(day).data ?? null;
  if (fields.messages.length === 0) lacking.add("no messages");
  if (fields.turns.length === 0) lacking.add("no model calls");
  if (gold.trim() === "" || question === "") {
    lacking.add(NO_GOLD);
    return { kind: "chat", ...fields, agentVersion: 0, question, inbox, queryDate, historyLength: 0 };
  }
  if (inbox === null) lacking.add(`no mailbox, so ${NO_INBOX} is used instead`);
  if (queryDate === null) lacking.add("no cutoff date, so the sample's date is used instead");
  const task: Question = {
    id: numbers.of(id),
    question,
    answer: gold,
    message_ids: textsIn(metadata, "gold_sources"),
    how_realistic: 1,
    inbox_address: (inbox ?? NO_INBOX).trim().toLowerCase(),
    query_date: queryDate ?? fields.startedAt.slice(0, 10),
  };
  if (String(task.id) !== String(id)) lacking.add("no numeric id, so they were numbered");
  const runId = header.eval.eval_id || header.eval.run_id || `${header.eval.task}_${header.eval.created}`;
  return { kind: "question", ...fields, runId, taskId: task.id, epoch, task, judge: null };
}

const NO_INBOX = "unknown";

function fieldsOf(sample: Sample, header: LogHeader, lacking: NamedCounts): Fields {
  const { eval: spec } = header;
  const { models, tools } = agentEvents(sample.events);
  const times = [sample.started_at, models[0]?.timestamp, spec.created].flatMap((time) => isoTime(time) ?? []);
  const startedAt = times[0] ?? new Date(0).toISOString();
  const durationMs = msOf(sample.total_time) ?? msBetween(startedAt, sample.completed_at);
  const turns = models.length > 0 ? models.map((event) => toTurn(event, startedAt)) : usageTurns(sample, startedAt);
  if (models.length === 0 && turns.length > 0)
    lacking.add("token counts only for the entire sample, stored as one turn per model");
  const messages = toMessages(sample.messages);
  const answer = answerOf(sample, messages);
  const ending = endingOf(sample, answer);
  const traceId = `trace_${sample.uuid || `${spec.eval_id ?? spec.task}_${sample.id}_${sample.epoch}`}`;
  const agentId = spec.solver || spec.task || "agent";
  return {
    traceId,
    sessionId: traceId.replace("trace_", "session_"),
    agentId,
    model: spec.model,
    startedAt,
    endedAt: isoTime(sample.completed_at) ?? new Date(Date.parse(startedAt) + durationMs).toISOString(),
    durationMs,
    ending,
    error: sample.error?.message ?? null,
    messages,
    toolCalls: tools.map((event) => toToolCall(event, turns, startedAt)),
    turns,
    maxTurns: wholeNumber(spec.config.turn_limit) ?? turns.length,
    answer: isFailure(ending) ? null : answer,
    sources: textsIn(sample.metadata, "sources"),
    scores: toScores(sample.scores, lacking),
  };
}

function questionAsked({ input }: Sample, messages: readonly Message[]): string {
  if (typeof input === "string") return input;
  const question = input.findLast(({ role }) => role === "user");
  if (question !== undefined) return textOfContent(question.content);
  return messages.find(({ role }) => role === "user")?.content ?? "";
}

function answerOf({ output }: Sample, messages: readonly Message[]): string | null {
  const text = output?.completion || messages.findLast(({ role }) => role === "assistant")?.content || "";
  return text.trim() === "" ? null : text;
}

const LIMITS: ReadonlyMap<string, Ending> = new Map([
  ["time", "timeout"],
  ["working", "timeout"],
  ["token", "out_of_budget"],
  ["cost", "out_of_budget"],
  ["operator", "interrupted"],
]);

function endingOf({ error, limit }: Sample, answer: string | null): Ending {
  if (error != null) return "model_error";
  if (limit != null) return LIMITS.get(limit.type) ?? "out_of_turns";
  return answer === null ? "out_of_turns" : "answered";
}

function textIn(metadata: Sample["metadata"], ...keys: readonly string[]): string | null {
  const texts = keys.map((key) => metadata?.[key]).filter((value) => typeof value === "string" && value.trim() !== "");
  return (texts[0] as string | undefined) ?? null;
}

function textsIn(metadata: Sample["metadata"], key: string): string[] {
  const value = metadata?.[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function wholeNumber(value: unknown): number | null {
  return Number.isSafeInteger(value) ? Number(value) : null;
}

/** Assigns task numbers to sample ids: the id itself if it is a number, otherwise the next free number. */
export class TaskNumbers {
  private readonly numbers = new Map<string, number>();
  private readonly taken = new Set<number>();
  private next = 1;

  of(id: string | number): number {
    const key = String(id);
    const existing = this.numbers.get(key);
    if (existing !== undefined) return existing;
    const own = /^\d{1,9}$/.test(key) ? Number(key) : null;
    const number = own !== null && !this.taken.has(own) ? own : this.free();
    this.numbers.set(key, number);
    this.taken.add(number);
    return number;
  }

  private free(): number {
    while (this.taken.has(this.next)) this.next++;
    return this.next;
  }
}

/**
 * Inspect's numeric values for correct, partially correct, incorrect and no answer, and for words
 * (`value_to_float`, https://inspect.aisi.org.uk/scorers.html).
 */
const LETTERS: ReadonlyMap<string, number> = new Map([
  ["C", 1],
  ["P", 0.5],
  ["I", 0],
  ["N", 0],
]);
const WORDS: ReadonlyMap<string, number> = new Map([
  ["yes", 1],
  ["true", 1],
  ["no", 0],
  ["false", 0],
]);

/** Converts scores like Inspect. Scores without a number, such as lists, are left out and counted. */
export function toScores(scores: Sample["scores"], lacking: NamedCounts): Trace["scores"] {
  const numbers = Object.entries(scores ?? {}).flatMap(([name, { value, explanation }]) => {
    const number = numberOf(value);
    if (number === null) {
      lacking.add(`no numeric score ${name}`);
      return [];
    }
    return [[name, { value: number, ...presentProperties({ explanation }) }] as const];
  });
  return Object.fromEntries(numbers);
}

function numberOf(value: unknown): number | null {
  const isText = typeof value === "string" && value.trim() !== "";
  if (!isText && !["boolean", "number"].includes(typeof value)) return null;
  const number = isText ? (LETTERS.get(value) ?? WORDS.get(value.toLowerCase()) ?? Number(value)) : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Converts Inspect's messages into art-e's. */
export function toMessages(messages: readonly LogMessage[]): Message[] {
  return messages.map((message): Message => {
    const content = textOfContent(message.content);
    if (message.role === "tool") {
      const { tool_call_id, function: name, error } = message;
      return { role: "tool", toolCallId: tool_call_id ?? "", name: name ?? "", content, isError: error != null };
    }
    if (message.role !== "assistant") return { role: message.role, content };
    const toolCalls = (message.tool_calls ?? []).map(({ id, function: name, arguments: args, parse_error }) => ({
      id,
      name,
      arguments: args,
      ...presentProperties({ invalid: parse_error }),
    }));
    return { role: "assistant", content, toolCalls, ...reasoningField(reasoningOf(message.content)) };
  });
}

/** A redacted part contains encrypted reasoning and at most a readable summary. */
function reasoningOf(content: LogMessage["content"]): (string | null | undefined)[] {
  if (typeof content === "string") return [];
  return content.map(({ type, reasoning, summary, redacted }) => {
    if (type !== "reasoning") return null;
    return redacted === true || !reasoning ? summary : reasoning;
  });
}

const ATTACHMENT = /^attachment:\/\/([0-9a-f]{32})$/;

/** Returns the same JSON with the long texts put back from the sample's attachments. */
export function withAttachments(value: unknown, attachments: Readonly<Record<string, string>>): unknown {
  if (typeof value === "string") {
    const id = ATTACHMENT.exec(value)?.[1];
    return id !== undefined && Object.hasOwn(attachments, id) ? attachments[id] : value;
  }
  if (Array.isArray(value)) return value.map((item) => withAttachments(item, attachments));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withAttachments(item, attachments)]));
}

/** Leaves out the model and tool calls of scorers, because the agent did not make them. */
function agentEvents(events: readonly LogEvent[]): AgentEvents {
  const scorers = new Set<string>();
  const own: LogEvent[] = [];
  // Logs from before May 2025 have steps instead of spans.
  let scorerSteps = 0;
  for (const event of events) {
    const { event: kind, id, parent_id, type, span_id } = event;
    const isBegin = kind === "span_begin" && id != null;
    if (isBegin && (type === "scorer" || type === "scorers" || scorers.has(parent_id ?? ""))) scorers.add(id);
    if (kind === "step" && type === "scorer") scorerSteps += event.action === "begin" ? 1 : -1;
    if (event.pending !== true && scorerSteps === 0 && !scorers.has(span_id ?? "")) own.push(event);
  }
  return { models: own.filter(({ event }) => event === "model"), tools: own.filter(({ event }) => event === "tool") };
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["tool_calls", "tool_calls"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["content_filter", "refusal"],
]);

/** `after` is the ISO 8601 time that is used for an event without a time. */
function toTurn({ timestamp, completed, working_time, output, cache }: LogEvent, after: string): Turn {
  const startedAt = isoTime(timestamp) ?? after;
  const raw = output?.choices?.[0]?.stop_reason ?? "unknown";
  return {
    startedAt,
    ...presentProperties({ model: output?.model }),
    latencyMs: msOf(output?.time ?? working_time) ?? msBetween(startedAt, completed),
    finishReason: FINISH_REASONS.get(raw) ?? "other",
    rawFinishReason: raw,
    usage: toUsage(output?.usage),
    costUsd: output?.usage?.total_cost ?? null,
    retries: [],
    cached: cache === "read",
  };
}

/**
 * If the log does not contain model calls, for example because its events were left out, the sample still has token
 * counts per model.
 */
function usageTurns(sample: Sample, startedAt: string): Turn[] {
  const raw = sample.output?.choices?.[0]?.stop_reason ?? "unknown";
  return Object.entries(sample.model_usage ?? {}).flatMap(([model, usage]) => {
    const reported = toUsage(usage);
    if (reported === null) return [];
    return [
      {
        startedAt,
        model,
        latencyMs: 0,
        finishReason: FINISH_REASONS.get(raw) ?? "other",
        rawFinishReason: raw,
        usage: reported,
        costUsd: usage?.total_cost ?? null,
        retries: [],
        cached: false,
      },
    ];
  });
}

/** Returns null if token counts are missing. Inspect does not count cached tokens as input, but art-e does. */
function toUsage(usage: z.output<typeof usageSchema> | null | undefined): Usage | null {
  const { input_tokens, output_tokens, input_tokens_cache_read, input_tokens_cache_write, reasoning_tokens } =
    usage ?? {};
  if (input_tokens == null && output_tokens == null) return null;
  const [cached, writes] = [tokenCount(input_tokens_cache_read), tokenCount(input_tokens_cache_write)];
  return {
    inputTokens: tokenCount(input_tokens) + cached + writes,
    outputTokens: tokenCount(output_tokens),
    cachedInputTokens: cached,
    ...cacheWrites(writes),
    ...reasoningUsage(tokenCount(reasoning_tokens)),
  };
}

/** `turns` are the turns before the call. */
function toToolCall(event: LogEvent, turns: readonly Turn[], after: string): ToolCallRecord {
  const startedAt = isoTime(event.timestamp) ?? after;
  const failed = event.error == null ? null : typeof event.error === "string" ? { message: event.error } : event.error;
  const content = contentSchema.safeParse(event.result);
  const result = content.success ? textOfContent(content.data) : (jsonValueSchema.safeParse(event.result).data ?? null);
  const before = turns.filter((turn) => turn.startedAt <= startedAt).length;
  const isParsing = failed !== null && "type" in failed && failed.type === "parsing";
  return {
    id: event.id ?? "",
    name: event.function ?? "",
    arguments: event.arguments ?? {},
    result: failed === null ? result : null,
    error: failed === null ? null : (failed.message ?? ""),
    errorKind: failed === null ? null : isParsing ? "bad_arguments" : "failed",
    turn: Math.max(0, before - 1),
    startedAt,
    durationMs: msOf(event.working_time) ?? msBetween(startedAt, event.completed),
  };
}

/** Converts a log's time to UTC with milliseconds. Returns null if it is not a valid time. */
export function isoTime(text: string | null | undefined): string | null {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** Converts seconds to milliseconds. Returns null if they are unknown. */
function msOf(seconds: number | null | undefined): number | null {
  return seconds == null || seconds < 0 || !Number.isFinite(seconds * 1_000) ? null : seconds * 1_000;
}

/** Returns 0 if the end is unknown. */
function msBetween(start: string, end: string | null | undefined): number {
  return Math.max(0, Date.parse(end ?? "") - Date.parse(start)) || 0;
}

/** Returns an empty list for null or a missing list. */
function listOf<T extends z.ZodType>(item: T) {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}
