import type { TaskResult } from "../../domain/runs/task-result.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import type { Column, Table, TableSource } from "./table.js";

export interface TaskRow {
  readonly run: TableSource["head"];
  readonly result: TaskResult;
}

/** One row per task and epoch, named as in the results file; then a column for each of these scores. */
export function tasksTable(scores: readonly string[]): Table<TaskRow> {
  return {
    name: "tasks",
    columns: [...COLUMNS, ...scores.map(scoreColumn)],
    *rows({ head: run, results }) {
      for (const result of results()) yield { run, result };
    },
  };
}

const COLUMNS: readonly Column<TaskRow>[] = [
  { name: "runId", type: "text", read: ({ run }) => run.runId },
  { name: "agentId", type: "text", read: ({ run }) => run.agentId },
  { name: "model", type: "text", read: ({ run }) => run.model },
  { name: "runName", type: "text", read: ({ run }) => run.name ?? null },
  // Numbers of questions and texts of suites in one column.
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
  { name: "modelTimeMs", type: "number", read: ({ result }) => result.modelTimeMs ?? null },
  { name: "toolTimeMs", type: "number", read: ({ result }) => result.toolTimeMs ?? null },
  { name: "waitingTimeMs", type: "number", read: ({ result }) => result.waitingTimeMs ?? null },
  { name: "inputTokens", type: "integer", read: ({ result }) => result.usage.inputTokens },
  { name: "cachedInputTokens", type: "integer", read: ({ result }) => result.usage.cachedInputTokens },
  { name: "cacheWriteTokens", type: "integer", read: ({ result }) => result.usage.cacheWriteTokens ?? 0 },
  { name: "outputTokens", type: "integer", read: ({ result }) => result.usage.outputTokens },
  { name: "costUsd", type: "number", read: ({ result }) => result.costUsd },
  { name: "judgeCostUsd", type: "number", read: ({ result }) => result.judgeCostUsd },
  { name: "retries", type: "integer", read: ({ result }) => result.retries },
  { name: "cachedReplies", type: "integer", read: ({ result }) => result.cachedReplies },
  // Of tasks of a suite; null for questions about mailboxes.
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

/** As most readers see them: without regard to case. */
const TAKEN: ReadonlySet<string> = new Set(COLUMNS.map(({ name }) => name.toLowerCase()));

/** Results files of other programs may name a score like one of the columns above. */
function scoreColumn(score: string): Column<TaskRow> {
  const name = TAKEN.has(score.toLowerCase()) ? `score:${score}` : score;
  return { name, type: "number", read: ({ result }) => result.scores[score] ?? null };
}
