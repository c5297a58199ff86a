// Labels derived from coding notes: every coded trace has one label per failure mode.
import { saveLabels, type TraceLabel } from "../../evals/labels.js";
import type { Db } from "../../store/open-store.js";

interface WantedLabel
  extends Pick<TraceLabel, "traceId" | "criterion" | "note" | "annotator" | "drawnFrom" | "probability"> {
  readonly label: "good" | "bad";
}

/**
 * Makes the labels with basis `coded` match the notes and their modes: bad if the trace has the mode, otherwise good. A
 * trace whose note is not in any mode yet has no such labels, because its mode is unknown. Unchanged labels are kept.
 */
export function syncModeLabels(db: Db, createdAt: string): void {
  const wantedByKey = new Map(wantedLabels(db).map((label) => [keyOf(label), label]));
  const existing = db
    .prepare(
      `SELECT id, trace_id AS traceId, criterion, label, note, annotator, drawn_from AS drawnFrom, probability
       FROM eval_labels
       WHERE basis = 'coded'`,
    )
    .all() as (WantedLabel & { readonly id: number })[];
  const remove = db.prepare("DELETE FROM eval_labels WHERE id = ?");
  for (const { id, ...label } of existing) if (!wantedByKey.delete(keyOf(label))) remove.run(id);
  saveLabels(
    db,
    [...wantedByKey.values()].map((label) => ({
      ...label,
      source: "person",
      isRepeat: false,
      drawn: label.drawnFrom === null ? "unknown" : label.probability === null ? "random" : "enriched",
      basis: "coded",
      createdAt,
    })),
  );
}

function wantedLabels(db: Db): WantedLabel[] {
  return db
    .prepare(
      `SELECT n.trace_id AS traceId, f.name AS criterion, iif(m.mode IS NULL, 'good', 'bad') AS label,
              iif(m.mode IS NULL, NULL, n.note) AS note, n.annotator, n.drawn_from AS drawnFrom,
              n.probability
       FROM coding_notes n CROSS JOIN failure_modes f
         LEFT JOIN coded_modes m ON m.trace_id = n.trace_id AND m.mode = f.name
       WHERE n.note IS NULL OR EXISTS (SELECT 1 FROM coded_modes WHERE trace_id = n.trace_id)`,
    )
    .all() as WantedLabel[];
}

function keyOf({ traceId, criterion, label, note, annotator, drawnFrom, probability }: WantedLabel): string {
  return JSON.stringify([traceId, criterion, label, note, annotator, drawnFrom, probability]);
}
