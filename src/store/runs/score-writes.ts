import type { RunSettings, TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { Db } from "../connection/open-store.js";

/** The last trace read. */
export interface TaskCursor {
  readonly taskId: TaskId;
  readonly epoch: number;
}

/** The next traces of a run that have or can have scores, after a cursor (null: the first), by task id and epoch. */
export function tracesAfter(db: Db, runId: string, after: TaskCursor | null, limit: number): Trace[] {
  const rows = db
    .prepare(
      `SELECT t.trace FROM results r JOIN traces t ON t.id = r.trace_id
       WHERE r.run_id = ? AND r.superseded = 0 AND r.failed = 0 AND (r.task_id, r.epoch) > (?, ?)
       ORDER BY r.task_id, r.epoch LIMIT ?`,
    )
    .pluck()
    .all(runId, after?.taskId ?? Number.MIN_SAFE_INTEGER, after?.epoch ?? 0, limit) as string[];
  return rows.map((row) => JSON.parse(row) as Trace);
}

/** Replaces the scores of a batch, in traces and results, in one transaction. */
export function openScoreWriter(db: Db): (graded: readonly { trace: Trace; result: TaskResult }[]) => void {
  const setTrace = db.prepare("UPDATE traces SET trace = ? WHERE id = ?");
  const setResult = db.prepare(
    `UPDATE results SET result = @result, semantic_score = @score
     WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND trace_id = @traceId`,
  );
  const write = db.transaction((graded: readonly { trace: Trace; result: TaskResult }[]) => {
    for (const { trace, result } of graded) {
      const { runId, taskId, epoch, traceId } = trace;
      setTrace.run(JSON.stringify(trace), traceId);
      setResult.run({
        runId,
        taskId,
        epoch,
        traceId,
        score: result.semanticScore,
        result: JSON.stringify(result),
      });
    }
  });
  return (graded) => write.immediate(graded);
}

/** Records the settings a run was scored with. */
export function saveScoringSettings(db: Db, runId: string, settings: RunSettings): void {
  db.prepare("UPDATE runs SET settings = ? WHERE id = ?").run(JSON.stringify(settings), runId);
}

/** Releases the lock on a run without changing its status. */
export function releaseRun(db: Db, runId: string, worker: string): void {
  db.prepare("UPDATE runs SET worker = NULL WHERE id = ? AND worker = ?").run(runId, worker);
}
