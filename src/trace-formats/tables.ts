// The tables of a run (tasks, turns, tool calls, questions), written as CSV, JSON Lines or Parquet.
import { join } from "node:path";
import { type Cell, csvLineOf } from "../platform/csv.js";
import type { JsonValue } from "../platform/json.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { isFailure } from "../tasks/ending.js";
import type { Question } from "../tasks/question.js";
import type { TaskResult } from "../traces/task-result.js";
import type { ToolCallRecord, Trace, Turn } from "../traces/trace.js";
import type { CellValue, Column, Table, TableSource } from "./table-types.js";

export interface TaskResultRow {
  readonly run: TableSource["head"];
  readonly result: TaskResult;
}

interface TracePart {
  readonly run: TableSource["head"];
  readonly trace: Trace;
}

interface TurnRow extends TracePart {
  readonly turn: Turn;
  readonly index: number;
}

interface ToolCallRow extends TracePart {
  readonly call: ToolCallRecord;
  readonly index: number;
}

export const TABLE_FORMATS = ["parquet", "csv", "jsonl"] as const;

export type TableFormat = (typeof TABLE_FORMATS)[number];

export const TABLES = ["tasks", "turns", "tool_calls"] as const;

export type TableName = (typeof TABLES)[number];

/** The table with one row per task and epoch. It has the field names of the results file, and one column per score. */
export function tasksTable(scores: readonly string[]): Table<TaskResultRow> {
  return {
    name: "tasks",
    columns: [...TASK_COLUMNS, ...scores.map(scoreColumn)],
    *rows({ head: run, results }) {
      for (const result of results()) yield { run, result };
    },
  };
}

const RUN_COLUMNS: readonly Column<Pick<TaskResultRow, "run">>[] = [
  { name: "runId", type: "text", read: ({ run }) => run.runId },
  { name: "agentId", type: "text", read: ({ run }) => run.agentId },
  { name: "model", type: "text", read: ({ run }) => run.model },
];

export const TASK_COLUMNS: readonly Column<TaskResultRow>[] = [
  ...RUN_COLUMNS,
  { name: "runName", type: "text", read: ({ run }) => run.name ?? null },
  // Question numbers and suite task names share one text column.
  { name: "taskId", type: "text", read: ({ result }) => String(result.taskId) },
  { name: "epoch", type: "integer", read: ({ result }) => result.epoch },
  { name: "traceId", type: "text", read: ({ result }) => result.traceId },
  { name: "inbox", type: "text", read: ({ result }) => result.inbox },
  { name: "queryDate", type: "date", read: ({ result }) => result.queryDate },
  { name: "howRealistic", type: "number", read: ({ result }) => result.howRealistic },
  { name: "goldSources", type: "integer", read: ({ result }) => result.goldSources },
  { name: "question", type: "text", read: ({ result }) => result.question },
  { name: "groundTruth", type: "text", read: ({ result }) => result.groundTruth },
  { name: "agentAnswer", type: "text", read: ({ result }) => result.agentAnswer },
  { name: "sources", type: "texts", read: ({ result }) => result.sources },
  { name: "ending", type: "text", read: ({ result }) => result.ending },
  { name: "failed", type: "boolean", read: ({ result }) => isFailure(result.ending) },
  { name: "error", type: "text", read: ({ result }) => result.error ?? null },
  { name: "turns", type: "integer", read: ({ result }) => result.turns },
  { name: "executionTimeMs", type: "number", read: ({ result }) => result.executionTimeMs },
  { name: "modelTimeMs", type: "number", read: ({ result }) => result.modelTimeMs },
  { name: "toolTimeMs", type: "number", read: ({ result }) => result.toolTimeMs },
  { name: "waitingTimeMs", type: "number", read: ({ result }) => result.waitingTimeMs },
  { name: "inputTokens", type: "integer", read: ({ result }) => result.usage.inputTokens },
  { name: "cachedInputTokens", type: "integer", read: ({ result }) => result.usage.cachedInputTokens },
  { name: "cacheWriteTokens", type: "integer", read: ({ result }) => result.usage.cacheWriteTokens ?? 0 },
  { name: "outputTokens", type: "integer", read: ({ result }) => result.usage.outputTokens },
  { name: "reasoningTokens", type: "integer", read: ({ result }) => result.usage.reasoningTokens ?? 0 },
  { name: "costUsd", type: "number", read: ({ result }) => result.costUsd },
  { name: "judgeCostUsd", type: "number", read: ({ result }) => result.judgeCostUsd },
  { name: "retries", type: "integer", read: ({ result }) => result.retries },
  { name: "repairedCalls", type: "integer", read: ({ result }) => result.repairedCalls ?? 0 },
  { name: "cachedReplies", type: "integer", read: ({ result }) => result.cachedReplies },
  // Null for questions about mailboxes.
  { name: "suite", type: "text", read: ({ result }) => result.suite?.name ?? null },
  { name: "suiteTool", type: "text", read: ({ result }) => result.suite?.tool ?? null },
  { name: "snapshot", type: "text", read: ({ result }) => result.suite?.snapshot ?? null },
  { name: "tags", type: "texts", read: ({ result }) => result.suite?.tags ?? null },
  { name: "relatedApps", type: "texts", read: ({ result }) => result.suite?.relatedApps ?? null },
  { name: "actionNumber", type: "number", read: ({ result }) => result.suite?.actionNumber ?? null },
  { name: "counterpart", type: "text", read: ({ result }) => result.suite?.counterpart ?? null },
  { name: "state", type: "text", read: ({ result }) => result.suite?.state ?? null },
  { name: "reason", type: "text", read: ({ result }) => result.suite?.reason ?? null },
];

