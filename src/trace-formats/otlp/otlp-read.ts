// Reads traces from OTLP spans that other programs wrote, in four conventions.
import { z } from "zod";
import {
  type Message,
  messageSchema,
  retrySchema,
  sentParametersSchema,
  type ToolCall,
  type ToolMessage,
} from "../../models/model.js";
import { presentProperties } from "../../platform/optional-values.js";
import { NamedCounts } from "../../statistics/intervals.js";
import { ENDINGS, type Ending } from "../../tasks/ending.js";
import { gradeSchema, questionSchema, suiteTaskFactsSchema } from "../../tasks/question.js";
import { judgmentSchema } from "../../traces/judgment.js";
import { type ToolCallRecord, type Trace, type Turn, toolCallRecordSchema } from "../../traces/trace.js";
import { type CallStep, stepsOf } from "../../traces/trace-steps.js";
import { DescribedTools, type ImportedTrace, type ImportSource, NO_GOLD, notUsable } from "../imported-trace.js";
import { countOf, jsonOf, jsonOrText, numberOf, textOf, textsOf } from "./read/attributes.js";
import {
  callIdOf,
  costOf,
  finishReasonOf,
  kindOf,
  modelOf,
  responseIdOf,
  responseModelOf,
  toolCallOf,
  toolNameOf,
  toolsOf,
  usageOf,
} from "./read/calls.js";
import { type Conversation, conversationOf } from "./read/messages.js";
import { type ReadSpan, readSpansByTrace } from "./read/spans.js";

/** The spans of one trace, by role. */
interface TraceSpans {
  readonly root: ReadSpan;
  /** The agent's span, which can be below the span of an HTTP request, or the root if there is none. */
  readonly agent: ReadSpan;
  /** Ordered by start time. */
  readonly models: readonly ReadSpan[];
  readonly tools: readonly ReadSpan[];
}

/** The ID of each span's parent. */
type Parents = ReadonlyMap<string, string | undefined>;

/** Reads OTLP's TracesData in the conventions of OpenTelemetry GenAI, OpenInference, the AI SDK and OpenLLMetry. */
export function readOtlp(file: string): ImportSource {
  const tools = new DescribedTools();
  const lacking = new NamedCounts();
  return {
    async *traces() {
      let hasContent = false;
      let hasSpans = false;
      for await (const spans of readSpansByTrace(file)) {
        hasSpans = true;
        const trace = toTrace(sortSpans(spans));
        if (isEmpty(trace)) {
          lacking.add(EMPTY);
          continue;
        }
        for (const { attributes } of spans) tools.add(toolsOf(attributes));
        const isOwn = trace.kind !== "chat";
        hasContent ||= isOwn || trace.messages.length > 0;
        if (!isOwn) lacking.add(NO_GOLD);
        if (trace.messages.length === 0) lacking.add("no messages");
        if (trace.turns.length === 0) lacking.add("no model calls");
        else if (trace.turns.every(({ usage }) => usage === null)) lacking.add("no tokens");
        yield { where: `${file}, trace ${spans[0]?.traceId}`, trace };
      }
      if (!hasContent) throw notUsable(file, hasSpans ? NOTHING_READ : "contains no spans");
    },
    tools: () => tools.list(),
    run: () => ({}),
    lacking: () => lacking.counts,
  };
}

const EMPTY = "neither model calls nor messages, so they were not imported";

const NOTHING_READ =
  "none of its spans contains a model's messages. Check that the writer records inputs and outputs, and that it follows the GenAI conventions, OpenInference, the AI SDK or OpenLLMetry";

function isEmpty(trace: ImportedTrace): boolean {
  return trace.kind === "chat" && trace.turns.length + trace.messages.length + trace.toolCalls.length === 0;
}

