import type { Db } from "../connection/open-store.js";

/** Ids of the current traces of a run, of tasks that failed too, or with null those of all chats. */
export function traceIdsToLabel(db: Db, runId: string | null): string[] {
  const ids =
    runId === null
      ? db.prepare("SELECT id FROM traces WHERE run_id IS NULL ORDER BY started_at, id").pluck().all()
      : db
          .prepare("SELECT trace_id FROM results WHERE run_id = ? AND superseded = 0 ORDER BY task_id, epoch")
          .pluck()
          .all(runId);
  return ids as string[];
}

/** The traces that a person has labelled for a criterion. */
export function labelledByPerson(db: Db, criterion: string): Set<string> {
  const rows = db
    .prepare("SELECT DISTINCT trace_id FROM eval_labels WHERE criterion = ? AND source = 'person'")
    .pluck()
    .all(criterion) as string[];
  return new Set(rows);
}
