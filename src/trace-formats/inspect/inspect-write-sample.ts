// Converts a trace into a sample of an Inspect log.
import { createHash } from "node:crypto";
import { measureFeatures } from "../../evals/features.js";
import type { FinishReason, ToolMessage } from "../../models/model.js";
import { reasoningText } from "../../models/provider-reasoning.js";
import { objectSchema } from "../../models/tool-schemas.js";
import type { Usage } from "../../models/usage.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import { isScorerName, SCORERS } from "../../scoring/scorers.js";
import { canBeRetried } from "../../tasks/ending.js";
import type { Verdict } from "../../traces/judgment.js";
import type { RunRow } from "../../traces/runs-store.js";
import { sumCost, sumUsage, timesOf } from "../../traces/task-result.js";
import { askedOf, type ToolCallRecord, type Turn } from "../../traces/trace.js";
import { FACTS_KEY, toTraceFacts } from "../../traces/trace-facts.js";
import { type CallStep, type Step, stepsOf } from "../../traces/trace-steps.js";
import {
  argumentsObject,
  type ExportContext,
  type ExportedTrace,
  epochOf,
  goldOf,
  knownTools,
  taskIdOf,
} from "../export-traces/exported-trace.js";

interface SampleLimit {
  readonly type: "turn" | "time" | "cost";
  readonly limit: number;
}

/** Converts a trace into Inspect's EvalSample, with every field that Inspect's viewer requires. */
export function inspectSample(trace: ExportedTrace, context: ExportContext): JsonObject {
  const messages = inspectMessages(trace);
  const scores = inspectScores(trace);
  const steps = stepsOf(trace);
  const { attachments, events } = transcriptOf(trace, steps, messages, scores, context);
  const lastReply = messages.findLast(({ role }) => role === "assistant");
  const lastTurn = steps.findLast(({ reply }) => reply !== null)?.turn ?? null;
  return {
    ...identityOf(trace),
    messages,
    output: modelOutput(trace, lastReply, lastTurn),
    scores,
    metadata: metadataOf(trace),
    // Stored as a string, because Inspect's store does not support null.
    store: { [FACTS_KEY]: toWellFormedJson(toTraceFacts(trace)) },
    events,
    ...figuresOf(trace),
    attachments,
    ...(isError(trace) ? { error: evalError(trace) } : {}),
    ...limitField(trace, context),
  };
}

/** A sample's entry in the list of summaries, without its conversation, and with long strings truncated. */
export function inspectSummary(trace: ExportedTrace, context: ExportContext): JsonObject {
  const { id, epoch, input, target } = identityOf(trace);
  const scores = Object.entries(inspectScores(trace)).map(([name, score]) => [
    name,
    { ...score, ...cutField(score, "answer"), ...cutField(score, "explanation") },
  ]);
  const { limit } = limitField(trace, context);
  return {
    id,
    epoch,
    input: cut(input),
    target: cut(target),
    metadata: { ending: trace.ending },
    scores: Object.fromEntries(scores),
    ...figuresOf(trace),
    ...(isError(trace) ? { error: cut(trace.error ?? trace.ending) } : {}),
    ...(limit === undefined ? {} : { limit: limit.type }),
    retries: 0,
    completed: true,
    message_count: trace.messages.length,
  };
}

const MAX_SUMMARY_CHARS = 1_000;