function sortSpans(spans: readonly ReadSpan[]): TraceSpans {
  const inOrder = [...spans].sort(byStart);
  const first = inOrder[0] as ReadSpan;
  const root = inOrder.find((span) => !span.parentSpanId) ?? first;
  const ofKind = (kind: ReturnType<typeof kindOf>) => inOrder.filter((span) => kindOf(span) === kind);
  const agents = ofKind("agent");
  const calls = ofKind("model");
  const parents: Parents = new Map(inOrder.map(({ spanId, parentSpanId }) => [spanId, parentSpanId]));
  const isUnnamedCall = (span: ReadSpan) => !["model", "tool"].includes(kindOf(span)) && seemsModelCall(span);
  return {
    root,
    agent: kindOf(root) === "agent" ? root : (agents[0] ?? root),
    models: calls.length > 0 ? outermost(calls, parents) : innermost(inOrder.filter(isUnnamedCall), parents),
    tools: outermost(ofKind("tool"), parents, toolNameOf),
  };
}

/**
 * Returns whether a span describes a model call although it does not name its operation. Some telemetry has lost its
 * inner spans. In that case, the agent's span contains the conversation of its only model call.
 */
function seemsModelCall(span: ReadSpan): boolean {
  const hasReply = conversationOf(span).output.length > 0;
  if (kindOf(span) === "agent") return hasReply;
  return modelOf(span) !== null && (hasReply || (usageOf(span.attributes)?.outputTokens ?? 0) > 0);
}

/**
 * Drops calls inside another call with the same name: a framework and the client library that it uses might both report
 * the same call of a model, and the client and the server the same call of an MCP tool.
 */
function outermost(
  calls: readonly ReadSpan[],
  parents: Parents,
  nameOf: (attributes: ReadSpan["attributes"]) => string | undefined = () => undefined,
): readonly ReadSpan[] {
  const names = new Map(calls.map(({ spanId, attributes }) => [spanId, nameOf(attributes)]));
  return calls.filter((call) => {
    for (const id of ancestorsOf(call, parents)) {
      if (names.has(id) && names.get(id) === names.get(call.spanId)) return false;
    }
    return true;
  });
}

/** Drops spans around others, such as an agent's span that repeats the last reply of its model. */
function innermost(models: readonly ReadSpan[], parents: Parents): readonly ReadSpan[] {
  const outer = new Set<string>();
  for (const model of models) {
    for (const id of ancestorsOf(model, parents)) {
      // The spans around that span are known, too.
      if (outer.has(id)) break;
      outer.add(id);
    }
  }
  return models.filter(({ spanId }) => !outer.has(spanId));
}

/** Yields the IDs of the spans around a span, the nearest first. */
function* ancestorsOf({ spanId }: ReadSpan, parents: Parents): Generator<string> {
  const visited = new Set([spanId]);
  for (let id = parents.get(spanId); id && !visited.has(id); id = parents.get(id)) {
    visited.add(id);
    yield id;
  }
}

function byStart(a: ReadSpan, b: ReadSpan): number {
  return a.startTimeUnixNano < b.startTimeUnixNano ? -1 : Number(a.startTimeUnixNano > b.startTimeUnixNano);
}

/**
 * Returns a task trace if the root contains a task in the form that art-e writes. Otherwise returns a chat without a
 * gold answer.
 */
