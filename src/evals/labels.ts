import { createHash } from "node:crypto";
import { z } from "zod";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { clusteredRate } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import type { Db } from "../store/open-store.js";
import type { EvalTest, EvaluatedTrace, LabelCeiling, ThresholdName } from "./definition.js";
import { assignHalves, type Half } from "./halves.js";

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
  readonly label: EffectiveLabel;
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
}

export function summarizeLabels(db: Db, criterion: string): LabelSummary {
  const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
  for (const { label } of effectiveLabels(db, criterion)) labels[label]++;
  const isTold = (label: EvalLabel) => label === "good" || label === "bad";
  const repeated = repeatedLabels(db, criterion)
    .filter(({ first, again }) => isTold(first) && isTold(again))
    .map(({ first, again }, i) => ({ success: first === again, cluster: String(i) }));
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
    `Label more: ${commandLine`art-e evals label`}, or ${commandLine`art-e evals label --from scores`}. Half of the questions are held out, so twice as many are needed in all.`,
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
    `INSERT INTO eval_labels (trace_id, criterion, label, source, note, is_repeat, drawn, drawn_from, created_at)
     VALUES (@traceId, @criterion, @label, @source, @note, @isRepeat, @drawn, @drawnFrom, @createdAt)`,
  );
  return (label) => Number(insert.run({ ...label, isRepeat: Number(label.isRepeat) }).lastInsertRowid);
}

/** Deletes a label that a person gave. False: there is none of this id. */
export function deletePersonLabel(db: Db, id: number): boolean {
  return db.prepare("DELETE FROM eval_labels WHERE id = ? AND source = 'person'").run(id).changes > 0;
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
    .all({ criterion }) as (EffectiveLabel & { readonly question: string | null; readonly half: Half | null })[];
}

/** Names the held-out labels that a test of the criterion was or would be by; new ones count once they were used. */
export function hashHeldOut(db: Db, criterion: string): string {
  return hashLabels(
    labelsWithHalves(db, criterion).filter(({ half, drawn }) => half === "heldout" && drawn !== "hard"),
  );
}

/** Gives the questions of new labels their halves. */
function settleHalves(db: Db, criterion: string): void {
  db.transaction(() => {
    const labels = labelsWithHalves(db, criterion);
    if (labels.every(({ half }) => half !== null)) return;
    const counts = { training: { good: 0, bad: 0 }, heldout: { good: 0, bad: 0 } };
    for (const { half, label } of labels) if (half !== null) counts[half][label === "bad" ? "bad" : "good"]++;
    const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
    const fresh = labels.filter(({ half }) => half === null);
    const read = function* () {
      for (const { traceId, label } of fresh) {
        yield { trace: JSON.parse(select.get(traceId) as string) as EvaluatedTrace, isBad: label === "bad" };
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
    const trace = select.get(label.traceId) as string | undefined;
    // Deleted in between.
    if (trace !== undefined) yield { trace: JSON.parse(trace) as EvaluatedTrace, label, question };
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

type Measured = Pick<EvalTest, "agreement" | "ceiling">;

type Check = (measured: Measured) => string | null;

/** Why an eval is rejected, by the thresholds that are asked for. */
const CHECKS: Readonly<Record<ThresholdName, readonly Check[]>> = {
  // May be used beside other figures: it tells good from bad, and beyond chance.
  usable: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.8),
    atLeast("true negative rate", "trueNegativeRate", 0.8),
    kappaAboveChance,
    judges(0.8),
    fewErrors,
  ],
  // May stop a release by itself.
  gate: [
    ceilingAboveChance,
    atLeast("true positive rate", "truePositiveRate", 0.9),
    atLeast("true negative rate", "trueNegativeRate", 0.9),
    kappaAboveChance,
    judges(0.9),
    fewErrors,
    ({ agreement: { good } }) => fewOf(good, "good"),
    ({ agreement: { bad } }) => fewOf(bad, "bad"),
  ],
};

const WANTED_OF_A_KIND = 30;

export function rejectionsOf(thresholds: ThresholdName, measured: Measured): string[] {
  return CHECKS[thresholds].flatMap((check) => check(measured) ?? []);
}

/** Of what labels that contradict themselves allow, where that is less than 1. */
function atLeast(label: string, rate: "truePositiveRate" | "trueNegativeRate", least: number): Check {
  return ({ agreement, ceiling }) => {
    const { value } = agreement[rate];
    const best = ceiling?.[rate] ?? 1;
    if (value !== null && value >= least * best) return null;
    const wanted = best === 1 ? `${least}` : `${(least * best).toFixed(3)} (${least} of ${best.toFixed(3)})`;
    return `${label} is ${value === null ? "not known" : value.toFixed(3)}, wanted at least ${wanted}`;
  };
}

/** What nobody labels twice in the same way proves nothing. */
function ceilingAboveChance({ ceiling }: Measured): string | null {
  if (ceiling === null || Math.min(ceiling.truePositiveRate, ceiling.trueNegativeRate) >= 0.5) return null;
  return `about ${Math.round(ceiling.noise * 100)} % of the labels are wrong, as asking again shows: they prove no eval`;
}

/** What it says nothing of it neither passes nor fails, so it must be little, of good and of bad traces. */
function judges(least: number): Check {
  return ({ agreement: { judged } }) => {
    const few = (["good", "bad"] as const).filter((kind) => (judged[kind] ?? 1) < least);
    if (few.length === 0) return null;
    const shares = few.map((kind) => `${Math.round((judged[kind] ?? 0) * 100)} % of the ${kind} traces`);
    return `it judges only ${shares.join(" and ")}, wanted at least ${least * 100} %`;
  };
}

/** Asked again fewer times, people show nothing of their labels' noise. */
const MIN_REPEATS = 5;

/**
 * The rates that an eval without errors would have against labels of which some are wrong: those who err with chance e
 * say the same twice with chance (1 - e)^2 + e^2. Null where too few were asked twice.
 */
export function ceilingOf({ value, n }: Estimate, { good, bad }: { good: number; bad: number }): LabelCeiling | null {
  if (value === null || n < MIN_REPEATS || good + bad === 0) return null;
  // Jeffreys: that a few were said twice alike does not show that all would be.
  const agreement = (value * n + 0.5) / (n + 1);
  const noise = (1 - Math.sqrt(Math.max(0, 2 * agreement - 1))) / 2;
  const labelledBad = bad / (good + bad);
  const trulyBad = noise === 0.5 ? 0 : Math.min(1, Math.max(0, (labelledBad - noise) / (1 - 2 * noise)));
  const share = (truly: number, labelled: number) =>
    labelled === 0 ? 0 : Math.min(1, ((1 - noise) * truly) / labelled);
  return {
    noise,
    truePositiveRate: share(1 - trulyBad, 1 - labelledBad),
    trueNegativeRate: share(trulyBad, labelledBad),
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

/**
 * How the trace came to be labelled. `random`: each had the same chance; `all` of a run were; `hard`: because evals
 * disagree on it; `unknown`: somebody chose it.
 */
export const LABEL_DRAWS = ["random", "all", "hard", "unknown"] as const;

export type LabelDraw = (typeof LABEL_DRAWS)[number];

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
  readonly drawn: LabelDraw;
  /** Of a random draw: among how many traces, each with the same chance. */
  readonly drawnFrom: number | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
