import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { EvalLabel } from "../../domain/evals/label.js";
import { askedOf } from "../../domain/runs/chat.js";
import { featureOf } from "../../evalgen/features/feature-table.js";
import { type MeasuredRanking, measureRanking } from "../../evalgen/selection/ranking-score.js";
import { viewOf } from "../../evalgen/visible-trace.js";
import { effectiveLabels } from "../../store/evals/labels.js";
import { traceIdsToLabel } from "../../store/evals/traces-to-label.js";
import { getRun } from "../../store/runs/runs.js";
import { readTraces } from "../../store/runs/traces.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { requireLabels } from "./label-counts.js";
import { measureTraining } from "./measure-training.js";

export interface RankOptions {
  readonly run: string;
  readonly criterion: string;
  readonly seed: number;
}

export interface RankedTrace {
  readonly traceId: string;
  readonly question: string;
  /** How likely it is to be bad, 0 to 1. */
  readonly score: number;
  /** Null: nobody and nothing labelled it. */
  readonly label: EvalLabel | null;
}

export interface Ranking extends Pick<MeasuredRanking, "area" | "shuffledArea"> {
  readonly runId: string;
  /** Of the training half, which the score is fitted to. */
  readonly good: number;
  readonly bad: number;
  /** By feature, of values with a standard deviation of 1; those that raise the score are positive. Largest first. */
  readonly weights: readonly { readonly feature: string; readonly weight: number }[];
  /** Of the whole run, the likeliest to be bad first. */
  readonly traces: readonly RankedTrace[];
}

/** Ranks the traces of a run by how likely they are to be bad, as the labels of the training half teach it. */
export function rankTraces({ run, criterion, seed }: RankOptions, settings: AppSettings): Promise<Ranking> {
  return withStore(settings, (db) => {
    const { id: runId } = getRun(db, run);
    const { measured, labels } = measureTraining(db, criterion, seed);
    const bad = labels.bad.filter((isBad) => isBad).length;
    const good = labels.bad.length - bad;
    requireLabels("training", good, bad, criterion);
    const { score, area, shuffledArea } = measureRanking(measured, labels, seed);
    const features = score.features.map((name) => featureOf(name, "the ranking"));
    const known = new Map(effectiveLabels(db, criterion).map(({ traceId, label }) => [traceId, label]));
    const traces: RankedTrace[] = [];
    for (const trace of readTraces<EvaluatedTrace>(db, traceIdsToLabel(db, runId))) {
      const view = viewOf(trace);
      const { traceId } = trace;
      const values = features.map((feature) => feature.of(view).value);
      traces.push({ traceId, question: askedOf(trace), score: score.of(values), label: known.get(traceId) ?? null });
    }
    const weights = score.features.map((feature, i) => ({ feature, weight: score.model.weights[i] ?? 0 }));
    return {
      ...{ runId, good, bad, area, shuffledArea },
      weights: weights.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)),
      traces: traces.sort((a, b) => b.score - a.score),
    };
  });
}
