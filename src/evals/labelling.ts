// Chooses the traces that a person labels next: random samples, hard cases and repetitions.
import { createHash } from "node:crypto";
import { yieldBetween } from "../platform/batches.js";
import { UserError } from "../platform/errors.js";
import { seededRandom } from "../statistics/seeded-random.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { getTrace, readTraces } from "../traces/traces-store.js";
import { criterionSentence } from "./criteria.js";
import { type DataEval, type EvaluatedTrace, isDataEval } from "./definition.js";
import { isPass } from "./eval-outcome.js";
import {
  type EvalLabel,
  effectiveLabels,
  firstDraw,
  type GivenLabel,
  type LabelDraw,
  type LabelSummary,
  labelledByPerson,
  listDisagreements,
  saveLabel,
  summarizeLabels,
  type TraceLabel,
  traceIdsToLabel,
} from "./labels.js";
import { runDataEvals } from "./run-evals/run-rules.js";
import { isForTraining } from "./split-questions.js";
import { listEvals } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";
import { newestOf } from "./test-eval.js";

interface LabellingOptions {
  /** A run, or null for chats. */
  readonly run: string | null;
  readonly criterion: string;
  readonly seed: number;
  /** The annotator, or null if not specified. If specified, traces labeled by others are also queued. */
  readonly annotator: string | null;
  /** Whether to queue hard cases of the training half instead of a random sample. */
  readonly hard: boolean;
  /** Whether to queue only the traces that named annotators labeled differently and nobody has adjudicated. */
  readonly adjudicate?: boolean;
}

export interface TraceToLabel extends QueuedTrace {
  readonly trace: EvaluatedTrace;
}

/** One person's labeling session. */
export interface Labelling {
  /** The run, or null for chats. */
  readonly runId: string | null;
  /** The criterion's sentence about a good trace, or null if it is missing. */
  readonly sentence: string | null;
  /** Number of traces that no person has labeled. */
  readonly waiting: number;
  /** In random order, or the hardest first. Includes some repetitions. */
  readonly queue: Iterable<QueuedTrace>;
  traces(): Iterable<TraceToLabel>;
  save(item: QueuedTrace, label: EvalLabel, note: string | null): void;
  summary(): LabelSummary;
}

/**
 * Queues the traces of a run or of chats in random order, so that measurements on the labels apply to the run, or
 * queues hard cases of the training half. While ranking, lets other work run.
 */
export async function openLabelling(db: Db, options: LabellingOptions): Promise<Labelling> {
  const { criterion, annotator, adjudicate = false } = options;
  const runId = options.run === null ? null : getRun(db, options.run).id;
  const { waiting, queue } = adjudicate
    ? disagreementQueue(db, runId, criterion)
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
    save: (item, label, note) => void saveGivenLabel(db, { ...item, criterion, label, note, annotator, basis }),
    summary: () => summarizeLabels(db, criterion),
  };
}

/** Queues the traces that annotators labeled differently, in a fixed order. */
function disagreementQueue(db: Db, runId: string | null, criterion: string) {
  const ids = new Set(traceIdsToLabel(db, runId));
  const open = listDisagreements(db, criterion).filter((one) => one.adjudicated === null && ids.has(one.traceId));
  const queue = open.map(
    ({ traceId, labels }): QueuedTrace => ({ traceId, isRepeat: false, drawn: "unknown", drawnFrom: null, labels }),
  );
  return { waiting: queue.length, queue };
}

async function labelQueue(db: Db, runId: string | null, { criterion, seed, annotator, hard }: LabellingOptions) {
  const labelled = labelledByPerson(db, criterion, annotator);
  const ids = traceIdsToLabel(db, runId);
  const unlabelled = ids.filter((id) => !labelled.has(id));
  const order = hard ? await rankHard(db, unlabelled, criterion) : shuffleByHash(unlabelled, seed);
  const asked = ids.filter((id) => labelled.has(id));
  const queue = new LabelQueue(
    order,
    asked,
    seed,
    hard ? { drawn: "hard", drawnFrom: null } : { drawn: "random", drawnFrom: ids.length },
  );
  return { waiting: order.length, queue };
}

/**
 * Returns a random order that does not depend on the labels, so the remaining traces keep their order in later
 * sessions.
 */
export function shuffleByHash(ids: readonly string[], seed: number): string[] {
  const keyed = ids.map((id) => ({ id, key: createHash("sha256").update(`${seed} ${id}`).digest("hex") }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ id }) => id);
}