/** Lowercase, because most readers ignore case in column names. */
const TAKEN: ReadonlySet<string> = new Set(TASK_COLUMNS.map(({ name }) => name.toLowerCase()));

/** A results file from another program might contain a score with the name of one of the columns above. */
function scoreColumn(score: string): Column<TaskResultRow> {
  const name = TAKEN.has(score.toLowerCase()) ? `score:${score}` : score;
  return { name, type: "number", read: ({ result }) => result.scores[score] ?? null };
}

/** Table name in the metadata of a Parquet file of questions. */
export const QUESTIONS_TABLE = "questions";

/** A question dataset, which `run --dataset` reads in any of the formats. */
export function questionsTable(format: TableFormat): {
  readonly name: string;
  readonly columns: readonly Column<Question>[];
} {
  return {
    name: QUESTIONS_TABLE,
    columns: [
      { name: "id", type: "integer", read: ({ id }) => id },
      { name: "question", type: "text", read: ({ question }) => question },
      { name: "answer", type: "text", read: ({ answer }) => answer },
      format === "csv"
        ? // A cell is one text, and a Message-ID might contain any separator.
          { name: "message_ids", type: "text", read: (row) => toWellFormedJson(row.message_ids) }
        : { name: "message_ids", type: "texts", read: (row) => row.message_ids },
      { name: "how_realistic", type: "number", read: (row) => row.how_realistic },
      { name: "inbox_address", type: "text", read: (row) => row.inbox_address },
      { name: "query_date", type: "text", read: (row) => row.query_date },
      { name: "split", type: "text", read: ({ split }) => split ?? null },
    ],
  };
}

/** Keys that join these rows with the task rows: runId, taskId and epoch, or traceId. */
const TRACE_COLUMNS: readonly Column<TracePart>[] = [
  ...RUN_COLUMNS,
  { name: "taskId", type: "text", read: ({ trace }) => String(trace.taskId) },
  { name: "epoch", type: "integer", read: ({ trace }) => trace.epoch },
  { name: "traceId", type: "text", read: ({ trace }) => trace.traceId },
];

