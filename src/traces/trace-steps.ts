// Divides a conversation into steps: a reply, its tool calls with their records, and the results for the model.
import type { Message, ToolCall, ToolMessage } from "../models/model.js";
import type { AssistantMessage, ChatTrace, ToolCallRecord, Turn } from "./trace.js";

export interface Step {
  /** Messages since the last reply, without tool results. */
  readonly before: readonly Message[];
  /** The reply, or null if the task ended without one. */
  readonly reply: AssistantMessage | null;
  /** The model call, or null if unknown, as for external agents that do not report model calls. */
  readonly turn: Turn | null;
  readonly calls: readonly CallStep[];
  /** Results for which this reply contains no call. Some external agents report these. */
  readonly otherResults: readonly ToolMessage[];
}

export interface CallStep {
  readonly call: ToolCall;
  /** Record of the executed call, or null if it was not executed. */
  readonly record: ToolCallRecord | null;
  /** Result that the model received, or null if the task ended first. */
  readonly result: ToolMessage | null;
}

/** The parts of a trace that its steps consist of. */
export type Conversation = Pick<ChatTrace, "messages" | "toolCalls" | "turns"> &
  Partial<Pick<ChatTrace, "historyLength">>;

export function stepsOf(trace: Conversation): Step[] {
  const drafts = draftsOf(ownMessages(trace));
  const replies = drafts.filter(({ reply }) => reply !== null).length;
  // A failed attempt is a turn without a reply, and an external agent's replies form one turn.
  const missing = Math.max(0, replies - trace.turns.length);
  const steps = drafts.map((draft, i) => ({ ...draft, turn: trace.turns[i - missing] ?? null }));
  const attempts = trace.turns.slice(drafts.length - missing).map((turn) => ({ ...draftOf(), turn }));
  const records = [...trace.toolCalls];
  return [...steps, ...attempts].map((step) => withCalls(step, records));
}

/** Returns the messages of this trace, without messages from earlier chats in the same session. */
export function ownMessages({
  messages,
  historyLength = 0,
}: Pick<Conversation, "messages" | "historyLength">): readonly Message[] {
  return historyLength === 0 ? messages : [...messages.slice(0, 1), ...messages.slice(1 + historyLength)];
}

interface UnfinishedStep {
  readonly before: Message[];
  reply: AssistantMessage | null;
  readonly results: ToolMessage[];
}

function draftOf(): UnfinishedStep {
  return { before: [], reply: null, results: [] };
}

function draftsOf(messages: readonly Message[]): UnfinishedStep[] {
  const drafts: UnfinishedStep[] = [];
  let last = draftOf();
  for (const message of messages) {
    if (message.role === "tool") {
      (drafts.at(-1) ?? last).results.push(message);
    } else if (message.role === "assistant") {
      last.reply = message;
      drafts.push(last);
      last = draftOf();
    } else last.before.push(message);
  }
  return last.before.length > 0 || last.results.length > 0 ? [...drafts, last] : drafts;
}

/** Removes the records of the calls from `records`, so that each belongs to only one call. */
function withCalls({ results, ...step }: UnfinishedStep & { turn: Turn | null }, records: ToolCallRecord[]): Step {
  const otherResults = [...results];
  const calls = (step.reply?.toolCalls ?? []).map((call) => ({
    call,
    record: takeFirst(records, ({ id, name }) => id === call.id && name === call.name),
    result: takeFirst(otherResults, ({ toolCallId }) => toolCallId === call.id),
  }));
  return { ...step, calls, otherResults };
}

function takeFirst<T>(items: T[], matches: (item: T) => boolean): T | null {
  const index = items.findIndex(matches);
  return index === -1 ? null : (items.splice(index, 1)[0] ?? null);
}
