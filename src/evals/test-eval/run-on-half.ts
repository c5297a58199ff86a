// Runs an eval on the labeled traces of one half, or of both, and collects its results and contradictions.
import type { AppContext } from "../../platform/app-context.js";
import { yieldBetween } from "../../platform/batches.js";
import { quantile } from "../../statistics/quantile.js";
import type { Db } from "../../store/open-store.js";
import type { PromptVariant } from "../../traces/judgment.js";
import { sumCost } from "../../traces/task-result.js";
import { criterionSentence } from "../criteria.js";
import type { Contradiction, EvalDefinition, EvalTest, EvaluatedTrace, StoredEval } from "../definition.js";
import { type EffectiveLabel, hashLabels, type LabeledTrace, labeledPages } from "../effective-labels.js";
import { isPass, type MeasuredOutcome } from "../eval-outcome.js";
import { openEvalBackends, runEvals } from "../run-evals.js";
import type { Half } from "../split-questions.js";
import type { TestedTrace } from "./agreement.js";

export interface HalfRun {
  readonly tested: readonly (TestedTrace & { readonly traceId: string })[];
  /** Number of labels that do not count, because they are not by people. */
  readonly others: number;
  /** Number of labels without information on how their traces were drawn. */
  readonly unknownDraws: number;
  readonly contradictions: readonly Contradiction[];
  readonly latencyMs: EvalTest["latencyMs"];
  /** US dollars, or null if a price is unknown. */
  readonly costUsdPerTrace: number | null;
  readonly labelsHash: string;
}

export interface HalfRequest extends Pick<AppContext, "settings"> {
  /** Called for each trace that an eval outside this process has judged. */
  readonly onOutcome: () => void;
  readonly criterion: string;
  /** Null for both. */
  readonly half: Half | null;
  readonly isFresh?: boolean;
  /** Divides a page of traces into batches that are handed to the eval together. */
  readonly batchesOf?: (page: LabeledTrace[]) => LabeledTrace[][];
  /** The form of the eval that judges a trace, if there are several. All traces of a batch have the same form. */
  readonly formOf?: (labeled: LabeledTrace) => EvalDefinition;
  /** What the eval sees instead of a trace. */
  readonly shown?: (trace: EvaluatedTrace) => EvaluatedTrace;
  /** Another form of the prompt. */
  readonly variant?: PromptVariant;
}

/**
 * Runs an eval on the labeled traces of one half, or of both. Only people's labels validate it, and a judge is compared
 * only with people in both halves.
 */
export async function runOnHalf(
  db: Db,
  { definition }: Pick<StoredEval, "definition">,
  {
    criterion,
    half,
    settings,
    isFresh = false,
    variant,
    batchesOf = (page) => [page],
    formOf = () => definition,
    shown = (trace) => trace,
    onOutcome,
  }: HalfRequest,
  signal: AbortSignal,
): Promise<HalfRun> {
  const backends = openEvalBackends(settings, { isFresh, variant, onOutcome });
  const withOthers = half === "training" && definition.kind !== "judge";
  const counts = ({ label }: LabeledTrace) => withOthers || label.source === "person";
  const tested: HalfRun["tested"][number][] = [];
  const contradictions: Contradiction[] = [];
  const outcomes: MeasuredOutcome[] = [];
  let unknownDraws = 0;
  const used: EffectiveLabel[] = [];
  let others = 0;
  for await (const labeled of yieldBetween(batched(labeledPages(db, criterion, half), batchesOf))) {
    signal.throwIfAborted();
    const page = labeled.filter(counts);
    others += labeled.length - page.length;
    used.push(...page.map(({ label }) => label));
    unknownDraws += page.filter(({ label }) => label.drawn === "unknown").length;
    if (page[0] === undefined) continue;
    const traces = page.map(({ trace }) => shown(trace));
    const ofPage = (await runEvals([formOf(page[0])], traces, backends, signal)).flat();
    for (const [i, outcome] of ofPage.entries()) {
      const labeled = page[i];
      if (labeled === undefined) continue;
      const { score, error } = outcome;
      tested.push({
        traceId: labeled.trace.traceId,
        question: labeled.question,
        bad: labeled.label.label === "bad",
        source: labeled.label.source,
        weight: labeled.label.weight,
        score,
        error,
      });
      contradictions.push(...contradictionOf(labeled, outcome));
    }
    outcomes.push(...ofPage);
  }
  const times = outcomes.map(({ ms }) => ms);
  const cost = sumCost(outcomes);
  return {
    tested,
    others,
    contradictions,
    unknownDraws,
    latencyMs: { p50: quantile(times, 0.5) ?? 0, p95: quantile(times, 0.95) ?? 0 },
    costUsdPerTrace: cost === null || outcomes.length === 0 ? cost : cost / outcomes.length,
    labelsHash: hashLabels(used, criterionSentence(db, criterion)),
  };
}

function* batched<T>(pages: Iterable<T[]>, batchesOf: (page: T[]) => T[][]): Generator<T[]> {
  for (const page of pages) yield* batchesOf(page);
}

function contradictionOf({ trace, label }: LabeledTrace, { score, reason }: MeasuredOutcome): Contradiction[] {
  if (score === null || isPass(score) === (label.label === "good")) return [];
  const [runId, taskId] = trace.kind === "chat" ? [null, null] : [trace.runId, trace.taskId];
  return [{ traceId: trace.traceId, runId, taskId, label: label.label, note: label.note, score, reason }];
}
