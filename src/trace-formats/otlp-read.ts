import { z } from "zod";
import { type Message, retrySchema, sentParametersSchema, type Usage } from "../models/model.js";
import {
  type JsonValue,
  jsonDepth,
  jsonObjectSchema,
  jsonValueSchema,
  MAX_JSON_DEPTH,
  parseJsonOrNull,
} from "../platform/json.js";
import { NamedCounts } from "../statistics/intervals.js";
import { ENDINGS, type Ending } from "../tasks/ending.js";
import { gradeSchema, questionSchema, suiteTaskFactsSchema } from "../tasks/question.js";
import { judgementSchema, type ToolCallRecord, type Trace, type Turn, toolCallRecordSchema } from "../traces/trace.js";
import {
  checkValue,
  DescribedTools,
  type ImportedTrace,
  type ImportSource,
  NO_GOLD,
  notUsable,
  parseLine,
  readLines,
} from "./imported-trace.js";
import { finishReason, modelId } from "./otlp-encode.js";

/** The spans of a trace may stand anywhere in a collector's file, so all of them are held in memory. */
const MAX_CHARS = 512_000_000;

const definitionsSchema = z.array(
  z.looseObject({ name: z.string(), description: z.string().nullish(), parameters: jsonObjectSchema.nullish() }),
);

/** OTLP's TracesData, one a line, by the GenAI conventions or OpenInference's kinds of spans. */
export function readOtlp(file: string): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  return {
    async *traces() {
      for (const [traceId, spans] of await spansByTrace(file)) {
        const where = `${file}, trace ${traceId}`;
        const root = spans.find((span) => !span.parentSpanId) ?? earliest(spans);
        const models = spans.filter((span) => isOf(span, MODEL_CALLS, "LLM")).sort(byStart);
        const calls = spans.filter((span) => isOf(span, TOOL_CALLS, "TOOL")).sort(byStart);
        const trace = toTrace({ root, models, tools: calls });
        for (const { attributes } of models) {
          tools.add(jsonOf(attributes, "gen_ai.tool.definitions", definitionsSchema) ?? []);
        }
        if (!("task" in trace)) lacking.add(NO_GOLD);
        if (trace.messages.length === 0) lacking.add("no messages");
        if (trace.turns.length === 0) lacking.add("no model calls");
        else if (trace.turns.every(({ usage }) => usage === null)) lacking.add("no tokens");
        yield { where, trace };
      }
    },
    tools: () => tools.list(),
    run: () => ({}),
    lacking: () => lacking.counts,
  };
}

async function spansByTrace(file: string): Promise<Map<string, ReadSpan[]>> {
  const traces = new Map<string, ReadSpan[]>();
  let chars = 0;
  for await (const { text, number } of readLines(file)) {
    const where = `${file}, line ${number}`;
    chars += text.length;
    if (chars > MAX_CHARS) throw notUsable(where, `more than ${MAX_CHARS / 1e6} MB of spans: split the file by trace`);
    for (const span of checkValue(tracesDataSchema, parseLine(text, where), where)) {
      const spans = traces.get(span.traceId);
      if (spans === undefined) traces.set(span.traceId, [span]);
      else spans.push(span);
    }
  }
  return traces;
}

const MODEL_CALLS = new Set(["chat", "generate_content", "text_completion"]);
const TOOL_CALLS = new Set(["execute_tool"]);

function isOf({ attributes }: ReadSpan, operations: ReadonlySet<string>, kind: string): boolean {
  const operation = textOf(attributes, "gen_ai.operation.name");
  return operation === undefined ? textOf(attributes, "openinference.span.kind") === kind : operations.has(operation);
}

function byStart(a: ReadSpan, b: ReadSpan): number {
  return a.startTimeUnixNano < b.startTimeUnixNano ? -1 : Number(a.startTimeUnixNano > b.startTimeUnixNano);
}

function earliest(spans: readonly ReadSpan[]): ReadSpan {
  return spans.reduce((a, b) => (byStart(b, a) < 0 ? b : a));
}

