import { createHash } from "node:crypto";
import { yieldBetween } from "../platform/async.js";
import { UserError } from "../platform/errors.js";
import { seededRandom } from "../statistics/intervals.js";
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
  type LabelDraw,
  type LabelSummary,
  labelledByPerson,
  saveLabel,
  summarizeLabels,
  type TraceLabel,
  traceIdsToLabel,
} from "./labels.js";
import { runDataEvals } from "./run-rules.js";
import { isForTraining } from "./split-questions.js";
import { listEvals } from "./store.js";
import { TEMPLATES, templateEval } from "./templates.js";
import { newestOf } from "./test-eval.js";

interface LabellingOptions {
  /** A run; null: chats. */
  readonly run: string | null;
  readonly criterion: string;
  readonly seed: number;
  /** Who labels; null: not said. Whoever is named is asked of what others labelled too. */
  readonly annotator: string | null;
  /** Hard cases of the training half instead of a random sample. */
  readonly hard: boolean;
}

export interface TraceToLabel extends QueuedTrace {
  readonly trace: EvaluatedTrace;
}

/** One person's labelling. */
export interface Labelling {
  /** Null: chats. */
  readonly runId: string | null;
  /** What is asked, in a sentence about a good trace; null: nobody wrote it. */
  readonly sentence: string | null;
  /** How many traces no person has labelled. */
  readonly waiting: number;
  /** In random order, or the hardest first; with some that are asked again. */
  readonly queue: Iterable<QueuedTrace>;
  traces(): Iterable<TraceToLabel>;
  save(item: QueuedTrace, label: EvalLabel, note: string | null): void;
  summary(): LabelSummary;
}

/**
 * Queues the traces of a run or of chats: in random order, so that what is measured on the labels holds for the run, or
 * hard cases of the training half. Other work goes on while these are ranked.
 */
export async function openLabelling(
  db: Db,
  { run, criterion, seed, annotator, hard }: LabellingOptions,
): Promise<Labelling> {
  const runId = run === null ? null : getRun(db, run).id;
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
  return {
    runId,
    sentence: criterionSentence(db, criterion),
    waiting: order.length,
    queue,
    *traces() {
      for (const queued of queue) yield { ...queued, trace: getTrace(db, queued.traceId) };
    },
    save: (item, label, note) => void saveGivenLabel(db, { ...item, criterion, label, note, annotator }),
    summary: () => summarizeLabels(db, criterion),
  };
}

/** An order that labels do not change: what is left of it is in the same order later. */
function shuffleByHash(ids: readonly string[], seed: number): string[] {
  const keyed = ids.map((id) => ({ id, key: createHash("sha256").update(`${seed} ${id}`).digest("hex") }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ id }) => id);
}

/** Traces of questions that are never held out, the most urgent first. */
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

/** What traces are ranked by: the evals there are, and the templates that need no labels. */
function candidates(db: Db): DataEval[] {
  const stored = newestOf(listEvals(db))
    .map(({ definition }) => definition)
    .filter(isDataEval);
  const templates = TEMPLATES.filter(({ bound }) => bound !== "cut").map(
    (template): DataEval => ({ ...templateEval(template.name, [{ template, cut: 0 }], NO_ORIGIN), version: 1 }),
  );
  return [...stored, ...templates];
}

/** How urgently a person should look at a trace; higher first. */
export function labellingPriority(
  outcomes: readonly { readonly score: number | null }[],
  derived: EvalLabel | null,
): number {
  const scores = outcomes.flatMap(({ score }) => score ?? []);
  const failed = scores.filter((score) => !isPass(score)).length;
  // Called bad by a score or a judge, and no eval says why: either the label is wrong, or an eval is missing.
  if (derived === "bad" && failed === 0) return 2;
  // 1 where half of the evals fail it and half do not.
  return scores.length === 0 ? 0 : 1 - Math.abs((2 * failed) / scores.length - 1);
}

/** After so many new traces an old one is asked again: a tenth of all. */
const NEW_BETWEEN_REPEATS = 9;

interface QueuedTrace {
  readonly traceId: string;
  /** It was labelled before, and is asked again to measure self-agreement. */
  readonly isRepeat: boolean;
  readonly drawn: LabelDraw;
  readonly drawnFrom: number | null;
}

/** Which trace to label next. */
export class LabelQueue {
  private readonly random: (limit: number) => number;

  /** `traces`: to label, in order. `labelled`: by a person, before. */
  constructor(
    private readonly traces: readonly string[],
    private readonly labelled: readonly string[],
    seed: number,
    private readonly drawn: Pick<QueuedTrace, "drawn" | "drawnFrom">,
  ) {
    this.random = seededRandom(seed);
  }

  /** Asks again also what was asked some traces ago: a first session tells already how sure its labels are. */
  *[Symbol.iterator](): Generator<QueuedTrace> {
    const pool = [...this.labelled].sort();
    const asked: string[] = [];
    for (const [i, traceId] of this.traces.entries()) {
      if (i > 0 && i % NEW_BETWEEN_REPEATS === 0) {
        const [repeat] = pool.splice(this.random(Math.max(1, pool.length)), 1);
        if (repeat !== undefined) yield { traceId: repeat, isRepeat: true, ...this.drawn };
        // The last few are still remembered, so they wait.
        pool.push(...asked.splice(0));
      }
      asked.push(traceId);
      yield { traceId, isRepeat: false, ...this.drawn };
    }
  }
}

/** Saves what a person says of a trace, and returns the id of the label. */
export function saveGivenLabel(db: Db, label: Omit<TraceLabel, "source" | "createdAt">): number {
  const { traceId } = getTrace(db, label.traceId);
  const draw = label.isRepeat ? firstDraw(db, traceId, label.criterion) : label;
  if (draw === null) {
    throw new UserError(
      "label_unrepeated",
      `${traceId} was not labelled for ${label.criterion} before, so it cannot be asked again.`,
      "Save it as a first label.",
    );
  }
  const { drawn, drawnFrom } = draw;
  return saveLabel(db, { ...label, drawn, drawnFrom, traceId, source: "person", createdAt: new Date().toISOString() });
}