function cut(text: string): string {
  return text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS)}...` : text;
}

function cutField(score: JsonObject, field: string): JsonObject {
  const text = score[field];
  return typeof text === "string" ? { [field]: cut(text) } : {};
}

function identityOf(trace: ExportedTrace) {
  return { id: taskIdOf(trace), epoch: epochOf(trace), input: askedOf(trace), target: goldOf(trace) };
}

function figuresOf(trace: ExportedTrace): JsonObject {
  const { modelTimeMs, toolTimeMs } = timesOf(trace);
  return {
    model_usage: usageByModel(trace),
    role_usage: {},
    started_at: trace.startedAt,
    completed_at: trace.endedAt,
    total_time: trace.durationMs / 1000,
    working_time: (modelTimeMs + toolTimeMs) / 1000,
    uuid: trace.traceId,
    turn_count: trace.turns.length,
  };
}

function metadataOf(trace: ExportedTrace): JsonObject {
  const { ending, agentId, sessionId, traceId, sources } = trace;
  // Inspect does not accept null, so features that do not apply are absent.
  const features = presentProperties(measureFeatures(trace)) as JsonObject;
  const shared = { ending, agent_id: agentId, session_id: sessionId, trace_id: traceId, sources, features };
  if (trace.kind === "chat") {
    return { ...shared, ...presentProperties({ inbox: trace.inbox, query_date: trace.queryDate }) };
  }
  if (trace.kind === "suite") {
    const { suite, tool, snapshot, tags } = trace.task;
    return { ...shared, suite, tool, snapshot, tags, state: trace.grade.state, reason: trace.grade.reason };
  }
  const { inbox_address, query_date, how_realistic, message_ids } = trace.task;
  return { ...shared, inbox: inbox_address, query_date, how_realistic, gold_sources: message_ids };
}

/** Inspect treats a timeout as a limit. Other failures are errors. */
export function isError({ ending }: ExportedTrace): boolean {
  return canBeRetried(ending) && ending !== "timeout";
}

function evalError(trace: ExportedTrace): JsonObject {
  const message = trace.error ?? trace.ending;
  return { message, traceback: message, traceback_ansi: message };
}

/** Returns the maximum US dollars per task, or null if it is unlimited or unknown. */
export function taskCostLimit(run: RunRow | null): number | null {
  const { settings } = run ?? {};
  return settings?.kind === "own" || settings?.kind === "imported" ? (settings.maxTaskCostUsd ?? null) : null;
}

function limitField(trace: ExportedTrace, { run }: ExportContext): { readonly limit?: SampleLimit & JsonObject } {
  if (trace.ending === "out_of_turns") return { limit: { type: "turn", limit: trace.maxTurns } };
  if (trace.ending === "timeout") {
    return { limit: { type: "time", limit: (run?.settings.taskTimeoutMs ?? trace.durationMs) / 1000 } };
  }
  if (trace.ending !== "out_of_budget") return {};
  return { limit: { type: "cost", limit: taskCostLimit(run) ?? 0 } };
}

/** Letters that the viewer colors. Inspect converts C to 1, P to 0.5, and I and N to 0. */
const LETTERS: Readonly<Record<Verdict, string>> = { correct: "C", partly: "P", wrong: "I", abstained: "N" };

/** Scores by scorer. A score without a value is left out, because Inspect does not support null. */
function inspectScores(trace: ExportedTrace): Record<string, JsonObject> {
  const scores = Object.entries(trace.scores).flatMap(([scorer, { value, explanation }]) => {
    if (value === null) return [];
    const score = {
      value: scoreValue(scorer, value, trace),
      ...presentProperties({ answer: trace.answer, explanation }),
      history: [],
    };
    return [[scorer, score] as const];
  });
  return Object.fromEntries(scores);
}

/** A rate for which 1 is best becomes C or I, and the judge's score becomes the letter for its verdict. */
function scoreValue(scorer: string, value: number, trace: ExportedTrace): string | number {
  const verdict = "judge" in trace ? trace.judge?.verdict : null;
  if (scorer === "judgeScore" && verdict) return LETTERS[verdict];
  if (!isScorerName(scorer) || SCORERS[scorer].kind !== "rate" || SCORERS[scorer].better !== "higher") return value;
  return value === 1 ? "C" : value === 0 ? "I" : value;
}

/**
 * Maximum characters of a text written inline. Longer texts are stored once, in the sample's attachments, because each
 * model call repeats the conversation so far.
 */
const MAX_INLINE = 1_000;

/**
 * Inspect's transcript up to the error or limit that ended the task. `messages` are the trace's messages as
 * ChatMessages.
 */
function transcriptOf(
  trace: ExportedTrace,
  steps: readonly Step[],
  messages: readonly JsonObject[],
  scores: Readonly<Record<string, JsonObject>>,
  context: ExportContext,
): TranscriptWriter {
  const transcript = new TranscriptWriter(trace, messages, toolInfos(trace, context));
  const span = `${trace.traceId}_agent`;
  transcript.add("span_begin", trace.startedAt, { id: span, name: "agent", type: "solver", span_id: span });
  for (const step of steps) transcript.addStep(step, span);
  transcript.add("span_end", trace.endedAt, { id: span, span_id: span });
  for (const [scorer, score] of Object.entries(scores)) {
    transcript.add("score", trace.endedAt, { score, target: goldOf(trace), intermediate: false, scorer });
  }
  const { limit } = limitField(trace, context);
  const message = trace.error ?? trace.ending;
  if (limit !== undefined) transcript.add("sample_limit", trace.endedAt, { ...limit, message });
  if (isError(trace)) transcript.add("error", trace.endedAt, { error: evalError(trace) });
  return transcript;
}

function toolInfos(trace: ExportedTrace, context: ExportContext): JsonObject[] {
  return knownTools(trace, context).map(({ name, description, parameters }) => {
    const { properties, required = [], additionalProperties = false } = objectSchema(parameters);
    return {
      name,
      description,
      parameters: { type: "object", properties, required, additionalProperties } as JsonObject,
    };
  });
}

class TranscriptWriter {
  readonly events: JsonObject[] = [];
  readonly attachments: Record<string, string> = {};
  private readonly inputs: readonly JsonObject[];
  private readonly started: number;

  constructor(
    private readonly trace: ExportedTrace,
    private readonly messages: readonly JsonObject[],
    private readonly tools: readonly JsonObject[],
  ) {
    this.inputs = messages.map((message) => ({ ...message, content: this.attachContent(message.content) }));
    this.started = Date.parse(trace.startedAt);
  }

  add(event: string, timestamp: string, fields: JsonObject): void {
    const working_start = this.secondsUntil(timestamp);
    const uuid = `${this.trace.traceId}_event${this.events.length}`;
    this.events.push({ event, uuid, timestamp, working_start, ...fields });
  }

  addStep({ reply, turn, calls }: Step, span: string): void {
    const index = reply === null ? -1 : this.trace.messages.indexOf(reply);
    if (reply !== null || turn !== null) this.addModelCall(index, turn, span);
    for (const call of calls) this.addToolCall(call, span);
  }

  /** `index` is the reply's position in the messages, or -1 if the call failed. */
  private addModelCall(index: number, turn: Turn | null, span: string): void {
    const { trace, tools } = this;
    const timestamp = turn?.startedAt ?? trace.startedAt;
    const error = index === -1 && trace.error !== null ? { error: trace.error } : {};
    this.add("model", timestamp, {
      span_id: span,
      model: trace.model,
      input: this.inputs.slice(0, index === -1 ? undefined : index),
      tools,
      tool_choice: toolChoice(turn, tools),
      config: configOf(turn),
      ...error,
      output: modelOutput(trace, this.messages[index], turn),
      ...(turn === null ? {} : timing(turn)),
    });
  }

  /** Adds no event for a call that was not executed. */
  private addToolCall({ call, record, result }: CallStep, span: string): void {
    if (record === null) return;
    const { name, arguments: args, startedAt, durationMs, error } = record;
    const text =
      result?.content ?? (typeof record.result === "string" ? record.result : toWellFormedJson(record.result));
    this.add("tool", startedAt, {
      span_id: span,
      type: "function",
      id: call.id,
      function: name,
      arguments: isJsonObject(args) ? args : {},
      result: error === null ? this.attach(text) : "",
      ...(error === null ? {} : { error: toolError(error, record), failed: true }),
      events: [],
      completed: after(startedAt, durationMs),
      working_time: durationMs / 1000,
    });
  }

  private attachContent(content: JsonValue | undefined): JsonValue {
    if (!Array.isArray(content)) return this.attach(String(content));
    return content.map((part) => {
      const { text, ...others } = part as JsonObject;
      return text === undefined ? others : { ...others, text: this.attach(String(text)) };
    });
  }

  private attach(text: string): string {
    if (text.length <= MAX_INLINE) return text;
    const id = createHash("md5").update(text).digest("hex");
    this.attachments[id] = text;
    return `attachment://${id}`;
  }

  private secondsUntil(timestamp: string): number {
    return Math.max(0, (Date.parse(timestamp) - this.started) / 1000) || 0;
  }
}

