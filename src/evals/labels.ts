import { createHash } from "node:crypto";
import { z } from "zod";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { clusteredRate } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import type { Db } from "../store/open-store.js";
import { type Half, halfOf } from "./choose-templates.js";
import { type Agreement, type EvalTest, type EvaluatedTrace, questionKey, type ThresholdName } from "./definition.js";

/** In more mails than this a word counts as common, and is not counted further. */
const COMMON = 1_000;

/** Counts the mails that hold a word, in any of its forms, up to `COMMON`. */
export function wordFrequency(db: Db): (word: string) => number {
  const [newer, older] = (["emails_fts", "emails_fts_older"] as const).map((table) =>
    db.prepare(`SELECT count(*) FROM (SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT ?)`).pluck(),
  );
  return (word) => {
    const term = `"${word.replaceAll('"', "")}"`;
    const mails = newer?.get(term, COMMON) as number;
    return mails + (older?.get(term, COMMON - mails) as number);
  };
}

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

export interface LabelledTrace {
  readonly trace: EvaluatedTrace;
  readonly label: EffectiveLabel;
}

/** Traces in memory at once. */
const PAGE = 500;

/** The good and bad traces of one half, in the order of their ids, some at a time. */
export function* labelledPages(db: Db, criterion: string, half: Half, size = PAGE): Generator<LabelledTrace[]> {
  let page: LabelledTrace[] = [];
  for (const labelled of iterateLabelled(db, criterion)) {
    if (halfOf(questionKey(labelled.trace)) !== half) continue;
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
}

export function summarizeLabels(db: Db, criterion: string): LabelSummary {
  const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
  for (const { label } of effectiveLabels(db, criterion)) labels[label]++;
  const repeated = repeatedLabels(db, criterion).map(({ first, again }, i) => ({
    success: first === again,
    cluster: String(i),
  }));
  return { labels, selfAgreement: clusteredRate(repeated) };
}

/** Below, people disagree with themselves too much for an eval to agree with them. */
export const LOW_SELF_AGREEMENT = 0.8;

/** Names a set of labels: another label, and it is another set. */
export function hashLabels(labels: readonly Pick<EffectiveLabel, "traceId" | "label">[]): string {
  const lines = labels.map(({ traceId, label }) => `${traceId} ${label}\n`).sort();
  return `sha256:${createHash("sha256").update(lines.join("")).digest("hex")}`;
}

/** Throws where a half has too few labels of a kind to measure anything by. */
export function requireLabels(half: "training" | "held-out", good: number, bad: number, criterion: string): void {
  if (good >= MIN_OF_A_KIND && bad >= MIN_OF_A_KIND) return;
  const name = criterion === "overall" ? "" : ` for ${criterion}`;
  throw new UserError(
    "labels_few",
    `The ${half} half has ${good} good and ${bad} bad traces${name}; fewer than ${MIN_OF_A_KIND} of a kind measure nothing.`,
    `Label more: ${commandLine`art-e evals label`}, or ${commandLine`art-e evals label --from scores`}. Questions are split in halves, so twice as many are needed in all.`,
  );
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
interface RepeatedLabel {
  readonly first: EvalLabel;
  readonly again: EvalLabel;
}

function repeatedLabels(db: Db, criterion: string): RepeatedLabel[] {
  return db
    .prepare(
      `SELECT (SELECT f.label FROM eval_labels f WHERE f.trace_id = r.trace_id AND f.criterion = r.criterion
                 AND f.source = 'person' AND f.id < r.id ORDER BY f.id DESC LIMIT 1) AS first, r.label AS again
       FROM eval_labels r WHERE r.criterion = ? AND r.source = 'person' AND r.is_repeat = 1`,
    )
    .all(criterion) as RepeatedLabel[];
}

/** With fewer labels of a kind nothing is measured. */
export const MIN_OF_A_KIND = 10;
/** With fewer it is said that intervals are wide. */
export const FEW_OF_A_KIND = 20;

type Measured = Pick<EvalTest, "agreement" | "latencyMs" | "costUsdPerTrace">;

type Check = (measured: Measured) => string | null;

/** Why an eval is rejected, by the thresholds that are asked for. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // May be used beside other figures: it tells good from bad, and beyond chance.
  usable: [
    atLeast("true positive rate", ({ truePositiveRate }) => truePositiveRate, 0.8),
    atLeast("true negative rate", ({ trueNegativeRate }) => trueNegativeRate, 0.8),
    kappaAboveChance,
    fewErrors,
  ],
  // May stop a release by itself.
  gate: [
    atLeast("true positive rate", ({ truePositiveRate }) => truePositiveRate, 0.9),
    atLeast("true negative rate", ({ trueNegativeRate }) => trueNegativeRate, 0.9),
    kappaAboveChance,
    fewErrors,
    ({ agreement: { good } }) => fewOf(good, "good"),
    ({ agreement: { bad } }) => fewOf(bad, "bad"),
  ],
  // The platform whose traces these are accepts by these.
  origin: [
    atLeast("accuracy", ({ accuracy }) => accuracy, 0.8),
    atLeast("kappa", ({ kappa }) => kappa, 0.6),
    atLeast("F1", ({ f1 }) => f1, 0.7),
    ({ latencyMs: { p95 } }) =>
      p95 < 5_000 ? null : `95 % of the traces take up to ${Math.round(p95)} ms, wanted below 5000`,
    ({ costUsdPerTrace: cost }) =>
      cost !== null && cost <= 0.05
        ? null
        : `a trace costs ${cost === null ? "an unknown sum" : `$${cost}`}, wanted at most $0.05`,
  ],
};

const WANTED_OF_A_KIND = 30;

export function rejectionsOf(thresholds: ThresholdName, measured: Measured): string[] {
  return CHECKS[thresholds].flatMap((check) => check(measured) ?? []);
}

function atLeast(label: string, figure: (agreement: Agreement) => Estimate, least: number): Check {
  return ({ agreement }) => {
    const { value } = figure(agreement);
    if (value !== null && value >= least) return null;
    return `${label} is ${value === null ? "not known" : value.toFixed(3)}, wanted at least ${least}`;
  };
}

function kappaAboveChance({ agreement: { kappa } }: Measured): string | null {
  const { low } = kappa;
  if (low !== null && low > 0.2) return null;
  return `the lower bound of kappa is ${low === null ? "not known" : low.toFixed(3)}, wanted above 0.2`;
}

/** Of labelled traces: what an eval cannot tell it neither passes nor fails. */
export const MAX_ERROR_SHARE = 0.05;

function fewErrors({ agreement: { good, bad, notApplicable, errors } }: Measured): string | null {
  const traces = good + bad + notApplicable + errors;
  return errors <= MAX_ERROR_SHARE * traces ? null : `it failed on ${errors} of ${traces} traces, wanted at most 5 %`;
}

function fewOf(n: number, kind: string): string | null {
  return n >= WANTED_OF_A_KIND ? null : `there are ${n} ${kind} traces, wanted at least ${WANTED_OF_A_KIND}`;
}

/** `neutral`: neither, by a score between the bands. `skip`: a person could not tell. Both are left out and counted. */
export const EVAL_LABELS = ["good", "bad", "neutral", "skip"] as const;

export type EvalLabel = (typeof EVAL_LABELS)[number];

/** Who labelled; the first that did counts. */
const LABEL_SOURCES = ["person", "judge", "score"] as const;

export type LabelSource = (typeof LABEL_SOURCES)[number];

/** What labels are about where nothing else is said: whether the answer is good. */
export const OVERALL = "overall";

/** A failure mode that traces are labelled for; `overall` for none in particular. */
export const criterionNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected a name of small letters, digits and _, such as invented_numbers");

export interface TraceLabel {
  readonly traceId: string;
  /** The failure mode it is about. */
  readonly criterion: string;
  readonly label: EvalLabel;
  readonly source: LabelSource;
  /** Why, in a person's or the judge's words. */
  readonly note: string | null;
  /** A trace that was labelled before was shown again, to measure how far a person agrees with himself. */
  readonly isRepeat: boolean;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
