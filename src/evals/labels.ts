// The table of labels: saves, lists and deletes them, and finds the ones that another label would replace or repeat.
import { z } from "zod";
import { MAX_CHANCES } from "../statistics/sampling-weight.js";
import type { Db } from "../store/open-store.js";
import type { LabelSource } from "./definition.js";

/** How a trace was drawn. */
export interface TraceDraw {
  readonly drawn: LabelDraw;
  /** Number of traces from which a random or enriched draw selected this one, or null for other draws. */
  readonly drawnFrom: number | null;
  /** Probability with which an enriched draw selected this trace, or null for other draws. */
  readonly probability: number | null;
}

export interface TraceLabel extends TraceDraw {
  readonly traceId: string;
  /** The criterion that the label is for. */
  readonly criterion: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  /** The reason in the words of the person or the judge. */
  readonly note: string | null;
  /** The person's name, or null if unknown or if the source is not a person. */
  readonly annotator: string | null;
  /** Whether the trace was shown again to measure self-agreement. */
  readonly isRepeat: boolean;
  /** Absent means direct. */
  readonly basis?: LabelBasis;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/** Returns the ids of a run's current traces, including failed tasks, or of all chats if `runId` is null. */
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

/**
 * Returns the traces that a person has labeled for a criterion. A null `annotator` matches everyone. Traces with
 * uncounted labels only can be drawn again.
 */
export function labeledByPerson(db: Db, criterion: string, annotator: string | null): Set<string> {
  const rows = db
    .prepare(
      `SELECT DISTINCT trace_id FROM eval_labels
       WHERE criterion = @criterion AND source = 'person'
         AND (@annotator IS NULL OR annotator = @annotator)`,
    )
    .pluck()
    .all({ criterion, annotator }) as string[];
  return new Set(rows);
}

/** A person's label with its id, as shown to somebody who is about to replace it. */
export interface StoredLabel {
  readonly id: number;
  readonly label: EvalLabel;
  readonly note: string | null;
  readonly annotator: string | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

/**
 * Returns the newest label that another one would replace, or null. A named annotator's label replaces only that
 * person's earlier one, because two people can label the same trace. An adjudicated label replaces an adjudicated one.
 */
export function replacedLabel(
  db: Db,
  { traceId, criterion, annotator, basis }: Pick<TraceLabel, "traceId" | "criterion" | "annotator" | "basis">,
): StoredLabel | null {
  const row = db
    .prepare(
      `SELECT id, label, note, annotator, created_at AS createdAt FROM eval_labels
       WHERE trace_id = @traceId AND criterion = @criterion AND source = 'person' AND drawn <> 'hard'
         AND iif(@isAdjudicated, basis = 'adjudicated',
                 basis = 'direct' AND (@annotator IS NULL OR annotator = @annotator))
       ORDER BY id DESC LIMIT 1`,
    )
    .get({ traceId, criterion, annotator, isAdjudicated: Number(basis === "adjudicated") }) as StoredLabel | undefined;
  return row ?? null;
}

/** A label of a trace, by anybody, for any criterion. */
interface GivenLabel extends StoredLabel {
  readonly criterion: string;
  readonly source: LabelSource;
}

/** Returns the newest label of a trace per criterion, source and annotator, the newest first. */
export function labelsOfTrace(db: Db, traceId: string): GivenLabel[] {
  return db
    .prepare(
      `SELECT max(id) AS id, criterion, label, source, note, annotator, created_at AS createdAt FROM eval_labels
       WHERE trace_id = ? GROUP BY criterion, source, annotator ORDER BY id DESC`,
    )
    .all(traceId) as GivenLabel[];
}

/**
 * Returns how a trace was drawn for its first label, which also applies to repeated labels. Returns null for an
 * unlabeled trace.
 */
export function firstDraw(db: Db, traceId: string, criterion: string): TraceDraw | null {
  const row = db
    .prepare(
      `SELECT drawn, drawn_from AS drawnFrom, probability FROM eval_labels
       WHERE trace_id = ? AND criterion = ? AND source = 'person' ORDER BY id LIMIT 1`,
    )
    .get(traceId, criterion) as TraceDraw | undefined;
  return row ?? null;
}

/**
 * Returns the traces that a coding note puts into the criterion's mode, without a second note or a direct label, with
 * their draws, ordered by id.
 */
export function unconfirmedTraces(db: Db, criterion: string): (TraceDraw & { readonly traceId: string })[] {
  return db
    .prepare(
      `SELECT trace_id AS traceId, drawn, drawn_from AS drawnFrom, probability FROM eval_labels coded
       WHERE criterion = @criterion AND basis = 'coded' AND label = 'bad' AND NOT EXISTS (
         SELECT 1 FROM eval_labels other WHERE other.trace_id = coded.trace_id AND other.criterion = @criterion
           AND other.source = 'person' AND (other.basis <> 'coded' OR other.is_repeat = 1))
       ORDER BY trace_id`,
    )
    .all({ criterion }) as (TraceDraw & { readonly traceId: string })[];
}

/** Saves labels in one transaction. Their traces must exist. */
export function saveLabels(db: Db, labels: Iterable<TraceLabel>): void {
  db.transaction(() => {
    const save = labelSaver(db);
    for (const label of labels) save(label);
  }).immediate();
}

/** Saves a label, whose trace must exist, and returns its id. */
export function saveLabel(db: Db, label: TraceLabel): number {
  return labelSaver(db)(label);
}

function labelSaver(db: Db): (label: TraceLabel) => number {
  const insert = db.prepare(
    `INSERT INTO eval_labels
       (trace_id, criterion, label, source, note, annotator, is_repeat, drawn, drawn_from, probability, basis, created_at)
     VALUES (@traceId, @criterion, @label, @source, @note, @annotator, @isRepeat, @drawn, @drawnFrom, @probability,
             @basis, @createdAt)`,
  );
  return (label) => Number(insert.run({ basis: "direct", ...label, isRepeat: Number(label.isRepeat) }).lastInsertRowid);
}

/** Deletes a person's label. Returns false if the id does not exist. */
export function deletePersonLabel(db: Db, id: number): boolean {
  return db.prepare("DELETE FROM eval_labels WHERE id = ? AND source = 'person'").run(id).changes > 0;
}

/**
 * Deletes a criterion's labels: those for these traces, those by this annotator, or those that match both. Returns the
 * number of deleted labels.
 */
export function deleteLabels(
  db: Db,
  criterion: string,
  traceIds: readonly string[] | null,
  annotator: string | null,
): number {
  return db
    .prepare(
      `DELETE FROM eval_labels WHERE criterion = @criterion AND (@annotator IS NULL OR annotator = @annotator)
         AND (@ids IS NULL OR trace_id IN (SELECT value FROM json_each(@ids)))`,
    )
    .run({ criterion, annotator, ids: traceIds === null ? null : JSON.stringify(traceIds) }).changes;
}

/** A label derived from a coding note. */
export interface CodedLabel
  extends Pick<TraceLabel, "traceId" | "criterion" | "note" | "annotator" | "drawnFrom" | "probability"> {
  readonly label: "good" | "bad";
  readonly isRepeat: 0 | 1;
}

/** Returns the labels with basis `coded` in the order of creation. */
export function codedLabels(db: Db): CodedLabel[] {
  return db
    .prepare(
      `SELECT trace_id AS traceId, criterion, label, note, annotator, drawn_from AS drawnFrom, probability,
              is_repeat AS isRepeat
       FROM eval_labels WHERE basis = 'coded' ORDER BY id`,
    )
    .all() as CodedLabel[];
}

export function deleteCodedLabels(db: Db, traceId: string, criterion: string): void {
  db.prepare("DELETE FROM eval_labels WHERE basis = 'coded' AND trace_id = ? AND criterion = ?").run(
    traceId,
    criterion,
  );
}

/** Moves the direct labels that call a trace bad to another criterion. */
export function moveBadLabels(db: Db, from: string, to: string): void {
  db.prepare("UPDATE eval_labels SET criterion = ? WHERE criterion = ? AND label = 'bad' AND basis <> 'coded'").run(
    to,
    from,
  );
}

/** Renames a criterion in its labels, in the list of criteria, and in the evals that were made for it. */
export function renameCriterion(db: Db, name: string, newName: string): void {
  db.prepare("UPDATE eval_labels SET criterion = ? WHERE criterion = ?").run(newName, name);
  db.prepare("UPDATE OR REPLACE eval_criteria SET name = ? WHERE name = ?").run(newName, name);
  db.prepare("UPDATE OR REPLACE eval_modes SET mode = ? WHERE mode = ?").run(newName, name);
}

/** Returns the argument that selects the traces of a criterion's newest label: a run, `--chats`, or nothing. */
export function labeledTracesWord(db: Db, criterion: string): string[] {
  const newest = db
    .prepare(
      `SELECT coalesce(t.run_id, '--chats') FROM eval_labels l JOIN traces t ON t.id = l.trace_id
       WHERE criterion = ? ORDER BY l.id DESC LIMIT 1`,
    )
    .pluck()
    .get(criterion) as string | undefined;
  return newest === undefined ? [] : [newest];
}

/** Returns all labels of a criterion in the order of creation. */
export function allLabels(db: Db, criterion: string): TraceLabel[] {
  const rows = db
    .prepare(
      `SELECT trace_id AS traceId, criterion, label, source, note, annotator, is_repeat AS isRepeat, drawn,
              drawn_from AS drawnFrom, probability, basis, created_at AS createdAt
       FROM eval_labels WHERE criterion = ? ORDER BY id`,
    )
    .all(criterion) as (Omit<TraceLabel, "isRepeat"> & { readonly isRepeat: number })[];
  return rows.map((row) => ({ ...row, isRepeat: row.isRepeat === 1 }));
}

/**
 * `neutral` means that a score was between the bands. `skip` means that a person was unsure. Both are excluded but
 * counted.
 */
export const EVAL_LABELS = ["good", "bad", "neutral", "skip"] as const;

export type EvalLabel = (typeof EVAL_LABELS)[number];

/**
 * How a trace was selected for labeling. `random`: each trace had the same chance. `enriched`: likely failures had a
 * higher probability. `all`: every trace of a run was labeled. `unknown`: somebody chose it.
 */
export const LABEL_DRAWS = ["random", "enriched", "all", "unknown"] as const;

export type LabelDraw = (typeof LABEL_DRAWS)[number];

export const drawnFromSchema = z.int().positive().max(1_000_000_000);

export const probabilitySchema = z.number().positive().max(1);

/** Adds the checks of a draw to an object that contains it. Weights beyond the limits would decide every figure. */
export function withValidDraw<T extends z.ZodObject>(object: T): T {
  return object
    .refine(({ drawn, drawn_from: n, probability: p }) => drawn !== "enriched" || (n != null && p != null), {
      path: ["probability"],
      message: "expected drawn_from and probability for an enriched draw",
    })
    .refine(
      ({ drawn_from: n, probability: p }) =>
        n == null || p == null || (Number(p) * Number(n) >= 1 / MAX_CHANCES && Number(p) * Number(n) <= MAX_CHANCES),
      {
        path: ["probability"],
        message: `expected a value from 1/${MAX_CHANCES} to ${MAX_CHANCES} times 1 / drawn_from`,
      },
    );
}

/**
 * How a person arrived at a label. `direct`: labeled for the criterion. `coded`: derived from a coding note.
 * `adjudicated`: decided between labels of several people.
 */
export const LABEL_BASES = ["direct", "coded", "adjudicated"] as const;

type LabelBasis = (typeof LABEL_BASES)[number];
