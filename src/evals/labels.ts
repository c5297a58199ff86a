// Stores labels, reads labeled traces by half, and measures how well annotators agree.
import { createHash } from "node:crypto";
import { z } from "zod";
import { clusteredKappa, clusteredRate, type Proportion } from "../statistics/agreement.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { wilson } from "../statistics/intervals.js";
import { type LabelPairs, MIN_PAIRS } from "../statistics/label-errors.js";
import { MAX_CHANCES, samplingWeight } from "../statistics/sampling-weight.js";
import { skipDamaged } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import { parseTrace } from "../traces/traces-store.js";
import { criterionSentence } from "./criteria.js";
import { type EvaluatedTrace, LABEL_SOURCES, type LabelSource, type LabelSources } from "./definition.js";
import { assignHalves, type Half, HalfCounts } from "./split-questions.js";

export interface LabelledTrace {
  readonly trace: EvaluatedTrace;
  readonly label: TellingLabel;
  /** Repetitions and other wordings of a question have the same value. */
  readonly question: string;
}

export interface LabelSummary {
  /** The effective labels, one per trace from its best source. */
  readonly labels: Readonly<Record<EvalLabel, number>>;
  /** Number of good and bad effective labels by source. */
  readonly sources: Readonly<Record<LabelSource, number>>;
  /** Number of good and bad effective labels by how their traces were drawn. */
  readonly drawn: Readonly<Record<LabelDraw, number>>;
  /** How often a person gave the same label again. */
  readonly selfAgreement: Estimate;
  /** How often two people gave a trace the same label. */
  readonly betweenAnnotators: Estimate;
  /** Fraction of the label errors that adjudication has removed, if people err independently. */
  readonly resolved: number;
}

/** The labels of two people for one trace, true for good. */
interface LabelledTwice {
  readonly first: boolean;
  readonly second: boolean;
  /** The trace. */
  readonly cluster: string;
}

/** Two people who labeled the same traces. */
interface AnnotatorPair {
  readonly annotators: readonly [string, string];
  readonly traces: readonly LabelledTwice[];
}

/** Agreement of two people on the traces that both labeled good or bad. */
export interface AnnotatorAgreement {
  readonly annotators: readonly [string, string];
  readonly agreement: Estimate;
  readonly kappa: Estimate;
}

/** A person's label of a trace, as shown to the person who adjudicates. */
export interface GivenLabel {
  readonly annotator: string;
  readonly label: "good" | "bad";
  readonly note: string | null;
}

/** A trace that named annotators labeled differently. */
export interface Disagreement {
  readonly traceId: string;
  /** The newest label of each annotator, ordered by name. */
  readonly labels: readonly GivenLabel[];
  /** The adjudicated label, or null if nobody has adjudicated the trace. */
  readonly adjudicated: EvalLabel | null;
}

type EffectiveRow<T extends EffectiveLabel> = Omit<T, "weight"> & TraceDraw & { readonly remaining: number | null };

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
interface TellingLabel extends EffectiveLabel {
  readonly label: "good" | "bad";
}

interface CountedLabel extends TellingLabel {
  readonly question: string | null;
  readonly half: Half | null;
}

/** A label of a trace that was drawn with a known probability. */
interface SampledLabel {
  readonly isGood: boolean;
  /** 1 if every trace had the same chance. */
  readonly weight: number;
}

/** Labels by trace that represent the traces of a run. */
export type LabelSample = ReadonlyMap<string, SampledLabel>;

