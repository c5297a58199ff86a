import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../../domain/json.js";
import type { Turn } from "../../domain/runs/trace.js";
import { type CallStep, type Step, stepsOf } from "../../domain/runs/trace-steps.js";
import { objectSchema } from "../../models/providers/tool-schema.js";
import { knownTools } from "../tools-of-calls.js";
import type { ExportContext, ExportedTrace } from "../trace-format.js";
import { goldOf } from "../trace-parts.js";
import { toWellFormedJson } from "../well-formed-json.js";
import { replyIndexes, toolError } from "./inspect-messages.js";
import { modelOutput } from "./inspect-output.js";

/** Longer texts stand once in a sample's attachments: each model call repeats all that was said before. */
const MAX_INLINE = 1_000;

/** What happened, as Inspect's transcript shows it. `messages` are the trace's as ChatMessages. */
export function transcriptOf(
  trace: ExportedTrace,
  messages: readonly JsonObject[],
  scores: Readonly<Record<string, JsonObject>>,
  context: ExportContext,
): TranscriptWriter {
  const transcript = new TranscriptWriter(trace, messages, toolInfos(trace, context));
  const span = `${trace.traceId}_agent`;
  transcript.add("span_begin", trace.startedAt, { id: span, name: "agent", type: "solver", span_id: span });
  for (const step of stepsOf(trace)) transcript.addStep(step, span);
  transcript.add("span_end", trace.endedAt, { id: span, span_id: span });
  for (const [scorer, score] of Object.entries(scores)) {
    transcript.add("score", trace.endedAt, { score, target: goldOf(trace), intermediate: false, scorer });
  }
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

export class TranscriptWriter {
  readonly events: JsonObject[] = [];
  readonly attachments: Record<string, string> = {};
  private readonly inputs: readonly JsonObject[];
  private readonly replies: number[];
  private readonly started: number;

  constructor(
    private readonly trace: ExportedTrace,
    private readonly messages: readonly JsonObject[],
    private readonly tools: readonly JsonObject[],
  ) {
    this.inputs = messages.map((message) => ({ ...message, content: this.attach(String(message.content)) }));
    const first = "historyLength" in trace ? trace.historyLength : 0;
    this.replies = replyIndexes(trace.messages).filter((index) => index > first);
    this.started = Date.parse(trace.startedAt);
  }

  add(event: string, timestamp: string, fields: JsonObject): void {
    const working_start = this.secondsUntil(timestamp);
    const uuid = `${this.trace.traceId}_event${this.events.length}`;
    this.events.push({ event, uuid, timestamp, working_start, ...fields });
  }

  addStep({ reply, turn, calls }: Step, span: string): void {
    const index = reply === null ? -1 : (this.replies.shift() ?? -1);
    if (reply !== null || turn !== null) this.addModelCall(index, turn, span);
    for (const call of calls) if (call.record !== null) this.addToolCall(call, span);
  }

  /** `index` of the reply among the messages; -1: it failed. */
  private addModelCall(index: number, turn: Turn | null, span: string): void {
    const { trace, tools } = this;
    const timestamp = turn?.startedAt ?? trace.startedAt;
    const error = index === -1 && trace.error !== null ? { error: trace.error } : {};
    this.add("model", timestamp, {
      ...{ span_id: span, model: trace.model, input: this.inputs.slice(0, index === -1 ? undefined : index) },
      ...{ tools, tool_choice: toolChoice(turn, tools), config: configOf(turn), ...error },
      output: modelOutput(trace, this.messages[index], turn),
      ...(turn === null ? {} : timing(turn)),
    });
  }

  private addToolCall({ call, record, result }: CallStep, span: string): void {
    if (record === null) return;
    const { name, startedAt, durationMs, error } = record;
    const text =
      result?.content ?? (typeof record.result === "string" ? record.result : toWellFormedJson(record.result));
    this.add("tool", startedAt, {
      ...{ span_id: span, type: "function", id: call.id, function: name, arguments: argumentsOf(record.arguments) },
      result: error === null ? this.attach(text) : "",
      ...(error === null ? {} : { error: toolError(error, record), failed: true }),
      ...{ events: [], completed: after(startedAt, durationMs), working_time: durationMs / 1000 },
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

function argumentsOf(value: JsonValue): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function toolChoice(turn: Turn | null, tools: readonly JsonObject[]): string {
  if (tools.length === 0) return "none";
  return turn?.sent?.toolChoice === "required" ? "any" : "auto";
}

/** What was sent, and what of the settings was not. */
function configOf(turn: Turn | null): JsonObject {
  const { maxTokens, temperature = null } = turn?.sent ?? {};
  return {
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === null ? {} : { temperature }),
  };
}

/** The waiting before a call is no working time. */
function timing({ startedAt, waitedMs = 0, latencyMs, retries, sent }: Turn): JsonObject {
  const adjusted = sent?.adjusted?.map(({ sent, ...change }) => (sent === null ? change : { ...change, sent }));
  return {
    completed: after(startedAt, waitedMs + latencyMs),
    working_time: latencyMs / 1000,
    retries: retries.length,
    ...(waitedMs === 0 && adjusted === undefined
      ? {}
      : { metadata: { waited_ms: waitedMs, ...(adjusted === undefined ? {} : { adjusted }) } }),
  };
}

function after(timestamp: string, ms: number): string {
  const time = Date.parse(timestamp) + ms;
  return Number.isFinite(time) ? new Date(time).toISOString() : timestamp;
}
