// Rates that survive wrong labels: what an eval's results mean if some of the labels that it was tested on are wrong.
import type { Proportion } from "./agreement.js";
import { type Estimate, NO_ESTIMATE } from "./estimate.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** How a test agrees with labels. Effective numbers and weights can be fractional. */
interface LabelCells {
  readonly goodPassed: number;
  readonly goodFailed: number;
  readonly badPassed: number;
  readonly badFailed: number;
}

export interface LabelTable extends LabelCells {
  /** Number of items that a bad count stands for, relative to a good one. Absent means 1. */
  readonly badWeight?: number;
  /** Absent if the cells are counts. */
  readonly weights?: LabelWeights;
}

/** The weights that add up to the cells of a table, if items had different probabilities to be labeled. */
interface LabelWeights {
  /** Sums of the squared weights. */
  readonly squares: LabelCells;
  /** Expected weight of one more item that passes, and of one that fails. */
  readonly next: { readonly passed: number; readonly failed: number };
}

/**
 * Items with two labels, by one person twice or by two people, and how many of the items have labels that are alike.
 */
export interface LabelPairs {
  readonly alike: number;
  readonly n: number;
  /** Fraction of the label errors that somebody has removed since, by deciding between the labels. Absent means 0. */
  readonly resolved?: number;
  /** Fractions of the good and of the bad labels that a second look has replaced. Absent means none. */
  readonly again?: { readonly good: number; readonly bad: number };
}

/** Probabilities that a truly good item is labeled bad, and that a truly bad one is labeled good. */
export interface LabelNoise {
  readonly good: number;
  readonly bad: number;
}

/** Fewer pairs say too little about the errors of labels. */
export const MIN_PAIRS = 5;

interface TestRates {
  /** Fraction of the truly good items that pass. */
  readonly truePositive: number;
  /** Fraction of the truly bad items that pass. */
  readonly falsePositive: number;
}

interface Sampler {
  gamma(shape: number): number;
  /** Draws a rate from its posterior after `successes` of `n` trials. */
  share(successes: number, n: number): number;
}

const DRAWS = 2_000;
/** Jeffreys priors: half an observation per cell. */
const PRIOR = 0.5;
/** If fewer of the draws than this separate good from bad, nothing can be said. */
const MIN_SHARE_OF_DRAWS = 0.5;

/**
 * Returns the fraction of truly good items, given how many items pass a test, how the test agrees with labels, and how
 * often labels of the same item are alike. Solves the equations of Rogan and Gladen (1978) for rates that are free of
 * label errors, assuming that each label is wrong with the same probability, independently of the test (Hui and Walter
 * 1980 with both error rates of one rater equal). The interval contains 95% of posterior draws with Jeffreys priors, so
 * it includes the uncertainty about the label errors. Without pairs, the labels count as right.
 */
export function rateDespiteLabelErrors(observed: Proportion, table: LabelTable, pairs: LabelPairs | null): Estimate {
  if (observed.n === 0) return NO_ESTIMATE;
  const rates = trueRates(table, labelNoise(pairs));
  if (rates === null || rates.truePositive <= rates.falsePositive) return NO_ESTIMATE;
  const value = solve(observed.successes / observed.n, rates);
  const draw = sampler(seededRandom(Math.round(observed.n + table.goodPassed * 7 + table.badFailed * 13)));
  const values: number[] = [];
  for (let i = 0; i < DRAWS; i++) {
    const rateDraw = trueRates(drawTable(table, draw), drawNoise(pairs, draw));
    if (rateDraw === null || rateDraw.truePositive <= rateDraw.falsePositive) continue;
    values.push(solve(draw.share(observed.successes, observed.n), rateDraw));
  }
  if (values.length < DRAWS * MIN_SHARE_OF_DRAWS) return { value, n: observed.n, low: 0, high: 1 };
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [quantileOfSorted(sorted, 0.025) ?? 0, quantileOfSorted(sorted, 0.975) ?? 1];
  return { value, n: observed.n, low: Math.min(low, value), high: Math.max(high, value) };
}

/**
 * Returns 95% intervals of the rates on items labeled good and bad, for weighted labels. The interval of a weighted
 * rate from its variance alone is too narrow: bad items that pass are rarely drawn and have high weights, so that a
 * sample without any of them looks certain. Here, one more such item always remains possible.
 */
export function weightedRateIntervals(table: LabelTable) {
  const draw = sampler(seededRandom(seedOf(table)));
  const rates = Array.from({ length: DRAWS }, () => trueRates(drawTable(table, draw), labelNoise(null)) ?? NO_RATES);
  const interval = (values: readonly number[]) => {
    const sorted = Float64Array.from(values).sort();
    return { low: quantileOfSorted(sorted, 0.025) ?? 0, high: quantileOfSorted(sorted, 0.975) ?? 1 };
  };
  return {
    truePositive: interval(rates.map(({ truePositive }) => truePositive)),
    trueNegative: interval(rates.map(({ falsePositive }) => 1 - falsePositive)),
  };
}

/** Returns the same seed for the same table. */
function seedOf({ goodPassed, badFailed }: LabelCells): number {
  return Math.round(goodPassed * 7 + badFailed * 13);
}

/** The worst rates, for a draw without any. */
const NO_RATES: TestRates = { truePositive: 0, falsePositive: 1 };

/**
 * Returns the lower bounds of the rates on truly good and truly bad items, each with the error probability `alpha`: of
 * the posterior draws, this fraction is below. Both are 0 if the labels are too noisy or too few to say.
 */
