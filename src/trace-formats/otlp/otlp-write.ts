// Converts a trace into OTLP spans in the GenAI conventions.
import type { FinishReason, Message, ToolSpec } from "../../models/model.js";
import { reasoningText } from "../../models/provider-reasoning.js";
import type { Usage } from "../../models/usage.js";
import type { JsonValue } from "../../platform/json.js";
import { programVersion } from "../../platform/program-files.js";
import { sha256Of } from "../../platform/sha256.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import { isFailure } from "../../tasks/ending.js";
import type { RunRow } from "../../traces/runs-store.js";
import { askedOf, type Turn } from "../../traces/trace.js";
import { stepsOf } from "../../traces/trace-steps.js";
import { type ExportedTrace, goldOf, type LineFormat } from "../export-traces/exported-trace.js";
import {
  type AnyValue,
  conventionalFinishReason,
  conventionalModel,
  type KeyValue,
  SPAN_KIND,
  type Span,
  type SpanEvent,
  type SpanSource,
  STATUS_ERROR,
} from "./otlp-encode.js";

/** A score of a trace, for the score API of a server. */
export interface ScoreRecord {
  /** 32 hex digits. */
  readonly traceId: string;
  readonly name: string;
  readonly value: number;
  readonly explanation: string | null;
  /** Whether the score comes from a model rather than a function. */
  readonly byModel: boolean;
}

/** The conversation of one model call. */
interface TurnMessages {
  readonly turn: Turn;
  readonly system: string | null;
  /** Messages that the model received, without the system prompt. */
  readonly input: readonly Message[];
  /** The reply, or null if none arrived. */
  readonly reply: Message | null;
}

interface OtlpOptions {
  /** Whether to include messages, arguments, results, answers and explanations. */
  readonly content: boolean;
  /** Tools that the model received, or an empty list if they are unknown. */
  readonly tools: readonly ToolSpec[];
  /** The trace's run, or null for a chat. */
  readonly run: Pick<RunRow, "id" | "name" | "dataset"> | null;
}

/** A message in the GenAI conventions. Of the provider state, only the reasoning text is written. */
interface PartsMessage {
  readonly role: Message["role"];
  readonly parts: readonly { readonly type: string; readonly [field: string]: JsonValue }[];
}

/** Attributes by key. Undefined attributes are left out. */
type Attributes = Readonly<Record<string, AnyValue | undefined>>;

/** Returns the scores of a trace that have a value. */
export function scoreRecords(trace: ExportedTrace, content: boolean): ScoreRecord[] {
  const traceId = otlpTraceId(trace.traceId);
  const judged = "judge" in trace && trace.judge !== null;
  return Object.entries(trace.scores).flatMap(([name, { value, explanation = null }]) => {
    if (value === null) return [];
    return [{ traceId, name, value, explanation: content ? explanation : null, byModel: judged && JUDGED.has(name) }];
  });
}

/** Scorers whose value is a model's verdict. */
const JUDGED: ReadonlySet<string> = new Set(["judgeCorrect", "judgeScore"]);

/**
 * Returns one span per tool call, below the agent's span as the conventions require, with the turn that requested it.
 */
