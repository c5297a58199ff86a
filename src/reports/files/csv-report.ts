import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { BYTE_ORDER_MARK, type Cell, csvLineOf } from "../../platform/csv-line.js";
import type { ScoreMeaning } from "../page/report-data.js";

/** One line per task. `ofSuites`: with what suites say of their tasks. */
export function csvHead(meanings: readonly ScoreMeaning[], ofSuites = false): string {
  const columns = ofSuites ? [...COLUMNS, ...SUITE_COLUMNS] : COLUMNS;
  return BYTE_ORDER_MARK + csvLineOf([...columns.map(([name]) => name), ...meanings.map(({ name }) => name)]);
}

export function csvLine(
  run: RunCells,
  result: TaskResult,
  meanings: readonly ScoreMeaning[],
  ofSuites = false,
): string {
  const scores = meanings.map(({ name }) => result.scores[name] ?? null);
  const columns = ofSuites ? [...COLUMNS, ...SUITE_COLUMNS] : COLUMNS;
  return csvLineOf([...columns.map(([, read]) => read({ ...result, ...run })), ...scores]);
}

interface RunCells {
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly runName: string | null;
}

type Line = TaskResult & RunCells;

const COLUMNS: readonly (readonly [name: string, read: (line: Line) => Cell])[] = [
  ["runId", (line) => line.runId],
  ["agentId", (line) => line.agentId],
  ["model", (line) => line.model],
  ["runName", (line) => line.runName],
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

/** Empty for questions. */
const SUITE_COLUMNS: typeof COLUMNS = [
  ["suite", ({ suite }) => suite?.name ?? null],
  ["tool", ({ suite }) => suite?.tool ?? null],
  ["snapshot", ({ suite }) => suite?.snapshot ?? null],
  ["tags", ({ suite }) => suite?.tags.join(" ") ?? null],
  ["relatedApps", ({ suite }) => suite?.relatedApps.join(" ") ?? null],
  ["actionNumber", ({ suite }) => suite?.actionNumber ?? null],
  ["counterpart", ({ suite }) => suite?.counterpart ?? null],
  ["state", ({ suite }) => suite?.state ?? null],
  ["reason", ({ suite }) => suite?.reason ?? null],
];
