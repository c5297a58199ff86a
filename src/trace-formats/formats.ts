// The table of export formats, and the formats that are one line of JSON.
import { extname } from "node:path";
import { measureFeatures } from "../evals/features.js";
import type { Message } from "../models/model.js";
import { reasoningText } from "../models/provider-reasoning.js";
import type { JsonObject, JsonValue } from "../platform/json.js";
import { compact } from "../platform/optional-values.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import type { ToolCallRecord, Turn } from "../traces/trace.js";
import { stepsOf, type Step as TraceStep } from "../traces/trace-steps.js";
import { artFormat } from "./art/art-trajectories.js";
import { atifTrajectory } from "./atif/atif-write.js";
import {
  type ExportContext,
  type ExportedTrace,
  knownTools,
  type LineFormat,
  openaiMessage,
  openaiTool,
  perTrace,
  type TraceFormat,
} from "./export-traces/exported-trace.js";
import { inspectFormat } from "./inspect/inspect-write-log.js";
import { otlpFormat } from "./otlp/otlp-write.js";

/** A span in iofold's trace format. */
interface Step {
  readonly step_id: string;
  readonly trace_id: string;
  readonly timestamp: string;
  readonly messages_added: readonly { readonly role: string; readonly content: string }[];
  readonly tool_calls: readonly {
    readonly tool_name: string;
    readonly arguments: JsonValue;
    readonly result: JsonValue;
    readonly error: string | null;
  }[];
  readonly input: JsonValue;
  readonly output: JsonValue;
  readonly metadata: {
    readonly span_id: string;
    readonly parent_span_id: string | null;
    readonly span_name: string;
    readonly latency_ms: number;
    readonly tokens_input: number | null;
    readonly tokens_output: number | null;
  };
  readonly error: string | null;
}

/** OpenAI rejects longer examples, and files with fewer examples. */
const MAX_LINE_TOKENS = 65_536;

const MIN_LINES = 10;

const CHARS_PER_TOKEN = 4;

/**
 * Conversations for supervised fine-tuning, one per line. A trace qualifies if it ends with an answer and every call
 * has a result. `openai` writes arguments as text and gives failed replies the weight 0. `hf` writes arguments as
 * objects and does not support weights.
 */
const chatFormat: LineFormat = {
  *lines(traces, context) {
    const { report, options } = context;
    let lines = 0;
    let tokens = 0;
    for (const trace of traces) {
      const steps = stepsOf(trace);
      const obstacle = obstacleOf(trace, steps, context);
      const line = obstacle === null ? toWellFormedJson(conversation(trace, steps, context)) : "";
      const size = tokensOf(trace, line);
      if (obstacle !== null) report.leaveOut(obstacle);
      else if (size > MAX_LINE_TOKENS) report.leaveOut(`over ${MAX_LINE_TOKENS.toLocaleString("en")} tokens`);
      else {
        lines++;
        tokens += size;
        yield line;
      }
    }
    report.note(`${lines.toLocaleString("en")} lines of about ${tokens.toLocaleString("en")} tokens.`);
    if (options.dialect === "openai" && lines < MIN_LINES) {
      report.note(`Trainers for this format require at least ${MIN_LINES} lines.`);
    }
  },
};

/** Formats by name. To add one, create a file or folder in this folder and add a line here. */
export const FORMATS = {
  jsonl: perTrace(jsonLine),
  iofold: perTrace(iofoldSteps),
  inspect: inspectFormat,
  otlp: otlpFormat,
  chat: chatFormat,
  atif: perTrace(atifTrajectory),
  art: artFormat,
} as const satisfies Record<string, TraceFormat>;

export type Format = keyof typeof FORMATS;

/** Returns the endings of the files of a format, the usual one first. All are JSON Lines, except for Inspect's log. */
export function endingsOfFormat(format: Format): readonly string[] {
  const usual = format === "inspect" ? [".eval"] : [".jsonl", ".ndjson"];
  return [...new Set([...usual, `.${format}`])];
}

/** Returns the format of traces in an output file, if it is not given. */
export function formatOfFile(path: string | undefined): Format {
  const ending = extname(path ?? "").toLowerCase();
  const formats = Object.keys(FORMATS) as Format[];
  return formats.find((format) => endingsOfFormat(format).includes(ending)) ?? "jsonl";
}

/** Writes the complete trace on one line: enough to replay it, score it again and write an eval from it. */
export function jsonLine(trace: ExportedTrace): string[] {
  return [toWellFormedJson({ ...trace, features: measureFeatures(trace) })];
}

/**
 * Writes one line per step, which is a model call or a tool call. The tool calls of a turn follow its model call and
 * have its span as their parent. The first model call also contains the system prompt and the question. A task that
 * failed before any reply has one step with its error.
 */
export function iofoldSteps(trace: ExportedTrace): string[] {
  // Tool results are left out, because they belong to the tool steps.
  const byTurn = stepsOf(trace)
    .map(({ before, reply }) => compact([...before, reply]))
    .filter((messages) => messages.length > 0);
  const count = Math.max(trace.turns.length, byTurn.length, 1);
  const steps = Array.from({ length: count }, (_, turn) => [
    modelStep(trace, turn, byTurn[turn] ?? [], turn === count - 1),
    ...trace.toolCalls.filter((call) => call.turn === turn).map((call, i) => toolStep(trace, call, i)),
  ]);
  return steps.flat().map((step) => toWellFormedJson(step));
}

function spanOf(trace: ExportedTrace, turn: number): string {
  return `${trace.traceId}_turn${turn + 1}`;
}

