import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import { type ToolCallRecord, toolCallRecordSchema } from "../../domain/runs/trace.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import { countOf, durationMs, isError, isoTime, textOf } from "./span-attributes.js";
import type { AttributeMap, ReadSpan } from "./traces-data-schema.js";

const { errorKind: errorKindSchema } = toolCallRecordSchema.shape;

/** A tool call as it was made. `turnStarts`: when each model call began, by which its turn is found. */
export function toToolCall(span: ReadSpan, turnStarts: readonly bigint[]): ToolCallRecord {
  const { attributes, startTimeUnixNano } = span;
  const failed = isError(span);
  const before = turnStarts.filter((start) => start <= startTimeUnixNano).length;
  return {
    id: textOf(attributes, "gen_ai.tool.call.id") ?? "",
    name: textOf(attributes, "gen_ai.tool.name", "tool.name") ?? span.name,
    arguments: jsonIn(attributes, "gen_ai.tool.call.arguments", "input.value") ?? {},
    result: failed ? null : jsonIn(attributes, "gen_ai.tool.call.result", "output.value"),
    error: failed ? (span.status?.message ?? "") : null,
    errorKind: failed ? (errorKindSchema.safeParse(textOf(attributes, "error.type")).data ?? "failed") : null,
    turn: countOf(attributes, "art_e.turn") ?? Math.max(0, before - 1),
    startedAt: isoTime(startTimeUnixNano),
    durationMs: durationMs(span),
  };
}

/** The JSON of a text; the text itself where it is none. */
function jsonIn(attributes: AttributeMap, ...keys: readonly string[]): JsonValue {
  const text = textOf(attributes, ...keys);
  if (text === undefined) return null;
  const value = parseJsonOrNull(text);
  const isNull = value === null && text.trim() !== "null";
  return isNull ? text : (jsonValueSchema.safeParse(value).data ?? text);
}
