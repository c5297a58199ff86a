import { z } from "zod";
import { type Retry, retrySchema, sentParametersSchema, type Usage } from "../../domain/models/model.js";
import type { Turn } from "../../domain/runs/trace.js";
import { finishReason } from "../../otlp/gen-ai-names.js";
import { outputOf } from "./read-messages.js";
import { countOf, durationMs, isError, isoTime, jsonOf, numberOf, textOf, textsOf } from "./span-attributes.js";
import type { AttributeMap, ReadSpan } from "./traces-data-schema.js";

/** A model call as a turn. */
export function toTurn(span: ReadSpan): Turn {
  const { attributes } = span;
  const waitedMs = numberOf(attributes, "art_e.waited_ms");
  const sent = jsonOf(attributes, "art_e.sent", sentParametersSchema);
  const model = textOf(attributes, "gen_ai.response.model");
  const responseId = textOf(attributes, "gen_ai.response.id");
  const raw = textOf(attributes, "error.type") ?? textsOf(attributes, "gen_ai.response.finish_reasons")[0] ?? "";
  const reply = outputOf(span)[0];
  return {
    startedAt: isoTime(span.startTimeUnixNano, waitedMs),
    ...(model === undefined ? {} : { model }),
    ...(responseId === undefined ? {} : { responseId }),
    latencyMs: durationMs(span),
    finishReason: isError(span) ? "other" : finishReason(reply?.finish_reason ?? raw),
    rawFinishReason: raw,
    usage: usageOf(attributes),
    costUsd: numberOf(attributes, "llm.cost.total") ?? null,
    retries: retriesOf(attributes),
    ...(sent === undefined ? {} : { sent }),
    ...(waitedMs === undefined || waitedMs < 0 ? {} : { waitedMs }),
    cached: attributes.get("art_e.cached") === true,
  };
}

function retriesOf(attributes: AttributeMap): Retry[] {
  return jsonOf(attributes, "art_e.retries", z.array(retrySchema)) ?? [];
}

/** Null where the span has no tokens. Cached ones are among those of the input, as with us. */
function usageOf(attributes: AttributeMap): Usage | null {
  const inputTokens = countOf(attributes, "gen_ai.usage.input_tokens");
  const outputTokens = countOf(attributes, "gen_ai.usage.output_tokens");
  if (inputTokens === undefined && outputTokens === undefined) return null;
  const cacheWriteTokens =
    countOf(attributes, "gen_ai.usage.cache_creation.input_tokens") ??
    countOf(attributes, "gen_ai.usage.cache_write.input_tokens");
  return {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
    cachedInputTokens: countOf(attributes, "gen_ai.usage.cache_read.input_tokens") ?? 0,
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
  };
}