function toolChoice(turn: Turn | null, tools: readonly JsonObject[]): string {
  if (tools.length === 0) return "none";
  return turn?.sent?.toolChoice === "required" ? "any" : "auto";
}

/** The settings that were sent with the call. */
function configOf(turn: Turn | null): JsonObject {
  const { maxTokens, temperature = null, reasoningEffort: effort = null } = turn?.sent ?? {};
  return {
    ...presentProperties({ max_tokens: maxTokens }),
    // Inspect has a level and a thinking budget as separate fields.
    ...(typeof effort === "string" ? { reasoning_effort: effort } : {}),
    ...(typeof effort === "number" ? { reasoning_tokens: effort } : {}),
    ...presentProperties({ temperature }),
  };
}

/** The wait before a call is not counted as working time. */
function timing({ startedAt, waitedMs = 0, latencyMs, retries, sent }: Turn): JsonObject {
  const adjusted = sent?.adjusted?.map(({ sent, ...change }) => (sent === null ? change : { ...change, sent }));
  return {
    completed: after(startedAt, waitedMs + latencyMs),
    working_time: latencyMs / 1000,
    retries: retries.length,
    ...(waitedMs === 0 && adjusted === undefined
      ? {}
      : { metadata: { waited_ms: waitedMs, ...presentProperties({ adjusted }) } }),
  };
}

