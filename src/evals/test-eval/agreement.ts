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
  const judged = tested.filter(({ score }) => score !== null);
  const scored = judged.map(({ question, bad, weight, score }) => ({
    question,
    weight,
    good: !bad,
    passed: isPass(score ?? 0),
  }));
  const errors = tested.filter(({ error }) => error !== null).length;
  const [labeled, applies] = [sumWeights(tested), sumWeights(judged)];
  const share = (some: number, all: number) => (all === 0 ? null : some / all);
  const good = scored.filter((one) => one.good);
  const bad = scored.filter((one) => !one.good);
  const weighted = scored.some(({ weight }) => weight !== 1) ? weightsOf(scored) : null;
  const intervals = weighted && weightedRateIntervals(tableOfWeights(weighted));
  return {
    good: good.length,
    bad: bad.length,
    sources: countSources(tested),
    notApplicable: tested.length - scored.length - errors,
    errors,
    judged: { good: share(applies.good, labeled.good), bad: share(applies.bad, labeled.bad) },
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

/**
 * Returns the weights per cell of the confusion table. The traces of a question count as one with their total weight.
 */
function weightsOf(scored: readonly ScoredTrace[]): NonNullable<Agreement["weighted"]> {
  const totals = { goodPassed: 0, goodFailed: 0, badPassed: 0, badFailed: 0 };
  const squares = { ...totals };
  for (const one of sumsByQuestion(scored, cellOf)) {
    totals[one.key] += one.weight;
    squares[one.key] += one.weight ** 2;
  }
  const byOutcome = { passed: [] as number[], failed: [] as number[] };
  for (const one of sumsByQuestion(scored, ({ passed }) => (passed ? "passed" : "failed")))
    byOutcome[one.key].push(one.weight);
  const overall = expectedWeight([...byOutcome.passed, ...byOutcome.failed]);
  const next = (weights: readonly number[]) =>
    (weights.length * expectedWeight(weights) + PRIOR_TRACES * overall) / (weights.length + PRIOR_TRACES);
  return { ...totals, squares, next: { passed: next(byOutcome.passed), failed: next(byOutcome.failed) } };
}

/**
 * A few traces with an outcome can all have low weights by chance. Therefore the expected weight of one more is
 * averaged with that of any trace, which counts like this many traces.
 */
const PRIOR_TRACES = 2;

/** Returns the mean weight over all the traces that the labeled ones stand for. */
function expectedWeight(weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return total === 0 ? 0 : weights.reduce((sum, weight) => sum + weight ** 2, 0) / total;
}

function sumsByQuestion<K extends string>(scored: readonly ScoredTrace[], keyOf: (one: ScoredTrace) => K) {
  const sums = new Map<string, { readonly key: K; weight: number }>();
  for (const one of scored) {
    const key = keyOf(one);
    const id = `${key} ${one.question}`;
    const sum = sums.get(id) ?? { key, weight: 0 };
    sum.weight += one.weight;
    sums.set(id, sum);
  }
  return sums.values();
}

/** Total weights of the traces labeled good and bad. */
function sumWeights(tested: readonly TestedTrace[]): { good: number; bad: number } {
  const sums = { good: 0, bad: 0 };
  for (const { bad, weight } of tested) sums[bad ? "bad" : "good"] += weight;
  return sums;
}
