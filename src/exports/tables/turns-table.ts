import type { Turn } from "../../domain/runs/trace.js";
import type { Column, Table } from "./table.js";
import { TRACE_COLUMNS, type TracePart } from "./trace-columns.js";

interface TurnRow extends TracePart {
  readonly turn: Turn;
  readonly index: number;
}

const COLUMNS: readonly Column<TurnRow>[] = [
  ...TRACE_COLUMNS,
  { name: "turn", type: "integer", read: ({ index }) => index },
  { name: "startedAt", type: "timestamp", read: ({ turn }) => turn.startedAt },
  { name: "latencyMs", type: "number", read: ({ turn }) => turn.latencyMs },
  { name: "waitedMs", type: "number", read: ({ turn }) => turn.waitedMs ?? null },
  { name: "finishReason", type: "text", read: ({ turn }) => turn.finishReason },
  { name: "rawFinishReason", type: "text", read: ({ turn }) => turn.rawFinishReason },
  { name: "toolCalls", type: "integer", read: ({ trace, index }) => callsOf(trace.toolCalls, index) },
  // Null where the server did not count.
  { name: "inputTokens", type: "integer", read: ({ turn }) => turn.usage?.inputTokens ?? null },
  { name: "cachedInputTokens", type: "integer", read: ({ turn }) => turn.usage?.cachedInputTokens ?? null },
  { name: "cacheWriteTokens", type: "integer", read: ({ turn: { usage } }) => usage && (usage.cacheWriteTokens ?? 0) },
  { name: "outputTokens", type: "integer", read: ({ turn }) => turn.usage?.outputTokens ?? null },
  { name: "costUsd", type: "number", read: ({ turn }) => turn.costUsd },
  { name: "retries", type: "integer", read: ({ turn }) => turn.retries.length },
  { name: "cached", type: "boolean", read: ({ turn }) => turn.cached },
  { name: "answeredBy", type: "text", read: ({ turn }) => turn.model ?? null },
  { name: "responseId", type: "text", read: ({ turn }) => turn.responseId ?? null },
];

/** One row per model call. */
export const turnsTable: Table<TurnRow> = {
  name: "turns",
  columns: COLUMNS,
  *rows({ head: run, traces }) {
    for (const trace of traces?.() ?? []) {
      for (const [index, turn] of trace.turns.entries()) yield { run, trace, turn, index };
    }
  },
};

function callsOf(calls: readonly { readonly turn: number }[], turn: number): number {
  return calls.filter((call) => call.turn === turn).length;
}