function modelStep(trace: ExportedTrace, turn: number, added: readonly Message[], isLast: boolean): Step {
  const model: Turn | undefined = trace.turns[turn];
  const reply = added.find((message) => message.role === "assistant");
  const calls = reply?.role === "assistant" ? reply.toolCalls : [];
  return {
    step_id: spanOf(trace, turn),
    trace_id: trace.traceId,
    timestamp: model?.startedAt ?? trace.startedAt,
    messages_added: added.map(({ role, content }) => ({ role, content })),
    tool_calls: calls.map((call) => {
      const record = trace.toolCalls.find((each) => each.turn === turn && each.id === call.id);
      return {
        tool_name: call.name,
        arguments: call.arguments,
        result: record?.result ?? null,
        error: record === undefined ? "not called" : record.error,
      };
    }),
    input: added.filter((message) => message.role !== "assistant").at(-1)?.content ?? null,
    output: reply?.content ?? null,
    metadata: {
      span_id: spanOf(trace, turn),
      parent_span_id: null,
      span_name: trace.model,
      latency_ms: model?.latencyMs ?? 0,
      tokens_input: model?.usage?.inputTokens ?? null,
      tokens_output: model?.usage?.outputTokens ?? null,
    },
    error: isLast ? trace.error : null,
  };
}

function toolStep(trace: ExportedTrace, call: ToolCallRecord, index: number): Step {
  const content = call.error ?? toWellFormedJson(call.result);
  const span = `${spanOf(trace, call.turn)}_tool${index + 1}`;
  return {
    step_id: span,
    trace_id: trace.traceId,
    timestamp: call.startedAt,
    messages_added: [{ role: "tool", content }],
    tool_calls: [{ tool_name: call.name, arguments: call.arguments, result: call.result, error: call.error }],
    input: call.arguments,
    output: call.result,
    metadata: {
      span_id: span,
      parent_span_id: spanOf(trace, call.turn),
      span_name: call.name,
      latency_ms: call.durationMs,
      tokens_input: null,
      tokens_output: null,
    },
    error: call.error,
  };
}

/** Returns the reason why a trace cannot be used as an example, or null if it can. */
function obstacleOf(trace: ExportedTrace, steps: readonly TraceStep[], context: ExportContext): string | null {
  if (trace.answer === null || trace.answer.trim() === "") return "no answer";
  if (steps.some(({ otherResults }) => otherResults.length > 0)) return "a tool result without a call";
  const calls = steps.flatMap((step) => step.calls);
  if (calls.some(({ result }) => result === null)) return "a call without a result";
  const tools = new Set(knownTools(trace, context).map(({ name }) => name));
  if (calls.some(({ call }) => !tools.has(call.name))) return "a call to an unknown tool";
  const isMalformed = calls.some(({ call }) => call.invalid !== undefined);
  return isMalformed && context.options.dialect === "hf" ? "a call with invalid JSON" : null;
}

function conversation(trace: ExportedTrace, steps: readonly TraceStep[], context: ExportContext): JsonObject {
  const { dialect } = context.options;
  const badReplies = new Set<Message>(steps.filter(wentWrong).flatMap(({ reply }) => reply ?? []));
  const own = new Set<Message>(steps.flatMap(({ reply }) => reply ?? []));
  const messages = trace.messages.map((message) => {
    // OpenAI's fine-tuning does not accept reasoning.
    const reasoning = dialect === "hf" ? reasoningText(message) : "";
    const converted = {
      ...openaiMessage(message, dialect === "openai" ? "text" : "object"),
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    };
    // Replies from earlier chats are exported as separate examples.
    const isUnweighted = message.role === "assistant" && (badReplies.has(message) || !own.has(message));
    return dialect === "openai" && isUnweighted ? { ...converted, weight: 0 } : converted;
  });
  const tools = knownTools(trace, context).map(openaiTool);
  const settings = context.run?.settings;
  const isOneCallPerTurn = settings?.kind === "own" && settings.toolCalls === "first";
  return {
    messages: trace.messages.at(-1)?.role === "assistant" ? messages : [...messages, closing(trace, dialect)],
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 || dialect === "hf" ? {} : { parallel_tool_calls: !isOneCallPerTurn }),
  };
}

/** Repeats an answer that was given through a tool, because trainers expect the assistant's message last. */
function closing({ answer }: ExportedTrace, dialect: string): JsonObject {
  return { role: "assistant", content: answer, ...(dialect === "openai" ? { weight: 0 } : {}) };
}

/** Whether the reply was truncated or empty, or contained an invalid or failed tool call. */
function wentWrong({ reply, turn, calls }: TraceStep): boolean {
  if (reply === null) return false;
  if (turn?.finishReason === "length" || (reply.content.trim() === "" && calls.length === 0)) return true;
  return calls.some(({ call, result }) => call.invalid !== undefined || result?.isError === true);
}

/**
 * Tokens of the prompt, the tools and the reply, as counted by the provider for the last reply, otherwise an estimate
 * based on the length of the line.
 */
function tokensOf(trace: ExportedTrace, line: string): number {
  const usage = trace.turns.findLast((turn) => turn.usage !== null && turn.usage.inputTokens > 0)?.usage;
  return usage ? usage.inputTokens + usage.outputTokens : Math.ceil(line.length / CHARS_PER_TOKEN);
}

/** Formats of earlier checkouts, with their replacements. */
export const REMOVED_FORMATS = { "inspect-json": "inspect" } as const satisfies Record<string, Format>;
