// What an export format receives: a trace, its tools and its context, with the conversions that formats share.
import type { Message, ToolCall, ToolSpec } from "../../models/model.js";
import { objectSchema } from "../../models/tool-schemas.js";
import { isJsonObject, type JsonObject } from "../../platform/json.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import { NamedCounts } from "../../statistics/intervals.js";
import { questionOf, type TaskId } from "../../tasks/question.js";
import type { RunRow } from "../../traces/runs-store.js";
import type { ChatTrace, Trace } from "../../traces/trace.js";

/** A trace of a run's task or of a chat. */
export type ExportedTrace = Trace | ChatTrace;

/** Data that a format may need in addition to the traces. */
export interface ExportContext {
  /** The run, or null if the traces are chats. */
  readonly run: RunRow | null;
  readonly options: ExportOptions;
  readonly report: ExportReport;
  /** Tools that the model received, or an empty list if they are unknown, as for external agents. */
  toolsOf(trace: ExportedTrace): readonly ToolSpec[];
}

/** Flags that only some formats use. */
export interface ExportOptions {
  /** Dialect of the `chat` format: arguments as text (openai) or as objects (hf). */
  readonly dialect: "openai" | "hf";
  /** Scorer whose score is the reward in the `art` format. */
  readonly reward: string;
  /** If false, `otlp` leaves out messages, arguments, results, answers and explanations. */
  readonly content: boolean;
}

/** Traces as lines, without line ends. */
export interface LineFormat {
  readonly lines: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<string>;
}

/** Traces as a binary file in several pieces. `traces` can be iterated more than once. */
export interface BinaryFormat {
  readonly bytes: (traces: Iterable<ExportedTrace>, context: ExportContext) => Iterable<Uint8Array>;
}

export type TraceFormat = LineFormat | BinaryFormat;

/** The gold answer, or an empty string if there is none, for example for a task graded by its output files. */
export function goldOf(trace: ExportedTrace): string {
  return trace.kind === "chat" ? "" : (questionOf(trace)?.answer ?? "");
}

/** A chat does not belong to a task, so each chat is treated as a separate task. */
export function taskIdOf(trace: ExportedTrace): TaskId {
  return trace.kind === "chat" ? trace.traceId : trace.taskId;
}

export function epochOf(trace: ExportedTrace): number {
  return trace.kind === "chat" ? 1 : trace.epoch;
}

/** Returns the version of the agent, or null if it is unknown. External agents have no version. */
export function agentVersionOf(trace: ExportedTrace, run: RunRow | null): number | null {
  if (trace.kind === "chat") return trace.agentVersion;
  return run === null || run.settings.kind === "external" ? null : (run.settings.agentVersion ?? null);
}

/** Tool names that providers accept. */
const NAME = /^[\w-]{1,64}$/;

/** The tools that the model received. If these are unknown, the tools that it called, with unrestricted arguments. */
export function knownTools(trace: ExportedTrace, context: ExportContext): readonly ToolSpec[] {
  const tools = context.toolsOf(trace);
  if (tools.length > 0) return tools;
  const calls = trace.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const names = new Set(calls.map(({ name }) => name).filter((name) => NAME.test(name)));
  return [...names].map((name) => ({ name, description: "", parameters: {} }));
}

/**
 * Converts a message to OpenAI's chat completion format, without provider-specific state. `form` is the form in which
 * arguments are written.
 */
export function openaiMessage(message: Message, form: "text" | "object"): JsonObject {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  if (message.toolCalls.length === 0) return { role: "assistant", content: message.content };
  return {
    role: "assistant",
    content: message.content === "" ? null : message.content,
    tool_calls: message.toolCalls.map((call) => {
      const args = argumentsObject(call);
      const argumentsField = form === "text" ? toWellFormedJson(args) : args;
      return { id: call.id, type: "function", function: { name: call.name, arguments: argumentsField } };
    }),
  };
}

export function openaiTool({ name, description, parameters }: ToolSpec): JsonObject {
  return { type: "function", function: { name, description, parameters: objectSchema(parameters) } };
}

/** Returns {} for arguments that were not valid JSON, because chat templates parse the text form too. */
export function argumentsObject({ arguments: value }: ToolCall): JsonObject {
  return isJsonObject(value) ? value : value === null ? {} : { value };
}

/** Creates a format that converts each trace independently of the others. */
export function perTrace(linesOf: (trace: ExportedTrace, context: ExportContext) => Iterable<string>): LineFormat {
  return {
    *lines(traces, context) {
      for (const trace of traces) yield* linesOf(trace, context);
    },
  };
}

/** Notes about an export, and the number of traces left out for each reason. */
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
