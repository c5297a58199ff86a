import type { JsonObject } from "../../domain/json.js";
import type { FinishReason } from "../../domain/models/model.js";
import type { Turn } from "../../domain/runs/trace.js";
import type { ExportedTrace } from "../trace-format.js";
import { modelUsage } from "./inspect-usage.js";

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  tool_calls: "tool_calls",
  length: "max_tokens",
  refusal: "content_filter",
  other: "unknown",
};

/** A reply as Inspect's ModelOutput; without one it has no choices. `message` is the reply as a ChatMessage. */
export function modelOutput(trace: ExportedTrace, message: JsonObject | undefined, turn: Turn | null): JsonObject {
  const hasCalls = message?.tool_calls !== undefined;
  const stopReason = turn === null ? (hasCalls ? "tool_calls" : "stop") : STOP_REASONS[turn.finishReason];
  return {
    model: turn?.model ?? trace.model,
    choices: message === undefined ? [] : [{ message, stop_reason: stopReason }],
    completion: message?.content ?? "",
    ...(turn === null || turn.usage === null ? {} : { usage: modelUsage(turn.usage, turn.costUsd) }),
    ...(turn === null ? {} : { time: turn.latencyMs / 1000 }),
    ...(turn?.responseId === undefined ? {} : { metadata: { response_id: turn.responseId } }),
  };
}