/** Returns the traces of questions that are never held out, with the most urgent first. */
async function rankHard(db: Db, ids: readonly string[], criterion: string): Promise<string[]> {
  const derived = new Map(effectiveLabels(db, criterion).map(({ traceId, label }) => [traceId, label]));
  const definitions = candidates(db);
  const ranked: { traceId: string; priority: number }[] = [];
  for await (const trace of yieldBetween(readTraces<EvaluatedTrace>(db, ids))) {
    if (!isForTraining(db, trace)) continue;
    const outcomes = runDataEvals(definitions, trace);
    ranked.push({
      traceId: trace.traceId,
      priority: labellingPriority(outcomes, derived.get(trace.traceId) ?? null),
    });
  }
  return ranked.sort((a, b) => b.priority - a.priority).map(({ traceId }) => traceId);
}

const NO_ORIGIN = { by: "templates", seed: null, labels: null, parent: null } as const;

/** The evals for ranking traces: stored evals and the templates that do not need labels. */
function candidates(db: Db): DataEval[] {
  const stored = newestOf(listEvals(db))
    .map(({ definition }) => definition)
    .filter(isDataEval);
  const templates = TEMPLATES.filter(({ bound }) => bound !== "cut").map(
    (template): DataEval => ({ ...templateEval(template, 0, NO_ORIGIN), version: 1 }),
  );
  return [...stored, ...templates];
}

/** Returns how urgently a person should look at a trace. Traces with a higher value come first. */
export function labellingPriority(
  outcomes: readonly { readonly score: number | null }[],
  derived: EvalLabel | null,
): number {
  const scores = outcomes.flatMap(({ score }) => score ?? []);
  const failed = scores.filter((score) => !isPass(score)).length;
  // A score or judge labeled it bad, but no eval fails it. Either the label is wrong or an eval is missing.
  if (derived === "bad" && failed === 0) return 2;
  // 1 if half of the evals fail the trace.
  return scores.length === 0 ? 0 : 1 - Math.abs((2 * failed) / scores.length - 1);
}

/** Number of new traces between two repetitions. A tenth of all traces are repetitions. */
const NEW_BETWEEN_REPEATS = 9;

interface QueuedTrace {
  readonly traceId: string;
  /** Whether the trace was labeled before and is shown again to measure self-agreement. */
  readonly isRepeat: boolean;
  readonly drawn: LabelDraw;
  readonly drawnFrom: number | null;
  /** Labels to adjudicate. Absent for a trace that is labeled without seeing other labels. */
  readonly labels?: readonly GivenLabel[];
}

/** Yields the traces to label. */
export class LabelQueue {
  private readonly random: (limit: number) => number;

  /** @param traces to label, in order @param labelled already labeled by a person */
  constructor(
    private readonly traces: readonly string[],
    private readonly labelled: readonly string[],
    seed: number,
    private readonly drawn: Pick<QueuedTrace, "drawn" | "drawnFrom">,
  ) {
    this.random = seededRandom(seed);
  }

  /** Also repeats traces from the same session, so that even a first session measures the reliability of its labels. */
  *[Symbol.iterator](): Generator<QueuedTrace> {
    const pool = [...this.labelled].sort();
    const asked: string[] = [];
    for (const [i, traceId] of this.traces.entries()) {
      if (i > 0 && i % NEW_BETWEEN_REPEATS === 0) {
        const [repeat] = pool.splice(this.random(Math.max(1, pool.length)), 1);
        if (repeat !== undefined) yield { traceId: repeat, isRepeat: true, ...this.drawn };
        // Annotators still remember the most recent traces, so these are repeated later.
        pool.push(...asked.splice(0));
      }
      asked.push(traceId);
      yield { traceId, isRepeat: false, ...this.drawn };
    }
  }
}

/** Saves a person's label and returns its id. */
export function saveGivenLabel(db: Db, label: Omit<TraceLabel, "source" | "createdAt">): number {
  const { traceId } = getTrace(db, label.traceId);
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
  const { drawn, drawnFrom } = draw;
  return saveLabel(db, { ...label, drawn, drawnFrom, traceId, source: "person", createdAt: new Date().toISOString() });
}

function requireDisagreement(db: Db, traceId: string, criterion: string): void {
  if (listDisagreements(db, criterion).some((one) => one.traceId === traceId)) return;
  throw new UserError(
    "label_undisputed",
    `Cannot adjudicate ${traceId}: no two annotators disagree on it for ${criterion}.`,
    "Label it directly.",
  );
}
