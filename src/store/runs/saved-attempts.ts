import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Db } from "../connection/open-store.js";

/** An attempt at a task, in the order in which attempts were saved. */
export interface SavedAttempt {
  /** Grows with every attempt that is saved. */
  readonly position: number;
  readonly startedAt: string;
  readonly result: TaskResult;
}

/** Attempts per query, which takes a few milliseconds. */
const PAGE = 100;

/** Attempts at tasks of a run that were saved after `position`, a page at a time; a later one supersedes an earlier. */
export function* attemptsSavedAfter(db: Db, runId: string, position: number): Generator<readonly SavedAttempt[]> {
  const select = db.prepare(
    `SELECT t.rowid AS position, t.started_at AS startedAt, x.result
     FROM traces t JOIN results x ON x.trace_id = t.id
     WHERE t.run_id = @runId AND t.rowid > @position ORDER BY t.rowid LIMIT ${PAGE}`,
  );
  let last = position;
  for (;;) {
    const rows = select.all({ runId, position: last }) as AttemptRow[];
    if (rows.length > 0) yield rows.map(toSavedAttempt);
    if (rows.length < PAGE) return;
    last = rows.at(-1)?.position ?? last;
  }
}

interface AttemptRow {
  readonly position: number;
  readonly startedAt: string;
  readonly result: string;
}

function toSavedAttempt({ position, startedAt, result }: AttemptRow): SavedAttempt {
  return { position, startedAt, result: JSON.parse(result) as TaskResult };
}

/** Changes whenever the file was written to: `data_version` leaves out this connection, `total_changes` the others. */
export function dataVersion(db: Db): string {
  const own = db.prepare("SELECT total_changes()").pluck().get() as number;
  return `${db.pragma("data_version", { simple: true })}/${own}`;
}
