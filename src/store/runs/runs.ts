import { UserError } from "../../domain/errors.js";
import type { RunSettings, TaskResult } from "../../domain/runs/benchmark-result.js";
import { NO_LIMITS, type RunLimits } from "../../domain/runs/run-limits.js";
import type { RunStatus } from "../../domain/runs/run-status.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Db } from "../connection/open-store.js";
import { isGone } from "./process-identity.js";

export interface RunRow {
  readonly id: string;
  readonly agentId: string;
  readonly model: string;
  readonly split: string;
  readonly settings: RunSettings;
  readonly dataset: { readonly source: string; readonly revision: string | null; readonly sha256: string };
  readonly corpusFingerprint: string;
  readonly totalTasks: number;
  readonly limits: RunLimits;
  /** Where its results file is to be, an absolute path; null: nowhere. */
  readonly output: string | null;
  /** `running` as long as its process is there: one that was killed has interrupted it. */
  readonly status: RunStatus;
  /** Time that was worked on it, over all its sessions. */
  readonly activeMs: number;
  readonly startedAt: string;
  readonly completedAt: string | null;
}

export interface NewRun extends Omit<RunRow, "dataset" | "limits" | "output" | "status" | "activeMs" | "completedAt"> {
  readonly datasetId: string;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

export function insertRun(db: Db, run: NewRun): void {
  db.prepare(
    `INSERT INTO runs (id, agent_id, model, dataset_id, split, settings, limits, output, corpus_fingerprint, total_tasks, status, started_at)
     VALUES (@id, @agentId, @model, @datasetId, @split, @settings, @limits, @output, @corpusFingerprint, @totalTasks, 'running', @startedAt)`,
  ).run({
    output: null,
    ...run,
    settings: JSON.stringify(run.settings),
    limits: JSON.stringify(run.limits ?? NO_LIMITS),
  });
}

/** Ends a session of work on a run; `activeMs` is its length. */
export function finishRun(db: Db, id: string, status: RunStatus, completedAt: string, activeMs: number): void {
  db.prepare("UPDATE runs SET status = ?, completed_at = ?, active_ms = active_ms + ?, worker = NULL WHERE id = ?").run(
    status,
    completedAt,
    Math.round(activeMs),
    id,
  );
}

/** What may be otherwise when a run is taken up again: settings by force, the others where they are given again. */
export interface RunChange {
  readonly settings: RunSettings;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

export function reopenRun(db: Db, id: string, { settings, limits, output }: RunChange): void {
  db.prepare(
    `UPDATE runs SET status = 'running', settings = @settings, limits = COALESCE(@limits, limits),
       output = COALESCE(@output, output) WHERE id = @id`,
  ).run({
    id,
    settings: JSON.stringify(settings),
    limits: limits === undefined ? null : JSON.stringify(limits),
    output: output ?? null,
  });
}

/**
 * Makes `worker` (`host:pid`) the one who works on a run. Null where it has been taken; else who holds it. A holder that
 * `isGone` holds nothing: it was killed.
 */
export function lockRun(db: Db, id: string, worker: string, isGone: (holder: string) => boolean): string | null {
  return db
    .transaction(() => {
      const holder = db.prepare("SELECT worker FROM runs WHERE id = ?").pluck().get(id) as string | null;
      if (holder !== null && holder !== worker && !isGone(holder)) return holder;
      // What a killed holder left as running is not, whoever has it now.
      const status = holder === null ? "status" : "CASE status WHEN 'running' THEN 'interrupted' ELSE status END";
      db.prepare(`UPDATE runs SET worker = ?, status = ${status} WHERE id = ?`).run(worker, id);
      return null;
    })
    .immediate();
}

/** Finds a run by its id, by the beginning of it, or the newest one by `latest`. */
export function getRun(db: Db, id: string): RunRow {
  const select = `SELECT r.id, r.agent_id AS agentId, r.model, r.split, r.settings, r.corpus_fingerprint AS corpusFingerprint,
      r.limits, r.output, r.total_tasks AS totalTasks, r.status, r.worker, r.active_ms AS activeMs, r.started_at AS startedAt, r.completed_at AS completedAt,
      d.source, d.revision, d.sha256
    FROM runs r JOIN datasets d ON d.id = r.dataset_id`;
  const rows = (
    id === "latest"
      ? db.prepare(`${select} ORDER BY r.started_at DESC, r.rowid DESC LIMIT 1`).all()
      : db
          .prepare(`${select} WHERE r.id = @id OR substr(r.id, 1, length(@id)) = @id ORDER BY r.id = @id DESC LIMIT 2`)
          .all({ id })
  ) as (Omit<RunRow, "settings" | "limits" | "dataset"> & {
    settings: string;
    limits: string | null;
    worker: string | null;
    source: string;
    revision: string | null;
    sha256: string;
  })[];
  const [row, second] = rows;
  if (row === undefined || (second !== undefined && row.id !== id)) {
    throw new UserError(
      "run_unknown",
      row === undefined ? `There is no run "${id}" in ${db.name}.` : `More than one run begins with "${id}".`,
      "art-e stats --run latest shows the newest; art-e stats --runs lists them.",
    );
  }
  const { settings, limits, worker, source, revision, sha256, ...run } = row;
  return {
    ...run,
    status: statusOf(run.status, worker),
    settings: JSON.parse(settings) as RunSettings,
    limits: limits === null ? NO_LIMITS : (JSON.parse(limits) as RunLimits),
    dataset: { source, revision, sha256 },
  };
}

/** A run that says it is running and has nobody who works on it was killed. */
function statusOf(status: RunStatus, worker: string | null): RunStatus {
  return status === "running" && (worker === null || isGone(worker)) ? "interrupted" : status;
}

export interface RunSummary {
  readonly id: string;
  readonly agentId: string;
  readonly model: string;
  readonly status: RunStatus;
  readonly startedAt: string;
  readonly tasks: number;
  readonly totalTasks: number;
}

export function listRuns(db: Db): RunSummary[] {
  const rows = db
    .prepare(
      `SELECT r.id, r.agent_id AS agentId, r.model, r.status, r.worker, r.started_at AS startedAt,
              (SELECT count(*) FROM results WHERE run_id = r.id AND superseded = 0) AS tasks, r.total_tasks AS totalTasks
       FROM runs r ORDER BY r.started_at DESC, r.rowid DESC`,
    )
    .all() as (RunSummary & { worker: string | null })[];
  return rows.map(({ worker, ...line }) => ({ ...line, status: statusOf(line.status, worker) }));
}

/** A finished task as it is stored; trace and result are JSON. */
export interface ResultRow {
  readonly runId: string;
  readonly taskId: number;
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

/** Saves a finished task: trace and result together or neither. A further attempt at a task takes the place of the last one. */
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

/** A finished task, or a failed attempt at one that was made again since: that counts for what it cost. */
export interface Attempt {
  readonly result: TaskResult;
  readonly isFailed: boolean;
  readonly isSuperseded: boolean;
}

/** Attempts read at once: a few milliseconds. */
const PAGE = 100;

/** All that a run has finished, in the order of the task ids, their repeats and the attempts at each, a page at a time. */
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
  readonly taskId: number;
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

/** The results of a run in the order of the task ids and their repeats. */
export function* iterateResults(db: Db, runId: string): Generator<TaskResult> {
  for (const page of attemptPages(db, runId)) {
    for (const { result, isSuperseded } of page) if (!isSuperseded) yield result;
  }
}

/** What a task of this agent and model has taken on average, in earlier runs. */
export interface AverageTask {
  readonly tasks: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly turns: number;
  readonly seconds: number;
}

/** Null where there is no finished task to go by. */
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
