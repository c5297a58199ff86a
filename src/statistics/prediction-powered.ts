// The rate of good traces of a run, from an eval's results on all traces and from labels of a random part of them.
import { type Estimate, type Interval, NO_ESTIMATE } from "./estimate.js";
import { wilson } from "./intervals.js";
import { errorRate, type LabelPairs, sampler } from "./label-errors.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** An eval's result on a trace of the run, and the trace's label if it was drawn for labeling. */
export interface PredictedTrace {
  readonly passed: boolean;
  readonly good: boolean | null;
  /** Traces with the same value are dependent. */
  readonly cluster: string;
}

/**
 * Power-tuned prediction-powered estimate (PPI++): the mean label plus the part `lambda` of the difference between the
 * eval's pass rates on unlabeled and labeled traces, with the `lambda` that minimizes the variance. It is unbiased
 * whatever the eval's errors are, also on a changed agent, but only if every trace had the same chance to be labeled.
 * Source: Angelopoulos, Duchi and Zrnic (2023), arXiv 2311.01453, example 6.1.
 *
 * The interval is Wilson's with the effective number of labels, because few labels near 0 or 1 are not normal. If
 * `pairs` is known, the mean label is solved for the fraction of wrong labels, with a bootstrap interval.
 */
export function predictionPoweredRate(traces: readonly PredictedTrace[], pairs: LabelPairs | null): Estimate {
  const labeled = traces.filter(({ good }) => good !== null);
  const unlabeled = traces.filter(({ good }) => good === null);
  if (labeled.length < 2) return NO_ESTIMATE;
  const passes = labeled.map(({ passed }) => Number(passed));
  const labels = labeled.map(({ good }) => Number(good));
  const lambda = tunedLambda(passes, labels, unlabeled.length);
  const residuals = labels.map((label, i) => label - lambda * (passes[i] ?? 0));
  const rest = unlabeled.map(({ passed }) => lambda * Number(passed));
  const mean = clip(average(residuals) + average(rest));
  const variance = varianceOfMean(residuals, labeled) + (rest.length < 2 ? 0 : varianceOfMean(rest, unlabeled));
  const known = pairs === null || pairs.n === 0 ? null : pairs;
  const effective = effectiveLabels(mean, variance, labels);
  const { low, high } = known === null ? wilson(mean * effective, effective) : solvedInterval(mean, effective, known);
  const value = known === null ? mean : solvedRate(mean, known.alike / known.n);
  return { value, n: traces.length, low: Math.min(value, low ?? 0), high: Math.max(value, high ?? 1) };
}

/** Returns the weight of the eval: 0 if it does not tell anything about the labels. */
function tunedLambda(passes: readonly number[], labels: readonly number[], unlabeled: number): number {
  const [meanPass, meanLabel, n] = [average(passes), average(labels), passes.length];
  const variance = passes.reduce((sum, pass) => sum + (pass - meanPass) ** 2, 0) / n;
  if (variance === 0 || unlabeled < 2) return 0;
  const covariance = passes.reduce((sum, pass, i) => sum + (pass - meanPass) * ((labels[i] ?? 0) - meanLabel), 0) / n;
  return Math.min(1, Math.max(0, covariance / variance / (1 + n / unlabeled)));
}

/** Solves mean = rate (1 - 2e) + e for the probability e of a wrong label. */
function solvedRate(mean: number, alike: number): number {
  const e = Math.min(MAX_ERRORS, errorRate(alike));
  return clip((mean - e) / (1 - 2 * e));
}

/** With more wrong labels, the equation divides by almost nothing. */
const MAX_ERRORS = 0.49;

const DRAWS = 2_000;

/** The interval by a parametric bootstrap of the mean label and the agreement, with Jeffreys priors. */
function solvedInterval(mean: number, effective: number, pairs: LabelPairs): Interval {
  const draw = sampler(seededRandom(1));
  const drawn = Float64Array.from({ length: DRAWS }, () =>
    solvedRate(draw.share(mean * effective, effective), draw.share(pairs.alike, pairs.n)),
  ).sort();
  return { low: quantileOfSorted(drawn, 0.025), high: quantileOfSorted(drawn, 0.975) };
}

/**
 * Returns the number of independent labels with this variance of their mean. The observed variance depends on the
 * labels of the rarer kind. If there are few, it is often too small, so PRIOR_LABELS without an eval are added.
 */
function effectiveLabels(mean: number, variance: number, labels: readonly number[]): number {
  const n = labels.length;
  const good = labels.filter((label) => label === 1).length;
  const rare = Math.min(good, n - good);
  const smoothed = (mean * n + 1) / (n + 2);
  const spread = smoothed * (1 - smoothed);
  return spread / ((rare * variance + PRIOR_LABELS * (spread / n)) / (rare + PRIOR_LABELS));
}

/** With 80 labels, 5% bad: without it, the interval covered the rate in 91% of samples, and with it in 94%. */
const PRIOR_LABELS = 2;

/** Variance of the mean of values that are dependent within a cluster, corrected for few clusters (CR1). */
function varianceOfMean(values: readonly number[], traces: readonly PredictedTrace[]): number {
  const mean = average(values);
  const sums = new Map<string, number>();
  for (const [i, { cluster }] of traces.entries())
    sums.set(cluster, (sums.get(cluster) ?? 0) + (values[i] ?? 0) - mean);
  if (sums.size < 2) return 1;
  const squares = [...sums.values()].reduce((sum, one) => sum + one ** 2, 0);
  return ((sums.size / (sums.size - 1)) * squares) / values.length ** 2;
}

function average(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function clip(rate: number): number {
  return Math.min(1, Math.max(0, rate));
}
