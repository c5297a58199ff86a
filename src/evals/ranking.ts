import type { AppSettings } from "../platform/context.js";
import { areaUnderCurve } from "../statistics/agreement.js";
import { meanOf, quantile } from "../statistics/intervals.js";
import { fitLogistic, type LogisticModel, predictLogistic } from "../statistics/logistic-regression.js";
import { withStore } from "../store/open-store.js";
import { getRun } from "../traces/runs-store.js";
import { askedOf } from "../traces/trace.js";
import { readTraces } from "../traces/traces-store.js";
import { labelShuffler, type MeasuredTemplate, type TrainingLabels } from "./choose-templates.js";
import type { EvaluatedTrace } from "./definition.js";
import { featureOf, viewOf } from "./features.js";
import { type EvalLabel, effectiveLabels, requireLabels, traceIdsToLabel } from "./labels.js";
import { measureTraining } from "./suggest.js";

interface RankOptions {
  readonly run: string;
  readonly criterion: string;
  readonly seed: number;
}

interface RankedTrace {
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

/** The squares of standardised weights are as likely as one more trace's label: scikit-learn's default. */
const PENALTY = 1;
const SHUFFLES = 39;

/** How likely a trace is to be bad, from all features together. It ranks; nothing passes or fails by it. */
interface RankingScore {
  /** Names of the features that vary, in the order of the weights. */
  readonly features: readonly string[];
  readonly model: LogisticModel;
  /** Between 0 and 1, from the values of these features. */
  of(values: readonly (number | null)[]): number;
}

interface MeasuredRanking {
  readonly score: RankingScore;
  /** Area under the ROC curve, by cross-validation; 0.5 is chance. Null where it cannot be told. */
  readonly area: number | null;
  /** 95 % of those with shuffled labels are below. */
  readonly shuffledArea: number | null;
}

/** Fits the score to all training labels, and measures it by cross-validation beside what shuffled labels give. */
export function measureRanking(
  measured: readonly MeasuredTemplate[],
  labels: TrainingLabels,
  seed: number,
): MeasuredRanking {
  const { bad } = labels;
  const shuffle = labelShuffler(labels, seed);
  const areas = Array.from({ length: SHUFFLES }, () => crossValidatedArea(measured, shuffle(), labels.folds));
  return {
    score: fitRanking(measured, bad, () => true).score,
    area: crossValidatedArea(measured, bad, labels.folds),
    shuffledArea: quantile(
      areas.filter((area) => area !== null),
      0.95,
    ),
  };
}

function crossValidatedArea(
  measured: readonly MeasuredTemplate[],
  bad: readonly boolean[],
  folds: readonly number[],
): number | null {
  const scores = bad.map(() => 0);
  for (const fold of new Set(folds)) {
    const { score, columns } = fitRanking(measured, bad, (trace) => folds[trace] !== fold);
    for (const [trace, other] of folds.entries()) {
      if (other === fold) scores[trace] = score.of(columns.map((values) => values[trace] ?? null));
    }
  }
  return areaUnderCurve(scores, bad);
}

/**
 * Fits to some of the traces. Features that are the same for all of these are left out; `columns` has the values that
 * all traces have of the others.
 */
function fitRanking(
  measured: readonly MeasuredTemplate[],
  bad: readonly boolean[],
  isUsed: (trace: number) => boolean,
): { readonly score: RankingScore; readonly columns: readonly MeasuredTemplate["values"][] } {
  const used = bad.flatMap((_, trace) => (isUsed(trace) ? [trace] : []));
  const columns = measured.flatMap(({ template: { feature }, values }) => {
    const scale = standardizer(used.flatMap((trace) => values[trace] ?? []).map(compress));
    return scale === null ? [] : [{ feature, values, scale }];
  });
  const rows = used.map((trace) => columns.map(({ values, scale }) => scale(values[trace] ?? null)));
  const labels = used.map((trace) => bad[trace] === true);
  const isOneKind = labels.every((label) => label === labels[0]);
  const model = isOneKind ? { weights: columns.map(() => 0), intercept: 0 } : fitLogistic(rows, labels, PENALTY);
  const score: RankingScore = {
    features: columns.map(({ feature }) => feature),
    model,
    of: (values) =>
      predictLogistic(
        model,
        columns.map(({ scale }, i) => scale(values[i] ?? null)),
      ),
  };
  return { score, columns: columns.map(({ values }) => values) };
}

/** Costs and times are skewed: of two that are large, the difference says little. */
function compress(value: number): number {
  return Math.sign(value) * Math.log1p(Math.abs(value));
}

/** To a mean of 0 and a standard deviation of 1; a missing value is the mean. Null where all values are equal. */
function standardizer(values: readonly number[]): ((value: number | null) => number) | null {
  const mean = meanOf(values);
  if (mean === null) return null;
  const deviation = Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)) ?? 0);
  if (deviation < 1e-9) return null;
  return (value) => (value === null ? 0 : (compress(value) - mean) / deviation);
}