function toolSpans(trace: ExportedTrace, { content, tools }: OtlpOptions): Span[] {
  const { traceId, toolCalls } = trace;
  const descriptions = new Map(tools.map(({ name, description }) => [name, description]));
  return toolCalls.map((call, i) => ({
    traceId: otlpTraceId(traceId),
    spanId: otlpSpanId(traceId, `tool ${i}`),
    parentSpanId: rootSpanId(trace),
    name: storable(`execute_tool ${call.name}`),
    kind: SPAN_KIND.internal,
    startTimeUnixNano: unixNano(call.startedAt),
    endTimeUnixNano: unixNano(call.startedAt, call.durationMs),
    attributes: toKeyValues({
      "openinference.span.kind": text("TOOL"),
      "session.id": text(trace.sessionId),
      "gen_ai.operation.name": text("execute_tool"),
      "gen_ai.tool.name": text(call.name),
      "gen_ai.tool.type": text("function"),
      "gen_ai.tool.description": content ? text(descriptions.get(call.name)) : undefined,
      "gen_ai.tool.call.id": text(call.id),
      "gen_ai.agent.name": text(trace.agentId),
      "gen_ai.conversation.id": text(trace.sessionId),
      "error.type": call.error === null ? undefined : text(call.errorKind ?? "failed"),
      "gen_ai.tool.call.arguments": content ? jsonText(call.arguments) : undefined,
      "gen_ai.tool.call.result": content && call.error === null ? jsonText(call.result) : undefined,
      "art_e.turn": integer(call.turn),
    }),
    // A tool's error message might quote mail.
    ...(call.error === null ? {} : { status: { code: STATUS_ERROR, message: content ? storable(call.error) : "" } }),
  }));
}

/**
 * Returns one span per model call, without the wait before it. A call that fails without a retry, for example because
 * of a wrong key, leaves no turn, only the trace's error. It has a span, too.
 */
function modelSpans(trace: ExportedTrace, { content, tools }: OtlpOptions): Span[] {
  const { traceId, ending } = trace;
  const { model } = conventionalModel(trace.model);
  const definitions = tools.length === 0 ? undefined : jsonText(tools.map(toDefinition));
  const spanOf = (id: string, call: TurnMessages, start: string, end: string): Span => {
    const failed = isFailedCall(trace, call);
    return {
      traceId: otlpTraceId(traceId),
      spanId: otlpSpanId(traceId, id),
      parentSpanId: rootSpanId(trace),
      name: storable(`chat ${model}`),
      kind: SPAN_KIND.client,
      startTimeUnixNano: start,
      endTimeUnixNano: end,
      attributes: modelSpanAttributes(trace, call, failed, content ? modelSpanContent(call, definitions) : {}),
      ...(failed
        ? { status: { code: STATUS_ERROR, message: storable(trace.error ?? call.turn.rawFinishReason) } }
        : {}),
    };
  };
  const calls = turnMessages(trace);
  const spans = calls.map((call, i) => {
    const { waitedMs = 0, latencyMs, startedAt } = call.turn;
    return spanOf(`turn ${i}`, call, unixNano(startedAt, waitedMs), unixNano(startedAt, waitedMs + latencyMs));
  });
  const last = calls.at(-1);
  if (ending !== "model_error" || (last !== undefined && isFailedCall(trace, last))) return spans;
  const { system, conversation } = partsOf(trace);
  const turn = { ...NO_TURN, rawFinishReason: ending };
  const start = lastActivity(trace);
  const end = laterOf(unixNano(trace.endedAt), start);
  const failed = spanOf("failed call", { turn, system, input: conversation, reply: null }, start, end);
  const hasNoTurn = { key: "art_e.has_no_turn", value: { boolValue: true } };
  return [...spans, { ...failed, attributes: [...failed.attributes, hasNoTurn] }];
}

/** A call that never received a reply. */
const NO_TURN: Omit<Turn, "rawFinishReason"> = {
  startedAt: "",
  latencyMs: 0,
  finishReason: "other",
  usage: null,
  costUsd: null,
  retries: [],
  cached: false,
};

/** The end of the last model or tool call, which is when the next call started. */
function lastActivity({ startedAt, turns, toolCalls }: ExportedTrace): string {
  return [
    ...turns.map((turn) => unixNano(turn.startedAt, (turn.waitedMs ?? 0) + turn.latencyMs)),
    ...toolCalls.map((call) => unixNano(call.startedAt, call.durationMs)),
  ].reduce(laterOf, unixNano(startedAt));
}

/** Whether the turn consists only of attempts at a call that never received a reply. */
function isFailedCall({ ending }: ExportedTrace, { turn, reply }: TurnMessages): boolean {
  const wasAttempted = turn.retries.length > 0 || ending === "model_error";
  return turn.finishReason === "other" && wasAttempted && reply === null;
}

