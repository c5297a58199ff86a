import { type ComparableRun, comparableRun, type RunHead } from "../../src/analysis/paired-comparison.js";
import type { ScoreFigures } from "../../src/traces/run-totals.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { finished, SETTINGS } from "../traces/saved-runs.js";

/** Minimal runs to compare. */

export const figures = (changes: Partial<ScoreFigures> = {}): ScoreFigures => ({
  label: "Exact match",
  kind: "rate",
  better: "higher",
  meaning: "",
  value: 0.5,
  n: 10,
  low: 0.2,
  high: 0.8,
  overAll: { value: 0.5, n: 10, low: 0.2, high: 0.8 },
  byInbox: { low: null, high: null, inboxes: 1 },
  ...changes,
});

export const head = (changes: Partial<RunHead> = {}): RunHead => ({
  runId: "run_a",
  agentId: "art-e",
  model: "acme/best",
  split: "test",
  totalTasks: 10,
  completedTasks: 10,
  failedTasks: 0,
  avgExecutionTimeMs: 1_000,
  avgModelTimeMs: 700,
  avgToolTimeMs: 200,
  avgWaitingTimeMs: 100,
  status: "completed",
  plannedTasks: 10,
  totalTimeMs: 10_000,
  turns: 30,
  costUsd: 0.5,
  judgeCostUsd: 0,
  totalCostUsd: 0.5,
  dataset: { source: "questions.jsonl", revision: null, sha256: "d".repeat(64) },
  corpusFingerprint: "f".repeat(64),
  settings: { ...SETTINGS },
  scores: { exactMatch: figures(), semanticScore: figures({ label: "Word overlap", kind: "mean" }) },
  ...changes,
});

export const task = (taskId: number, scores: TaskResult["scores"], changes: Partial<TaskResult> = {}): TaskResult => ({
  ...finished("run_1", taskId, 1).result,
  scores,
  ...changes,
});

/** Returns results for questions 1, 2, ... with these exactMatch scores. Null means a failed task. */
export function run(values: readonly (number | null)[], changes: Partial<RunHead> = {}): ComparableRun {
  const results = values.map((value, i) =>
    value === null ? task(i + 1, {}, { ending: "timeout" }) : task(i + 1, { exactMatch: value }),
  );
  return comparableRun(head(changes), results);
}
