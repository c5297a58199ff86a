import type { Message, ToolCall, ToolSpec } from "../models/model.js";
import { objectSchema } from "../models/tool-schemas.js";
import { isJsonObject, type JsonObject } from "../platform/json.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { NamedCounts } from "../statistics/intervals.js";
import { questionOf, type TaskId } from "../tasks/question.js";
import type { RunRow } from "../traces/runs-store.js";
import { type ChatTrace, isChatTrace, type Trace } from "../traces/trace.js";

/** The gold answer; empty where there is none, as of tasks that are graded by what is left behind. */
export function goldOf(trace: ExportedTrace): string {
  return isChatTrace(trace) ? "" : (questionOf(trace.task)?.answer ?? "");
}

/** Chats have no task: each counts as one of its own. */
export function taskIdOf(trace: ExportedTrace): TaskId {
  return isChatTrace(trace) ? trace.traceId : trace.taskId;
}

export function epochOf(trace: ExportedTrace): number {
  return isChatTrace(trace) ? 1 : trace.epoch;
}

/** What providers take for a name. */
const NAME = /^[\w-]{1,64}$/;

/** The tools that the model was told of; where that is not known, those it called, with any arguments. */
export function knownTools(trace: ExportedTrace, context: ExportContext): readonly ToolSpec[] {
  const tools = context.toolsOf(trace);
  if (tools.length > 0) return tools;
  const called = trace.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const names = new Set(called.map(({ name }) => name).filter((name) => NAME.test(name)));
  return [...names].map((name) => ({ name, description: "", parameters: {} }));
}

/** A message of a chat completion, with arguments as text or objects, without what only its provider reads. */
export function openaiMessage(message: Message, form: "text" | "object"): JsonObject {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  if (message.toolCalls.length === 0) return { role: "assistant", content: message.content };
  return {
    role: "assistant",
    content: message.content === "" ? null : message.content,
    tool_calls: message.toolCalls.map((call) => {
      const given = argumentsObject(call);
      const written = form === "text" ? toWellFormedJson(given) : given;
      return { id: call.id, type: "function", function: { name: call.name, arguments: written } };
    }),
  };
}

export function openaiTool({ name, description, parameters }: ToolSpec): JsonObject {
  return { type: "function", function: { name, description, parameters: objectSchema(parameters) } };
}

/** Those that were no JSON are `{}`, also in a text, which templates parse. */
export function argumentsObject({ arguments: value }: ToolCall): JsonObject {
  return isJsonObject(value) ? value : value === null ? {} : { value };
}

/** Of a run's task, or of a chat. */
export type ExportedTrace = Trace | ChatTrace;

/** What a format may need beside the traces. */
export interface ExportContext {
  /** Null: the traces are of chats. */
  readonly run: RunRow | null;
  readonly options: ExportOptions;
  readonly report: ExportReport;
  /** What the model was told of its tools; empty where that is not known, as of agents that live elsewhere. */
  toolsOf(trace: ExportedTrace): readonly ToolSpec[];
}

/** Flags that only some of the formats use. */
export interface ExportOptions {
  /** How `chat` writes arguments. */
  readonly dialect: "openai" | "hf";
  /** The scorer that gives `art` its reward. */
  readonly reward: string;
  /** False: `otlp` leaves out what was said, called, answered and explained. */
  readonly content: boolean;
}

/** Traces as lines, given without line ends. */
export interface LineFormat {
  readonly lines: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<string>;
}

/** Traces as one text, given in pieces. `traces` may be read more than once. */
export interface TextFormat {
  readonly pieces: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<string>;
}

/** Traces as a file that is no text. `traces` may be read more than once. */
export interface BinaryFormat {
  readonly bytes: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<Uint8Array>;
}

export type TraceFormat = LineFormat | TextFormat | BinaryFormat;

/** A format of which each trace gives its own lines. */
export function perTrace(linesOf: (trace: ExportedTrace, context: ExportContext) => Iterable<string>): LineFormat {
  return {
    *lines(traces, context) {
      for (const trace of traces) yield* linesOf(trace, context);
    },
  };
}

/** What an export says beside its file: what it wrote, what it left out and why. */
export class ExportReport {
  private readonly reasons = new NamedCounts();
  private readonly noted: string[] = [];

  /** Counts a trace that is not in the file. */
  leaveOut(reason: string): void {
    this.reasons.add(reason);
  }

  note(line: string): void {
    this.noted.push(line);
  }

  get leftOut(): Readonly<Record<string, number>> {
    return this.reasons.counts;
  }

  get notes(): readonly string[] {
    return this.noted;
  }
}
