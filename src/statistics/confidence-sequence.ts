// Tests of a bounded mean that may be read after every value: the error holds over all looks together, however often
// one looks and whenever one stops. Interval and test for a fixed number of values are in `significance`.
import { type Estimate, NO_ESTIMATE } from "./estimate.js";

type ValueCounts = ReadonlyMap<number, number>;

/** Rejects a hypothesis. By Ville's inequality, the e-value of a true one ever reaches 20 in at most 5% of runs. */
export const E_ESTABLISHED = 20;

/** The two bounds of the interval have an error of 2.5% each. */
const E_OF_BOUND = 40;

/**
 * Fractions of the capital to bet, with equal weights. Chosen with `npm run bench -- sequential`: at typical accuracies
 * and a gain of 0.05, these need 57% of the tasks of a fixed-n test with 90% power. A uniform mixture over all
 * fractions needs 58%, predictable plug-in bets 67%, and the empirical Bernstein sequence 77%.
 */
const BETS = [0.15, 0.3, 0.6] as const;

/**
 * E-process against the hypothesis that a mean of values in [-1, 1] is at most `threshold`. It is the capital of a
 * gambler who starts with 1 and bets that values are higher: the mean over BETS c of the product of 1 - c + c X/x.
 * Here, X and x are value and threshold scaled to [0, 1]. If the hypothesis is true, no strategy expects a gain. The
 * capital does not depend on the order of the values.
 *
 * Source: Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", JRSS B 86(1); the
 * form as a mixture of constant portfolios is that of Orabona and Jun (2024), "Tight concentrations and confidence
 * sequences from the regret of universal portfolio", IEEE Transactions on Information Theory 70(1).
 */
export class EProcess {
  private readonly logCapitals: number[];

  /** @param threshold in (-1, 1) */
  constructor(
    private readonly threshold: number,
    private readonly bets: readonly number[] = BETS,
  ) {
    this.logCapitals = bets.map(() => 0);
  }

  /** Adds a value, `count` times. */
  add(value: number, count = 1): void {
    const growth = (value + 1) / (this.threshold + 1);
    this.bets.forEach((bet, i) => {
      this.logCapitals[i] = (this.logCapitals[i] ?? 0) + count * Math.log(1 - bet + bet * growth);
    });
  }

  /**
   * Returns the evidence so far. It might be infinite after thousands of values. Values in clusters count as fewer
   * independent ones. Then the error holds by simulation (`test/statistics/clusters.test.ts`), not by proof.
   */
  eValue(designEffect = 1): number {
    return this.logCapitals.reduce((sum, log) => sum + Math.exp(log / designEffect), 0) / this.bets.length;
  }
}

/** Returns the e-value against the hypothesis that the mean of the values in [-1, 1] is exactly 0. */
export function eValueOfDifference(values: readonly number[], designEffect = 1): number {
  const counts = countValues(values);
  return (eValueAbove(counts, 0, designEffect) + eValueAbove(negated(counts), 0, designEffect)) / 2;
}

/**
 * Returns the mean of values in [-1, 1] with its always-valid 95% interval: the thresholds that the e-process of
 * neither side has rejected. The probability that the true mean is ever outside, at any number of values, is at most
 * 5%.
 */
export function confidenceSequence(values: readonly number[], designEffect = 1): Estimate {
  const n = values.length;
  if (n === 0) return NO_ESTIMATE;
  const counts = countValues(values);
  const value = values.reduce((sum, each) => sum + each, 0) / n;
  const [low, high] = [lowerBound(counts, designEffect), -lowerBound(negated(counts), designEffect)];
  return { value, n, low, high, method: "betting_sequence" };
}

function countValues(values: readonly number[]): ValueCounts {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function negated(counts: ValueCounts): ValueCounts {
  return new Map([...counts].map(([value, count]) => [-value, count]));
}

function eValueAbove(counts: ValueCounts, threshold: number, designEffect: number): number {
  const process = new EProcess(threshold);
  for (const [value, count] of counts) process.add(value, count);
  return process.eValue(designEffect);
}

/** Bisection steps. Afterwards, the bound is exact to 1e-9. */
const BISECTIONS = 31;

/** The capital falls as the threshold rises, so the thresholds that are not rejected are an interval. */
function lowerBound(counts: ValueCounts, designEffect: number): number {
  let low = -1;
  let high = 1;
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (eValueAbove(counts, middle, designEffect) >= E_OF_BOUND) low = middle;
    else high = middle;
  }
  return low;
}