/** The spans of one trace, by what they are. */
interface TraceSpans {
  readonly root: ReadSpan;
  /** In the order of their starts. */
  readonly models: readonly ReadSpan[];
  readonly tools: readonly ReadSpan[];
}

/** A trace of a task where the root names one, as ours does; else of a chat, which has neither gold answer nor run. */
function toTrace(spans: TraceSpans): ImportedTrace {
  const { root } = spans;
  const { attributes } = root;
  const fields = fieldsOf(spans);
  const runId = textOf(attributes, "art_e.run.id");
  const question = jsonOf(attributes, "art_e.task", questionSchema);
  const suiteTask = jsonOf(attributes, "art_e.task", suiteTaskFactsSchema);
  const grade = jsonOf(attributes, "art_e.grade", gradeSchema);
  if (runId !== undefined) {
    const epoch = Math.max(1, countOf(attributes, "art_e.epoch") ?? 1);
    const judge = jsonOf(attributes, "art_e.judge", judgementSchema) ?? null;
    if (question !== undefined) return { ...fields, runId, epoch, judge, taskId: question.id, task: question };
    if (suiteTask !== undefined && grade !== undefined) {
      return { ...fields, runId, epoch, judge, taskId: suiteTask.id, task: suiteTask, grade };
    }
  }
  const first = spans.models[0];
  const history = first === undefined ? 0 : Math.max(0, inputOf(first).length - 1);
  const asked = textOf(attributes, "input.value") ?? lastSaidBy("user", inputOf(root)) ?? "";
  return { ...fields, agentVersion: 0, question: asked, inbox: null, queryDate: null, historyLength: history };
}

function fieldsOf({ root, models, tools }: TraceSpans): Omit<Trace, "runId" | "taskId" | "epoch" | "task" | "judge"> {
  const { attributes, traceId } = root;
  const answer = textOf(attributes, "output.value") ?? lastSaidBy("assistant", outputOf(root)) ?? null;
  const turns = models.map(toTurn);
  const turnStarts = models.map(({ startTimeUnixNano }) => startTimeUnixNano);
  const uuid = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return {
    traceId: textOf(attributes, "art_e.trace.id") ?? `trace_${uuid}`,
    sessionId: textOf(attributes, "session.id", "gen_ai.conversation.id") ?? `session_${uuid}`,
    agentId: textOf(attributes, "gen_ai.agent.name") || root.name || "agent",
    model: textOf(attributes, "art_e.model") ?? modelOf(models[0] ?? root),
    startedAt: isoTime(root.startTimeUnixNano),
    endedAt: isoTime(root.endTimeUnixNano),
    durationMs: durationMs(root),
    ending: endingOf(root, answer),
    error: isError(root) ? root.status?.message || "failed" : null,
    messages: messagesOf({ root, models, tools }),
    toolCalls: tools.map((span) => spanToToolCall(span, turnStarts)),
    turns,
    maxTurns: countOf(attributes, "art_e.max_turns") ?? turns.length,
    answer,
    sources: [...textsOf(attributes, "art_e.sources")],
    scores: scoresOf(root),
  };
}

function modelOf({ attributes }: ReadSpan): string {
  const model = textOf(attributes, "gen_ai.request.model", "gen_ai.response.model", "llm.model_name") ?? "unknown";
  return modelId(textOf(attributes, "gen_ai.provider.name", "gen_ai.system"), model);
}

function endingOf(root: ReadSpan, answer: string | null): Ending {
  const ending = z.enum(ENDINGS).safeParse(textOf(root.attributes, "art_e.ending"));
  if (ending.success) return ending.data;
  if (isError(root)) return "model_error";
  return answer === null ? "out_of_turns" : "answered";
}