export function lowerBounds(
  table: LabelTable,
  pairs: LabelPairs | null,
  alpha: number,
): { readonly truePositive: number; readonly trueNegative: number } {
  const draw = sampler(seededRandom(seedOf(table)));
  const rateDraws: TestRates[] = [];
  for (let i = 0; i < DRAWS; i++) {
    rateDraws.push(trueRates(drawTable(table, draw), drawNoise(pairs, draw)) ?? NO_RATES);
  }
  const bound = (rates: readonly number[]) => quantileOfSorted(Float64Array.from(rates).sort(), alpha) ?? 0;
  return {
    truePositive: bound(rateDraws.map(({ truePositive }) => truePositive)),
    trueNegative: bound(rateDraws.map(({ falsePositive }) => 1 - falsePositive)),
  };
}

/**
 * Returns the fraction of labels that are wrong, or null without pairs. `alike` is the probability that two labels of
 * an item are alike.
 */
export function wrongLabels(
  pairs: LabelPairs | null,
  alike = pairs === null ? 0 : pairs.alike / pairs.n,
): number | null {
  return pairs === null || pairs.n === 0 ? null : errorRate(alike) * (1 - (pairs.resolved ?? 0));
}

/**
 * Returns the noise of labels that were given once, or again for a part of the items. If people look again only at the
 * items labeled bad, few good ones stay labeled bad, and more bad ones are labeled good. Each look is wrong with the
 * same probability. `alike` as in `wrongLabels`. Without pairs, the labels count as right.
 */
export function labelNoise(pairs: LabelPairs | null, alike?: number): LabelNoise {
  const e = wrongLabels(pairs, alike) ?? 0;
  const again = pairs?.again ?? { good: 0, bad: 0 };
  // An item gets the wrong label at first, or only in the second look, which can also be wrong again.
  const noise = (wrong: number, right: number) => e * (1 - wrong) + e ** 2 * wrong + (1 - e) * e * right;
  return { good: noise(again.bad, again.good), bad: noise(again.good, again.bad) };
}

/** Probability that a label is wrong if two labels are alike with this probability: (1 - e)² + e². At most 0.5. */
export function errorRate(alike: number): number {
  return (1 - Math.sqrt(Math.max(0, 2 * alike - 1))) / 2;
}

/** Returns the test's rates on truly good and truly bad items, or null if the labels are too noisy to say. */
export function trueRates(
  { goodPassed, goodFailed, badWeight = 1, ...bads }: LabelTable,
  { good: goodNoise, bad: badNoise }: LabelNoise,
): TestRates | null {
  const telling = 1 - goodNoise - badNoise;
  if (telling <= MIN_TELLING) return null;
  const [badPassed, badFailed] = [bads.badPassed * badWeight, bads.badFailed * badWeight];
  // Labels mix the items: an item labeled good is truly bad with the probability of an error, and the reverse.
  const goods = (good: number, bad: number) => Math.max(0, ((1 - badNoise) * good - badNoise * bad) / telling);
  const badOnes = (good: number, bad: number) => Math.max(0, ((1 - goodNoise) * bad - goodNoise * good) / telling);
  const [passedGood, passedBad] = [goods(goodPassed, badPassed), badOnes(goodPassed, badPassed)];
  const [failedGood, failedBad] = [goods(goodFailed, badFailed), badOnes(goodFailed, badFailed)];
  const [good, bad] = [passedGood + failedGood, passedBad + failedBad];
  if (good === 0 || bad === 0) return null;
  return { truePositive: passedGood / good, falsePositive: passedBad / bad };
}

/** With more wrong labels (45% of both kinds), the equations divide by almost nothing. */
const MIN_TELLING = 0.1 + 1e-9;

function solve(observed: number, { truePositive, falsePositive }: TestRates): number {
  return Math.min(1, Math.max(0, (observed - falsePositive) / (truePositive - falsePositive)));
}

function drawNoise(pairs: LabelPairs | null, draw: Sampler): LabelNoise {
  return labelNoise(pairs, pairs === null ? undefined : draw.share(pairs.alike, pairs.n));
}

/**
 * Draws the cells from gamma distributions with the mean and variance of the weights in each, and half of one more item
 * as prior. With equal weights, these are counts with Jeffreys priors. Following Fay and Feuer (1997), Confidence
 * intervals for directly standardized rates, whose upper limits add one more event with the highest weight.
 */
function drawTable(table: LabelTable, draw: Sampler): LabelTable {
  const { squares, next } = table.weights ?? { squares: table, next: { passed: 1, failed: 1 } };
  const cell = (name: keyof LabelCells, outcome: "passed" | "failed") => {
    const mean = table[name] + PRIOR * next[outcome];
    const variance = squares[name] + PRIOR * next[outcome] ** 2;
    return draw.gamma(mean ** 2 / variance) * (variance / mean);
  };
  return {
    ...table,
    goodPassed: cell("goodPassed", "passed"),
    goodFailed: cell("goodFailed", "failed"),
    badPassed: cell("badPassed", "passed"),
    badFailed: cell("badFailed", "failed"),
  };
}

/** Returns draws of gamma variates and of rates with Jeffreys priors. */
export function sampler(random: (limit: number) => number): Sampler {
  const uniform = () => (random(2 ** 32) + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  /** Marsaglia and Tsang (2000), with a power of a uniform number for shapes below 1. */
  const gamma = (shape: number): number => {
    // Otherwise, no draw would ever be accepted.
    if (!(shape > 0 && shape < Number.POSITIVE_INFINITY)) throw new RangeError(`invalid gamma shape ${shape}`);
    if (shape < 1) return gamma(shape + 1) * uniform() ** (1 / shape);
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  };
  return {
    gamma,
    share(successes, n) {
      const [a, b] = [gamma(successes + PRIOR), gamma(n - successes + PRIOR)];
      return a / (a + b);
    },
  };
}
