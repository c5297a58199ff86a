import type { JsonValue } from "../../domain/json.js";
import type { ToolCallRecord } from "../../domain/runs/trace.js";
import { toWellFormedJson } from "../well-formed-json.js";
import type { Column, Table } from "./table.js";
import { TRACE_COLUMNS, type TracePart } from "./trace-columns.js";

interface ToolCallRow extends TracePart {
  readonly call: ToolCallRecord;
  readonly index: number;
}

const COLUMNS: readonly Column<ToolCallRow>[] = [
  ...TRACE_COLUMNS,
  { name: "turn", type: "integer", read: ({ call }) => call.turn },
  { name: "call", type: "integer", read: ({ index }) => index },
  { name: "callId", type: "text", read: ({ call }) => call.id },
  { name: "tool", type: "text", read: ({ call }) => call.name },
  { name: "arguments", type: "text", read: ({ call }) => jsonText(call.arguments) },
  { name: "result", type: "text", read: ({ call }) => jsonText(call.result) },
  { name: "error", type: "text", read: ({ call }) => call.error },
  { name: "errorKind", type: "text", read: ({ call }) => call.errorKind },
  { name: "startedAt", type: "timestamp", read: ({ call }) => call.startedAt },
  { name: "durationMs", type: "number", read: ({ call }) => call.durationMs },
];

/** One row per tool call. Its arguments and result are JSON as text: each tool has others. */
export const toolCallsTable: Table<ToolCallRow> = {
  name: "tool_calls",
  columns: COLUMNS,
  *rows({ head: run, traces }) {
    for (const trace of traces?.() ?? []) {
      for (const [index, call] of trace.toolCalls.entries()) yield { run, trace, call, index };
    }
  },
};

function jsonText(value: JsonValue): string | null {
  return value === null ? null : toWellFormedJson(value);
}
