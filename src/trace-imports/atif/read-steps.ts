import type { Message } from "../../domain/models/conversation.js";
import type { Usage } from "../../domain/models/model.js";
import type { ToolCallRecord, Turn } from "../../domain/runs/trace.js";
import { tokenCount } from "../token-count.js";
import type { AtifStep } from "./atif-schema.js";

/** Our messages of a trajectory's steps. */
export function toMessages(steps: readonly AtifStep[]): Message[] {
  return steps.flatMap((step): Message[] => {
    const content = step.message ?? "";
    if (step.source !== "agent") return [{ role: step.source, content }];
    const calls = step.tool_calls ?? [];
    const names = new Map(calls.map((call) => [call.tool_call_id, call.function_name]));
    const results = (step.observation?.results ?? []).map(({ source_call_id, content: said }): Message => {
      const toolCallId = source_call_id ?? "";
      return { role: "tool", toolCallId, name: names.get(toolCallId) ?? "", content: said ?? "", isError: false };
    });
    const toolCalls = calls.map((call) => ({
      id: call.tool_call_id,
      name: call.function_name,
      arguments: call.arguments,
    }));
    return [{ role: "assistant", content, toolCalls }, ...results];
  });
}

/** A turn for each model call. The format has no durations. */
export function toTurns(steps: readonly AtifStep[], startedAt: string): Turn[] {
  return steps.filter(isModelCall).map((step) => ({
    startedAt: step.timestamp ?? startedAt,
    ...(step.model_name == null ? {} : { model: step.model_name }),
    latencyMs: 0,
    finishReason: (step.tool_calls ?? []).length > 0 ? "tool_calls" : "stop",
    rawFinishReason: "",
    usage: usageOf(step),
    costUsd: step.metrics?.cost_usd ?? null,
    retries: [],
    cached: false,
  }));
}

/** The calls that have a result. */
export function toToolCalls(steps: readonly AtifStep[], startedAt: string): ToolCallRecord[] {
  return steps.filter(isModelCall).flatMap((step, turn) =>
    (step.tool_calls ?? []).flatMap((call): ToolCallRecord[] => {
      const found = step.observation?.results?.find(({ source_call_id }) => source_call_id === call.tool_call_id);
      if (found === undefined) return [];
      const made = { id: call.tool_call_id, name: call.function_name, arguments: call.arguments };
      const given = { result: found.content ?? "", error: null, errorKind: null };
      return [{ ...made, ...given, turn, startedAt: step.timestamp ?? startedAt, durationMs: 0 }];
    }),
  );
}

function isModelCall({ source, llm_call_count }: AtifStep): boolean {
  return source === "agent" && llm_call_count !== 0;
}

function usageOf({ metrics }: AtifStep): Usage | null {
  const { prompt_tokens, completion_tokens, cached_tokens } = metrics ?? {};
  if (prompt_tokens == null && completion_tokens == null) return null;
  const [inputTokens, outputTokens] = [tokenCount(prompt_tokens), tokenCount(completion_tokens)];
  return { inputTokens, outputTokens, cachedInputTokens: Math.min(tokenCount(cached_tokens), inputTokens) };
}
