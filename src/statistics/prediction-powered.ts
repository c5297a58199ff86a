// The rate of good traces of a run, from an eval's results on all traces and from labels of a random part of them.
import { type Estimate, type Interval, NO_ESTIMATE } from "./estimate.js";
import { wilson } from "./intervals.js";
import { type LabelPairs, labelNoise, sampler, wrongLabels } from "./label-errors.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** An eval's result on a trace of the run, and the trace's label if it was drawn for labeling. */
export interface PredictedTrace {
  readonly passed: boolean;
  readonly good: boolean | null;
  /** Weight of a label whose trace was drawn with another probability than the others. Absent means 1. */
  readonly weight?: number;
  /** Traces with the same value are dependent. */
  readonly cluster: string;
}

/**
 * Power-tuned prediction-powered estimate (PPI++): the part `beta` of the eval's pass rate on all traces plus the mean
 * of label minus `beta` times result on the labeled ones, with the `beta` that minimizes the variance. It is unbiased
 * whatever the eval's errors are, also on a changed agent. Labels are weighted by the inverse of their probability to
 * be drawn (Hájek's form of the difference estimator: Särndal, Swensson and Wretman 1992, Model Assisted Survey
 * Sampling, sections 5.7 and 6.3). For equal weights, it is the estimate of Angelopoulos, Duchi and Zrnic (2023), arXiv
 * 2311.01453, example 6.1.
 *
 * The interval is Wilson's with the effective number of labels, because few labels near 0 or 1 are not normal. If
 * `pairs` is known, the mean label is solved for the fraction of wrong labels, with a bootstrap interval.
 */
export function predictionPoweredRate(traces: readonly PredictedTrace[], pairs: LabelPairs | null): Estimate {
  const labeled = traces.filter(({ good }) => good !== null);
  if (labeled.length < 2) return NO_ESTIMATE;
  const rows = labeled.map(({ passed, good, weight = 1, cluster }) => ({
    pass: Number(passed),
    label: Number(good),
    weight,
    cluster,
  }));
  const beta = tunedBeta(rows);
  const residuals = rows.map(({ pass, label, ...row }) => ({ ...row, value: label - beta * pass }));
  const results = traces.map(({ passed, cluster }) => ({ value: beta * Number(passed), weight: 1, cluster }));
  const mean = clip(average(residuals) + average(results));
  const usedPairs = pairs === null || pairs.n === 0 ? null : pairs;
  const ofErrors = varianceOfErrors(wrongLabels(usedPairs) ?? 0, rows);
  const ofLabels = Math.max(varianceOfMean(residuals), ofErrors);
  const variance = ofLabels + varianceOfMean(results);
  const effective = effectiveLabels(mean, variance, rows);
  const { low, high } =
    usedPairs === null ? wilson(mean * effective, effective) : solvedInterval(mean, effective, usedPairs);
  const value = usedPairs === null ? mean : solvedRate(mean, usedPairs);
  return { value, n: traces.length, low: Math.min(value, low ?? 0), high: Math.max(value, high ?? 1) };
}

interface Weighted {
  readonly weight: number;
}

interface WeightedValue extends Weighted {
  readonly value: number;
}

/** A labeled trace: 1 if it passes or is labeled good, otherwise 0. */
interface LabeledRow extends Weighted {
  readonly pass: number;
  readonly label: number;
}

/** Returns the weight of the eval: 0 if its results are not informative about the labels. */
function tunedBeta(rows: readonly LabeledRow[]): number {
  const averageOf = (figure: (row: LabeledRow) => number) =>
    average(rows.map((row) => ({ value: figure(row), weight: row.weight })));
  const meanPass = averageOf(({ pass }) => pass);
  const variance = averageOf(({ pass }) => (pass - meanPass) ** 2);
  if (variance === 0) return 0;
  const covariance = averageOf(({ pass, label }) => (pass - meanPass) * label);
  return clip(covariance / variance);
}

/** Solves mean = rate (1 - good) + (1 - rate) bad for the probabilities of wrong labels. */
function solvedRate(mean: number, pairs: LabelPairs, alike?: number): number {
  const { good, bad } = labelNoise(pairs, alike);
  return clip((mean - bad) / Math.max(MIN_TELLING, 1 - good - bad));
}

/** With more wrong labels, the equation divides by almost nothing. */
const MIN_TELLING = 0.02;

const DRAWS = 2_000;

/** The interval by a parametric bootstrap of the mean label and the agreement, with Jeffreys priors. */
function solvedInterval(mean: number, effective: number, pairs: LabelPairs): Interval {
  const draw = sampler(seededRandom(1));
  const rateDraws = Float64Array.from({ length: DRAWS }, () =>
    solvedRate(draw.share(mean * effective, effective), pairs, draw.share(pairs.alike, pairs.n)),
  ).sort();
  return { low: quantileOfSorted(rateDraws, 0.025), high: quantileOfSorted(rateDraws, 0.975) };
}

/**
 * Returns the number of independent labels with this variance of their mean. The observed variance depends on the
 * labels of the rarer kind. If there are few, it is often too small, so PRIOR_LABELS without an eval are added.
 */
function effectiveLabels(mean: number, variance: number, rows: readonly LabeledRow[]): number {
  const n = effectiveNumber(rows);
  const rare = Math.min(...[0, 1].map((kind) => effectiveNumber(rows.filter(({ label }) => label === kind))));
  const smoothed = (mean * n + 1) / (n + 2);
  const spread = smoothed * (1 - smoothed);
  return spread / ((rare * variance + PRIOR_LABELS * (spread / n)) / (rare + PRIOR_LABELS));
}

/** With 80 labels, 5% bad: without it, the interval covered the rate in 91% of samples, and with it in 94%. */
const PRIOR_LABELS = 2;

/**
 * Variance of the weighted mean of values that are dependent within a cluster, linearized and corrected for few
 * clusters (CR1).
 */
function varianceOfMean(values: readonly (WeightedValue & { readonly cluster: string })[]): number {
  const mean = average(values);
  const sums = new Map<string, number>();
  for (const { value, weight, cluster } of values)
    sums.set(cluster, (sums.get(cluster) ?? 0) + weight * (value - mean));
  if (sums.size < 2) return 1;
  const squares = [...sums.values()].reduce((sum, one) => sum + one ** 2, 0);
  return ((sums.size / (sums.size - 1)) * squares) / total(values) ** 2;
}

/**
 * Variance of the mean label from wrong labels alone. The observed variance is smaller if no label with a high weight
 * happens to be wrong.
 */
function varianceOfErrors(e: number, rows: readonly Weighted[]): number {
  return (e * (1 - e)) / effectiveNumber(rows);
}

/** Number of equally weighted values with the same information (Kish 1965). */
function effectiveNumber(rows: readonly Weighted[]): number {
  const squares = rows.reduce((sum, { weight }) => sum + weight ** 2, 0);
  return squares === 0 ? 0 : total(rows) ** 2 / squares;
}

function average(values: readonly WeightedValue[]): number {
  return values.reduce((sum, { value, weight }) => sum + weight * value, 0) / total(values);
}

function total(rows: readonly Weighted[]): number {
  return rows.reduce((sum, { weight }) => sum + weight, 0);
}

function clip(rate: number): number {
  return Math.min(1, Math.max(0, rate));
}
