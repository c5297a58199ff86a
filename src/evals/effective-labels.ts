// The label that counts for each trace, by source and half, and the labeled traces of a half.
import { sha256Of } from "../platform/sha256.js";
import { samplingWeight } from "../statistics/sampling-weight.js";
import type { Db } from "../store/open-store.js";
import { traceReader } from "../traces/traces-store.js";
import { criterionSentence } from "./criteria.js";
import {
  type EvalDefinition,
  type EvaluatedTrace,
  LABEL_SOURCES,
  type LabelSource,
  type LabelSources,
} from "./definition.js";
import type { EvalLabel, LabelDraw, TraceDraw } from "./labels.js";
import { assignHalves, type Half, HalfCounts } from "./split-questions.js";

export interface LabeledTrace {
  readonly trace: EvaluatedTrace;
  readonly label: TellingLabel;
  /** Repetitions and other wordings of a question have the same value. */
  readonly question: string;
}

/** Maximum number of traces in memory. */
const PAGE = 500;

/** Yields pages of good and bad traces of a half, or of both, ordered by id. */
export function* labeledPages(db: Db, criterion: string, half: Half | null, size = PAGE): Generator<LabeledTrace[]> {
  let page: LabeledTrace[] = [];
  for (const labeled of iterateLabeled(db, criterion, half)) {
    page.push(labeled);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/**
 * Yields the traces of a half, or of both, that are labeled good or bad, ordered by id. No database cursor stays open
 * between traces, because callers wait for models and sandboxes in between.
 */
export function* iterateLabeled(db: Db, criterion: string, half: Half | null): Generator<LabeledTrace> {
  const read = traceReader<EvaluatedTrace>(db);
  for (const { question, ...label } of labelsOfHalf(db, criterion, half)) {
    // The trace is undefined if it was deleted in the meantime.
    const trace = read(label.traceId);
    if (trace !== undefined) yield { trace, label, question };
  }
}

/** A good or bad label with the question of its trace. */
export interface QuestionLabel extends TellingLabel {
  readonly question: string;
}

/** Returns the good and bad labels of a half, or of both, ordered by trace. `until` selects the labels of that time. */
export function labelsOfHalf(
  db: Db,
  criterion: string,
  half: Half | null,
  until: string | null = null,
): QuestionLabel[] {
  settleHalves(db, criterion);
  return labelsWithHalves(db, criterion, until).flatMap(({ question, half: ofTrace, ...label }) =>
    question === null || (half !== null && ofTrace !== half) ? [] : [{ ...label, question }],
  );
}

interface CountedLabel extends TellingLabel {
  readonly question: string | null;
  readonly half: Half | null;
}

/**
 * Returns the counted good and bad labels with the question and half of their traces. Both are null for labels that
 * have not been used yet.
 */
function labelsWithHalves(db: Db, criterion: string, until: string | null = null): CountedLabel[] {
  const rows = db
    .prepare(
      `SELECT ${EFFECTIVE_COLUMNS}, question, half
       FROM (${EFFECTIVE}) e LEFT JOIN eval_traces t ON t.trace_id = e.trace_id
       WHERE label IN ('good', 'bad') ORDER BY e.trace_id`,
    )
    .all({ criterion, until });
  return (rows as EffectiveRow<CountedLabel>[]).map((row) => weighted(row) as CountedLabel);
}

/** Assigns a half to the questions of new labels. */
function settleHalves(db: Db, criterion: string): void {
  db.transaction(() => {
    const labels = labelsWithHalves(db, criterion);
    if (labels.every(({ half }) => half !== null)) return;
    const others = badForOthers(db, criterion);
    const badFor = ({ traceId, label }: TellingLabel) => [
      ...(others.get(traceId) ?? []),
      ...(label === "bad" ? [criterion] : []),
    ];
    const counts = new HalfCounts();
    for (const { half, ...label } of labels) if (half !== null) counts.add(half, badFor(label));
    const read = traceReader<EvaluatedTrace>(db);
    const fresh = function* () {
      for (const label of labels) {
        const trace = label.half === null ? read(label.traceId) : undefined;
        if (trace !== undefined) yield { trace, badFor: badFor(label) };
      }
    };
    assignHalves(db, fresh(), counts);
  }).immediate();
}

/** Returns the other criteria for which traces have a bad label. */
function badForOthers(db: Db, criterion: string): ReadonlyMap<string, readonly string[]> {
  const rows = db
    .prepare("SELECT DISTINCT trace_id AS traceId, criterion FROM eval_labels WHERE label = 'bad' AND criterion <> ?")
    .all(criterion) as { traceId: string; criterion: string }[];
  const byTrace = new Map<string, string[]>();
  for (const row of rows) byTrace.set(row.traceId, [...(byTrace.get(row.traceId) ?? []), row.criterion]);
  return byTrace;
}

/** Returns the labels of a half, or of both, that can validate an eval: people's. */
function labelsByPeople(db: Db, criterion: string, half: Half | null): CountedLabel[] {
  return labelsWithHalves(db, criterion).filter(
    (label) => label.half !== null && (half === null || label.half === half) && label.source === "person",
  );
}

/** Returns the held-out traces that people labeled good or bad. */
export function heldOutTraceIds(db: Db, criterion: string): string[] {
  return labelsByPeople(db, criterion, "heldout").map(({ traceId }) => traceId);
}

/** Returns a hash of the labels that a test of the criterion uses. New labels are included after their first use. */
export function hashTested(db: Db, criterion: string, half: Half | null): string {
  return hashLabels(labelsByPeople(db, criterion, half), criterionSentence(db, criterion));
}

/** Returns the traces whose first label for a criterion is newer than a time. */
function tracesLabeledAfter(db: Db, criterion: string, time: string): ReadonlySet<string> {
  const ids = db
    .prepare("SELECT trace_id FROM eval_labels WHERE criterion = ? GROUP BY trace_id HAVING min(created_at) > ?")
    .pluck()
    .all(criterion, time);
  return new Set(ids as string[]);
}

/**
 * Returns whether a trace of the training half, labeled before a time, has another label since then. Only the
 * disagreements of evals with this half are listed, so its labels might have been corrected in favor of an eval.
 */
export function isTrainingHalfCorrected(db: Db, criterion: string, since: string): boolean {
  const corrected = db
    .prepare(
      `SELECT 1 FROM eval_labels new JOIN eval_traces t ON t.trace_id = new.trace_id AND t.half = 'training'
       WHERE new.criterion = @criterion AND new.created_at > @since AND EXISTS (
         SELECT 1 FROM eval_labels old WHERE old.trace_id = new.trace_id AND old.criterion = new.criterion
           AND old.created_at <= @since AND old.label <> new.label)
       LIMIT 1`,
    )
    .get({ criterion, since });
  return corrected !== undefined;
}

/** A label of a trace that was drawn with a known probability. */
interface SampledLabel {
  readonly isGood: boolean;
  /** 1 if every trace had the same chance. */
  readonly weight: number;
}

/** Labels by trace that represent the traces of a run. */
export type LabelSample = ReadonlyMap<string, SampledLabel>;

/**
 * Returns people's labels of traces that were drawn with a known probability, or that are all of a run, and that an
 * eval was not made from: those of the held-out half, and of traces first labeled after the eval was saved. A template
 * is made from none: labels only choose it among a few and set at most one threshold, and the intervals of
 * corrected rates contain the true rate as often as for other evals (`bench -- evals --part rates`).
 */
export function sampledUnseenLabels(
  db: Db,
  criterion: string,
  { createdAt, definition }: { readonly createdAt: string; readonly definition: Pick<EvalDefinition, "origin"> },
): LabelSample {
  const newer = tracesLabeledAfter(db, criterion, createdAt);
  const isUnseen = ({ traceId, half }: CountedLabel) =>
    definition.origin.by === "templates" || half === "heldout" || newer.has(traceId);
  const labels = labelsWithHalves(db, criterion).filter(
    (label) => isUnseen(label) && label.drawn !== "unknown" && label.source === "person",
  );
  return new Map(labels.map(({ traceId, label, weight }) => [traceId, { isGood: label === "good", weight }]));
}

export interface EffectiveLabel {
  readonly traceId: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  readonly note: string | null;
  readonly drawn: LabelDraw;
  /** Weight in all figures: 1 if every trace had the same chance to be drawn. */
  readonly weight: number;
}

/** A label that is good or bad. */
export interface TellingLabel extends EffectiveLabel {
  readonly label: "good" | "bad";
}

/** A draw with the number of traces of the run that no draw has selected, or null if somebody chose all of them. */
export type DrawRow = TraceDraw & { readonly remaining: number | null };

type EffectiveRow<T extends EffectiveLabel> = Omit<T, "weight"> & DrawRow;

/**
 * Selects the effective labels: the newest label of each trace from its best source. Every reader uses this order. A
 * person's adjudicated label takes precedence over direct labels, and a direct label over one from a coding note.
 * `remaining` is the number of traces of the same run that no draw has selected. `@until` leaves out later labels.
 */
const EFFECTIVE = `SELECT trace_id, label, source, note, drawn, drawn_from, probability, remaining FROM (
    SELECT l.*,
      min(iif(drawn IN ('random', 'enriched'), drawn_from, NULL)) OVER (PARTITION BY t.run_id) - 1 AS remaining,
      row_number() OVER (
        PARTITION BY trace_id ORDER BY
          CASE source ${LABEL_SOURCES.map((source, i) => `WHEN '${source}' THEN ${i}`).join(" ")} END,
          CASE basis WHEN 'adjudicated' THEN 1 WHEN 'direct' THEN 2 ELSE 3 END, l.id DESC) AS rank
    FROM eval_labels l JOIN traces t ON t.id = l.trace_id
    WHERE criterion = @criterion AND (@until IS NULL OR l.created_at <= @until))
  WHERE rank = 1`;

const EFFECTIVE_COLUMNS = `e.trace_id AS traceId, label, source, note, drawn, drawn_from AS drawnFrom, probability,
  remaining`;

function weighted<T extends EffectiveLabel>({ drawnFrom, probability, remaining, ...label }: EffectiveRow<T>) {
  return { ...label, weight: label.drawn === "enriched" ? drawWeight({ drawnFrom, probability, remaining }) : 1 };
}

/** Returns the weight of a drawn trace in all figures: 1 unless it was drawn with another probability than others. */
export function drawWeight({ drawnFrom, probability, remaining }: Omit<DrawRow, "drawn">): number {
  return drawnFrom === null || probability === null ? 1 : samplingWeight({ drawnFrom, probability }, remaining ?? 0);
}

export function effectiveLabels(db: Db, criterion: string): EffectiveLabel[] {
  const rows = db
    .prepare(`SELECT ${EFFECTIVE_COLUMNS} FROM (${EFFECTIVE}) e ORDER BY e.trace_id`)
    .all({ criterion, until: null });
  return (rows as EffectiveRow<EffectiveLabel>[]).map(weighted);
}

/** Counts labels by source. */
export function countSources(labels: Iterable<Pick<EffectiveLabel, "source">>): LabelSources {
  const counts: LabelSources = {};
  for (const { source } of labels) counts[source] = (counts[source] ?? 0) + 1;
  return counts;
}

/** Returns the sources of labels, or nothing if all are by people. */
export function otherSources(labels: Iterable<Pick<EffectiveLabel, "source">>): { readonly sources?: LabelSources } {
  const sources = countSources(labels);
  return Object.keys(sources).every((source) => source === "person") ? {} : { sources };
}

/**
 * Identifies a set of labels and the sentence of their criterion. A change in any label or in the sentence changes the
 * hash.
 */
export function hashLabels(
  labels: readonly Pick<EffectiveLabel, "traceId" | "label">[],
  sentence: string | null = null,
): string {
  const lines = labels.map(({ traceId, label }) => `${traceId} ${label}\n`).sort();
  if (sentence !== null) lines.push(sentence);
  return `sha256:${sha256Of(lines.join(""))}`;
}
