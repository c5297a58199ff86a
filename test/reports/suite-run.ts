import { SUITE_SCORERS } from "../../src/scoring/scorers.js";
import type { Db } from "../../src/store/open-store.js";
import type { PlannedSuiteTask, SuiteTaskFacts } from "../../src/tasks/question.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { saveTasks } from "../../src/traces/results-store.js";
import { finishRun, insertRun } from "../../src/traces/runs-store.js";
import { toTaskResult } from "../../src/traces/task-result.js";
import type { SuiteTrace } from "../../src/traces/trace.js";
import { trace as questionTrace } from "../scoring/trace.js";
import { SETTINGS } from "../traces/saved-runs.js";

/** Runs over a suite, saved like real runs. */

const FACTS: SuiteTaskFacts = {
  id: "t1",
  suite: "harbour",
  dialect: "flowbook",
  tool: "terminal",
  instruction: "Count the boats.",
  snapshot: "base",
  tags: ["cli", "abstract"],
  relatedApps: ["terminal"],
  actionNumber: 3,
  counterpart: null,
};

type Changes = Partial<Omit<SuiteTrace, "kind" | "task" | "scores">>;

/** A trace of a task with this score, or an ungraded one if null. */
export function suiteTrace(
  score: number | null,
  facts: Partial<SuiteTaskFacts> = {},
  changes: Changes = {},
): SuiteTrace {
  const task = { ...FACTS, ...facts };
  const reason = score === 1 ? "" : "compare_csv gives 0";
  const grade = changes.grade ?? { score, state: score === null ? "unsupported" : "success", reason };
  const { task: _, ...unscored } = questionTrace({ taskId: task.id, answer: "Done." });
  const scores = Object.entries(SUITE_SCORERS).map(([name, { scoreGrade }]) => [name, scoreGrade(grade)]);
  const ending = score === null ? "not_started" : "answered";
  return {
    ...unscored,
    kind: "suite",
    traceId: `trace_${task.id}`,
    ending,
    task,
    grade,
    judge: null,
    error: score === null ? reason : null,
    ...changes,
    scores: Object.fromEntries(scores),
  };
}

/** A turn with one tool call. */
export function withCall(
  name: string,
  args: Record<string, string>,
  result: SuiteTrace["toolCalls"][number]["result"],
): Changes {
  const toolCalls = [{ id: "c1", name, arguments: args }];
  const times = { startedAt: "2026-01-01T00:00:01.000Z", durationMs: 12 };
  const usage = { inputTokens: 900, outputTokens: 60, cachedInputTokens: 0 };
  const turn = {
    startedAt: times.startedAt,
    latencyMs: 40,
    finishReason: "tool_calls",
    rawFinishReason: "tool_use",
  } as const;
  return {
    messages: [
      { role: "system", content: "You do a task." },
      { role: "user", content: FACTS.instruction },
      { role: "assistant", content: "", toolCalls },
      { role: "tool", toolCallId: "c1", name, content: JSON.stringify(result), isError: false },
    ],
    toolCalls: [{ id: "c1", name, arguments: args, result, error: null, errorKind: null, turn: 0, ...times }],
    turns: [{ ...turn, usage, costUsd: 0.001, retries: [], cached: false }],
  };
}

export function saveSuiteRun(db: Db, id: string, traces: readonly SuiteTrace[]): void {
  const tasks = traces.map(({ task }): PlannedSuiteTask => {
    const { suite: name, ...facts } = task;
    return {
      ...facts,
      suite: { name, root: "/suites/harbour" },
      folder: "/suites/harbour",
      sha256: "5".repeat(64),
      source: [],
      config: [],
      evaluation: null,
    };
  });
  const set = { source: "/suites/harbour", revision: null, sha256: "5".repeat(64), split: "suite" };
  insertRun(db, {
    id,
    agentId: "data-worker",
    model: "acme/best",
    split: "suite",
    settings: SETTINGS,
    corpusFingerprint: "",
    source: set.source,
    revision: null,
    datasetId: saveTasks(
      db,
      set,
      tasks.map((task) => ({ kind: "suite", task })),
    ),
    totalTasks: traces.length,
    startedAt: "2026-01-01T00:00:00.000Z",
  });
  const save = openRowWriter(db);
  for (const made of traces) {
    const trace = { ...made, runId: id, traceId: `${made.traceId}_${id}` };
    save(toResultRow(trace, toTaskResult(trace)));
  }
  finishRun(db, id, "completed", "2026-01-01T01:00:00.000Z", 3_600_000);
}
