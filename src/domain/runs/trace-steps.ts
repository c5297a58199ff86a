import type { Message, ToolCall, ToolMessage } from "../models/conversation.js";
import type { ChatTrace } from "./chat.js";
import type { ToolCallRecord, Turn } from "./trace.js";

export type AssistantMessage = Extract<Message, { role: "assistant" }>;

/** A call that a reply asks for. */
export interface CallStep {
  readonly call: ToolCall;
  /** Null: it was not made. */
  readonly record: ToolCallRecord | null;
  /** What the model was told of it; null: nothing, as the task ended. */
  readonly result: ToolMessage | null;
}

/** A reply with what came before and after it. */
export interface Step {
  /** What was said since the last reply, without results of tools. */
  readonly before: readonly Message[];
  /** Null: the task ended without one. */
  readonly reply: AssistantMessage | null;
  /** Null: not known, as of programs that tell of no model call. */
  readonly turn: Turn | null;
  readonly calls: readonly CallStep[];
  /** Results of no call of this reply, as some external agents tell them. */
  readonly otherResults: readonly ToolMessage[];
}

/** What of a trace its steps are made of. */
export type Conversation = Pick<ChatTrace, "messages" | "toolCalls" | "turns"> &
  Partial<Pick<ChatTrace, "historyLength">>;

/** The messages of this trace, without those of earlier chats in the same session. */
export function ownMessages({
  messages,
  historyLength = 0,
}: Pick<Conversation, "messages" | "historyLength">): readonly Message[] {
  return historyLength === 0 ? messages : [...messages.slice(0, 1), ...messages.slice(1 + historyLength)];
}

/** The steps of a trace, without those of earlier chats. */
export function stepsOf(trace: Conversation): Step[] {
  const drafts = draftsOf(ownMessages(trace));
  const replies = drafts.filter(({ reply }) => reply !== null).length;
  // A failed attempt is a turn without a reply; a program's replies are one turn.
  const missing = Math.max(0, replies - trace.turns.length);
  const steps = drafts.map((draft, i) => ({ ...draft, turn: trace.turns[i - missing] ?? null }));
  const attempts = trace.turns.slice(drafts.length - missing).map((turn) => ({ ...draftOf(), turn }));
  const records = [...trace.toolCalls];
  return [...steps, ...attempts].map((step) => withCalls(step, records));
}

interface Draft {
  readonly before: Message[];
  reply: AssistantMessage | null;
  readonly results: ToolMessage[];
}

function draftOf(): Draft {
  return { before: [], reply: null, results: [] };
}

function draftsOf(messages: readonly Message[]): Draft[] {
  const drafts: Draft[] = [];
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

/** Takes the records of the calls out of `records`, so that each belongs to one call. */
function withCalls({ results, ...step }: Draft & { turn: Turn | null }, records: ToolCallRecord[]): Step {
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