const TURN_COLUMNS: readonly Column<TurnRow>[] = [
  ...TRACE_COLUMNS,
  { name: "turn", type: "integer", read: ({ index }) => index },
  { name: "startedAt", type: "timestamp", read: ({ turn }) => turn.startedAt },
  { name: "latencyMs", type: "number", read: ({ turn }) => turn.latencyMs },
  { name: "waitedMs", type: "number", read: ({ turn }) => turn.waitedMs ?? null },
  { name: "finishReason", type: "text", read: ({ turn }) => turn.finishReason },
  { name: "rawFinishReason", type: "text", read: ({ turn }) => turn.rawFinishReason },
  {
    name: "toolCalls",
    type: "integer",
    read: ({ trace, index }) => trace.toolCalls.filter((call) => call.turn === index).length,
  },
  // Null if the server did not count tokens.
  { name: "inputTokens", type: "integer", read: ({ turn }) => turn.usage?.inputTokens ?? null },
  { name: "cachedInputTokens", type: "integer", read: ({ turn }) => turn.usage?.cachedInputTokens ?? null },
  { name: "cacheWriteTokens", type: "integer", read: ({ turn: { usage } }) => usage && (usage.cacheWriteTokens ?? 0) },
  { name: "outputTokens", type: "integer", read: ({ turn }) => turn.usage?.outputTokens ?? null },
  { name: "reasoningTokens", type: "integer", read: ({ turn: { usage } }) => usage && (usage.reasoningTokens ?? 0) },
  { name: "costUsd", type: "number", read: ({ turn }) => turn.costUsd },
  { name: "retries", type: "integer", read: ({ turn }) => turn.retries.length },
  { name: "cached", type: "boolean", read: ({ turn }) => turn.cached },
  { name: "answeredBy", type: "text", read: ({ turn }) => turn.model ?? null },
  { name: "responseId", type: "text", read: ({ turn }) => turn.responseId ?? null },
];

/** The table with one row per model call. */
export const turnsTable: Table<TurnRow> = {
  name: "turns",
  columns: TURN_COLUMNS,
  *rows({ head: run, traces }) {
    for (const trace of traces?.() ?? []) {
      for (const [index, turn] of trace.turns.entries()) yield { run, trace, turn, index };
    }
  },
};

const TOOL_CALL_COLUMNS: readonly Column<ToolCallRow>[] = [
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

/**
 * The table with one row per tool call. Arguments and results are JSON strings, because their fields depend on the
 * tool.
 */
export const toolCallsTable: Table<ToolCallRow> = {
  name: "tool_calls",
  columns: TOOL_CALL_COLUMNS,
  *rows({ head: run, traces }) {
    for (const trace of traces?.() ?? []) {
      for (const [index, call] of trace.toolCalls.entries()) yield { run, trace, call, index };
    }
  },
};

function jsonText(value: JsonValue): string | null {
  return value === null ? null : toWellFormedJson(value);
}

export function tablePath(folder: string, table: TableName, format: TableFormat): string {
  return join(folder, `${table}.${format}`);
}

/** Encodes a table in pieces, as text or as Parquet bytes. */
export async function encodeTable<Row>(
  format: TableFormat,
  { name, columns }: { readonly name: string; readonly columns: readonly Column<Row>[] },
  rows: Iterable<Row>,
): Promise<Iterable<string> | Iterable<Uint8Array>> {
  if (format === "csv") return csvRows(columns, rows);
  if (format === "jsonl") return jsonLines(columns, rows);
  // Loaded only if it is used.
  const { parquetBytes } = await import("./tables/parquet-writer.js");
  return parquetBytes(name, columns, rows);
}

/** Yields one object per row with every column. Missing values are null. */
export function* jsonLines<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): Generator<string> {
  for (const row of rows) {
    yield `${toWellFormedJson(Object.fromEntries(columns.map(({ name, read }) => [name, read(row)])))}\n`;
  }
}

/**
 * Yields RFC 4180 rows (https://www.rfc-editor.org/rfc/rfc4180) in UTF-8, without a byte order mark. Text that a
 * spreadsheet would execute as a formula is prefixed with an apostrophe. Several values in a cell are separated by
 * spaces. A missing value is an empty cell.
 */
export function* csvRows<Row>(columns: readonly Column<Row>[], rows: Iterable<Row>): Generator<string> {
  yield csvLineOf(columns.map(({ name }) => name));
  for (const row of rows) yield csvLineOf(columns.map(({ read }) => toCell(read(row))));
}

export function toCell(value: CellValue): Cell {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  // Uppercase booleans, which all readers including R recognize.
  return typeof value === "boolean" ? String(value).toUpperCase() : value.join(" ");
}
