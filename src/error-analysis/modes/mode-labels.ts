// Labels derived from coding notes: every coded trace has one label per failure mode.
import { type CodedLabel, codedLabels, deleteCodedLabels, saveLabels } from "../../evals/labels.js";
import { groupBy } from "../../platform/group-by.js";
import type { Db } from "../../store/open-store.js";

/**
 * Makes the labels with basis `coded` match the notes and their modes: bad if the note is in the mode, otherwise good.
 * A note that is not in any mode yet has no such labels, because its mode is unknown. Labels of traces without a change
 * are kept. A trace's second label is saved after its first one, because the newest label counts.
 */
export function syncModeLabels(db: Db, createdAt: string): void {
  const keyOf = ({ traceId, criterion }: CodedLabel) => JSON.stringify([traceId, criterion]);
  const wanted = groupBy(wantedLabels(db), keyOf);
  for (const [key, labels] of groupBy(codedLabels(db), keyOf)) {
    const isSame = JSON.stringify(labels) === JSON.stringify(wanted.get(key));
    if (isSame) wanted.delete(key);
    else for (const { traceId, criterion } of labels) deleteCodedLabels(db, traceId, criterion);
  }
  saveLabels(
    db,
    [...wanted.values()].flat().map((label) => ({
      ...label,
      source: "person",
      isRepeat: label.isRepeat === 1,
      drawn: label.drawnFrom === null ? "unknown" : label.probability === null ? "random" : "enriched",
      basis: "coded",
      createdAt,
    })),
  );
}

function wantedLabels(db: Db): CodedLabel[] {
  return db
    .prepare(
      `SELECT n.trace_id AS traceId, f.name AS criterion, iif(m.mode IS NULL, 'good', 'bad') AS label,
              iif(m.mode IS NULL, NULL, n.note) AS note, n.annotator, n.drawn_from AS drawnFrom,
              n.probability, n.is_repeat AS isRepeat
       FROM coding_notes n CROSS JOIN failure_modes f
         LEFT JOIN coded_modes m ON m.trace_id = n.trace_id AND m.is_repeat = n.is_repeat AND m.mode = f.name
       WHERE n.note IS NULL
         OR EXISTS (SELECT 1 FROM coded_modes WHERE trace_id = n.trace_id AND is_repeat = n.is_repeat)
       ORDER BY n.is_repeat`,
    )
    .all() as CodedLabel[];
}
