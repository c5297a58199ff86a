import { z } from "zod";
import type { Completion, Message, TaskActivity } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import { parseJsonOrNull } from "../platform/json.js";
import type { Ending } from "../tasks/ending.js";
import type { Task, TaskId, TaskSet } from "../tasks/question.js";
import { isDontKnow } from "../text/abstention.js";
import type { ToolContext } from "../tools/tool.js";
import type { TaskRecord, ToolCallRecord, Turn } from "../traces/trace.js";

/** Port: tasks for agents, such as the questions of ART-E or those of a folder. */
export interface Suite<T extends Task = Task> {
  list(): Promise<TaskList<T>>;
  /** Gets a task ready for an agent. Close what was opened. Throws where `signal` aborts. */
  open(task: Task, signal: AbortSignal): Promise<TaskOpening>;
  close(): Promise<void>;
}

export interface TaskList<T extends Task = Task> {
  readonly set: TaskSet;
  readonly tasks: readonly T[];
}

export type TaskOpening =
  | { readonly ok: true; readonly opened: OpenedTask }
  /** It cannot be set up: why, and what its trace keeps of it. */
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
  /** What no trace may hold: the values of account settings. */
  readonly secrets?: readonly string[];
  /** Grades what the agent did. Gives what the trace keeps of the task. Throws where `signal` aborts. */
  grade(rollout: Rollout, signal: AbortSignal): Promise<TaskRecord>;
  close(): Promise<void>;
}

type TaskAccess = Omit<ToolContext, "signal" | "workspace">;

/** Messages, calls and turns so far; owned by the caller, so that it survives a throw. */
export interface Transcript {
  readonly messages: Message[];
  readonly toolCalls: ToolCallRecord[];
  readonly turns: Turn[];
}

export interface Rollout extends Transcript {
  readonly ending: Ending;
  readonly answer: string | null;
  readonly sources: readonly string[];
  /** Why there is no answer, if the agent itself ended without one. */
  readonly reason?: string;
  /** The conversation's ids at an external server. */
  readonly remote?: { readonly sessionId: string | null; readonly traceId: string | null };
}

export interface AgentTask {
  readonly id: TaskId;
  /** Which repeat of the task, from 1. */
  readonly epoch: number;
  readonly instruction: string;
  readonly variables: TaskVariables;
  readonly maxTurns: number;
  readonly context: ToolContext;
  readonly onActivity?: ((activity: TaskActivity) => void) | undefined;
}

export function mailboxOf({ id, variables: { inbox_address, query_date } }: AgentTask) {
  if (inbox_address === undefined || query_date === undefined) throw new Error(`task ${id} is about no mailbox`);
  return { inbox_address, query_date };
}

/**
 * Port: runs an agent. Fills the initially empty transcript; throws a `ModelError` if the agent cannot be reached or
 * fails, and the signal's reason when that aborts.
 */
export interface AgentBackend {
  answer(task: AgentTask, transcript: Transcript): Promise<Rollout>;
}

/** An answer as external agents give it. */
export const answerSchema = z.object({
  answer: z.string(),
  sources: z
    .array(z.string())
    .nullish()
    .transform((sources) => sources ?? []),
});

/** Reason for the trace of a refusal: the provider's name for it, and the model's or the server's own words. */
export function refusalReason({ rawFinishReason, content }: Pick<Completion, "rawFinishReason" | "content">): string {
  return ["The model refused to answer", rawFinishReason, content.trim().slice(0, MAX_REASON_CHARS)]
    .filter((part) => part !== "")
    .join(": ");
}

const MAX_REASON_CHARS = 300;

/** The text itself, or the answer and sources of bare or fenced JSON in it: `{"answer": "...", "sources": [...]}`. */
export function readAnswer(content: string): z.output<typeof answerSchema> {
  const text = content.trim();
  const [, fenced = text] = /^```(?:json)?[^\S\n]*\n([\s\S]*?)```$/.exec(text) ?? [];
  const read = answerSchema.safeParse(fenced.trim().startsWith("{") ? parseJsonOrNull(fenced) : null);
  return read.success ? { ...read.data, answer: read.data.answer.trim() } : { answer: text, sources: [] };
}

/** What an external agent came to; one that ends without an answer has used its turns, which is no failure. */
export function rolloutOf(transcript: Transcript, answer: string, sources: readonly string[]): Rollout {
  if (answer === "") return { ...transcript, ending: "out_of_turns", answer: null, sources: [] };
  return { ...transcript, ending: endingOfAnswer(answer, sources), answer, sources };
}

export function endingOfAnswer(answer: string, sources: readonly string[]): Ending {
  return isDontKnow(answer) && sources.length === 0 ? "dont_know" : "answered";
}

/**
 * Variables a prompt may use as `{{name}}`. Questions about mail have an inbox and a date; tasks of a suite have a
 * snapshot and the home folder of their machine.
 */
const PROMPT_VARIABLES = ["inbox_address", "query_date", "max_turns", "tools", "snapshot", "home"] as const;

type Name = (typeof PROMPT_VARIABLES)[number];

type OfAnyTask = Extract<Name, "max_turns" | "tools">;

type TaskVariables = Readonly<Partial<Record<Exclude<Name, OfAnyTask>, string>>>;

type PromptVariables = TaskVariables & Readonly<Record<OfAnyTask, string | number>>;

/** Stands for a variable that tasks of this kind do not have. */
const NOT_GIVEN = "(none in this task)";

const PLACEHOLDER = /\{\{([^{}"]{1,300})\}\}/g;

/** Longer text, or text over two lines, is not taken as a variable. */
const NAME = /^[^\n]{1,100}$/;

/** Fills in `{{name}}`; throws for an unknown name. */
export function renderPrompt(template: string, variables: PromptVariables): string {
  return template.replace(PLACEHOLDER, (whole, inside: string) => {
    const name = inside.trim();
    if (!NAME.test(name)) return whole;
    if (isKnown(name)) return String(variables[name] ?? NOT_GIVEN);
    throw unknownVariable(name);
  });
}

/** Throws where no task could fill the prompt in. */
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
    "prompt_variable",
    `The prompt asks for {{${name}}}, which there is not.`,
    `A prompt may use: ${PROMPT_VARIABLES.map((known) => `{{${known}}}`).join(", ")}.`,
  );
}