/** The text of a message's content, which is a list of parts if the message has reasoning. */
function completionOf(content: JsonValue | undefined): JsonValue {
  if (!Array.isArray(content)) return content ?? "";
  return content.map((part) => ((part as JsonObject).text as string | undefined) ?? "").join("");
}

function after(timestamp: string, ms: number): string {
  const time = new Date(Date.parse(timestamp) + ms);
  return Number.isNaN(time.getTime()) ? timestamp : time.toISOString();
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "max_tokens",
  refusal: "content_filter",
  broken_call: "unknown",
  other: "unknown",
};

/**
 * A reply as Inspect's ModelOutput. If there was no reply, its list of choices is empty. `message` is the reply as a
 * ChatMessage.
 */
function modelOutput(trace: ExportedTrace, message: JsonObject | undefined, turn: Turn | null): JsonObject {
  const hasCalls = message?.tool_calls !== undefined;
  const stopReason = turn === null ? (hasCalls ? "tool_calls" : "stop") : STOP_REASONS[turn.finishReason];
  return {
    model: turn?.model ?? trace.model,
    choices: message === undefined ? [] : [{ message, stop_reason: stopReason }],
    completion: completionOf(message?.content),
    ...(turn === null || turn.usage === null ? {} : { usage: modelUsage(turn.usage, turn.costUsd) }),
    ...(turn === null ? {} : { time: turn.latencyMs / 1000 }),
    ...(turn?.responseId === undefined ? {} : { metadata: { response_id: turn.responseId } }),
  };
}

/** Inspect's input tokens exclude tokens read from or written to a cache. Its total includes them. */
export function modelUsage(usage: Usage, costUsd: number | null): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens = 0, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_cache_read: cachedInputTokens,
    ...(cacheWriteTokens === 0 ? {} : { input_tokens_cache_write: cacheWriteTokens }),
    ...presentProperties({ reasoning_tokens: reasoningTokens, total_cost: costUsd }),
  };
}

/** Usage by model, or an empty object if it is unknown. */
function usageByModel({ model, turns }: ExportedTrace): JsonObject {
  const billedTurns = turns.filter(({ usage }) => usage !== null);
  return billedTurns.length === 0 ? {} : { [model]: modelUsage(sumUsage(billedTurns), sumCost(billedTurns)) };
}

/** Converts a trace's messages into Inspect's ChatMessages, including messages of earlier chats. */
function inspectMessages(trace: ExportedTrace): JsonObject[] {
  const records = new Map(trace.toolCalls.map((record) => [record.id, record]));
  return trace.messages.map((message, i) => {
    const id = `${trace.traceId}_${i}`;
    if (message.role === "tool") return toolMessage(id, message, records.get(message.toolCallId));
    if (message.role !== "assistant") return { id, role: message.role, content: message.content, source: "input" };
    const calls = message.toolCalls.map((call) => ({
      id: call.id,
      function: call.name,
      arguments: argumentsObject(call),
      type: "function",
      ...presentProperties({ parse_error: call.invalid }),
    }));
    const reasoning = reasoningText(message);
    const textParts = message.content === "" ? [] : [{ type: "text", text: message.content }];
    const content =
      reasoning === "" ? message.content : [{ type: "reasoning", reasoning, redacted: false }, ...textParts];
    return {
      id,
      role: "assistant",
      content,
      source: "generate",
      model: trace.model,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  });
}

function toolMessage(id: string, message: ToolMessage, record: ToolCallRecord | undefined): JsonObject {
  return {
    id,
    role: "tool",
    content: message.content,
    function: message.name,
    ...(message.toolCallId === "" ? {} : { tool_call_id: message.toolCallId }),
    ...(message.isError ? { error: toolError(message.content, record) } : {}),
  };
}

/** Maps an error to one of Inspect's types. Calls that could not be read become `parsing`. */
function toolError(message: string, record: Pick<ToolCallRecord, "errorKind"> | undefined): JsonObject {
  const isParsing = record?.errorKind === "unparsable_call" || record?.errorKind === "bad_arguments";
  return { type: isParsing ? "parsing" : "unknown", message };
}
