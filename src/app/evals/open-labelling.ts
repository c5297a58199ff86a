import { type DataEval, isDataEval } from "../../domain/evals/eval-definition.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { EvalLabel } from "../../domain/evals/label.js";
import { LabelQueue, type QueuedTrace } from "../../evalgen/labelling/label-queue.js";
import { labellingPriority } from "../../evalgen/labelling/rank-for-labelling.js";
import { runDataEvals } from "../../evalgen/run-data-evals.js";
import { conditionOf, TEMPLATES } from "../../evalgen/templates.js";
import type { Db } from "../../store/connection/open-store.js";
import { listEvals } from "../../store/evals/evals.js";
import { effectiveLabels, saveLabels } from "../../store/evals/labels.js";
import { iterateTracesToLabel, labelledByPerson } from "../../store/evals/traces-to-label.js";
import { getRun } from "../../store/runs/runs.js";
import { getTrace } from "../../store/runs/traces.js";
import { type LabelSummary, summarizeLabels } from "./label-counts.js";
import { newestOf } from "./review-eval.js";

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
  /** How many traces no person has labelled. */
  readonly waiting: number;
  traces(): Iterable<TraceToLabel>;
  save(item: QueuedTrace, label: EvalLabel, note: string | null): void;
  summary(): LabelSummary;
}

/** Queues the traces of a run or of chats, most urgent first, and saves a person's labels as they are given. */
export function openLabelling(db: Db, { run, criterion, seed }: LabellingOptions): Labelling {
  const runId = run === null ? null : getRun(db, run).id;
  const labelled = labelledByPerson(db, criterion);
  const derived = new Map(effectiveLabels(db, criterion).map(({ traceId, label }) => [traceId, label]));
  const definitions = candidates(db);
  const ranked: { traceId: string; priority: number }[] = [];
  const ofRun = new Set<string>();
  for (const trace of iterateTracesToLabel(db, runId)) {
    const { traceId } = trace;
    ofRun.add(traceId);
    if (labelled.has(traceId)) continue;
    ranked.push({
      traceId,
      priority: labellingPriority(runDataEvals(definitions, trace), derived.get(traceId) ?? null),
    });
  }
  const order = ranked.sort((a, b) => b.priority - a.priority).map(({ traceId }) => traceId);
  const queue = new LabelQueue(
    order,
    [...labelled].filter((id) => ofRun.has(id)),
    seed,
  );
  return {
    waiting: order.length,
    *traces() {
      for (const queued of queue) yield { ...queued, trace: getTrace(db, queued.traceId) };
    },
    save({ traceId, isRepeat }, label, note) {
      const createdAt = new Date().toISOString();
      saveLabels(db, [{ traceId, criterion, label, source: "person", note, isRepeat, createdAt }]);
    },
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