function modelSpanAttributes(
  trace: ExportedTrace,
  { turn }: TurnMessages,
  failed: boolean,
  content: Attributes,
): KeyValue[] {
  const { provider, model } = conventionalModel(trace.model);
  const { usage, sent, costUsd, retries, waitedMs, cached, rawFinishReason } = turn;
  return toKeyValues({
    "openinference.span.kind": text("LLM"),
    "session.id": text(trace.sessionId),
    "gen_ai.operation.name": text("chat"),
    "gen_ai.provider.name": text(provider),
    "gen_ai.request.model": text(model),
    "gen_ai.response.model": text(turn.model),
    "gen_ai.response.id": text(turn.responseId),
    "gen_ai.request.temperature": typeof sent?.temperature === "number" ? double(sent.temperature) : undefined,
    "gen_ai.request.max_tokens": integer(sent?.maxTokens),
    "gen_ai.request.reasoning.level": sent?.reasoningEffort == null ? undefined : text(String(sent.reasoningEffort)),
    "gen_ai.conversation.id": text(trace.sessionId),
    "gen_ai.response.finish_reasons": failed ? undefined : texts([rawFinishReason]),
    "error.type": failed ? text(rawFinishReason) : undefined,
    ...(usage === null || failed ? {} : usageAttributes(usage)),
    "llm.cost.total": costUsd === null || failed ? undefined : double(costUsd),
    ...content,
    "art_e.waited_ms": double(waitedMs),
    "art_e.retries": retries.length === 0 ? undefined : jsonText(retries),
    "art_e.sent": jsonText(sent),
    "art_e.cached": cached ? { boolValue: true } : undefined,
  });
}

/** Both art-e and the conventions count cached tokens as input. */
function usageAttributes(usage: Usage): Attributes {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    "gen_ai.usage.input_tokens": integer(inputTokens),
    "gen_ai.usage.output_tokens": integer(outputTokens),
    "gen_ai.usage.cache_read.input_tokens": integer(cachedInputTokens),
    "gen_ai.usage.cache_creation.input_tokens": integer(cacheWriteTokens),
    "gen_ai.usage.reasoning.output_tokens": integer(reasoningTokens),
  };
}

/** `definitions` are the tools that the model received. */
function modelSpanContent({ turn, system, input, reply }: TurnMessages, definitions: AnyValue | undefined): Attributes {
  return {
    "gen_ai.system_instructions": system === null ? undefined : jsonText(toSystemParts(system)),
    "gen_ai.input.messages": jsonText(input.map(toParts)),
    "gen_ai.output.messages": reply === null ? undefined : jsonText([toOutputMessage(reply, turn.finishReason)]),
    "gen_ai.tool.definitions": definitions,
  };
}

function toDefinition({ name, description, parameters }: ToolSpec) {
  return { type: "function", name, description, parameters };
}

/** Returns the conversation as the model received it in each turn. */
function turnMessages(trace: ExportedTrace): TurnMessages[] {
  const { system, conversation } = partsOf(trace);
  return stepsOf(trace).flatMap(({ turn, reply }) => {
    if (turn === null) return [];
    const at = reply === null ? undefined : conversation.indexOf(reply);
    return [{ turn, system, input: conversation.slice(0, at), reply }];
  });
}

/** Returns the system prompt, or null, and the messages after it. */
function partsOf({ messages }: ExportedTrace): { system: string | null; conversation: readonly Message[] } {
  const [first, ...others] = messages;
  return first?.role === "system"
    ? { system: first.content, conversation: others }
    : { system: null, conversation: messages };
}

/**
 * Returns the messages after the last model call's reply, which no model call's span contains: results of the last tool
 * calls, or the entire conversation if there was no model call. Provider state is left out.
 */
function laterMessages(trace: ExportedTrace): Message[] {
  const last = turnMessages(trace).at(-1);
  // The span of a failed call contains the conversation.
  if (last === undefined) return trace.ending === "model_error" ? [] : [...trace.messages];
  if (last.reply === null) return [];
  return partsOf(trace)
    .conversation.slice(last.input.length + 1)
    .map(withoutProviderState);
}