/** The whole conversation, as the last model call had it; of a trace without one, question and answer. */
function messagesOf({ root, models, tools }: TraceSpans): Message[] {
  const last = models.findLast((span) => inputOf(span).length > 0) ?? root;
  const system = systemOf(last) ?? systemOf(root);
  const names = new Map(
    tools.map(({ attributes }) => [callIdOf(attributes), textOf(attributes, "gen_ai.tool.name") ?? ""]),
  );
  const failed = new Set(tools.filter(isError).map(({ attributes }) => callIdOf(attributes)));
  return [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    ...toMessages([...inputOf(last), ...outputOf(last)], names, failed),
  ];
}

function callIdOf(attributes: AttributeMap): string {
  return textOf(attributes, "gen_ai.tool.call.id") ?? "";
}

function lastSaidBy(role: string, messages: ReturnType<typeof inputOf>): string | undefined {
  const message = messages.findLast((each) => each.role === role);
  return message === undefined ? undefined : textOfParts(message.parts);
}

function scoresOf({ events }: ReadSpan): Trace["scores"] {
  const scores = events.flatMap(({ name, attributes }) => {
    const scorer = textOf(attributes, "gen_ai.evaluation.name");
    const value = numberOf(attributes, "gen_ai.evaluation.score.value");
    if (name !== "gen_ai.evaluation.result" || scorer === undefined || value === undefined) return [];
    const explanation = textOf(attributes, "gen_ai.evaluation.explanation");
    return [[scorer, { value, ...(explanation === undefined ? {} : { explanation }) }] as const];
  });
  return Object.fromEntries(scores);
}

/** A model call as a turn. */
function toTurn(span: ReadSpan): Turn {
  const { attributes } = span;
  const waitedMs = numberOf(attributes, "art_e.waited_ms");
  const sent = jsonOf(attributes, "art_e.sent", sentParametersSchema);
  const model = textOf(attributes, "gen_ai.response.model");
  const responseId = textOf(attributes, "gen_ai.response.id");
  const raw = textOf(attributes, "error.type") ?? textsOf(attributes, "gen_ai.response.finish_reasons")[0] ?? "";
  const reply = outputOf(span)[0];
  return {
    startedAt: isoTime(span.startTimeUnixNano, waitedMs),
    ...(model === undefined ? {} : { model }),
    ...(responseId === undefined ? {} : { responseId }),
    latencyMs: durationMs(span),
    finishReason: isError(span) ? "other" : finishReason(reply?.finish_reason ?? raw),
    rawFinishReason: raw,
    usage: usageOf(attributes),
    costUsd: numberOf(attributes, "llm.cost.total") ?? null,
    retries: jsonOf(attributes, "art_e.retries", z.array(retrySchema)) ?? [],
    ...(sent === undefined ? {} : { sent }),
    ...(waitedMs === undefined || waitedMs < 0 ? {} : { waitedMs }),
    cached: attributes.get("art_e.cached") === true,
  };
}

/** Null where the span has no tokens. Cached ones are among those of the input, as with us. */
function usageOf(attributes: AttributeMap): Usage | null {
  const inputTokens = countOf(attributes, "gen_ai.usage.input_tokens");
  const outputTokens = countOf(attributes, "gen_ai.usage.output_tokens");
  if (inputTokens === undefined && outputTokens === undefined) return null;
  const cacheWriteTokens =
    countOf(attributes, "gen_ai.usage.cache_creation.input_tokens") ??
    countOf(attributes, "gen_ai.usage.cache_write.input_tokens");
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cachedInputTokens: countOf(attributes, "gen_ai.usage.cache_read.input_tokens") ?? 0,
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
  };
}

const { errorKind: errorKindSchema } = toolCallRecordSchema.shape;

