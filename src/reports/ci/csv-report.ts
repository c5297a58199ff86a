import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { ScoreMeaning } from "../page/report-data.js";

type Cell = string | number | null;

/** One line per task, as RFC 4180 with a byte order mark: without it, Excel reads UTF-8 as Latin-1. */
export function csvHead(meanings: readonly ScoreMeaning[]): string {
  return `\ufeff${formatLine([...COLUMNS.map(([name]) => name), ...meanings.map(({ name }) => name)])}`;
}

export function csvLine(
  run: { readonly runId: string; readonly agentId: string; readonly model: string },
  result: TaskResult,
  meanings: readonly ScoreMeaning[],
): string {
  const scores = meanings.map(({ name }) => result.scores[name] ?? null);
  return formatLine([...COLUMNS.map(([, read]) => read({ ...result, ...run })), ...scores]);
}

type Line = TaskResult & { readonly runId: string; readonly agentId: string; readonly model: string };

const COLUMNS: readonly (readonly [name: string, read: (line: Line) => Cell])[] = [
  ["runId", (line) => line.runId],
  ["agentId", (line) => line.agentId],
  ["model", (line) => line.model],
  ["taskId", (line) => line.taskId],
  ["epoch", (line) => line.epoch],
  ["inbox", (line) => line.inbox],
  ["queryDate", (line) => line.queryDate],
  ["howRealistic", (line) => line.howRealistic],
  ["goldSources", (line) => line.goldSources],
  ["question", (line) => line.question],
  ["groundTruth", (line) => line.groundTruth],
  ["agentAnswer", (line) => line.agentAnswer],
  ["ending", (line) => line.ending],
  ["error", (line) => line.error ?? null],
  ["turns", (line) => line.turns],
  ["executionTimeMs", (line) => line.executionTimeMs],
  ["modelTimeMs", (line) => line.modelTimeMs ?? null],
  ["toolTimeMs", (line) => line.toolTimeMs ?? null],
  ["waitingTimeMs", (line) => line.waitingTimeMs ?? null],
  ["inputTokens", (line) => line.usage.inputTokens],
  ["cachedInputTokens", (line) => line.usage.cachedInputTokens],
  ["outputTokens", (line) => line.usage.outputTokens],
  ["costUsd", (line) => line.costUsd],
  ["retries", (line) => line.retries],
  ["sources", (line) => line.sources.join(" ")],
  ["traceId", (line) => line.traceId],
];

function formatLine(cells: readonly Cell[]): string {
  return `${cells.map(formatCell).join(",")}\r\n`;
}

function formatCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = escapeFormula(cell);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Spreadsheets execute text that begins like this as a formula; a leading apostrophe prevents it. */
function escapeFormula(text: string): string {
  return /^\s*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(text) ? `'${text}` : text;
}
