import type { Message, ToolMessage } from "../../domain/models/conversation.js";
import type { TimelineSegment } from "../../domain/runs/timeline-segment.js";
import { isSuiteTrace, type ToolCallRecord, type Trace, type Turn } from "../../domain/runs/trace.js";
import { timelineOf } from "../../domain/runs/trace-timeline.js";
import type { SameMail } from "../../domain/scores/score.js";
import { questionOf } from "../../domain/tasks/task.js";
import type { CallView, GoldMailView, MailView, StepView, TraceView, TurnView } from "../page/report-data.js";
import { readToolResult } from "./tool-results.js";

/** Looks up gold mail. */
export interface MailSource {
  readonly mailOf: (messageId: string) => MailView | null;
  readonly sameMail: SameMail;
}

/** A trace for the page: each call with its result, and the gold mail. */
export function traceView(trace: Trace, { mailOf, sameMail }: MailSource): TraceView {
  const message_ids = questionOf(trace.task)?.message_ids ?? [];
  const canonicalGold = new Set(message_ids.map(sameMail));
  const { listed, opened } = idsIn(trace);
  const allIds = new Set([...trace.sources, ...listed, ...opened, ...message_ids]);
  const isAmong = (ids: readonly string[], gold: string) => ids.some((id) => sameMail(id) === sameMail(gold));
  const gold = message_ids.flatMap((id): GoldMailView[] => {
    const mail = mailOf(id);
    if (mail === null) return [];
    const reached = isAmong(opened, id) ? "read" : isAmong(listed, id) ? "found" : "missed";
    return [{ ...mail, reached, cited: isAmong(trace.sources, id) }];
  });
  return {
    traceId: trace.traceId,
    timeline: timelineOf(trace).map(roundOff),
    maxTurns: trace.maxTurns,
    steps: stepsOf(trace),
    sources: trace.sources,
    gold,
    goldMissing: message_ids.filter((id) => mailOf(id) === null),
    goldIds: [...allIds].filter((id) => canonicalGold.has(sameMail(id))),
    scores: trace.scores,
    judge: trace.judge === null ? null : { verdict: trace.judge.verdict ?? "unscored", reason: trace.judge.reason },
    left: isSuiteTrace(trace) ? (trace.left ?? { pictures: [], omitted: 0 }) : null,
  };
}

/** To a tenth of a ms. */
function roundOff(segment: TimelineSegment): TimelineSegment {
  const tenth = (ms: number) => Math.round(ms * 10) / 10;
  return { ...segment, startMs: tenth(segment.startMs), durationMs: tenth(segment.durationMs) };
}

/** The Message-IDs of mails that searches listed and of mails that were opened. */
function idsIn({ toolCalls }: Trace): { listed: string[]; opened: string[] } {
  const views = toolCalls.map(({ result }) => readToolResult(result));
  return {
    listed: views.flatMap((view) => (view.kind === "hits" ? view.hits.map(({ messageId }) => messageId) : [])),
    opened: views.flatMap((view) => (view.kind === "mail" ? [view.mail.messageId] : [])),
  };
}

/** Tool results are shown with their calls; a tool message is a step of its own only if its call is unknown. */
function stepsOf({ messages, toolCalls, turns }: Trace): StepView[] {
  // Some servers restart call ids in every turn, so an id can occur again.
  const records = new Queues(toolCalls, ({ id }) => id);
  const answers = new Queues(messages.filter(isToolMessage), ({ toolCallId }) => toolCallId);
  const calledIds = new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id)));
  const steps: StepView[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === "tool" && calledIds.has(message.toolCallId)) continue;
    const calls = callsOf(message).map(({ id, name, invalid, arguments: callArguments }): CallView => {
      return { name, arguments: invalid ?? callArguments, ...answerTo(records.next(id), answers.next(id)) };
    });
    const model = message.role === "assistant" ? toTurn(turns[turn++]) : null;
    steps.push({ role: message.role, text: message.content, calls, turn: model });
  }
  return steps;
}

/** A first-in, first-out queue per key. */
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

/** Some agents execute only the first call of a reply; the others have neither result nor error. */
function answerTo(record: ToolCallRecord | undefined, message: ToolMessage | undefined) {
  if (record !== undefined) return { result: record.result, error: record.error, durationMs: record.durationMs };
  const { content = null, isError = false } = message ?? {};
  return { result: isError ? null : content, error: isError ? content : null, durationMs: null };
}

function toTurn(turn: Turn | undefined): TurnView | null {
  if (turn === undefined) return null;
  const { latencyMs, waitedMs = 0, usage, costUsd, finishReason, retries } = turn;
  const tokens = usage === null ? null : { input: usage.inputTokens, output: usage.outputTokens };
  const ms = { latencyMs: Math.round(latencyMs), waitedMs: Math.round(waitedMs) };
  return { ...ms, tokens, costUsd, finishReason, retries: retries.length };
}
