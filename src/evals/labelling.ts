import { yieldBetween } from "../platform/async.js";
import { UserError } from "../platform/errors.js";
import { seededRandom } from "../statistics/intervals.js";
import type { Db } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { getTrace, readTraces } from "../traces/traces-store.js";
import { type DataEval, type EvaluatedTrace, isDataEval } from "./definition.js";
import { isPass } from "./eval-outcome.js";
import {
  type EvalLabel,
  effectiveLabels,
  type LabelSummary,
  labelledByPerson,
  saveLabel,
  summarizeLabels,
  type TraceLabel,
  traceIdsToLabel,
} from "./labels.js";
import { runRulesAndCases } from "./run-rules.js";
import { listEvals } from "./store.js";
import { conditionOf, TEMPLATES } from "./templates.js";
import { newestOf } from "./test-eval.js";

interface LabellingOptions {
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
}

/** Which trace to label next. */
export class LabelQueue {
  private readonly repeats: string[];
  private sinceRepeat = 0;
  private readonly random: (limit: number) => number;

  /** `traces`: to label, the most urgent first. `labelled`: by a person, before. */
  constructor(
    private readonly traces: readonly string[],
    labelled: Iterable<string>,
    seed: number,
  ) {
    this.repeats = [...labelled].sort();
    this.random = seededRandom(seed);
  }

  *[Symbol.iterator](): Generator<QueuedTrace> {
    for (const traceId of this.traces) {
      if (this.sinceRepeat === NEW_BETWEEN_REPEATS && this.repeats.length > 0) {
        this.sinceRepeat = 0;
        const [repeat = ""] = this.repeats.splice(this.random(this.repeats.length), 1);
        yield { traceId: repeat, isRepeat: true };
      }
      this.sinceRepeat++;
      yield { traceId, isRepeat: false };
    }
  }
}

/** Saves what a person says of a trace, and returns the id of the label. */
export function saveGivenLabel(db: Db, label: Omit<TraceLabel, "source" | "createdAt">): number {
  const { traceId } = getTrace(db, label.traceId);
  if (label.isRepeat && !labelledByPerson(db, label.criterion).has(traceId)) {
    throw new UserError(
      "label_unrepeated",
      `${traceId} was not labelled for ${label.criterion} before, so it cannot be asked again.`,
      "Save it as a first label.",
    );
  }
  return saveLabel(db, { ...label, traceId, source: "person", createdAt: new Date().toISOString() });
}
