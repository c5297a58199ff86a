// Chooses the traces that a person labels next: random and enriched samples, and repetitions.
import { UserError } from "../platform/errors.js";
import { seededRandom } from "../statistics/seeded-random.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { getTrace } from "../traces/traces-store.js";
import { criterionSentence } from "./criteria.js";
import type { EvaluatedTrace } from "./definition.js";
import { headlineOf } from "./import-labels.js";
import { type GivenLabel, type LabelSummary, listDisagreements, summarizeLabels } from "./label-agreement.js";
import { drawEnriched } from "./labeling/enriched-draw.js";
import {
  type EvalLabel,
  firstDraw,
  labeledByPerson,
  replacedLabel,
  type StoredLabel,
  saveLabel,
  type TraceDraw,
  type TraceLabel,
  traceIdsToLabel,
  unconfirmedTraces,
} from "./labels.js";
import { shuffleByHash } from "./split-questions.js";

export interface LabelingOptions {
  /** A run, or null for chats. */
  readonly run: string | null;
  readonly criterion: string;
  readonly seed: number;
  /** The annotator, or null if not specified. If specified, traces labeled by others are also queued. */
  readonly annotator: string | null;
  /** Whether likely failures have a higher probability than other traces. */
  readonly enriched: boolean;
  /** Whether to queue only the traces that named annotators labeled differently and nobody has adjudicated. */
  readonly adjudicate?: boolean;
  /** Whether to queue only the traces whose coding notes say that they have the criterion's mode, for a second look. */
  readonly confirm?: boolean;
}

export interface TraceToLabel extends QueuedTrace {
  readonly trace: EvaluatedTrace;
}

/** One person's labeling session. */
export interface Labeling {
  /** The run, or null for chats. */
  readonly runId: string | null;
  /** The criterion's sentence about a good trace, or null if it is missing. */
  readonly sentence: string | null;
  /** Number of traces that no person has labeled. */
  readonly waiting: number;
  /** In random order. Includes some repetitions. */
  readonly queue: Iterable<QueuedTrace>;
  traces(): Iterable<TraceToLabel>;
  /** Throws a LabelConflict if the trace has a label other than `seen`. */
  save(item: QueuedTrace, label: EvalLabel, note: string | null, seen?: number): void;
  summary(): LabelSummary;
}

/** A trace that was drawn for labeling. */
export interface NewTrace extends TraceDraw {
  readonly traceId: string;
}

export interface QueuedTrace extends NewTrace {
  /** Whether the trace was labeled before and is shown again to measure self-agreement. */
  readonly isRepeat: boolean;
  /** Labels to adjudicate. Absent for a trace that is labeled without seeing other labels. */
  readonly labels?: readonly GivenLabel[];
}

/**
 * Queues the traces of a run or of chats in random order, so that measurements on the labels apply to the run. While
 * drawing an enriched sample, lets other work run.
 */
export async function openLabeling(db: Db, options: LabelingOptions): Promise<Labeling> {
  const { criterion, annotator, adjudicate = false, confirm = false } = options;
  const runId = options.run === null ? null : getRun(db, options.run).id;
  const { waiting, queue } = adjudicate
    ? disagreementQueue(db, runId, criterion)
    : confirm
      ? confirmationQueue(db, runId, options)
      : await labelQueue(db, runId, options);
  const basis = adjudicate ? "adjudicated" : "direct";
  return {
    runId,
    sentence: criterionSentence(db, criterion),
    waiting,
    queue,
    *traces() {
      for (const queued of queue) yield { ...queued, trace: getTrace(db, queued.traceId) };
    },
    save: (item, label, note, seen) =>
      void saveGivenLabel(db, { ...item, criterion, label, note, annotator, basis }, seen),
    summary: () => summarizeLabels(db, criterion),
  };
}

const UNKNOWN_DRAW: TraceDraw = { drawn: "unknown", drawnFrom: null, probability: null };

/** Queues the traces that annotators labeled differently, in a fixed order. */
function disagreementQueue(db: Db, runId: string | null, criterion: string) {
  const ids = new Set(traceIdsToLabel(db, runId));
  const open = listDisagreements(db, criterion).filter((one) => one.adjudicated === null && ids.has(one.traceId));
  const queue = open.map(({ traceId, labels }): QueuedTrace => ({ traceId, isRepeat: false, ...UNKNOWN_DRAW, labels }));
  return { waiting: queue.length, queue };
}

/**
 * Queues the traces with the criterion's mode according to notes that were written once. If few traces have a mode, a
 * few wrong notes about other traces would make up much of it.
 */
function confirmationQueue(db: Db, runId: string | null, { criterion, seed }: LabelingOptions) {
  const ids = new Set(traceIdsToLabel(db, runId));
  const open = unconfirmedTraces(db, criterion).filter(({ traceId }) => ids.has(traceId));
  const draws = new Map(open.map((one) => [one.traceId, { ...one, isRepeat: false }]));
  const queue = shuffleByHash([...draws.keys()], seed).flatMap((id) => draws.get(id) ?? []);
  return { waiting: queue.length, queue };
}