/** Two labels of a trace: a person's repeated label after the previous one, or the labels of two people. */
interface PairOfLabels {
  readonly traceId: string;
  readonly first: "good" | "bad";
  readonly again: "good" | "bad";
}

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
export function labelledByPerson(db: Db, criterion: string, annotator: string | null): Set<string> {
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

/** Maximum number of traces in memory. */
const PAGE = 500;

/** Yields pages of good and bad traces of one half, ordered by id. */
export function* labelledPages(db: Db, criterion: string, half: Half, size = PAGE): Generator<LabelledTrace[]> {
  let page: LabelledTrace[] = [];
  for (const labelled of iterateLabelled(db, criterion, half)) {
    page.push(labelled);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
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

export function summarizeLabels(db: Db, criterion: string): LabelSummary {
  const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
  const drawCounts: Record<LabelDraw, number> = { random: 0, enriched: 0, all: 0, unknown: 0 };
  const sources: Record<LabelSource, number> = { person: 0, import: 0, judge: 0, score: 0 };
  const effective = effectiveLabels(db, criterion);
  for (const { label, ...one } of effective) {
    labels[label]++;
    if (!isDecided(label)) continue;
    drawCounts[one.drawn]++;
    sources[one.source]++;
  }
  const between = pairsBetween(db, criterion);
  return {
    labels,
    sources,
    drawn: drawCounts,
    resolved: resolvedErrors(effective, between, listDisagreements(db, criterion)),
    selfAgreement: rateOfTraces(alikeByTrace(repeatedLabels(db, criterion))),
    betweenAnnotators: rateOfTraces(alikeByTrace(between)),
  };
}

/**
 * Counts the traces with pairs of labels. A trace counts once, with the fraction of its pairs that are alike: many
 * labels of one trace say as little about other traces as two.
 */
function alikeByTrace(pairs: readonly PairOfLabels[]): Proportion {
  const byTrace = new Map<string, { alike: number; pairs: number }>();
  for (const { traceId, first, again } of pairs) {
    const sums = byTrace.get(traceId) ?? { alike: 0, pairs: 0 };
    byTrace.set(traceId, { alike: sums.alike + Number(first === again), pairs: sums.pairs + 1 });
  }
  const successes = [...byTrace.values()].reduce((sum, one) => sum + one.alike / one.pairs, 0);
  return { successes, n: byTrace.size };
}

function rateOfTraces({ successes, n }: Proportion): Estimate {
  return n === 0 ? NO_ESTIMATE : { value: successes / n, n, ...wilson(successes, n), method: "wilson" };
}

function pairsBetween(db: Db, criterion: string): PairOfLabels[] {
  return annotatorPairs(db, criterion).flatMap(({ traces }) =>
    traces.map(({ cluster, first, second }) => ({
      traceId: cluster,
      first: first ? ("good" as const) : ("bad" as const),
      again: second ? ("good" as const) : ("bad" as const),
    })),
  );
}

/**
 * Returns how many of the traces with two or more labels have labels that are alike, by one person twice or by several
 * people, or null if fewer than MIN_PAIRS traces have them. A coding note is about all failure modes, so the labels
 * from repeated notes are pooled over the modes.
 */
export function labelPairs(
  db: Db,
  criterion: string,
  effective: readonly EffectiveLabel[] = effectiveLabels(db, criterion),
): LabelPairs | null {
  const between = pairsBetween(db, criterion);
  const { successes: alike, n } = alikeByTrace([
    ...repeatedLabels(db, criterion, { withOtherModes: true }),
    ...between,
  ]);
  if (n < MIN_PAIRS) return null;
  const resolved = resolvedErrors(effective, between, listDisagreements(db, criterion));
  return { alike, n, ...(resolved === 0 ? {} : { resolved }) };
}

function isDecided(label: EvalLabel): boolean {
  return label === "good" || label === "bad";
}

/**
 * Returns the share of label errors that adjudication has resolved. Two people who label the same trace differently
 * show an error. Other traces can contain unseen errors.
 */
function resolvedErrors(
  effective: readonly EffectiveLabel[],
  between: readonly PairOfLabels[],
  disagreements: readonly Disagreement[],
): number {
  const adjudicated = disagreements.filter((one) => one.adjudicated !== null && isDecided(one.adjudicated)).length;
  if (adjudicated === 0) return 0;
  const shared = new Set(between.map(({ traceId }) => traceId));
  const total = (some: readonly EffectiveLabel[]) => some.reduce((sum, { weight }) => sum + weight, 0);
  const decided = effective.filter(({ label, source }) => isDecided(label) && source === "person");
  const ofShared = total(decided.filter(({ traceId }) => shared.has(traceId))) / total(decided);
  return (ofShared * adjudicated) / disagreements.length;
}

/** Selects each named annotator's newest label that was given without seeing other people's labels. */
const NEWEST_BY_ANNOTATOR = `WITH newest AS (
    SELECT trace_id, annotator, label, note FROM (
      SELECT *, row_number() OVER (PARTITION BY trace_id, annotator ORDER BY basis = 'coded', id DESC) AS rank
      FROM eval_labels
      WHERE criterion = @criterion AND source = 'person' AND basis <> 'adjudicated' AND annotator IS NOT NULL)
    WHERE rank = 1 AND label IN ('good', 'bad'))`;

function annotatorPairs(db: Db, criterion: string): AnnotatorPair[] {
  const rows = db
    .prepare(
      `${NEWEST_BY_ANNOTATOR} SELECT a.annotator AS one, b.annotator AS other, a.trace_id AS cluster, a.label AS first, b.label AS second
       FROM newest a JOIN newest b ON b.trace_id = a.trace_id AND a.annotator < b.annotator ORDER BY one, other, cluster`,
    )
    .all({ criterion }) as { one: string; other: string; cluster: string; first: EvalLabel; second: EvalLabel }[];
  const pairs = new Map<string, { annotators: [string, string]; traces: LabelledTwice[] }>();
  for (const { one, other, cluster, first, second } of rows) {
    const key = JSON.stringify([one, other]);
    const pair = pairs.get(key) ?? { annotators: [one, other], traces: [] };
    pair.traces.push({ first: first === "good", second: second === "good", cluster });
    pairs.set(key, pair);
  }
  return [...pairs.values()];
}

export function agreementOfAnnotators(db: Db, criterion: string): AnnotatorAgreement[] {
  return annotatorPairs(db, criterion).map(({ annotators, traces }) => ({
    annotators,
    agreement: clusteredRate(traces.map(({ first, second, cluster }) => ({ success: first === second, cluster }))),
    kappa: clusteredKappa(traces),
  }));
}

/** Lists the traces that named annotators labeled good and bad, ordered by id. */
export function listDisagreements(db: Db, criterion: string): Disagreement[] {
  const rows = db
    .prepare(
      `${NEWEST_BY_ANNOTATOR} SELECT trace_id AS traceId, json_group_array(json_object('annotator', annotator, 'label', label, 'note', note)
                ORDER BY annotator) AS labels,
         (SELECT label FROM eval_labels a WHERE a.trace_id = newest.trace_id AND a.criterion = @criterion
            AND a.basis = 'adjudicated' ORDER BY id DESC LIMIT 1) AS adjudicated
       FROM newest GROUP BY trace_id HAVING count(DISTINCT label) > 1 ORDER BY trace_id`,
    )
    .all({ criterion }) as (Omit<Disagreement, "labels"> & { readonly labels: string })[];
  return rows.map(({ labels, ...row }) => ({ ...row, labels: JSON.parse(labels) as GivenLabel[] }));
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
  return `sha256:${createHash("sha256").update(lines.join("")).digest("hex")}`;
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
 * Selects the effective labels: the newest label of each trace from its best source. Every reader uses this order. A
 * person's adjudicated label takes precedence over direct labels, and a direct label over one from a coding note.
 * `remaining` is the number of traces of the same run that no draw has selected.
 */
const EFFECTIVE = `SELECT trace_id, label, source, note, drawn, drawn_from, probability, remaining FROM (
    SELECT l.*,
      min(iif(drawn IN ('random', 'enriched'), drawn_from, NULL)) OVER (PARTITION BY t.run_id) - 1 AS remaining,
      row_number() OVER (
        PARTITION BY trace_id ORDER BY
          CASE source ${LABEL_SOURCES.map((source, i) => `WHEN '${source}' THEN ${i}`).join(" ")} END,
          CASE basis WHEN 'adjudicated' THEN 1 WHEN 'direct' THEN 2 ELSE 3 END, l.id DESC) AS rank
    FROM eval_labels l JOIN traces t ON t.id = l.trace_id WHERE criterion = @criterion)
  WHERE rank = 1`;

const EFFECTIVE_COLUMNS = `e.trace_id AS traceId, label, source, note, drawn, drawn_from AS drawnFrom, probability,
  remaining`;

function weighted<T extends EffectiveLabel>({ drawnFrom, probability, remaining, ...label }: EffectiveRow<T>) {
  const isWeighted = label.drawn === "enriched" && drawnFrom !== null && probability !== null;
  return { ...label, weight: isWeighted ? samplingWeight({ drawnFrom, probability }, remaining ?? 0) : 1 };
}

export function effectiveLabels(db: Db, criterion: string): EffectiveLabel[] {
  const rows = db.prepare(`SELECT ${EFFECTIVE_COLUMNS} FROM (${EFFECTIVE}) e ORDER BY e.trace_id`).all({ criterion });
  return (rows as EffectiveRow<EffectiveLabel>[]).map(weighted);
}

/**
 * Returns the counted good and bad labels with the question and half of their traces. Both are null for labels that
 * have not been used yet.
 */
function labelsWithHalves(db: Db, criterion: string): CountedLabel[] {
  const rows = db
    .prepare(
      `SELECT ${EFFECTIVE_COLUMNS}, question, half
       FROM (${EFFECTIVE}) e LEFT JOIN eval_traces t ON t.trace_id = e.trace_id
       WHERE label IN ('good', 'bad') ORDER BY e.trace_id`,
    )
    .all({ criterion });
  return (rows as EffectiveRow<CountedLabel>[]).map((row) => weighted(row) as CountedLabel);
}

/** Returns the held-out labels that can validate an eval. */
function heldOutByPeople(db: Db, criterion: string): CountedLabel[] {
  return labelsWithHalves(db, criterion).filter((label) => label.half === "heldout" && label.source === "person");
}

/**
 * Returns a hash of the held-out labels that a test of the criterion uses. New labels are included after their first
 * use.
 */
export function hashHeldOut(db: Db, criterion: string): string {
  return hashLabels(heldOutByPeople(db, criterion), criterionSentence(db, criterion));
}

/**
 * Returns people's labels of traces that were drawn with a known probability, or that are all of a run, and that an
 * eval was not made from: those of the held-out half, and of traces first labeled after the eval was saved.
 */
export function sampledUnseenLabels(
  db: Db,
  criterion: string,
  { createdAt }: { readonly createdAt: string },
): LabelSample {
  const newer = db
    .prepare("SELECT trace_id FROM eval_labels WHERE criterion = ? GROUP BY trace_id HAVING min(created_at) > ?")
    .pluck()
    .all(criterion, createdAt);
  const isNewer = new Set(newer);
  const labels = labelsWithHalves(db, criterion).filter(
    ({ traceId, half, drawn, source }) =>
      (half === "heldout" || isNewer.has(traceId)) && drawn !== "unknown" && source === "person",
  );
  return new Map(labels.map(({ traceId, label, weight }) => [traceId, { isGood: label === "good", weight }]));
}

/** Returns the held-out traces that people labeled good or bad. */
export function heldOutTraceIds(db: Db, criterion: string): string[] {
  return heldOutByPeople(db, criterion).map(({ traceId }) => traceId);
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
    const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
    const fresh = labels.filter(({ half }) => half === null);
    const read = function* () {
      for (const label of fresh) {
        const { traceId } = label;
        const trace = skipDamaged(() => parseTrace<EvaluatedTrace>(traceId, select.get(traceId)));
        if (trace !== undefined) yield { trace, badFor: badFor(label) };
      }
    };
    assignHalves(db, read(), counts);
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

/**
 * Yields the traces of a half, or of both, that are labeled good or bad, ordered by id. No database cursor stays open
 * between traces, because callers wait for models and sandboxes in between.
 */
export function* iterateLabelled(db: Db, criterion: string, half: Half | null): Generator<LabelledTrace> {
  settleHalves(db, criterion);
  const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
  for (const { question, half: ofTrace, ...label } of labelsWithHalves(db, criterion)) {
    if (question === null || (half !== null && ofTrace !== half)) continue;
    const row = select.get(label.traceId);
    // The row is undefined if the trace was deleted in the meantime.
    const trace = row === undefined ? undefined : skipDamaged(() => parseTrace<EvaluatedTrace>(label.traceId, row));
    if (trace !== undefined) yield { trace, label, question };
  }
}

/** `withOtherModes`: includes labels for other failure modes from repeated notes, if the criterion is a mode. */
function repeatedLabels(db: Db, criterion: string, { withOtherModes = false } = {}): PairOfLabels[] {
  return db
    .prepare(
      `SELECT * FROM (
         SELECT trace_id AS traceId, label AS again,
           (SELECT f.label FROM eval_labels f WHERE f.trace_id = r.trace_id AND f.criterion = r.criterion
              AND f.source = 'person' AND f.basis <> 'adjudicated' AND f.annotator IS r.annotator AND f.id < r.id
            ORDER BY f.id DESC LIMIT 1) AS first
         FROM eval_labels r WHERE source = 'person' AND is_repeat = 1
           AND (criterion = @criterion OR @isMode AND basis = 'coded'))
       WHERE first IN ('good', 'bad') AND again IN ('good', 'bad')`,
    )
    .all({ criterion, isMode: Number(withOtherModes && isMode(db, criterion)) }) as PairOfLabels[];
}

function isMode(db: Db, criterion: string): boolean {
  return (
    db.prepare("SELECT 1 FROM eval_labels WHERE criterion = ? AND basis = 'coded' LIMIT 1").get(criterion) !== undefined
  );
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
