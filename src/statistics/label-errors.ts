// Rates that survive wrong labels: what an eval's results mean if some of the labels that it was tested on are wrong.
import type { Proportion } from "./agreement.js";
import { type Estimate, NO_ESTIMATE } from "./estimate.js";
import { quantileOfSorted } from "./quantile.js";
import { seededRandom } from "./seeded-random.js";

/** How a test agrees with labels. Effective numbers can be fractional. */
export interface LabelTable {
  readonly goodPassed: number;
  readonly goodFailed: number;
  readonly badPassed: number;
  readonly badFailed: number;
  /**
   * Number of items that a bad count stands for, relative to a good one, if the labels were drawn with different
   * probabilities. Absent means 1.
   */
  readonly badWeight?: number;
}

/** Pairs of labels of the same item, by one person twice or by two people, and how many of them are alike. */
export interface LabelPairs {
  readonly alike: number;
  readonly n: number;
  /** Fraction of the label errors that somebody has removed since, by deciding between the labels. Absent means 0. */
  readonly resolved?: number;
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
  const rates = trueRates(table, wrongLabels(pairs) ?? 0);
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
 * Returns the lower bounds of the rates on truly good and truly bad items, each with the error probability `alpha`: of
 * the posterior draws, this fraction is below. Both are 0 if the labels are too noisy or too few to say.
 */
export function lowerBounds(
  table: LabelTable,
  pairs: LabelPairs | null,
  alpha: number,
): { readonly truePositive: number; readonly trueNegative: number } {
  const draw = sampler(seededRandom(Math.round(table.goodPassed * 7 + table.badFailed * 13)));
  const rateDraws: TestRates[] = [];
  for (let i = 0; i < DRAWS; i++) {
    // A draw without rates counts as the worst.
    rateDraws.push(trueRates(drawTable(table, draw), drawNoise(pairs, draw)) ?? { truePositive: 0, falsePositive: 1 });
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

/** Probability that a label is wrong if two labels are alike with this probability: (1 - e)² + e². At most 0.5. */
export function errorRate(alike: number): number {
  return (1 - Math.sqrt(Math.max(0, 2 * alike - 1))) / 2;
}

/** Returns the test's rates on truly good and truly bad items, or null if the labels are too noisy to say. */
export function trueRates(
  { goodPassed, goodFailed, badWeight = 1, ...bads }: LabelTable,
  noise: number,
): TestRates | null {
  if (noise >= MAX_NOISE) return null;
  const [badPassed, badFailed] = [bads.badPassed * badWeight, bads.badFailed * badWeight];
  // Labels mix the items: an item labeled good is truly bad with the probability of an error, and the reverse.
  const unmix = (own: number, other: number) => Math.max(0, ((1 - noise) * own - noise * other) / (1 - 2 * noise));
  const [passedGood, passedBad] = [unmix(goodPassed, badPassed), unmix(badPassed, goodPassed)];
  const [failedGood, failedBad] = [unmix(goodFailed, badFailed), unmix(badFailed, goodFailed)];
  const [good, bad] = [passedGood + failedGood, passedBad + failedBad];
  if (good === 0 || bad === 0) return null;
  return { truePositive: passedGood / good, falsePositive: passedBad / bad };
}

/** With more wrong labels, the equations divide by almost nothing. */
const MAX_NOISE = 0.45;

function solve(observed: number, { truePositive, falsePositive }: TestRates): number {
  return Math.min(1, Math.max(0, (observed - falsePositive) / (truePositive - falsePositive)));
}

/** Without pairs, the labels count as right. */
function drawNoise(pairs: LabelPairs | null, draw: Sampler): number {
  return pairs === null ? 0 : (wrongLabels(pairs, draw.share(pairs.alike, pairs.n)) ?? 0);
}

function drawTable(table: LabelTable, draw: Sampler): LabelTable {
  return {
    ...table,
    goodPassed: draw.gamma(table.goodPassed + PRIOR),
    goodFailed: draw.gamma(table.goodFailed + PRIOR),
    badPassed: draw.gamma(table.badPassed + PRIOR),
    badFailed: draw.gamma(table.badFailed + PRIOR),
  };
}

/** Returns draws of gamma variates and of rates with Jeffreys priors. */
export function sampler(random: (limit: number) => number): Sampler {
  const uniform = () => (random(2 ** 32) + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  /** Marsaglia and Tsang (2000), with a power of a uniform number for shapes below 1. */
  const gamma = (shape: number): number => {
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
