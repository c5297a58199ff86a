import { createHash } from "node:crypto";
import { clusteredKappa, clusteredRate } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import { skipDamaged } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import { parseTrace } from "../traces/traces-store.js";
import { criterionSentence } from "./criteria.js";
import type { EvaluatedTrace } from "./definition.js";
import { assignHalves, type Half } from "./split-questions.js";

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

/** The traces that a person has labelled for a criterion; `annotator` null: whoever it was. */
export function labelledByPerson(db: Db, criterion: string, annotator: string | null): Set<string> {
  const rows = db
    .prepare(
      `SELECT DISTINCT trace_id FROM eval_labels
       WHERE criterion = @criterion AND source = 'person' AND (@annotator IS NULL OR annotator = @annotator)`,
    )
    .pluck()
    .all({ criterion, annotator }) as string[];
  return new Set(rows);
}

/** How a trace that a person labelled was drawn at first: asked again, it is no other sample. Null: nobody did. */
export function firstDraw(db: Db, traceId: string, criterion: string): Pick<TraceLabel, "drawn" | "drawnFrom"> | null {
  const row = db
    .prepare(
      `SELECT drawn, drawn_from AS drawnFrom FROM eval_labels
       WHERE trace_id = ? AND criterion = ? AND source = 'person' ORDER BY id LIMIT 1`,
    )
    .get(traceId, criterion) as Pick<TraceLabel, "drawn" | "drawnFrom"> | undefined;
  return row ?? null;
}

export interface LabelledTrace {
  readonly trace: EvaluatedTrace;
  readonly label: TellingLabel;
  /** All its repeats and wordings have the same. */
  readonly question: string;
}

/** Traces in memory at once. */
const PAGE = 500;

/**
 * The good and bad traces of one half, in the order of their ids, some at a time. Hard cases teach, but count in no
 * figure: they are no sample of anything.
 */
