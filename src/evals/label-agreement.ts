// Measures how well labels agree: repeated labels by one person, and labels by several people before and after
// adjudication.
import { clusteredKappa, clusteredRate, type Proportion } from "../statistics/agreement.js";
import { type Estimate, NO_ESTIMATE } from "../statistics/estimate.js";
import { wilson } from "../statistics/intervals.js";
import { type LabelPairs, MIN_PAIRS } from "../statistics/label-errors.js";
import type { Db } from "../store/open-store.js";
import type { LabelSource } from "./definition.js";
import { type EffectiveLabel, effectiveLabels } from "./effective-labels.js";
import type { EvalLabel, LabelDraw } from "./labels.js";

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

/** Agreement of two people on the traces that both labeled good or bad. */
export interface AnnotatorAgreement {
  readonly annotators: readonly [string, string];
  readonly agreement: Estimate;
  readonly kappa: Estimate;
}

export function agreementOfAnnotators(db: Db, criterion: string): AnnotatorAgreement[] {
  return annotatorPairs(db, criterion).map(({ annotators, pairs }) => {
    const traces = pairs.map(({ traceId, first, again }) => ({
      ...{ first: first === "good", second: again === "good", cluster: traceId },
      success: first === again,
    }));
    return { annotators, agreement: clusteredRate(traces), kappa: clusteredKappa(traces) };
  });
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
  const again = replacedNotes(db, criterion);
  return { alike, n, ...(resolved === 0 ? {} : { resolved }), ...(again.good + again.bad === 0 ? {} : { again }) };
}

/** Returns the fractions of the labels from coding notes that a direct label has replaced, as with `--confirm`. */
function replacedNotes(db: Db, criterion: string): { good: number; bad: number } {
  const rows = db
    .prepare(
      `SELECT label, avg(again) AS again FROM (
         SELECT label, row_number() OVER (PARTITION BY trace_id ORDER BY id DESC) AS rank, EXISTS (
           SELECT 1 FROM eval_labels d WHERE d.trace_id = l.trace_id AND d.criterion = l.criterion
             AND d.source = 'person' AND d.basis = 'direct') AS again
         FROM eval_labels l WHERE criterion = ? AND basis = 'coded')
       WHERE rank = 1 GROUP BY label`,
    )
    .all(criterion) as { label: "good" | "bad"; again: number }[];
  return { good: 0, bad: 0, ...Object.fromEntries(rows.map(({ label, again }) => [label, again])) };
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

/** Two labels of a trace: a person's repeated label after the previous one, or the labels of two people. */
interface PairOfLabels {
  readonly traceId: string;
  readonly first: "good" | "bad";
  readonly again: "good" | "bad";
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

/** Selects each named annotator's newest label that was given without seeing other people's labels. */
const NEWEST_BY_ANNOTATOR = `WITH newest AS (
    SELECT trace_id, annotator, label, note FROM (
      SELECT *, row_number() OVER (PARTITION BY trace_id, annotator ORDER BY basis = 'coded', id DESC) AS rank
      FROM eval_labels
      WHERE criterion = @criterion AND source = 'person' AND basis <> 'adjudicated' AND annotator IS NOT NULL)
    WHERE rank = 1 AND label IN ('good', 'bad'))`;

/** Two people, with their labels of the traces that both labeled. */
interface AnnotatorPair {
  readonly annotators: readonly [string, string];
  readonly pairs: PairOfLabels[];
}

function annotatorPairs(db: Db, criterion: string): readonly AnnotatorPair[] {
  const rows = db
    .prepare(
      `${NEWEST_BY_ANNOTATOR} SELECT a.annotator AS one, b.annotator AS other, a.trace_id AS traceId, a.label AS first, b.label AS again
       FROM newest a JOIN newest b ON b.trace_id = a.trace_id AND a.annotator < b.annotator ORDER BY one, other, traceId`,
    )
    .all({ criterion }) as (PairOfLabels & { readonly one: string; readonly other: string })[];
  const byAnnotators = new Map<string, AnnotatorPair>();
  for (const { one, other, ...pair } of rows) {
    const key = JSON.stringify([one, other]);
    const found: AnnotatorPair = byAnnotators.get(key) ?? { annotators: [one, other], pairs: [] };
    found.pairs.push(pair);
    byAnnotators.set(key, found);
  }
  return [...byAnnotators.values()];
}

function pairsBetween(db: Db, criterion: string): PairOfLabels[] {
  return annotatorPairs(db, criterion).flatMap(({ pairs }) => pairs);
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

function isDecided(label: EvalLabel): boolean {
  return label === "good" || label === "bad";
}