/** A tool call as it was made. `turnStarts`: when each model call began, by which its turn is found. */
function spanToToolCall(span: ReadSpan, turnStarts: readonly bigint[]): ToolCallRecord {
  const { attributes, startTimeUnixNano } = span;
  const failed = isError(span);
  const before = turnStarts.filter((start) => start <= startTimeUnixNano).length;
  return {
    id: callIdOf(attributes),
    name: textOf(attributes, "gen_ai.tool.name", "tool.name") ?? span.name,
    arguments: jsonIn(attributes, "gen_ai.tool.call.arguments", "input.value") ?? {},
    result: failed ? null : jsonIn(attributes, "gen_ai.tool.call.result", "output.value"),
    error: failed ? (span.status?.message ?? "") : null,
    errorKind: failed ? (errorKindSchema.safeParse(textOf(attributes, "error.type")).data ?? "failed") : null,
    turn: countOf(attributes, "art_e.turn") ?? Math.max(0, before - 1),
    startedAt: isoTime(startTimeUnixNano),
    durationMs: durationMs(span),
  };
}

/** The JSON of a text; the text itself where it is none. */
function jsonIn(attributes: AttributeMap, ...keys: readonly string[]): JsonValue {
  const text = textOf(attributes, ...keys);
  if (text === undefined) return null;
  const value = parseJsonOrNull(text);
  const isNull = value === null && text.trim() !== "null";
  return isNull ? text : (jsonValueSchema.safeParse(value).data ?? text);
}

const partSchema = z.looseObject({
  type: z.string(),
  content: z.unknown().optional(),
  id: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  response: z.unknown().optional(),
  result: z.unknown().optional(),
});

type Part = z.output<typeof partSchema>;

const messagesSchema = z.array(
  z.looseObject({ role: z.string(), parts: z.array(partSchema), finish_reason: z.string().optional() }),
);

type ReadMessages = z.output<typeof messagesSchema>;

function inputOf({ attributes }: ReadSpan): ReadMessages {
  return jsonOf(attributes, "gen_ai.input.messages", messagesSchema) ?? [];
}

function outputOf({ attributes }: ReadSpan): ReadMessages {
  return jsonOf(attributes, "gen_ai.output.messages", messagesSchema) ?? [];
}

function systemOf({ attributes }: ReadSpan): string | undefined {
  const parts = jsonOf(attributes, "gen_ai.system_instructions", z.array(partSchema));
  return parts === undefined ? undefined : textOfParts(parts);
}

/** What stands in the text parts; reasoning, images and files are left out. */
function textOfParts(parts: readonly Part[]): string {
  return parts
    .flatMap(({ type, content }) => (type === "text" && typeof content === "string" ? [content] : []))
    .join("");
}

/** Our messages of theirs. `toolNames`: by the id of the call; `failed`: ids of the calls that failed. */
function toMessages(
  messages: ReadMessages,
  toolNames: ReadonlyMap<string, string>,
  failed: ReadonlySet<string>,
): Message[] {
  return messages.flatMap(({ role, parts }): Message[] => {
    if (role === "system" || role === "user") return [{ role, content: textOfParts(parts) }];
    if (role === "assistant") return [{ role, content: textOfParts(parts), toolCalls: parts.flatMap(toToolCall) }];
    return parts.flatMap((part) => {
      if (part.type !== "tool_call_response") return [];
      const toolCallId = part.id ?? "";
      const name = toolNames.get(toolCallId) ?? "";
      const content = asText(part.response ?? part.result);
      return [{ role: "tool" as const, toolCallId, name, content, isError: failed.has(toolCallId) }];
    });
  });
}

function toToolCall({ type, id, name = "", arguments: given }: Part) {
  if (type !== "tool_call") return [];
  // A text where the model wrote none that could be read.
  if (typeof given === "string") return [{ id: id ?? "", name, arguments: {}, invalid: given }];
  const json = jsonValueSchema.safeParse(given ?? {});
  return [{ id: id ?? "", name, arguments: (json.data ?? {}) as JsonValue }];
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function textOf(attributes: AttributeMap, ...keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = attributes.get(key);
    if (typeof value === "string") return value;
  }
  return undefined;
}