function withoutProviderState(message: Message): Message {
  if (message.role !== "assistant") return message;
  const { role, content, toolCalls } = message;
  const reasoning = reasoningText(message);
  return { role, content, toolCalls, ...(reasoning === "" ? {} : { reasoning }) };
}

/** The root span of a trace, with question and answer in the attributes that Langfuse and Phoenix display. */
function agentSpan(trace: ExportedTrace, { content }: OtlpOptions): Span {
  const { agentId, error, ending } = trace;
  const start = unixNano(trace.startedAt);
  const end = laterOf(unixNano(trace.endedAt), start);
  const failed = error !== null || isFailure(ending);
  return {
    traceId: otlpTraceId(trace.traceId),
    spanId: rootSpanId(trace),
    name: storable(`invoke_agent ${agentId}`),
    kind: SPAN_KIND.internal,
    startTimeUnixNano: start,
    endTimeUnixNano: end,
    attributes: attributesOf(trace, content, failed),
    events: scoreEvents(trace, end, content),
    ...(failed ? { status: { code: STATUS_ERROR, message: storable(error ?? ending) } } : {}),
  };
}

function rootSpanId({ traceId }: ExportedTrace): string {
  return otlpSpanId(traceId, "agent");
}

function attributesOf(trace: ExportedTrace, content: boolean, failed: boolean): KeyValue[] {
  const { turns, ending } = trace;
  const last = turns.at(-1);
  return toKeyValues({
    "openinference.span.kind": text("AGENT"),
    "session.id": text(trace.sessionId),
    "gen_ai.operation.name": text("invoke_agent"),
    "gen_ai.provider.name": text(conventionalModel(trace.model).provider),
    "gen_ai.agent.name": text(trace.agentId),
    "gen_ai.conversation.id": text(trace.sessionId),
    "gen_ai.request.model": text(conventionalModel(trace.model).model),
    "gen_ai.response.finish_reasons": last === undefined ? undefined : texts([last.rawFinishReason]),
    "error.type": failed ? text(ending) : undefined,
    ...(content ? contentOf(trace) : {}),
    ...ownAttributes(trace),
  });
}

function contentOf(trace: ExportedTrace): Attributes {
  const { messages, answer, turns } = trace;
  const system = messages.find(({ role }) => role === "system")?.content;
  const question = askedOf(trace);
  const later = laterMessages(trace);
  const reply = (content: string) =>
    toOutputMessage({ role: "assistant", content: content, toolCalls: [] }, turns.at(-1)?.finishReason ?? "stop");
  return {
    "gen_ai.system_instructions": system === undefined ? undefined : jsonText(toSystemParts(system)),
    "gen_ai.input.messages": jsonText([toParts({ role: "user", content: question })]),
    "gen_ai.output.messages": answer === null ? undefined : jsonText([reply(answer)]),
    "input.value": text(question),
    "output.value": text(answer ?? undefined),
    "art_e.sources": texts(trace.sources),
    "art_e.later_messages": jsonText(later),
    ...(trace.kind === "chat"
      ? { "art_e.inbox": text(trace.inbox ?? undefined), "art_e.query_date": text(trace.queryDate ?? undefined) }
      : { "art_e.task": jsonText(trace.task), "art_e.judge": jsonText(trace.judge ?? undefined) }),
    "art_e.grade": jsonText(trace.kind === "suite" ? trace.grade : undefined),
  };
}

/** Facts for which the conventions have no attribute. */
function ownAttributes(trace: ExportedTrace): Attributes {
  const { traceId, model, ending, maxTurns } = trace;
  return {
    "art_e.trace.id": text(traceId),
    "art_e.model": text(model),
    "art_e.ending": text(ending),
    "art_e.max_turns": integer(maxTurns),
    ...(trace.kind === "chat"
      ? { "art_e.agent_version": integer(trace.agentVersion), "art_e.history_length": integer(trace.historyLength) }
      : {
          "art_e.run.id": text(trace.runId),
          "art_e.task.id": typeof trace.taskId === "number" ? integer(trace.taskId) : text(trace.taskId),
          "art_e.epoch": integer(trace.epoch),
        }),
  };
}

