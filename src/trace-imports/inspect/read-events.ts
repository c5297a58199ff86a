import { jsonValueSchema } from "../../domain/json.js";
import type { FinishReason, Usage } from "../../domain/models/model.js";
import type { ToolCallRecord, Turn } from "../../domain/runs/trace.js";
import { textOfContent } from "../text-of-content.js";
import { tokenCount } from "../token-count.js";
import { contentSchema, type LogEvent } from "./log-schema.js";
import { isoTime, msBetween, msOf } from "./sample-times.js";

/** What a sample's agent did, as the log's transcript has it. */
export interface AgentEvents {
  readonly models: readonly LogEvent[];
  readonly tools: readonly LogEvent[];
}

/** Calls of models and tools by scorers are left out: they are not the agent's. */
export function agentEvents(events: readonly LogEvent[]): AgentEvents {
  const scorers = new Set<string>();
  const own: LogEvent[] = [];
  for (const event of events) {
    const { event: kind, id, parent_id, type, span_id } = event;
    const isBegin = kind === "span_begin" && id != null;
    if (isBegin && (type === "scorer" || type === "scorers" || scorers.has(parent_id ?? ""))) scorers.add(id);
    if (event.pending !== true && !scorers.has(span_id ?? "")) own.push(event);
  }
  return { models: own.filter(({ event }) => event === "model"), tools: own.filter(({ event }) => event === "tool") };
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  max_tokens: "length",
  model_length: "length",
  content_filter: "refusal",
};

/** `after`: ISO 8601, where the event has no time. */
export function toTurn({ timestamp, completed, working_time, output }: LogEvent, after: string): Turn {
  const startedAt = isoTime(timestamp) ?? after;
  const raw = output?.choices?.[0]?.stop_reason ?? "unknown";
  return {
    startedAt,
    ...(output?.model == null ? {} : { model: output.model }),
    latencyMs: msOf(output?.time ?? working_time) ?? msBetween(startedAt, completed),
    finishReason: FINISH_REASONS[raw] ?? "other",
    rawFinishReason: raw,
    usage: usageOf(output?.usage),
    costUsd: output?.usage?.total_cost ?? null,
    retries: [],
    cached: false,
  };
}

/** Null where the log has no tokens. Its input is without those of caches; ours has all. */
function usageOf(usage: NonNullable<LogEvent["output"]>["usage"]): Usage | null {
  const { input_tokens, output_tokens, input_tokens_cache_read, input_tokens_cache_write } = usage ?? {};
  if (input_tokens == null && output_tokens == null) return null;
  const [cached, written] = [tokenCount(input_tokens_cache_read), tokenCount(input_tokens_cache_write)];
  return {
    inputTokens: tokenCount(input_tokens) + cached + written,
    outputTokens: tokenCount(output_tokens),
    cachedInputTokens: cached,
    ...(written === 0 ? {} : { cacheWriteTokens: written }),
  };
}

/** `turns` have come before it. */
export function toToolCall(event: LogEvent, turns: readonly Turn[], after: string): ToolCallRecord {
  const startedAt = isoTime(event.timestamp) ?? after;
  const failed = event.error == null ? null : typeof event.error === "string" ? { message: event.error } : event.error;
  const content = contentSchema.safeParse(event.result);
  const result = content.success ? textOfContent(content.data) : (jsonValueSchema.safeParse(event.result).data ?? null);
  const before = turns.filter((turn) => turn.startedAt <= startedAt).length;
  const isParsing = failed !== null && "type" in failed && failed.type === "parsing";
  return {
    id: event.id ?? "",
    name: event.function ?? "",
    arguments: event.arguments ?? {},
    result: failed === null ? result : null,
    error: failed === null ? null : (failed.message ?? ""),
    errorKind: failed === null ? null : isParsing ? "bad_arguments" : "failed",
    turn: Math.max(0, before - 1),
    startedAt,
    durationMs: msOf(event.working_time) ?? msBetween(startedAt, event.completed),
  };
}