function toTrace(spans: TraceSpans): ImportedTrace {
  const { attributes } = spans.root;
  const calls = spans.models.map(conversationOf);
  const fields = fieldsOf(spans, calls);
  const runId = textOf(attributes, "art_e.run.id");
  const question = jsonOf(attributes, "art_e.task", questionSchema);
  const suiteTask = jsonOf(attributes, "art_e.task", suiteTaskFactsSchema);
  const grade = jsonOf(attributes, "art_e.grade", gradeSchema);
  if (runId !== undefined) {
    const epoch = Math.max(1, countOf(attributes, "art_e.epoch") ?? 1);
    const judge = jsonOf(attributes, "art_e.judge", judgmentSchema) ?? null;
    const ofRun = { ...fields, runId, epoch, judge };
    if (question !== undefined) return { kind: "question", ...ofRun, taskId: question.id, task: question };
    if (suiteTask !== undefined && grade !== undefined) {
      return { kind: "suite", ...ofRun, taskId: suiteTask.id, task: suiteTask, grade };
    }
  }
  const conversation = (calls[0]?.input ?? []).filter(({ role }) => role !== "system");
  const questionIndex = conversation.findLastIndex(({ role }) => role === "user");
  return {
    kind: "chat",
    ...fields,
    agentVersion: countOf(attributes, "art_e.agent_version") ?? 0,
    question: questionOf(spans, conversation[questionIndex]),
    inbox: textOf(attributes, "art_e.inbox") ?? null,
    queryDate: textOf(attributes, "art_e.query_date") ?? null,
    historyLength: Math.min(
      countOf(attributes, "art_e.history_length") ?? Math.max(0, questionIndex),
      fields.messages.length,
    ),
  };
}

/** A root might contain the request as JSON, so it takes precedence over the model's input only if it is plain text. */
function questionOf({ root, agent }: TraceSpans, question: Message | undefined): string {
  const ofAgent = conversationOf(agent).input.findLast(({ role }) => role === "user");
  return plainText([root, agent], "input.value") ?? question?.content ?? ofAgent?.content ?? "";
}

/** Returns the first text of an attribute that is neither blank nor JSON. */
function plainText(spans: readonly ReadSpan[], key: string): string | undefined {
  return spans
    .map(({ attributes }) => textOf(attributes, key) ?? "")
    .find((text) => text.trim() !== "" && typeof jsonOrText(text) !== "object");
}

function fieldsOf(
  spans: TraceSpans,
  calls: readonly Conversation[],
): Omit<Trace, "kind" | "runId" | "taskId" | "epoch" | "task" | "judge"> {
  const { root, agent, models, tools } = spans;
  const { attributes, traceId } = root;
  const answer = answerOf(spans, calls);
  const turns = models.map((span, i) => toTurn(span, calls[i]?.output ?? [])).filter((turn) => turn !== null);
  const messages = messagesOf(spans, calls);
  const turnStarts = models.map(({ startTimeUnixNano }) => startTimeUnixNano);
  const isOwn = attributes.has("art_e.trace.id");
  const written = tools.map((span) => toToolCallRecord(span, turnStarts));
  const records = isOwn ? written : asConversed(written, callsIn(messages, calls));
  const uuid = traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const agentName = textOf(agent.attributes, "gen_ai.agent.name", "agent.name", "ai.telemetry.functionId");
  return {
    traceId: textOf(attributes, "art_e.trace.id") ?? `trace_${uuid}`,
    sessionId: sessionOf(spans) ?? `session_${uuid}`,
    agentId: agentName || root.name || "agent",
    model: textOf(attributes, "art_e.model") ?? modelOf(models[0] ?? agent) ?? modelOf(root) ?? "unknown",
    startedAt: isoTime(root.startTimeUnixNano),
    endedAt: isoTime(root.endTimeUnixNano),
    durationMs: durationMs(root),
    ending: endingOf(spans, answer),
    error: errorOf(spans),
    messages,
    toolCalls: isOwn ? records : [...records, ...unrecordedCalls(messages, records, turns)],
    turns,
    maxTurns: countOf(attributes, "art_e.max_turns") ?? turns.length,
    answer,
    sources: [...textsOf(attributes, "art_e.sources")],
    scores: scoresOf(root),
  };
}

/** Returns the session of the outermost span that has one. */
function sessionOf({ root, agent, models }: TraceSpans): string | undefined {
  return [root, agent, ...models]
    .map(({ attributes }) => textOf(attributes, "session.id", "gen_ai.conversation.id"))
    .find((id) => id !== undefined);
}