/** A score without a value is not an event, because the conventions require a value. */
function scoreEvents(trace: ExportedTrace, timeUnixNano: string, content: boolean): SpanEvent[] {
  return Object.entries(trace.scores).flatMap(([name, { value, explanation }]) => {
    if (value === null) return [];
    const attributes = toKeyValues({
      "gen_ai.evaluation.name": text(name),
      "gen_ai.evaluation.score.value": double(value),
      "gen_ai.evaluation.explanation": content ? text(explanation) : undefined,
    });
    return [{ timeUnixNano, name: "gen_ai.evaluation.result", attributes }];
  });
}

const NANO_PER_MS = 1_000_000;

/** A time in the year 2262. Backends store times as signed 64-bit integers. */
const LATEST = 2n ** 63n - 1n;

/** Converts an ISO 8601 time plus milliseconds into nanoseconds since 1970. Returns 0 for an invalid time. */
function unixNano(iso: string, afterMs = 0): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return "0";
  const after = Math.min(Math.round(afterMs * NANO_PER_MS), Number.MAX_SAFE_INTEGER);
  const nano = BigInt(ms) * BigInt(NANO_PER_MS) + BigInt(after);
  if (nano < 0n) return "0";
  return String(nano > LATEST ? LATEST : nano);
}

function laterOf(a: string, b: string): string {
  return BigInt(a) > BigInt(b) ? a : b;
}

const UUID = /^trace_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** Returns 32 hex digits, from the UUID in art-e's id or from a hash of any other id. */
function otlpTraceId(traceId: string): string {
  const digits = UUID.exec(traceId)?.[1]?.replaceAll("-", "");
  // An id of zeros is invalid in OTLP.
  return digits === undefined || /^0+$/.test(digits) ? hash(traceId, 32) : digits;
}

/** Returns 16 hex digits that are the same in every export, so that a backend stores a resent trace only once. */
function otlpSpanId(traceId: string, span: string): string {
  return hash(`${traceId}/${span}`, 16);
}

function hash(value: string, digits: number): string {
  return sha256Of(value).slice(0, digits);
}

/**
 * Version of the GenAI conventions that the attributes follow. This version has `cache_creation`, which later versions
 * rename to `cache_write`, and requires `gen_ai.provider.name` on every `invoke_agent` span. `otlp-read` accepts both.
 */
const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev";

const NAME = "art-e";

/** Returns the spans of a trace in the GenAI conventions: the agent's span, then model and tool calls by start time. */
export function otlpSpans(trace: ExportedTrace, options: OtlpOptions): Span[] {
  const below = [...modelSpans(trace, options), ...toolSpans(trace, options)];
  const { ofEachSpan, ofRoot } = experimentAttributes(trace, options);
  return [agentSpan(trace, options), ...below.sort(byStart)].map((span, i) => ({
    ...span,
    attributes: [...span.attributes, ...ofEachSpan, ...(i === 0 ? ofRoot : [])],
  }));
}

/**
 * Attributes that make a run an experiment at Langfuse
 * (https://langfuse.com/integrations/native/opentelemetry/experiments). A question is one item. Each epoch is another
 * execution of the item, with its own root. The dataset's id is the hash of its content, so that runs over the same
 * questions can be compared, whatever the path of their file.
 */
