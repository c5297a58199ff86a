import type { ToolSpec, Usage } from "../../domain/models/model.js";
import { isChatTrace } from "../../domain/runs/chat.js";
import type { Turn } from "../../domain/runs/trace.js";
import { conventionalModel } from "../../otlp/gen-ai-names.js";
import { type AnyValue, type KeyValue, SPAN_KIND, type Span, STATUS_ERROR } from "../../otlp/traces-data.js";
import type { ExportedTrace } from "../trace-format.js";
import { rootSpanId } from "./agent-span.js";
import { type Attributes, double, integer, jsonText, storable, text, texts, toKeyValues } from "./attributes.js";
import { toOutputMessage, toParts, toSystemParts } from "./message-parts.js";
import type { OtlpOptions } from "./otlp-options.js";
import { otlpSpanId, otlpTraceId } from "./span-ids.js";
import { type TurnMessages, turnMessages } from "./turn-messages.js";
import { unixNano } from "./unix-nano.js";

/** One span a model call, without the waiting before it. */
export function modelSpans(trace: ExportedTrace, { content, tools }: OtlpOptions): Span[] {
  const { traceId, messages, turns } = trace;
  const history = isChatTrace(trace) ? trace.historyLength : 0;
  const said = turnMessages(messages, turns.length, history);
  const { model } = conventionalModel(trace.model);
  const definitions = tools.length === 0 ? undefined : jsonText(tools.map(toDefinition));
  return turns.map((turn, i) => {
    const { waitedMs = 0, latencyMs, startedAt } = turn;
    const failed = isFailedCall(turn, said[i]);
    return {
      traceId: otlpTraceId(traceId),
      spanId: otlpSpanId(traceId, `turn ${i}`),
      parentSpanId: rootSpanId(trace),
      name: storable(`chat ${model}`),
      kind: SPAN_KIND.client,
      startTimeUnixNano: unixNano(startedAt, waitedMs),
      endTimeUnixNano: unixNano(startedAt, waitedMs + latencyMs),
      attributes: attributesOf(trace, turn, failed, content ? { said: said[i], definitions } : null),
      ...(failed ? { status: { code: STATUS_ERROR, message: storable(trace.error ?? turn.rawFinishReason) } } : {}),
    };
  });
}

/** The attempts of a call that never got a reply. */
function isFailedCall({ finishReason, retries }: Turn, said: TurnMessages | undefined): boolean {
  return finishReason === "other" && retries.length > 0 && (said?.reply ?? null) === null;
}

function attributesOf(trace: ExportedTrace, turn: Turn, failed: boolean, content: TurnContent | null): KeyValue[] {
  const { provider, model } = conventionalModel(trace.model);
  const { usage, sent, costUsd, retries, waitedMs, cached, rawFinishReason } = turn;
  return toKeyValues({
    "openinference.span.kind": text("LLM"),
    "session.id": text(trace.sessionId),
    "gen_ai.operation.name": text("chat"),
    "gen_ai.provider.name": text(provider),
    "gen_ai.request.model": text(model),
    "gen_ai.response.model": turn.model === undefined ? undefined : text(turn.model),
    "gen_ai.response.id": turn.responseId === undefined ? undefined : text(turn.responseId),
    "gen_ai.request.temperature": typeof sent?.temperature === "number" ? double(sent.temperature) : undefined,
    "gen_ai.request.max_tokens": sent === undefined ? undefined : integer(sent.maxTokens),
    "gen_ai.conversation.id": text(trace.sessionId),
    "gen_ai.response.finish_reasons": failed ? undefined : texts([rawFinishReason]),
    "error.type": failed ? text(rawFinishReason) : undefined,
    ...(usage === null || failed ? {} : usageOf(usage)),
    "llm.cost.total": costUsd === null || failed ? undefined : double(costUsd),
    ...(content === null ? {} : contentOf(content, turn)),
    "art_e.waited_ms": waitedMs === undefined ? undefined : double(waitedMs),
    "art_e.retries": retries.length === 0 ? undefined : jsonText(retries),
    "art_e.sent": sent === undefined ? undefined : jsonText(sent),
    "art_e.cached": cached ? { boolValue: true } : undefined,
  });
}

/** Ours and theirs both count cached tokens among those of the input. */
function usageOf(usage: Usage): Attributes {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usage;
  return {
    "gen_ai.usage.input_tokens": integer(inputTokens),
    "gen_ai.usage.output_tokens": integer(outputTokens),
    "gen_ai.usage.cache_read.input_tokens": integer(cachedInputTokens),
    "gen_ai.usage.cache_creation.input_tokens": cacheWriteTokens === undefined ? undefined : integer(cacheWriteTokens),
  };
}

interface TurnContent {
  readonly said: TurnMessages | undefined;
  /** The tools that the model was given. */
  readonly definitions: AnyValue | undefined;
}

function contentOf({ said, definitions }: TurnContent, { finishReason }: Turn): Attributes {
  const { system = null, input = [], reply = null } = said ?? {};
  return {
    "gen_ai.system_instructions": system === null ? undefined : jsonText(toSystemParts(system)),
    "gen_ai.input.messages": jsonText(input.map(toParts)),
    "gen_ai.output.messages": reply === null ? undefined : jsonText([toOutputMessage(reply, finishReason)]),
    "gen_ai.tool.definitions": definitions,
  };
}

function toDefinition({ name, description, parameters }: ToolSpec) {
  return { type: "function", name, description, parameters };
}