export function* labelledPages(
  db: Db,
  criterion: string,
  half: Half,
  { size = PAGE, withHard = false }: { readonly size?: number; readonly withHard?: boolean } = {},
): Generator<LabelledTrace[]> {
  let page: LabelledTrace[] = [];
  for (const labelled of iterateLabelled(db, criterion, half)) {
    if (labelled.label.drawn === "hard" && !withHard) continue;
    page.push(labelled);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

export interface LabelSummary {
  /** Of the labels that count: of each trace that of its best source. */
  readonly labels: Readonly<Record<EvalLabel, number>>;
  /** How often a person who was asked again said the same. */
  readonly selfAgreement: Estimate;
  /** How often two people said the same of a trace. */
  readonly betweenAnnotators: Estimate;
}

export function summarizeLabels(db: Db, criterion: string): LabelSummary {
  const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
  for (const { label } of effectiveLabels(db, criterion)) labels[label]++;
  const isTold = (label: EvalLabel) => label === "good" || label === "bad";
  const repeated = repeatedLabels(db, criterion)
    .filter(({ first, again }) => isTold(first) && isTold(again))
    .map(({ first, again }, i) => ({ success: first === again, cluster: String(i) }));
  const pairs = annotatorPairs(db, criterion).flatMap((pair) => pair.traces);
  const between = pairs.map(({ first, second, cluster }) => ({ success: first === second, cluster }));
  return { labels, selfAgreement: clusteredRate(repeated), betweenAnnotators: clusteredRate(between) };
}

/** Two people who labelled the same traces. */
interface AnnotatorPair {
  readonly annotators: readonly [string, string];
  /** What each said: true for good. */
  readonly traces: readonly { readonly first: boolean; readonly second: boolean; readonly cluster: string }[];
}

function annotatorPairs(db: Db, criterion: string): AnnotatorPair[] {
  const rows = db
    .prepare(
      `WITH newest AS (
         SELECT trace_id, annotator, label FROM (
           SELECT *, row_number() OVER (PARTITION BY trace_id, annotator ORDER BY id DESC) AS rank FROM eval_labels
           WHERE criterion = ? AND source = 'person' AND annotator IS NOT NULL)
         WHERE rank = 1 AND label IN ('good', 'bad'))
       SELECT a.annotator AS one, b.annotator AS other, a.trace_id AS cluster, a.label AS first, b.label AS second
       FROM newest a JOIN newest b ON b.trace_id = a.trace_id AND a.annotator < b.annotator ORDER BY one, other, cluster`,
    )
    .all(criterion) as { one: string; other: string; cluster: string; first: EvalLabel; second: EvalLabel }[];
  const pairs = new Map<string, { annotators: [string, string]; traces: AnnotatorPair["traces"][number][] }>();
  for (const { one, other, cluster, first, second } of rows) {
    const key = JSON.stringify([one, other]);
    const pair = pairs.get(key) ?? { annotators: [one, other], traces: [] };
    pair.traces.push({ first: first === "good", second: second === "good", cluster });
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}

/** Of each two people, by the traces that both called good or bad. */
export interface AnnotatorAgreement {
  readonly annotators: readonly [string, string];
  readonly agreement: Estimate;
  readonly kappa: Estimate;
}

export function agreementOfAnnotators(db: Db, criterion: string): AnnotatorAgreement[] {
  return annotatorPairs(db, criterion).map(({ annotators, traces }) => ({
    annotators,
    agreement: clusteredRate(traces.map(({ first, second, cluster }) => ({ success: first === second, cluster }))),
    kappa: clusteredKappa(traces),
  }));
}

/** Names a set of labels and what they are about: another label or another sentence, and it is another set. */
export function hashLabels(
  labels: readonly Pick<EffectiveLabel, "traceId" | "label">[],
  sentence: string | null = null,
): string {
  const lines = labels.map(({ traceId, label }) => `${traceId} ${label}\n`).sort();
  if (sentence !== null) lines.push(sentence);
  return `sha256:${createHash("sha256").update(lines.join("")).digest("hex")}`;
}

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
    `INSERT INTO eval_labels (trace_id, criterion, label, source, note, annotator, is_repeat, drawn, drawn_from, created_at)
     VALUES (@traceId, @criterion, @label, @source, @note, @annotator, @isRepeat, @drawn, @drawnFrom, @createdAt)`,
  );
  return (label) => Number(insert.run({ ...label, isRepeat: Number(label.isRepeat) }).lastInsertRowid);
}

/** Deletes a label that a person gave. False: there is none of this id. */
export function deletePersonLabel(db: Db, id: number): boolean {
  return db.prepare("DELETE FROM eval_labels WHERE id = ? AND source = 'person'").run(id).changes > 0;
}

/** Deletes the labels of a criterion: of these traces, or by this annotator, or both. Returns how many there were. */
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

/** All labels of a criterion, in the order in which they were given. */
export function allLabels(db: Db, criterion: string): TraceLabel[] {
  const rows = db
    .prepare(
      `SELECT trace_id AS traceId, criterion, label, source, note, annotator, is_repeat AS isRepeat, drawn,
              drawn_from AS drawnFrom, created_at AS createdAt
       FROM eval_labels WHERE criterion = ? ORDER BY id`,
    )
    .all(criterion) as (Omit<TraceLabel, "isRepeat"> & { readonly isRepeat: number })[];
  return rows.map((row) => ({ ...row, isRepeat: row.isRepeat === 1 }));
}

/** The labels that count: of each trace the newest of its best source. */
const EFFECTIVE = `SELECT trace_id, label, source, note, drawn FROM (
    SELECT *, row_number() OVER (
      PARTITION BY trace_id ORDER BY CASE source WHEN 'person' THEN 1 WHEN 'judge' THEN 2 ELSE 3 END, id DESC) AS rank
    FROM eval_labels WHERE criterion = @criterion)
  WHERE rank = 1`;

export interface EffectiveLabel {
  readonly traceId: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  readonly note: string | null;
  readonly drawn: LabelDraw;
}

/** One that says good or bad. */
export interface TellingLabel extends EffectiveLabel {
  readonly label: "good" | "bad";
}

export function effectiveLabels(db: Db, criterion: string): EffectiveLabel[] {
  return db
    .prepare(`SELECT trace_id AS traceId, label, source, note, drawn FROM (${EFFECTIVE}) ORDER BY trace_id`)
    .all({ criterion }) as EffectiveLabel[];
}

/** The good and bad labels, with the question and half of their traces; both null of labels not used yet. */
function labelsWithHalves(db: Db, criterion: string) {
  return db
    .prepare(
      `SELECT e.trace_id AS traceId, label, source, note, drawn, question, half
       FROM (${EFFECTIVE}) e LEFT JOIN eval_traces t ON t.trace_id = e.trace_id
       WHERE label IN ('good', 'bad') ORDER BY e.trace_id`,
    )
    .all({ criterion }) as (TellingLabel & { readonly question: string | null; readonly half: Half | null })[];
}

/** Names the held-out labels that a test of the criterion was or would be by; new ones count once they were used. */
export function hashHeldOut(db: Db, criterion: string): string {
  return hashLabels(
    labelsWithHalves(db, criterion).filter(({ half, drawn }) => half === "heldout" && drawn !== "hard"),
    criterionSentence(db, criterion),
  );
}

/** Gives the questions of new labels their halves. */
function settleHalves(db: Db, criterion: string): void {
  db.transaction(() => {
    const labels = labelsWithHalves(db, criterion);
    if (labels.every(({ half }) => half !== null)) return;
    const counts = { training: { good: 0, bad: 0 }, heldout: { good: 0, bad: 0 } };
    for (const { half, label } of labels) if (half !== null) counts[half][label]++;
    const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
    const fresh = labels.filter(({ half }) => half === null);
    const read = function* () {
      for (const { traceId, label } of fresh) {
        const trace = skipDamaged(() => parseTrace<EvaluatedTrace>(traceId, select.get(traceId)));
        if (trace !== undefined) yield { trace, isBad: label === "bad" };
      }
    };
    assignHalves(db, read(), counts);
  }).immediate();
}

/**
 * The traces of a half, or of both, that are labelled good or bad, one at a time, in the order of their ids. No cursor
 * stays open between them: models and sandboxes are waited for there.
 */
export function* iterateLabelled(db: Db, criterion: string, half: Half | null): Generator<LabelledTrace> {
  settleHalves(db, criterion);
  const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
  for (const { question, half: ofTrace, ...label } of labelsWithHalves(db, criterion)) {
    if (question === null || (half !== null && ofTrace !== half)) continue;
    const row = select.get(label.traceId);
    // Undefined if the trace was deleted in the meantime.
    const trace = row === undefined ? undefined : skipDamaged(() => parseTrace<EvaluatedTrace>(label.traceId, row));
    if (trace !== undefined) yield { trace, label, question };
  }
}

/** A label that a person gave again, with the one before it. */
interface RepeatedLabel {
  readonly first: EvalLabel;
  readonly again: EvalLabel;
}

function repeatedLabels(db: Db, criterion: string): RepeatedLabel[] {
  return db
    .prepare(
      `SELECT (SELECT f.label FROM eval_labels f WHERE f.trace_id = r.trace_id AND f.criterion = r.criterion
                 AND f.source = 'person' AND f.annotator IS r.annotator AND f.id < r.id ORDER BY f.id DESC LIMIT 1) AS first, r.label AS again
       FROM eval_labels r WHERE r.criterion = ? AND r.source = 'person' AND r.is_repeat = 1`,
    )
    .all(criterion) as RepeatedLabel[];
}

/** `neutral`: neither, by a score between the bands. `skip`: a person could not tell. Both are left out and counted. */
export const EVAL_LABELS = ["good", "bad", "neutral", "skip"] as const;

export type EvalLabel = (typeof EVAL_LABELS)[number];

/**
 * How the trace came to be labelled. `random`: each had the same chance; `all` of a run were; `hard`: because evals
 * disagree on it; `unknown`: somebody chose it.
 */
export const LABEL_DRAWS = ["random", "all", "hard", "unknown"] as const;

export type LabelDraw = (typeof LABEL_DRAWS)[number];

/** Who labelled; the first that did counts. */
export const LABEL_SOURCES = ["person", "judge", "score"] as const;

export type LabelSource = (typeof LABEL_SOURCES)[number];

export interface TraceLabel {
  readonly traceId: string;
  /** The failure mode it is about. */
  readonly criterion: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  /** Why, in a person's or the judge's words. */
  readonly note: string | null;
  /** The person's name; null: not said, or it was no person. */
  readonly annotator: string | null;
  /** A trace that was labelled before was shown again, to measure how far a person agrees with himself. */
  readonly isRepeat: boolean;
  readonly drawn: LabelDraw;
  /** Of a random draw: among how many traces, each with the same chance. */
  readonly drawnFrom: number | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
