import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { EvalLabel, LabelSource, TraceLabel } from "../../domain/evals/label.js";
import type { Db } from "../connection/open-store.js";

/** Adds labels, all or none. Their traces must exist. */
export function saveLabels(db: Db, labels: Iterable<TraceLabel>): void {
  db.transaction(() => {
    const save = labelSaver(db);
    for (const label of labels) save(label);
  }).immediate();
}

/** Adds a label, whose trace must exist, and returns its id. */
export function saveLabel(db: Db, label: TraceLabel): number {
  return labelSaver(db)(label);
}

function labelSaver(db: Db): (label: TraceLabel) => number {
  const insert = db.prepare(
    `INSERT INTO eval_labels (trace_id, criterion, label, source, note, is_repeat, created_at)
     VALUES (@traceId, @criterion, @label, @source, @note, @isRepeat, @createdAt)`,
  );
  return (label) => Number(insert.run({ ...label, isRepeat: Number(label.isRepeat) }).lastInsertRowid);
}

/** Deletes a label that a person gave. False: there is none of this id. */
export function deletePersonLabel(db: Db, id: number): boolean {
  return db.prepare("DELETE FROM eval_labels WHERE id = ? AND source = 'person'").run(id).changes > 0;
}

/** The labels that count: of each trace the newest of its best source. */
const EFFECTIVE = `SELECT trace_id, label, source, note FROM (
    SELECT *, row_number() OVER (
      PARTITION BY trace_id ORDER BY CASE source WHEN 'person' THEN 1 WHEN 'judge' THEN 2 ELSE 3 END, id DESC) AS rank
    FROM eval_labels WHERE criterion = @criterion)
  WHERE rank = 1`;

export interface EffectiveLabel {
  readonly traceId: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  readonly note: string | null;
}

export function effectiveLabels(db: Db, criterion: string): EffectiveLabel[] {
  return db
    .prepare(`SELECT trace_id AS traceId, label, source, note FROM (${EFFECTIVE}) ORDER BY trace_id`)
    .all({ criterion }) as EffectiveLabel[];
}

/**
 * The traces that are labelled good or bad, one at a time, in the order of their ids. No cursor stays open between
 * them: models and sandboxes are waited for there.
 */
export function* iterateLabelled(
  db: Db,
  criterion: string,
): Generator<{ readonly trace: EvaluatedTrace; readonly label: EffectiveLabel }> {
  const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
  for (const label of effectiveLabels(db, criterion)) {
    if (label.label !== "good" && label.label !== "bad") continue;
    const trace = select.get(label.traceId) as string | undefined;
    // Deleted in between.
    if (trace !== undefined) yield { trace: JSON.parse(trace) as EvaluatedTrace, label };
  }
}

/** A label that a person gave again, with the one before it. */
export interface RepeatedLabel {
  readonly first: EvalLabel;
  readonly again: EvalLabel;
}

export function repeatedLabels(db: Db, criterion: string): RepeatedLabel[] {
  return db
    .prepare(
      `SELECT (SELECT f.label FROM eval_labels f WHERE f.trace_id = r.trace_id AND f.criterion = r.criterion
                 AND f.source = 'person' AND f.id < r.id ORDER BY f.id DESC LIMIT 1) AS first, r.label AS again
       FROM eval_labels r WHERE r.criterion = ? AND r.source = 'person' AND r.is_repeat = 1`,
    )
    .all(criterion) as RepeatedLabel[];
}
