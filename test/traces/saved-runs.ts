import type { Db } from "../../src/store/open-store.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { saveTasks } from "../../src/traces/results-store.js";
import type { OwnRunSettings } from "../../src/traces/run-settings.js";
import { insertRun, type NewRun } from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import type { QuestionTrace as Trace } from "../../src/traces/trace.js";
import { trace as unscored } from "../scoring/trace.js";

/** Runs and finished tasks, saved in the same way as by the runner. */

export const SETTINGS: OwnRunSettings = {
  kind: "own",
  agentId: "email-search",
  agentVersion: 1,
  model: "script/test",
  baseUrl: null,
  wireApi: null,
  prompt: "Search.",
  tools: ["email_search"],
  maxTurns: 10,
  maxTokens: 2048,
  temperature: null,
  toolsDigest: "d".repeat(64),
  toolCalls: "all",
  toolChoice: "auto",
  cutoff: "query_date",
  taskTimeoutMs: 1000,
  maxTaskCostUsd: null,
  price: null,
  concurrency: 1,
  selection: { limit: 10 },
  epochs: 1,
  scorers: ["exactMatch", "semanticScore", "sourcesCorrect", "foundGold", "readGold"],
  judge: null,
};

export const QUESTIONS: QuestionSet = {
  source: "questions.jsonl",
  revision: null,
  sha256: "0123456789abcdef0123456789abcdef",
  split: "test",
  questions: [1, 2].map((id) => ({ ...unscored().task, id, question: `Question ${id}?` })),
};

export const QUESTION_TASKS = QUESTIONS.questions.map((task) => ({ kind: "question" as const, task }));

export function saveRun(db: Db, id: string, startedAt = "2026-01-01T00:00:00.000Z"): NewRun {
  const run: NewRun = {
    id,
    agentId: SETTINGS.agentId,
    model: SETTINGS.model,
    datasetId: saveTasks(db, QUESTIONS, QUESTION_TASKS),
    source: QUESTIONS.source,
    revision: QUESTIONS.revision,
    split: "test",
    settings: SETTINGS,
    corpusFingerprint: "f".repeat(64),
    totalTasks: 2,
    startedAt,
  };
  insertRun(db, run);
  return run;
}

/** A task of `run`. Without a score, it has failed. */
export function finished(runId: string, taskId: number, score: number | null, traceId = `trace_${runId}_${taskId}`) {
  const failed = score === null;
  const trace: Trace = {
    ...unscored({ traceId, runId, taskId, ending: failed ? "model_error" : "answered" }, { id: taskId }),
    scores: { semanticScore: { value: score } },
  };
  const result: TaskResult = {
    taskId,
    epoch: trace.epoch,
    inbox: "ann@x.example",
    queryDate: "2001-05-05",
    howRealistic: 0.8,
    goldSources: 1,
    question: trace.task.question,
    groundTruth: trace.task.answer,
    agentAnswer: trace.answer ?? "",
    exactMatch: failed ? null : false,
    semanticScore: score,
    executionTimeMs: 12.5,
    modelTimeMs: 12,
    toolTimeMs: 0.5,
    waitingTimeMs: 0,
    traceId,
    ending: trace.ending,
    turns: 1,
    usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 },
    costUsd: null,
    judgeCostUsd: 0,
    sources: [],
    sourcesCorrect: null,
    foundGold: null,
    readGold: null,
    retries: 0,
    cachedReplies: 0,
    spent: { usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }, costUsd: null },
    scores: {},
  };
  return { trace, result };
}

export function saveTask(db: Db, ...task: Parameters<typeof finished>): void {
  const { trace, result } = finished(...task);
  openRowWriter(db)(toResultRow(trace, result));
}