function numberOf(attributes: AttributeMap, key: string): number | undefined {
  const value = attributes.get(key);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A count; undefined where it is none. */
function countOf(attributes: AttributeMap, key: string): number | undefined {
  const value = numberOf(attributes, key);
  return Number.isSafeInteger(value) && (value ?? -1) >= 0 ? value : undefined;
}

function textsOf(attributes: AttributeMap, key: string): readonly string[] {
  const value = attributes.get(key);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** JSON in a text, checked; undefined where it is absent or is something else. */
function jsonOf<T extends z.ZodType>(attributes: AttributeMap, key: string, schema: T): z.output<T> | undefined {
  const text = textOf(attributes, key);
  if (text === undefined || jsonDepth(text) > MAX_JSON_DEPTH) return undefined;
  return schema.safeParse(parseJsonOrNull(text)).data;
}

const NANO_PER_MS = 1_000_000;

/** To the millisecond, as our times are. */
function isoTime(nano: bigint, beforeMs = 0): string {
  const before = BigInt(Math.round(Math.min(beforeMs * NANO_PER_MS, Number.MAX_SAFE_INTEGER)));
  const ms = (nano - before) / BigInt(NANO_PER_MS);
  return new Date(Math.min(Math.max(0, Number(ms)), LAST_DATE_MS)).toISOString();
}

/** The last that a Date can hold. */
const LAST_DATE_MS = 8.64e15;

function durationMs({ startTimeUnixNano, endTimeUnixNano }: ReadSpan): number {
  return Math.max(0, Number(endTimeUnixNano - startTimeUnixNano) / NANO_PER_MS);
}

function isError({ status }: ReadSpan): boolean {
  return status?.code === 2;
}

/** As other writers have it: any kind of value, numbers as texts or numbers, unknown fields let through. */
const anyValueSchema: z.ZodType<AttributeValue> = z.lazy(() =>
  z
    .looseObject({
      stringValue: z.string().optional(),
      boolValue: z.boolean().optional(),
      intValue: z.union([z.string(), z.number()]).optional(),
      doubleValue: z.union([z.number(), z.string()]).optional(),
      arrayValue: z.looseObject({ values: z.array(anyValueSchema).default([]) }).optional(),
      kvlistValue: z.unknown().optional(),
    })
    .transform(({ stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue }): AttributeValue => {
      if (intValue !== undefined) return Number(intValue);
      if (doubleValue !== undefined) return Number(doubleValue);
      if (arrayValue !== undefined) return arrayValue.values;
      return stringValue ?? boolValue ?? (kvlistValue === undefined ? null : JSON.stringify(kvlistValue));
    }),
);

type AttributeValue = string | number | boolean | null | readonly AttributeValue[];

type AttributeMap = ReadonlyMap<string, AttributeValue>;

const attributesSchema = z
  .array(z.looseObject({ key: z.string(), value: anyValueSchema.optional() }))
  .default([])
  .transform((pairs): AttributeMap => new Map(pairs.map(({ key, value }) => [key, value ?? null])));

const nanoSchema = z
  .union([z.string().regex(/^\d{1,20}$/, "expected nanoseconds"), z.int().nonnegative().transform(String)])
  .transform(BigInt);

const hexSchema = z.string().regex(/^[0-9a-fA-F]*$/, "expected hex digits");

const spanSchema = z.looseObject({
  traceId: hexSchema.length(32, "expected 32 hex digits").transform((id) => id.toLowerCase()),
  spanId: hexSchema.length(16, "expected 16 hex digits"),
  parentSpanId: hexSchema.optional(),
  name: z.string().default(""),
  startTimeUnixNano: nanoSchema,
  endTimeUnixNano: nanoSchema,
  attributes: attributesSchema,
  events: z.array(z.looseObject({ name: z.string().default(""), attributes: attributesSchema })).default([]),
  status: z.looseObject({ code: z.int().default(0), message: z.string().default("") }).optional(),
});

type ReadSpan = z.output<typeof spanSchema>;

/** The spans of one line of a file: what a collector's file exporter or this program writes. */
const tracesDataSchema = z
  .looseObject({
    resourceSpans: z.array(
      z.looseObject({
        scopeSpans: z.array(z.looseObject({ spans: z.array(spanSchema).default([]) })).default([]),
      }),
    ),
  })
  .transform(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