/** The answer of the root or the agent in plain text, otherwise the text of the last reply. */
function answerOf({ root, agent }: TraceSpans, calls: readonly Conversation[]): string | null {
  if (root.attributes.has("art_e.trace.id")) return textOf(root.attributes, "output.value") ?? null;
  const said = (messages: readonly Message[]) => {
    const last = messages.findLast(({ role }) => role === "assistant");
    return last?.role === "assistant" && last.toolCalls.length === 0 && last.content !== "" ? last.content : undefined;
  };
  const ofAgent = said(conversationOf(agent).output);
  const ofModel = said(calls.at(-1)?.output ?? []);
  // An agent's output can be its whole state as JSON.
  const isState = ofAgent !== undefined && typeof jsonOrText(ofAgent) === "object";
  return plainText([root, agent], "output.value") ?? (isState ? (ofModel ?? ofAgent) : (ofAgent ?? ofModel)) ?? null;
}

function endingOf({ root, models }: TraceSpans, answer: string | null): Ending {
  const ending = z.enum(ENDINGS).safeParse(textOf(root.attributes, "art_e.ending"));
  if (ending.success) return ending.data;
  if (isError(root)) return "model_error";
  if (answer !== null) return "answered";
  return models.at(-1) !== undefined && isError(models.at(-1) as ReadSpan) ? "model_error" : "out_of_turns";
}

function errorOf({ root, models }: TraceSpans): string | null {
  const ending = textOf(root.attributes, "art_e.ending");
  // The conventions require an error description, so art-e writes the ending if a failed trace does not have an error.
  if (isError(root)) return root.status?.message === ending ? null : messageOf(root) || "failed";
  const last = models.at(-1);
  return ending === undefined && last !== undefined && isError(last) ? messageOf(last) || "failed" : null;
}

/** Returns the error of a failed span. Some writers only record the exception, as an event. */
function messageOf({ status, events }: ReadSpan): string {
  const exception = events.findLast(({ name }) => name === "exception");
  return status?.message || ((exception && textOf(exception.attributes, "exception.message")) ?? "");
}

/**
 * Returns the entire conversation: the messages that the last model call received, its reply, and the messages after
 * it.
 */
function messagesOf(spans: TraceSpans, calls: readonly Conversation[]): Message[] {
  const { root, agent, tools } = spans;
  const later = jsonOf(root.attributes, "art_e.later_messages", z.array(messageSchema));
  if (later !== undefined && calls.length === 0) return later;
  const last = calls.findLast(({ input }) => input.length > 0);
  const replied = calls.at(-1)?.output ?? [];
  const { input, output } = last ?? { input: conversationOf(agent).input, output: replied };
  const conversation = withSystem(
    [...input, ...(output.length > 0 ? output : last === calls.at(-1) ? [] : replied)],
    spans,
  );
  const whole = [...conversation, ...(later ?? resultsAfter(conversation, tools))];
  const names = new Map([
    ...whole.flatMap((message) =>
      message.role === "assistant" ? message.toolCalls.map(({ id, name }) => [id, name] as const) : [],
    ),
    ...tools.map(({ attributes }) => [callIdOf(attributes), toolNameOf(attributes) ?? ""] as const),
  ]);
  const failed = new Set(tools.filter(isError).map(({ attributes }) => callIdOf(attributes)));
  return whole.map((message) => {
    if (message.role !== "tool") return message;
    const { toolCallId, name } = message;
    return {
      ...message,
      name: name || (names.get(toolCallId) ?? ""),
      isError: message.isError || failed.has(toolCallId),
    };
  });
}

/** Some writers put the system prompt only on the agent's span. */
function withSystem(messages: readonly Message[], { root, agent }: TraceSpans): readonly Message[] {
  if (messages.length === 0 || messages[0]?.role === "system") return messages;
  const system = [agent, root].flatMap((span) => conversationOf(span).input.filter(({ role }) => role === "system"));
  return [...system.slice(0, 1), ...messages];
}

