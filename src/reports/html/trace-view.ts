import type { Message, ToolMessage } from "../../domain/models/conversation.js";
import type { ToolCallRecord, Trace, Turn } from "../../domain/runs/trace.js";
import type { SameMail } from "../../domain/scores/score.js";
import type { CallView, GoldMailView, MailView, StepView, TraceView, TurnView } from "../page/data.js";
import { readToolResult } from "./tool-results.js";

/** Where gold mail is looked up. */
export interface MailSource {
  readonly mailOf: (messageId: string) => MailView | null;
  readonly sameMail: SameMail;
}

/** A trace as the page shows it: each call with its result, and the gold mail beside. */
export function traceView(trace: Trace, { mailOf, sameMail }: MailSource): TraceView {
  const { message_ids } = trace.task;
  const goldNames = new Set(message_ids.map(sameMail));
  const { listed, opened } = idsIn(trace);
  const named = new Set([...trace.sources, ...listed, ...opened, ...message_ids]);
  const isAmong = (ids: readonly string[], gold: string) => ids.some((id) => sameMail(id) === sameMail(gold));
  const gold = message_ids.flatMap((id): GoldMailView[] => {
    const mail = mailOf(id);
    if (mail === null) return [];
    const reached = isAmong(opened, id) ? "read" : isAmong(listed, id) ? "found" : "missed";
    return [{ ...mail, reached, cited: isAmong(trace.sources, id) }];
  });
  return {
    traceId: trace.traceId,
    maxTurns: trace.maxTurns,
    steps: stepsOf(trace),
    sources: trace.sources,
    gold,
    goldMissing: message_ids.filter((id) => mailOf(id) === null),
    goldIds: [...named].filter((id) => goldNames.has(sameMail(id))),
    scores: trace.scores,
    judge: trace.judge === null ? null : { verdict: trace.judge.verdict ?? "unscored", reason: trace.judge.reason },
  };
}

/** The mails that searches listed and that were opened, by whatever Message-ID. */
function idsIn({ toolCalls }: Trace): { listed: string[]; opened: string[] } {
  const views = toolCalls.map(({ result }) => readToolResult(result));
  return {
    listed: views.flatMap((view) => (view.kind === "hits" ? view.hits.map(({ messageId }) => messageId) : [])),
    opened: views.flatMap((view) => (view.kind === "mail" ? [view.mail.messageId] : [])),
  };
}

/** What tools answered stands with the calls, so their messages are shown only where no call is known. */
function stepsOf({ messages, toolCalls, turns }: Trace): StepView[] {
  // Some servers count their calls anew in every turn, so an id may come again.
  const records = new Queues(toolCalls, ({ id }) => id);
  const answers = new Queues(messages.filter(isToolMessage), ({ toolCallId }) => toolCallId);
  const asked = new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id)));
  const steps: StepView[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === "tool" && asked.has(message.toolCallId)) continue;
    const calls = callsOf(message).map(({ id, name, invalid, arguments: given }): CallView => {
      return { name, arguments: invalid ?? given, ...answerTo(records.next(id), answers.next(id)) };
    });
    const model = message.role === "assistant" ? toTurn(turns[turn++]) : null;
    steps.push({ role: message.role, text: message.content, calls, turn: model });
  }
  return steps;
}

/** Items by key, each given out once, in their order. */
class Queues<T> {
  private readonly queues = new Map<string, T[]>();

  constructor(items: readonly T[], keyOf: (item: T) => string) {
    for (const item of items) this.queues.set(keyOf(item), [...(this.queues.get(keyOf(item)) ?? []), item]);
  }

  next(key: string): T | undefined {
    return this.queues.get(key)?.shift();
  }
}

function isToolMessage(message: Message): message is ToolMessage {
  return message.role === "tool";
}

function callsOf(message: Message) {
  return message.role === "assistant" ? message.toolCalls : [];
}

/** A call that was never made (only the first of a reply is, for some agents) has neither result nor error. */
function answerTo(record: ToolCallRecord | undefined, message: ToolMessage | undefined) {
  if (record !== undefined) return { result: record.result, error: record.error, durationMs: record.durationMs };
  const { content = null, isError = false } = message ?? {};
  return { result: isError ? null : content, error: isError ? content : null, durationMs: null };
}

function toTurn(turn: Turn | undefined): TurnView | null {
  if (turn === undefined) return null;
  const { latencyMs, usage, costUsd, finishReason, retries } = turn;
  const tokens = usage === null ? null : { input: usage.inputTokens, output: usage.outputTokens };
  return { latencyMs: Math.round(latencyMs), tokens, costUsd, finishReason, retries: retries.length };
}
