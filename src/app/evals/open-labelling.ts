import { type DataEval, isDataEval } from "../../domain/evals/eval-definition.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { EvalLabel } from "../../domain/evals/label.js";
import { conditionOf, TEMPLATES } from "../../evalgen/eval-templates.js";
import { LabelQueue, type QueuedTrace } from "../../evalgen/labelling/label-queue.js";
import { labellingPriority } from "../../evalgen/labelling/rank-for-labelling.js";
import { runRulesAndCases } from "../../evalgen/run-rules-and-cases.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import type { Db } from "../../store/connection/open-store.js";
import { listEvals } from "../../store/evals/evals.js";
import { effectiveLabels } from "../../store/evals/labels.js";
import { labelledByPerson, traceIdsToLabel } from "../../store/evals/traces-to-label.js";
import { getRun } from "../../store/runs/runs.js";
import { getTrace, readTraces } from "../../store/runs/traces.js";
import { type LabelSummary, summarizeLabels } from "./label-counts.js";
import { newestOf } from "./review-eval.js";
import { saveGivenLabel } from "./save-label.js";

export interface LabellingOptions {
  /** A run; null: chats. */
  readonly run: string | null;
  readonly criterion: string;
  readonly seed: number;
}

export interface TraceToLabel extends QueuedTrace {
  readonly trace: EvaluatedTrace;
}

/** One person's labelling. */
export interface Labelling {
  /** Null: chats. */
  readonly runId: string | null;
  /** How many traces no person has labelled. */
  readonly waiting: number;
  /** The most urgent first, with some that are asked again. */
  readonly queue: Iterable<QueuedTrace>;
  traces(): Iterable<TraceToLabel>;
  save(item: QueuedTrace, label: EvalLabel, note: string | null): void;
  summary(): LabelSummary;
}

/** Queues the traces of a run or of chats; other work goes on while they are ranked. */
export async function openLabelling(db: Db, { run, criterion, seed }: LabellingOptions): Promise<Labelling> {
  const runId = run === null ? null : getRun(db, run).id;
  const labelled = labelledByPerson(db, criterion);
  const derived = new Map(effectiveLabels(db, criterion).map(({ traceId, label }) => [traceId, label]));
  const definitions = candidates(db);
  const ids = traceIdsToLabel(db, runId);
  const ranked: { traceId: string; priority: number }[] = [];
  const waiting = readTraces<EvaluatedTrace>(
    db,
    ids.filter((id) => !labelled.has(id)),
  );
  for await (const trace of yieldBetween(waiting)) {
    const { traceId } = trace;
    ranked.push({
      traceId,
      priority: labellingPriority(runRulesAndCases(definitions, trace), derived.get(traceId) ?? null),
    });
  }
  const order = ranked.sort((a, b) => b.priority - a.priority).map(({ traceId }) => traceId);
  const asked = ids.filter((id) => labelled.has(id));
  const queue = new LabelQueue(order, asked, seed);
  return {
    runId,
    waiting: order.length,
    queue,
    *traces() {
      for (const queued of queue) yield { ...queued, trace: getTrace(db, queued.traceId) };
    },
    save: (item, label, note) => void saveGivenLabel(db, { ...item, criterion, label, note }),
    summary: () => summarizeLabels(db, criterion),
  };
}

/** What traces are ranked by: the evals there are, and the templates that need no labels. */
function candidates(db: Db): DataEval[] {
  const stored = newestOf(listEvals(db))
    .map(({ definition }) => definition)
    .filter(isDataEval);
  const templates = TEMPLATES.filter(({ bound }) => bound !== "cut").map((template): DataEval => {
    const { name, criterion } = template;
    const origin = { by: "templates", seed: null, labels: null, parent: null } as const;
    return {
      name,
      version: 1,
      kind: "rules",
      reference: false,
      criterion,
      pass: { all: [conditionOf(template, 0)] },
      origin,
    };
  });
  return [...stored, ...templates];
}