/** Results of the last reply's calls. No later model call received them, so only the tool spans contain them. */
function resultsAfter(messages: readonly Message[], tools: readonly ReadSpan[]): Message[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [];
  const rest = [...tools];
  return last.toolCalls.flatMap((call): Message[] => {
    const at = rest.findLastIndex((span) => isSpanOf(span, call));
    const span = at === -1 ? undefined : rest.splice(at, 1)[0];
    if (span === undefined) return [];
    const { result } = toolCallOf(span);
    const failed = isError(span);
    const content = failed ? messageOf(span) : typeof result === "string" ? result : JSON.stringify(result);
    return [{ role: "tool", toolCallId: call.id, name: call.name, content, isError: failed }];
  });
}

function isSpanOf(span: ReadSpan, call: ToolCall): boolean {
  const id = callIdOf(span.attributes);
  return id === "" ? (toolNameOf(span.attributes) ?? span.name) === call.name : id === call.id;
}

/**
 * Takes the arguments and results of calls from the conversations, if they contain the call. Writers omit them from
 * tool spans, put them into events, or wrap them in their own objects. Many tool spans do not have a call id either, so
 * the name decides. The last call that fits counts, because earlier ones can be from earlier traces of a chat.
 */
function asConversed(records: readonly ToolCallRecord[], calls: readonly CallStep[]): ToolCallRecord[] {
  const free = [...calls];
  const recordIds = new Set(records.map(({ id }) => id));
  const conversed = [...records].reverse().map((record) => {
    const at = free.findLastIndex(({ call }) =>
      record.id === "" ? call.name === record.name && !recordIds.has(call.id) : call.id === record.id,
    );
    const [step] = at === -1 ? [] : free.splice(at, 1);
    if (step === undefined) return record;
    const { call, result } = step;
    return {
      ...record,
      id: call.id,
      ...(call.invalid === undefined ? { arguments: call.arguments } : {}),
      ...(result === null || record.error !== null ? {} : outcomeOf(result)),
    };
  });
  return conversed.reverse();
}

/**
 * Returns the calls in the conversations of all model calls, in the order of the main conversation. The calls of
 * other agents come first. A later model call also received the results.
 */
function callsIn(messages: readonly Message[], models: readonly Conversation[]): readonly CallStep[] {
  const stepsIn = (conversation: readonly Message[]) =>
    stepsOf({ messages: [...conversation], toolCalls: [], turns: [] }).flatMap(({ calls }) => calls);
  const main = stepsIn(messages);
  const known = new Set(["", ...main.map(({ call }) => call.id)]);
  const others = [...models].reverse().flatMap(({ input, output }) => {
    const unknown = stepsIn([...input, ...output]).filter(({ call }) => !known.has(call.id));
    for (const { call } of unknown) known.add(call.id);
    return unknown;
  });
  return [...others, ...main.filter(({ call }) => call.id !== "")];
}

/** Returns the outcome of a call, as the model received it. */
function outcomeOf({ content, isError: failed }: ToolMessage): Pick<ToolCallRecord, "result" | "error" | "errorKind"> {
  return failed
    ? { result: null, error: content, errorKind: "failed" }
    : { result: jsonOrText(content), error: null, errorKind: null };
}

/** Calls that have a result in the conversation but no span. */
function unrecordedCalls(
  messages: readonly Message[],
  records: readonly ToolCallRecord[],
  turns: readonly Turn[],
): ToolCallRecord[] {
  return stepsOf({ messages: [...messages], toolCalls: [...records], turns: [...turns] }).flatMap(({ calls, turn }) =>
    calls.flatMap(({ call, record, result }): ToolCallRecord[] => {
      if (record !== null || result === null || turn === null) return [];
      return [
        {
          id: call.id,
          name: call.name,
          arguments: call.arguments,
          ...outcomeOf(result),
          turn: turns.indexOf(turn),
          startedAt: turn.startedAt,
          durationMs: 0,
        },
      ];
    }),
  );
}

