import { z } from "zod";
import type { Completion, Message, ReplyDelta, TaskActivity, ToolCall } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import { parseJsonOrNull } from "../platform/json.js";
import type { Ending } from "../tasks/ending.js";
import type { Task, TaskId, TaskSet } from "../tasks/question.js";
import { isDontKnow } from "../text/abstention.js";
import type { ToolContext, ToolResult } from "../tools/tool.js";
import type { TaskRecord, ToolCallRecord, Turn } from "../traces/trace.js";

/** Port: tasks for agents, such as the ART-E questions or the tasks in a folder. */
export interface Suite<T extends Task = Task> {
  list(): Promise<TaskList<T>>;
  /** Prepares a task for an agent. The caller must close it. Throws if `signal` aborts. */
  open(task: Task, signal: AbortSignal): Promise<TaskOpening>;
  close(): Promise<void>;
}

export interface TaskList<T extends Task = Task> {
  readonly set: TaskSet;
  readonly tasks: readonly T[];
}

export type TaskOpening =
  | { readonly ok: true; readonly opened: OpenedTask }
  /** The task cannot be set up. Contains the reason and the task's record for the trace. */
  | {
      readonly ok: false;
      readonly ending: Extract<Ending, "not_started" | "not_runnable">;
      readonly reason: string;
      readonly record: TaskRecord;
    };

export interface OpenedTask {
  readonly instruction: string;
  readonly variables: TaskVariables;
  readonly access: TaskAccess;
  /** Values of account settings, which must never appear in a trace. */
  readonly secrets?: readonly string[];
  /** Grades the agent's work and returns the task's record for the trace. Throws if `signal` aborts. */
  grade(rollout: Rollout, signal: AbortSignal): Promise<TaskRecord>;
  close(): Promise<void>;
}

export type TaskAccess = Omit<ToolContext, "signal" | "workspace">;

/** Messages, calls and turns so far. The caller owns the transcript, so that it survives an error. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** Reason for the missing answer, if the agent itself ended without one. */
  readonly reason?: string;
  /** The conversation's ids on an external server. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

/** A task for an agent: a task of a run or of a training episode, or one message of a chat. */
export interface AgentTask {
  /** The task's id in its dataset, or null for a chat. */
  readonly id: TaskId | null;
  /** Number of this repeat of the task, starting at 1. */
  readonly epoch: number;
  readonly instruction: string;
  readonly variables: TaskVariables;
  readonly maxTurns: number;
  readonly context: ToolContext;
  /** Text to append to the agent's prompt. */
  readonly instructions?: string | null;
  /** Earlier messages of the conversation, without its system prompt. */
  readonly history?: readonly Message[];
  /** Receives each reply and tool result of the agent loop, which waits for it. An error ends the loop. */
  readonly onStep?: ((step: AgentStep) => Promise<void> | void) | undefined;
  /**
   * Receives the parts of each reply before `onStep` receives the whole reply, and makes the agent loop stream.
   * `onDelta` must not throw.
   */
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined;
  /** Receives the current activity, such as a model or tool call. `onActivity` must not throw. */
  readonly onActivity?: ((activity: TaskActivity) => void) | undefined;
}

export type AgentStep =
  | { readonly type: "reply"; readonly reply: Completion; readonly calls: readonly ToolCall[] }
  | { readonly type: "result"; readonly call: ToolCall; readonly result: CallResult };

/** The result of a tool call. A tool has a time limit in training episodes only. */
export type CallResult = ToolResult | { readonly ok: false; readonly error: string; readonly kind: "timeout" };

export function mailboxOf({ id, variables: { inbox_address, query_date } }: AgentTask) {
  if (inbox_address === undefined || query_date === undefined) throw new Error(`task ${id} does not have a mailbox`);
  return { inbox_address, query_date };
}

/**
 * Port: runs an agent. Fills the initially empty transcript. Throws a `ModelError` if the agent fails or cannot be
 * reached, and the signal's reason if the signal aborts.
 */
export interface AgentBackend {
  answer(task: AgentTask, transcript: Transcript): Promise<Rollout>;
}

/** An external agent's answer. */
export const answerSchema = z.object({
  answer: z.string(),
  sources: z
    .array(z.string())
    .nullish()
    .transform((sources) => sources ?? []),
});

/** Returns a refusal's reason for the trace, consisting of the provider's finish reason and the reply's text. */
export function refusalReason({ rawFinishReason, content }: Pick<Completion, "rawFinishReason" | "content">): string {
  return ["The model refused to answer", rawFinishReason, content.trim().slice(0, MAX_REASON_CHARS)]
    .filter((part) => part !== "")
    .join(": ");
}

const MAX_REASON_CHARS = 300;

/** Returns the text, or the answer and sources if it is bare or fenced JSON: `{"answer": "...", "sources": [...]}`. */
export function readAnswer(content: string): z.output<typeof answerSchema> {
  const text = content.trim();
  const [, fenced = text] = /^```(?:json)?[^\S\n]*\n([\s\S]*?)```$/.exec(text) ?? [];
  const read = answerSchema.safeParse(fenced.trim().startsWith("{") ? parseJsonOrNull(fenced) : null);
  return read.success ? { ...read.data, answer: read.data.answer.trim() } : { answer: text, sources: [] };
}

/**
 * Returns an external agent's rollout. An agent that ends without an answer counts as out of turns, which is not a
 * failure.
 */
export function rolloutOf(transcript: Transcript, answer: string, sources: readonly string[]): Rollout {
  if (answer === "") return { ...transcript, ending: "out_of_turns", answer: null, sources: [] };
  return { ...transcript, ending: endingOfAnswer(answer, sources), answer, sources };
}

export function endingOfAnswer(answer: string, sources: readonly string[]): Ending {
  return isDontKnow(answer) && sources.length === 0 ? "dont_know" : "answered";
}

/**
 * Variables that a prompt can use as `{{name}}`. Questions about mail have an inbox and a date. Suite tasks have a
 * snapshot and the home folder of their machine.
 */
const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools", "snapshot", "home"] as const;

type Name = (typeof PROMPT_VARIABLES)[number];

type OfAnyTask = Extract<Name, "max_turns" | "tools">;

type TaskVariables = Readonly<Partial<Record<Exclude<Name, OfAnyTask>, string>>>;

type PromptVariables = TaskVariables & Readonly<Record<OfAnyTask, string | number>>;

/** Replaces variables that this kind of task does not have. */
const NOT_GIVEN = "(none in this task)";

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer or multi-line text is not treated as a variable. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}` variables. Throws if a name is unknown. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name] ?? NOT_GIVEN);
    throw unknownVariable(name);
  });
}

/** Throws if the prompt contains an unknown variable. */
export function checkPrompt(template: string): void {
  renderPrompt(template, { max_turns: "", tools: "" });
}

export function variablesIn(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name))];
}

function isKnown(name: string): name is Name {
  return (PROMPT_VARIABLES as readonly string[]).includes(name);
}

function unknownVariable(name: string): UserError {
  return new UserError(
    "prompt_variable_unknown",
    `Unknown prompt variable {{${name}}}.`,
    `Available: ${PROMPT_VARIABLES.map((known) => `{{${known}}}`).join(", ")}.`,
  );
}
