import type { ToolCallRecord } from "../../domain/runs/trace.js";
import { SPAN_KIND, type Span, STATUS_ERROR } from "../../otlp/traces-data.js";
import type { ExportedTrace } from "../trace-format.js";
import { rootSpanId } from "./agent-span.js";
import { type Attributes, integer, jsonText, storable, text, toKeyValues } from "./attributes.js";
import type { OtlpOptions } from "./otlp-options.js";
import { otlpSpanId, otlpTraceId } from "./span-ids.js";
import { unixNano } from "./unix-nano.js";

/** One span a tool call, below the agent's as the conventions have it, with the turn that asked for it. */
export function toolSpans(trace: ExportedTrace, { content, tools }: OtlpOptions): Span[] {
  const { traceId, toolCalls } = trace;
  const descriptions = new Map(tools.map(({ name, description }) => [name, description]));
  return toolCalls.map((call, i) => ({
    traceId: otlpTraceId(traceId),
    spanId: otlpSpanId(traceId, `tool ${i}`),
    parentSpanId: rootSpanId(trace),
    name: storable(`execute_tool ${call.name}`),
    kind: SPAN_KIND.internal,
    startTimeUnixNano: unixNano(call.startedAt),
    endTimeUnixNano: unixNano(call.startedAt, call.durationMs),
    attributes: toKeyValues({
      "openinference.span.kind": text("TOOL"),
      "session.id": text(trace.sessionId),
      "gen_ai.operation.name": text("execute_tool"),
      "gen_ai.tool.name": text(call.name),
      "gen_ai.tool.type": text("function"),
      "gen_ai.tool.description": content ? textOrNone(descriptions.get(call.name)) : undefined,
      "gen_ai.tool.call.id": text(call.id),
      "gen_ai.agent.name": text(trace.agentId),
      "gen_ai.conversation.id": text(trace.sessionId),
      "error.type": call.error === null ? undefined : text(call.errorKind ?? "failed"),
      ...(content ? contentOf(call) : {}),
      "art_e.turn": integer(call.turn),
    }),
    ...(call.error === null ? {} : { status: { code: STATUS_ERROR, message: messageOf(call.error, content) } }),
  }));
}

function textOrNone(value: string | undefined) {
  return value === undefined ? undefined : text(value);
}

/** What a tool says of a failure may quote mail. */
function messageOf(error: string, content: boolean): string {
  return content ? storable(error) : "";
}

function contentOf({ arguments: given, result, error }: ToolCallRecord): Attributes {
  return {
    "gen_ai.tool.call.arguments": jsonText(given),
    "gen_ai.tool.call.result": error === null ? jsonText(result) : undefined,
  };
}
