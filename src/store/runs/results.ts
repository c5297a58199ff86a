import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { Db } from "../connection/open-store.js";

/** A finished task as it is stored; trace and result are JSON. */
export interface ResultRow {
  readonly runId: string;
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly traceId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly startedAt: string;
  readonly ending: string;
  readonly failed: 0 | 1;
  readonly score: number | null;
  readonly trace: string;
  readonly result: string;
}

export function toResultRow(trace: Trace, result: TaskResult, failed: boolean): ResultRow {
  return {
    runId: trace.runId,
    taskId: trace.taskId,
    epoch: trace.epoch,
    traceId: trace.traceId,
    agentId: trace.agentId,
    sessionId: trace.sessionId,
    startedAt: trace.startedAt,
    ending: trace.ending,
    failed: failed ? 1 : 0,
    score: result.semanticScore,
    trace: JSON.stringify(trace),
    result: JSON.stringify(result),
  };
}

/** Saves trace and result of a finished task in one transaction. A new attempt supersedes the last one. */
export function openRowWriter(db: Db): (row: ResultRow) => void {
  const addTrace = db.prepare(
    `INSERT INTO traces (id, run_id, task_id, agent_id, session_id, started_at, ending, trace)
     VALUES (@traceId, @runId, @taskId, @agentId, @sessionId, @startedAt, @ending, @trace)`,
  );
  const supersede = db.prepare(
    "UPDATE results SET superseded = 1 WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND superseded = 0",
  );
  const addResult = db.prepare(
    `INSERT INTO results (run_id, task_id, epoch, attempt, trace_id, failed, semantic_score, result)
     VALUES (@runId, @taskId, @epoch,
       (SELECT 1 + count(*) FROM results WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch),
       @traceId, @failed, @score, @result)`,
  );
  return db.transaction((row: ResultRow) => {
    supersede.run(row);
    addTrace.run(row);
    addResult.run(row);
  });
}

/** A finished task, or a superseded failed attempt, which still counts for its cost. */
export interface Attempt {
  readonly result: TaskResult;
  readonly isFailed: boolean;
  readonly isSuperseded: boolean;
}

/** Attempts per query, which takes a few milliseconds. */
const PAGE = 100;

/** All attempts of a run by task id, epoch and attempt, a page at a time. */
export function* attemptPages(db: Db, runId: string): Generator<readonly Attempt[]> {
  const select = db.prepare(
    `SELECT task_id AS taskId, epoch, attempt, failed, superseded, result FROM results
     WHERE run_id = @runId AND (task_id, epoch, attempt) > (@taskId, @epoch, @attempt)
     ORDER BY task_id, epoch, attempt LIMIT ${PAGE}`,
  );
  let last: AttemptKey = { taskId: Number.MIN_SAFE_INTEGER, epoch: 0, attempt: 0 };
  for (;;) {
    const { taskId, epoch, attempt } = last;
    const rows = select.all({ runId, taskId, epoch, attempt }) as AttemptRow[];
    if (rows.length > 0) yield rows.map(toAttempt);
    if (rows.length < PAGE) return;
    last = rows.at(-1) ?? last;
  }
}

interface AttemptKey {
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly attempt: number;
}

interface AttemptRow extends AttemptKey {
  readonly failed: 0 | 1;
  readonly superseded: 0 | 1;
  readonly result: string;
}

function toAttempt({ result, failed, superseded }: AttemptRow): Attempt {
  return { result: JSON.parse(result) as TaskResult, isFailed: failed === 1, isSuperseded: superseded === 1 };
}

/** The results of a run by task id and epoch. */
export function* iterateResults(db: Db, runId: string): Generator<TaskResult> {
  for (const page of attemptPages(db, runId)) {
    for (const { result, isSuperseded } of page) if (!isSuperseded) yield result;
  }
}

/** What a task of an agent and a model used on average in earlier runs. */
export interface AverageTask {
  readonly tasks: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly turns: number;
  readonly seconds: number;
}

/** Null without a finished task. */
export function averageTask(db: Db, agentId: string, model: string): AverageTask | null {
  const row = db
    .prepare(
      `SELECT count(*) AS tasks, avg(result ->> '$.usage.inputTokens') AS inputTokens,
              avg(result ->> '$.usage.outputTokens') AS outputTokens,
              avg(result ->> '$.usage.cachedInputTokens') AS cachedInputTokens,
              avg(coalesce(result ->> '$.usage.cacheWriteTokens', 0)) AS cacheWriteTokens,
              avg(result ->> '$.turns') AS turns, avg(coalesce(result ->> '$.modelTimeMs' + result ->> '$.toolTimeMs', result ->> '$.executionTimeMs')) / 1000 AS seconds
       FROM results x JOIN runs r ON r.id = x.run_id WHERE r.agent_id = ? AND r.model = ? AND x.failed = 0`,
    )
    .get(agentId, model) as AverageTask;
  return row.tasks === 0 ? null : row;
}

/** A page of a run's results by task id and epoch; `total` counts all of them. */
export function pageOfResults(
  db: Db,
  runId: string,
  offset: number,
  limit: number,
): { readonly results: TaskResult[]; readonly total: number } {
  const total = db
    .prepare("SELECT count(*) FROM results WHERE run_id = ? AND superseded = 0")
    .pluck()
    .get(runId) as number;
  const rows = db
    .prepare(
      "SELECT result FROM results WHERE run_id = ? AND superseded = 0 ORDER BY task_id, epoch, attempt LIMIT ? OFFSET ?",
    )
    .pluck()
    .all(runId, limit, offset) as string[];
  return { results: rows.map((row) => JSON.parse(row) as TaskResult), total };
}
