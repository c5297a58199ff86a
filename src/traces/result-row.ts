import type { Db } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";
import type { TaskResult } from "./task-result.js";
import type { Trace } from "./trace.js";

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
  /** 1: its task has no result by this attempt, which only counts for its cost. */
  readonly superseded: 0 | 1;
  /** 1: the run's tasks were not known before, and this is one more. */
  readonly growing: 0 | 1;
  readonly score: number | null;
  readonly trace: string;
  readonly result: string;
}

/** How an attempt at a task came out; `stopped`: by a limit of the run, so that the task is left for a resume. */
export type AttemptOutcome = "finished" | "failed" | "stopped";

export function toResultRow(trace: Trace, result: TaskResult, outcome: AttemptOutcome, isGrowing = false): ResultRow {
  return {
    runId: trace.runId,
    taskId: trace.taskId,
    epoch: trace.epoch,
    traceId: trace.traceId,
    agentId: trace.agentId,
    sessionId: trace.sessionId,
    startedAt: trace.startedAt,
    ending: trace.ending,
    failed: outcome === "finished" ? 0 : 1,
    superseded: outcome === "stopped" ? 1 : 0,
    growing: isGrowing ? 1 : 0,
    score: result.semanticScore,
    trace: JSON.stringify(trace),
    result: JSON.stringify(result),
  };
}

/** Saves trace and result of a task in one transaction. A new attempt supersedes the last, unless it was stopped. */
export function openRowWriter(db: Db): (row: ResultRow) => void {
  const addTrace = db.prepare(
    `INSERT INTO traces (id, run_id, task_id, agent_id, session_id, started_at, ending, trace)
     VALUES (@traceId, @runId, @taskId, @agentId, @sessionId, @startedAt, @ending, @trace)`,
  );
  const supersede = db.prepare(
    "UPDATE results SET superseded = 1 WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND superseded = 0 AND NOT @superseded",
  );
  const addResult = db.prepare(
    `INSERT INTO results (run_id, task_id, epoch, attempt, trace_id, failed, superseded, semantic_score, result)
     VALUES (@runId, @taskId, @epoch,
       (SELECT 1 + count(*) FROM results WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch),
       @traceId, @failed, @superseded, @score, @result)`,
  );
  const grow = db.prepare("UPDATE runs SET total_tasks = total_tasks + 1 WHERE id = ?");
  return db.transaction((row: ResultRow) => {
    supersede.run(row);
    addTrace.run(row);
    addResult.run(row);
    if (row.growing === 1) grow.run(row.runId);
  });
}
