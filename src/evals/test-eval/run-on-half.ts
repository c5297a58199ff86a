// Runs an eval on the labeled traces of one half, and sums up its results.
import type { AppContext } from "../../platform/app-context.js";
import { yieldBetween } from "../../platform/batches.js";
import { quantile } from "../../statistics/quantile.js";
import type { Db } from "../../store/open-store.js";
import type { PromptVariant } from "../../traces/judgment.js";
import { sumCost } from "../../traces/task-result.js";
import { criterionSentence } from "../criteria.js";
import type { Contradiction, EvalTest, EvaluatedTrace, StoredEval } from "../definition.js";
import { hashLabels, type LabeledTrace, labeledPages, type TellingLabel } from "../effective-labels.js";
import { isPass, type MeasuredOutcome } from "../eval-outcome.js";
import { openEvalBackends, runEvals } from "../run-evals.js";
import type { Half } from "../split-questions.js";
import type { TestedTrace } from "./agreement.js";

/** An eval's results on the labels that it is compared with. */
export interface HalfRun {
  readonly tested: readonly (TestedTrace & { readonly traceId: string })[];
  /** Number of labels that do not count, because they are not by people. */
  readonly others: number;
  /** Number of labels without information on how their traces were drawn. */
  readonly unknownDraws: number;
  readonly latencyMs: EvalTest["latencyMs"];
  /** US dollars, or null if a price is unknown. */
  readonly costUsdPerTrace: number | null;
  readonly labelsHash: string;
}

interface JudgedLabel {
  readonly label: TellingLabel;
  readonly question: string;
  readonly outcome: MeasuredOutcome;
}

/** Sums up the outcomes of an eval on labeled traces. `others` is the number of labels that do not count. */
export function halfRun(db: Db, criterion: string, judged: readonly JudgedLabel[], others: number): HalfRun {
  const outcomes = judged.map(({ outcome }) => outcome);
  const times = outcomes.map(({ ms }) => ms);
  const cost = sumCost(outcomes);
  return {
    tested: judged.map(({ label: { traceId, label, source, weight }, question, outcome: { score, error } }) => ({
      ...{ traceId, question, source, weight, score, error },
      bad: label === "bad",
    })),
    others,
    unknownDraws: judged.filter(({ label }) => label.drawn === "unknown").length,
    latencyMs: { p50: quantile(times, 0.5) ?? 0, p95: quantile(times, 0.95) ?? 0 },
    costUsdPerTrace: cost === null || outcomes.length === 0 ? cost : cost / outcomes.length,
    labelsHash: hashLabels(
      judged.map(({ label }) => label),
      criterionSentence(db, criterion),
    ),
  };
}

export interface HalfRequest extends Pick<AppContext, "settings"> {
  /** Called for each trace that an eval outside this process has judged. */
  readonly onOutcome: () => void;
  readonly criterion: string;
  readonly half: Half;
  readonly isFresh?: boolean;
  /** Divides a page of traces into batches that are handed to the eval together. */
  readonly batchesOf?: (page: LabeledTrace[]) => Iterable<readonly LabeledTrace[]>;
  /** What the eval sees instead of a trace. */
  readonly shown?: (trace: EvaluatedTrace) => EvaluatedTrace;
  /** Another form of the prompt. */
  readonly variant?: PromptVariant;
}

/**
 * Runs an eval on the labeled traces of one half. Only people's labels validate it, and a judge is compared only with
 * people in both halves.
 */
export async function runOnHalf(
  db: Db,
  { definition }: Pick<StoredEval, "definition">,
  { criterion, half, settings, isFresh = false, variant, onOutcome, ...request }: HalfRequest,
  signal: AbortSignal,
): Promise<HalfRun & { readonly contradictions: readonly Contradiction[] }> {
  const { batchesOf = (page) => [page], shown = (trace) => trace } = request;
  const backends = openEvalBackends(settings, { isFresh, variant, onOutcome });
  const withOthers = half === "training" && definition.kind !== "judge";
  const judged: JudgedLabel[] = [];
  const contradictions: Contradiction[] = [];
  let others = 0;
  for await (const batch of yieldBetween(batched(labeledPages(db, criterion, half), batchesOf))) {
    signal.throwIfAborted();
    const page = batch.filter(({ label }) => withOthers || label.source === "person");
    others += batch.length - page.length;
    const traces = page.map(({ trace }) => shown(trace));
    const outcomes = (await runEvals([definition], traces, backends, signal)).flat();
    for (const [i, { trace, label, question }] of page.entries()) {
      const outcome = outcomes[i];
      if (outcome === undefined) continue;
      judged.push({ label, question, outcome });
      contradictions.push(...contradictionOf(trace, label, outcome));
    }
  }
  return { ...halfRun(db, criterion, judged, others), contradictions };
}

function* batched<T>(pages: Iterable<T[]>, batchesOf: (page: T[]) => Iterable<readonly T[]>): Generator<readonly T[]> {
  for (const page of pages) yield* batchesOf(page);
}

function contradictionOf(
  trace: EvaluatedTrace,
  { label, note }: TellingLabel,
  { score, reason }: MeasuredOutcome,
): Contradiction[] {
  if (score === null || isPass(score) === (label === "good")) return [];
  const [runId, taskId] = trace.kind === "chat" ? [null, null] : [trace.runId, trace.taskId];
  return [{ traceId: trace.traceId, runId, taskId, label, note, score, reason }];
}
