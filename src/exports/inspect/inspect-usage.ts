import type { JsonObject } from "../../domain/json.js";
import type { Usage } from "../../domain/models/model.js";
import { sumCost, sumUsage } from "../../domain/runs/cost.js";
import type { ExportedTrace } from "../trace-format.js";

/** Inspect's input tokens are those that no cache took or gave; its total counts all. */
export function modelUsage(usage: Usage, costUsd: number | null): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens = 0 } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_cache_read: cachedInputTokens,
    ...(cacheWriteTokens === 0 ? {} : { input_tokens_cache_write: cacheWriteTokens }),
    ...(costUsd === null ? {} : { total_cost: costUsd }),
  };
}

/** By model; empty where no usage is known. */
export function usageByModel({ model, turns }: ExportedTrace): JsonObject {
  const known = turns.filter(({ usage }) => usage !== null);
  return known.length === 0 ? {} : { [model]: modelUsage(sumUsage(known), sumCost(known)) };
}
