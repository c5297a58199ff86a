// How often an eval agrees with the labels: rates, the confusion table and its weights.
import { presentProperties } from "../../platform/optional-values.js";
import { clusteredRate } from "../../statistics/agreement.js";
import type { Estimate } from "../../statistics/estimate.js";
import { weightedRateIntervals } from "../../statistics/label-errors.js";
import type { Agreement, Confusion, LabelSource } from "../definition.js";
import { countSources } from "../effective-labels.js";
import { isPass } from "../eval-outcome.js";
import { tableOfWeights } from "../label-error-correction.js";

/** A labeled trace with the eval's result. */
export interface TestedTrace {
  /** Traces of the same question are dependent. */
  readonly question: string;
  readonly bad: boolean;
  /** Who labeled it. */
  readonly source: LabelSource;
  /** 1 if every trace had the same chance to be labeled. */
  readonly weight: number;
  readonly score: number | null;
  readonly error: string | null;
}

interface ScoredTrace {
  readonly question: string;
  readonly good: boolean;
  readonly weight: number;
  readonly passed: boolean;
}

/** Computes all measures of the agreement between an eval and the labels, as weighted rates. */
export function measureAgreement(tested: readonly TestedTrace[]): Agreement {
  const scored = tested.flatMap(({ question, bad, weight, score }) =>
    score === null ? [] : [{ question, weight, good: !bad, passed: isPass(score) }],
  );
  const errors = tested.filter(({ error }) => error !== null).length;
  const good = scored.filter((one) => one.good);
  const bad = scored.filter((one) => !one.good);
  const shareOf = (judged: readonly ScoredTrace[], labeled: readonly TestedTrace[]) =>
    labeled.length === 0 ? null : weightOf(judged) / weightOf(labeled);
  const weighted = scored.some(({ weight }) => weight !== 1) ? weightsOf(scored) : null;
  const intervals = weighted && weightedRateIntervals(tableOfWeights(weighted));
  return {
    good: good.length,
    bad: bad.length,
    sources: countSources(tested),
    notApplicable: tested.length - scored.length - errors,
    errors,
    judged: {
      good: shareOf(
        good,
        tested.filter((one) => !one.bad),
      ),
      bad: shareOf(
        bad,
        tested.filter((one) => one.bad),
      ),
    },
    truePositiveRate: rateOf(good, ({ passed }) => passed, intervals?.truePositive),
    trueNegativeRate: rateOf(bad, ({ passed }) => !passed, intervals?.trueNegative),
    falseFailureRate: rateOf(good, ({ passed }) => !passed, intervals && complementOf(intervals.truePositive)),
    confusion: confusionOf(scored),
    ...presentProperties({ weighted }),
  };
}

interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Returns the weighted rate. Weighted traces have an interval of their own. */
function rateOf(
  traces: readonly ScoredTrace[],
  isSuccess: (one: ScoredTrace) => boolean,
  interval: Bounds | null | undefined,
): Estimate {
  const rate = clusteredRate(
    traces.map((one) => ({ success: isSuccess(one), cluster: one.question, weight: one.weight })),
  );
  const { value } = rate;
  if (interval == null || value === null) return rate;
  return {
    ...rate,
    low: Math.min(interval.low, value),
    high: Math.max(interval.high, value),
    method: "bootstrap",
  };
}

function complementOf({ low, high }: Bounds): Bounds {
  return { low: 1 - high, high: 1 - low };
}

function cellOf({ good, passed }: ScoredTrace) {
  return `${good ? "good" : "bad"}${passed ? "Passed" : "Failed"}` as const;
}

function confusionOf(scored: readonly ScoredTrace[]): Confusion {
  const cells = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  for (const one of scored) cells[cellOf(one)]++;
  return cells;
}

/** Returns the weights per cell of the confusion table. */
function weightsOf(scored: readonly ScoredTrace[]): NonNullable<Agreement["weighted"]> {
  const totals = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  const squares = { ...totals };
  for (const one of scored) {
    totals[cellOf(one)] += one.weight;
    squares[cellOf(one)] += one.weight ** 2;
  }
  const overall = expectedWeight(scored);
  const next = (traces: readonly ScoredTrace[]) =>
    traces.length === 0
      ? overall
      : (traces.length * expectedWeight(traces) + PRIOR_TRACES * overall) / (traces.length + PRIOR_TRACES);
  const designEffect = (ofGood: boolean) => designEffectOf(scored.filter(({ good }) => good === ofGood));
  return {
    ...totals,
    squares,
    next: { passed: next(scored.filter(({ passed }) => passed)), failed: next(scored.filter(({ passed }) => !passed)) },
    designEffect: { good: designEffect(true), bad: designEffect(false) },
  };
}

/**
 * Returns the factor, at least 1, by which repetitions of questions increase the variance of a weighted rate, as the
 * outcomes show it (linearized, like in `ClusteredMean`). If all traces have the same outcome or question, each
 * question counts once.
 */
function designEffectOf(traces: readonly ScoredTrace[]): number {
  const rate = weightOf(traces.filter(({ passed }) => passed)) / weightOf(traces);
  const isVaried = rate > 0 && rate < 1 && new Set(traces.map(({ question }) => question)).size > 1;
  const byQuestion = new Map<string, number>();
  let squares = 0;
  for (const { question, passed, weight } of traces) {
    const deviation = weight * (isVaried ? Number(passed) - rate : 1);
    squares += deviation ** 2;
    byQuestion.set(question, (byQuestion.get(question) ?? 0) + deviation);
  }
  const clustered = [...byQuestion.values()].reduce((sum, deviation) => sum + deviation ** 2, 0);
  const unbiased = (sum: number, n: number) => (isVaried ? (sum * n) / (n - 1) : sum);
  return squares === 0 ? 1 : Math.max(1, unbiased(clustered, byQuestion.size) / unbiased(squares, traces.length));
}

/**
 * A few traces with an outcome can all have low weights by chance. Therefore the expected weight of one more is
 * averaged with that of any trace, which counts like this many traces.
 */
const PRIOR_TRACES = 2;

/** Returns the mean weight over all the traces that the labeled ones stand for. */
function expectedWeight(traces: readonly ScoredTrace[]): number {
  return traces.reduce((sum, { weight }) => sum + weight ** 2, 0) / weightOf(traces);
}

function weightOf(traces: readonly { readonly weight: number }[]): number {
  return traces.reduce((sum, { weight }) => sum + weight, 0);
}