function scoresOf({ events }: ReadSpan): Trace["scores"] {
  const scores = events.flatMap(({ name, attributes }) => {
    const scorer = textOf(attributes, "gen_ai.evaluation.name");
    const value = numberOf(attributes, "gen_ai.evaluation.score.value");
    if (name !== "gen_ai.evaluation.result" || scorer === undefined || value === undefined) return [];
    const explanation = textOf(attributes, "gen_ai.evaluation.explanation");
    return [[scorer, { value, ...presentProperties({ explanation }) }] as const];
  });
  return Object.fromEntries(scores);
}

/** Converts a model call to a turn. Returns null for a failed call that is not a turn in the original trace. */
function toTurn(span: ReadSpan, output: readonly Message[]): Turn | null {
  const { attributes } = span;
  if (attributes.get("art_e.has_no_turn") === true) return null;
  const waitedMs = numberOf(attributes, "art_e.waited_ms");
  const parameters = jsonOf(attributes, "art_e.sent", sentParametersSchema);
  const model = responseModelOf(attributes);
  const responseId = responseIdOf(attributes);
  const reply = output.findLast(({ role }) => role === "assistant");
  const { finishReason, raw } = finishReasonOf(attributes, reply?.role === "assistant" && reply.toolCalls.length > 0);
  return {
    startedAt: isoTime(span.startTimeUnixNano, waitedMs),
    ...presentProperties({ model, responseId }),
    latencyMs: durationMs(span),
    finishReason: isError(span) ? "other" : finishReason,
    rawFinishReason: textOf(attributes, "error.type") ?? raw,
    usage: usageOf(attributes),
    costUsd: costOf(attributes),
    retries: jsonOf(attributes, "art_e.retries", z.array(retrySchema)) ?? [],
    ...presentProperties({ sent: parameters }),
    ...(waitedMs === undefined || waitedMs < 0 ? {} : { waitedMs }),
    cached: attributes.get("art_e.cached") === true,
  };
}

const { errorKind: errorKindSchema } = toolCallRecordSchema.shape;

/** `turnStarts` are the start times of the model calls, which determine the turn of a call without one. */
function toToolCallRecord(span: ReadSpan, turnStarts: readonly bigint[]): ToolCallRecord {
  const { attributes, startTimeUnixNano } = span;
  const failed = isError(span);
  const before = turnStarts.filter((start) => start <= startTimeUnixNano).length;
  const { id, name, arguments: args, result } = toolCallOf(span);
  return {
    id,
    name,
    arguments: args,
    result: failed ? null : result,
    error: failed ? messageOf(span) : null,
    errorKind: failed ? (errorKindSchema.safeParse(textOf(attributes, "error.type")).data ?? "failed") : null,
    turn: countOf(attributes, "art_e.turn") ?? Math.max(0, before - 1),
    startedAt: isoTime(startTimeUnixNano),
    durationMs: durationMs(span),
  };
}

const NANO_PER_MS = 1_000_000;

/** Converts nanoseconds to an ISO 8601 time with milliseconds, like art-e's own times. */
function isoTime(nano: bigint, beforeMs = 0): string {
  const before = BigInt(Math.round(Math.min(beforeMs * NANO_PER_MS, Number.MAX_SAFE_INTEGER)));
  const ms = (nano - before) / BigInt(NANO_PER_MS);
  return new Date(Math.min(Math.max(0, Number(ms)), LAST_DATE_MS)).toISOString();
}

/** The latest time that a Date can represent, in milliseconds since 1970. */
const LAST_DATE_MS = 8.64e15;

function durationMs({ startTimeUnixNano, endTimeUnixNano }: ReadSpan): number {
  return Math.max(0, Number(endTimeUnixNano - startTimeUnixNano) / NANO_PER_MS);
}

function isError({ status }: ReadSpan): boolean {
  return status?.code === 2;
}
