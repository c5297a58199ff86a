import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { Db } from "../connection/open-store.js";

/** The current traces of a run, of tasks that failed too, or with null all traces of chats; one at a time. */
export function* iterateTracesToLabel(db: Db, runId: string | null): Generator<EvaluatedTrace> {
  const rows =
    runId === null
      ? db.prepare("SELECT trace FROM traces WHERE run_id IS NULL ORDER BY started_at, id").pluck().iterate()
      : db
          .prepare(
            `SELECT t.trace FROM results r JOIN traces t ON t.id = r.trace_id
             WHERE r.run_id = ? AND r.superseded = 0 ORDER BY r.task_id, r.epoch`,
          )
          .pluck()
          .iterate(runId);
  for (const row of rows as Iterable<string>) yield JSON.parse(row) as EvaluatedTrace;
}

/** The traces that a person has labelled for a criterion. */
export function labelledByPerson(db: Db, criterion: string): Set<string> {
  const rows = db
    .prepare("SELECT DISTINCT trace_id FROM eval_labels WHERE criterion = ? AND source = 'person'")
    .pluck()
    .all(criterion) as string[];
  return new Set(rows);
}