function experimentAttributes(trace: ExportedTrace, { content, run }: OtlpOptions) {
  if (trace.kind === "chat" || run === null) return { ofEachSpan: [], ofRoot: [] };
  const { taskId, epoch, answer } = trace;
  const ofEachSpan = toKeyValues({
    "langfuse.experiment.id": text(run.id),
    "langfuse.experiment.name": text(run.name ?? run.id),
    "langfuse.experiment.dataset.id": text(run.dataset.sha256),
    "langfuse.experiment.item.id": text(String(taskId)),
    "langfuse.experiment.item.root_observation_id": text(rootSpanId(trace)),
  });
  const ofRoot = toKeyValues({
    "langfuse.experiment.item.metadata.epoch": text(String(epoch)),
    ...(content
      ? {
          "langfuse.observation.input": text(askedOf(trace)),
          "langfuse.observation.output": text(answer ?? undefined),
          "langfuse.experiment.item.expected_output": text(goldOf(trace) || undefined),
        }
      : {}),
  });
  return { ofEachSpan, ofRoot };
}

/** Identifies art-e as the source of spans. */
export function spanSource(): SpanSource {
  const version = programVersion();
  const attributes = toKeyValues({
    "service.name": text(NAME),
    "service.version": text(version),
    "openinference.project.name": text(NAME),
  });
  return { resource: { attributes }, scope: { name: NAME, version }, schemaUrl: SCHEMA_URL };
}

/** A trace as OTLP's TracesData on one line, in the format of the collector's otlpjsonfile receiver. */
export const otlpFormat: LineFormat = {
  *lines(traces, { options: { content }, toolsOf, run }) {
    const { resource, scope, schemaUrl } = spanSource();
    for (const trace of traces) {
      const spans = otlpSpans(trace, { content, tools: toolsOf(trace), run });
      yield toWellFormedJson({ resourceSpans: [{ resource, scopeSpans: [{ scope, schemaUrl, spans }] }] });
    }
  },
};

function byStart(a: Span, b: Span): number {
  const difference = BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano);
  return difference < 0n ? -1 : Number(difference > 0n);
}

function toParts(message: Message): PartsMessage {
  const { role } = message;
  if (role === "tool") {
    const { toolCallId: id, name, content: response } = message;
    // Readers look up the tool's name by the call's id.
    return { role, parts: [{ type: "tool_call_response", id, ...(id === "" ? { name } : {}), response }] };
  }
  const textParts = message.content === "" ? [] : [{ type: "text", content: message.content }];
  if (role !== "assistant") return { role, parts: textParts };
  const calls = message.toolCalls.map(({ id, name, arguments: args, invalid }) => ({
    type: "tool_call",
    id,
    name,
    // A string if the model's arguments could not be parsed.
    arguments: invalid ?? args,
  }));
  const reasoning = reasoningText(message);
  const thought = reasoning === "" ? [] : [{ type: "reasoning", content: reasoning }];
  return { role, parts: [...thought, ...textParts, ...calls] };
}

function toOutputMessage(message: Message, reason: FinishReason): PartsMessage & { finish_reason: string } {
  return { ...toParts(message), finish_reason: conventionalFinishReason(reason) };
}

function toSystemParts(system: string) {
  return [{ type: "text", content: system }];
}

function toKeyValues(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]));
}

function text(value: string | undefined): AnyValue | undefined {
  return value === undefined ? undefined : { stringValue: storable(value) };
}

function integer(value: number | undefined): AnyValue | undefined {
  return value === undefined ? undefined : { intValue: String(Math.trunc(value)) };
}

function double(value: number | undefined): AnyValue | undefined {
  return value === undefined ? undefined : { doubleValue: value };
}

function texts(values: readonly string[]): AnyValue {
  return { arrayValue: { values: values.map((value) => ({ stringValue: storable(value) })) } };
}

/** Encodes a value as a JSON string, as the conventions require for messages, arguments and results. */
function jsonText(value: JsonValue | object | undefined): AnyValue | undefined {
  if (value === undefined) return undefined;
  return { stringValue: JSON.stringify(value, (_, item) => (typeof item === "string" ? storable(item) : item)) };
}

/**
 * Protobuf does not allow lone surrogates. PostgreSQL, which Langfuse and Phoenix store spans in, does not allow NUL.
 */
function storable(value: string): string {
  return value.toWellFormed().replaceAll("\0", "\uFFFD");
}