async function labelQueue(db: Db, runId: string | null, { criterion, seed, annotator, enriched }: LabelingOptions) {
  const labeled = labeledByPerson(db, criterion, annotator);
  const ids = traceIdsToLabel(db, runId);
  const unlabeled = ids.filter((id) => !labeled.has(id));
  const labeledIds = ids.filter((id) => labeled.has(id));
  const queued = enriched
    ? await drawLikelyFailures(db, runId, unlabeled, `${seed} ${labeled.size}`)
    : drawAtRandom(unlabeled, seed);
  return { waiting: queued.length, queue: new LabelQueue(queued, labeledIds, seed) };
}

/**
 * Draws all traces of a run or of chats in random order, likely failures earlier than others. The chances can change
 * with each label, so the seed has to change too.
 */
export async function drawLikelyFailures(
  db: Db,
  runId: string | null,
  ids: readonly string[],
  seed: string,
): Promise<NewTrace[]> {
  const score = runId === null ? null : headlineOf(db, runId);
  return (await drawEnriched(db, ids, { score, seed })).map((one) => ({ drawn: "enriched", ...one }));
}

/**
 * Draws all traces in random order, with the same chance for each. The order does not depend on the labels, so the
 * remaining traces keep it in later sessions.
 */
export function drawAtRandom(ids: readonly string[], seed: number): NewTrace[] {
  return shuffleByHash(ids, seed).map((traceId, i) => ({
    traceId,
    drawn: "random",
    drawnFrom: ids.length - i,
    probability: null,
  }));
}

/** Number of new traces between two repetitions. A tenth of all traces are repetitions. */
const NEW_BETWEEN_REPEATS = 9;

/** Yields the traces to label. */
export class LabelQueue {
  private readonly random: (limit: number) => number;

  /** @param traces to label, in order @param labeled already labeled by a person */
  constructor(
    private readonly traces: readonly NewTrace[],
    private readonly labeled: readonly string[],
    seed: number,
  ) {
    this.random = seededRandom(seed);
  }

  /** Also repeats traces from the same session, so that even a first session measures the reliability of its labels. */
  *[Symbol.iterator](): Generator<QueuedTrace> {
    const pool = [...this.labeled].sort();
    const sessionIds: string[] = [];
    for (const [i, next] of this.traces.entries()) {
      if (i > 0 && i % NEW_BETWEEN_REPEATS === 0) {
        const [repeat] = pool.splice(this.random(pool.length), 1);
        if (repeat !== undefined) yield { traceId: repeat, isRepeat: true, ...UNKNOWN_DRAW };
        // Annotators still remember the most recent traces, so these are repeated later.
        pool.push(...sessionIds.splice(0));
      }
      sessionIds.push(next.traceId);
      yield { ...next, isRepeat: false };
    }
  }
}

/** Another label exists that the person has not seen. */
export class LabelConflict extends UserError {
  constructor(
    traceId: string,
    readonly current: StoredLabel,
  ) {
    const { label, annotator, note } = current;
    super(
      "label_conflict",
      `${traceId} has been labeled ${label}${annotator === null ? "" : ` by ${annotator}`}${note === null ? "" : ` (${note})`} in the meantime.`,
      "Label it again to replace that label, or leave it.",
    );
  }
}

/**
 * Saves a person's label and returns its id. `seen` is the id of the label that the person knows to replace. Throws a
 * LabelConflict if there is another one. A repeated label never replaces one without a word, because both are compared.
 */
export function saveGivenLabel(
  db: Db,
  label: Omit<TraceLabel, "source" | "createdAt">,
  seen: number | null = null,
): number {
  return db.transaction(() => savedLabel(db, label, seen)).immediate();
}

function savedLabel(db: Db, label: Omit<TraceLabel, "source" | "createdAt">, seen: number | null): number {
  const { traceId } = getTrace(db, label.traceId);
  const current = label.isRepeat ? null : replacedLabel(db, { ...label, traceId });
  if (current !== null && current.id !== seen) throw new LabelConflict(traceId, current);
  if (label.basis === "adjudicated") requireDisagreement(db, traceId, label.criterion);
  const isLater = label.isRepeat || label.basis === "adjudicated";
  const draw = isLater ? firstDraw(db, traceId, label.criterion) : label;
  if (draw === null) {
    throw new UserError(
      "label_unrepeated",
      `Cannot save a repeated label: ${traceId} does not have a label for ${label.criterion} yet.`,
      "Save it as the first label.",
    );
  }
  const { drawn, drawnFrom, probability } = draw;
  const createdAt = new Date().toISOString();
  return saveLabel(db, { ...label, drawn, drawnFrom, probability, traceId, source: "person", createdAt });
}

function requireDisagreement(db: Db, traceId: string, criterion: string): void {
  if (listDisagreements(db, criterion).some((one) => one.traceId === traceId)) return;
  throw new UserError(
    "label_undisputed",
    `Cannot adjudicate ${traceId}: no two annotators disagree on it for ${criterion}.`,
    "Label it directly.",
  );
}
