// The model calls that an agent function reports: their schema, and how they become messages, tool calls and turns.
import { z } from "zod";
import { chargeOf } from "../../models/call-cost.js";
import type { Message, ToolCall } from "../../models/model.js";
import { MAX_ANSWER_TOKENS, MAX_COST_USD, type Usage } from "../../models/usage.js";
import { LONGEST_TIMER_MS } from "../../platform/deadline.js";
import { charsLeft, jsonValueSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import type { ToolCallRecord } from "../../traces/trace.js";
import type { Transcript } from "../rollout.js";
import type { Charging } from "./record-exchange.js";

const MAX_ITEMS = 1_000;
/** Characters of one text. */
export const MAX_CHARS = 1_000_000;
/** Characters of all reported texts and JSON values, because checking and storing them blocks the program. */
const MAX_TOTAL_CHARS = 20_000_000;

/** Scoring a longer answer takes minutes. */
export const shortText = z.string().max(MAX_CHARS);

const tokens = z.number().int().nonnegative().max(MAX_ANSWER_TOKENS);

/** An impossible cost would make the sum of a run infinite. */
export const reportedCostSchema = z.number().nonnegative().max(MAX_COST_USD);

/** Checked before its items, because checking a million of them blocks the event loop. */
export function shortList<T extends z.ZodType>(item: T, most = MAX_ITEMS) {
  return z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= most, `expected a list of at most ${most}`)
    .pipe(z.array(item));
}

/** An undefined value counts as absent, because frameworks return one for what a provider does not report. */
export const reportedUsageSchema = z
  .object({
    inputTokens: tokens,
    outputTokens: tokens,
    cachedInputTokens: tokens.default(0),
    reasoningTokens: tokens.optional(),
  })
  .transform(({ reasoningTokens, ...usage }): Usage => ({ ...usage, ...presentProperties({ reasoningTokens }) }));

const isShortEnough = (value: unknown) => charsLeft(value, MAX_TOTAL_CHARS) >= 0;
const tooLarge = { abort: true, message: `expected at most ${MAX_TOTAL_CHARS} characters` };

/** Checked before it is read, because it might have no end. */
const shortJson = z.unknown().refine(isShortEnough, tooLarge).pipe(jsonValueSchema);

const reportedCallSchema = z.object({
  name: shortText,
  arguments: shortJson.default({}),
  result: shortJson.optional(),
  error: shortText.optional(),
});

export const reportedTurnsSchema = shortList(
  z.object({
    content: shortText.default(""),
    reasoning: shortText.optional(),
    toolCalls: shortList(reportedCallSchema).default([]),
    model: shortText.optional(),
    usage: reportedUsageSchema.optional(),
    costUsd: reportedCostSchema.optional(),
    latencyMs: z.number().nonnegative().max(LONGEST_TIMER_MS).optional(),
  }),
).refine(isShortEnough, tooLarge);

type ReportedTurn = z.output<typeof reportedTurnsSchema>[number];
type ReportedCall = ReportedTurn["toolCalls"][number];

/**
 * Replaces the transcript's messages after the question with the reported conversation. Each reported tool call is the
 * next call of this name that the function made through art-e, or a call of the function's own tool. Unreported calls
 * belong to the last turn.
 */
export function recordTurns(
  transcript: Transcript,
  turns: readonly ReportedTurn[],
  answer: string,
  { startedAt, started }: { readonly startedAt: string; readonly started: number },
  { priceOf, noteAll }: Charging,
): void {
  const results = new Map(
    transcript.messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message] as const] : [])),
  );
  const unreported = [...transcript.toolCalls];
  transcript.messages.splice(1);
  transcript.toolCalls.splice(0);
  const elapsedMs = performance.now() - started;
  let atMs = 0;
  for (const [turn, { content, reasoning, toolCalls, model, usage = null, costUsd, latencyMs }] of turns.entries()) {
    const isLast = turn === turns.length - 1;
    const records = toolCalls.map((call, i) => takeRecord(unreported, call) ?? ownRecord(call, turn, i, startedAt));
    if (isLast) records.push(...unreported.splice(0));
    const calls: ToolCall[] = records.map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
    transcript.messages.push({
      role: "assistant",
      content,
      toolCalls: calls,
      ...(reasoning === undefined ? {} : { reasoning }),
    });
    for (const record of records) {
      transcript.toolCalls.push({ ...record, turn });
      transcript.messages.push(results.get(record.id) ?? resultMessage(record));
    }
    const { notes, ...charge } = chargeOf({ usage, costUsd }, priceOf);
    noteAll(notes);
    const duration = latencyMs ?? elapsedMs / turns.length;
    transcript.turns.push({
      startedAt: new Date(Date.parse(startedAt) + atMs).toISOString(),
      ...(model === undefined ? {} : { model }),
      latencyMs: duration,
      finishReason: calls.length > 0 ? "tool_calls" : "stop",
      rawFinishReason: "",
      ...charge,
      retries: [],
      cached: false,
    });
    atMs += duration;
  }
  const last = transcript.messages.at(-1);
  const isAnswered = last?.role === "assistant" && last.toolCalls.length === 0 && last.content !== "";
  if (answer !== "" && !isAnswered) transcript.messages.push({ role: "assistant", content: answer, toolCalls: [] });
}

/** Removes and returns the first recorded call of the tool. */
function takeRecord(records: ToolCallRecord[], { name }: ReportedCall): ToolCallRecord | undefined {
  const at = records.findIndex((record) => record.name === name);
  return at === -1 ? undefined : records.splice(at, 1)[0];
}

/** Returns the record of a call that art-e did not execute. */
function ownRecord(call: ReportedCall, turn: number, index: number, startedAt: string): ToolCallRecord {
  const { name, arguments: args, result = null, error = null } = call;
  return {
    id: `own_${turn + 1}_${index + 1}`,
    name,
    arguments: args,
    result: error === null ? result : null,
    error,
    errorKind: error === null ? null : "failed",
    turn,
    startedAt,
    durationMs: 0,
  };
}

/** Returns the message with a call's result or error. */
export function resultMessage({ id, name, result, error }: ToolCallRecord): Message {
  const content = error ?? (typeof result === "string" ? result : JSON.stringify(result));
  return { role: "tool", toolCallId: id, name, content, isError: error !== null };
}
