import { type Estimate, NO_ESTIMATE } from "../domain/scores/interval-estimate.js";
import { Z_975 } from "./normal.js";

/** Successes out of trials, which need not be whole numbers. */
export interface Proportion {
  readonly successes: number;
  readonly n: number;
}

/**
 * A rate as that of independent trials: as many as give its interval (Wilson's) its width. So repeats of a question
 * count as little here as they did there. No trials where there is no interval.
 */
export function independentTrials({ value, low, high }: Estimate): Proportion {
  if (value === null || low === null || high === null) return { successes: 0, n: 0 };
  // Of a rate of 0 or 1 one bound is the rate itself, and says nothing.
  const bound = value - low > high - value ? low : high;
  const n = (Z_975 ** 2 * bound * (1 - bound)) / (value - bound) ** 2;
  return { successes: value * n, n };
}

/**
 * The true rate behind the rate that an imperfect test observes (Rogan and Gladen 1978), from how it did on known
 * positives and negatives. The interval allows for all three samples (Lang and Reiczigel 2014). Nothing where the test
 * tells no more than chance.
 */
export function correctedRate(observed: Proportion, onPositives: Proportion, onNegatives: Proportion): Estimate {
  if (observed.n === 0 || onPositives.n === 0 || onNegatives.n === 0) return NO_ESTIMATE;
  const rate = ({ successes, n }: Proportion) => successes / n;
  const truePositive = rate(onPositives);
  // Of a negative, success is that it is told as one.
  const trueNegative = rate(onNegatives);
  if (truePositive + trueNegative <= 1) return NO_ESTIMATE;
  const value = limit((rate(observed) + trueNegative - 1) / (truePositive + trueNegative - 1));
  const z2 = Z_975 ** 2;
  const n = observed.n + z2;
  const share = (observed.successes + z2 / 2) / n;
  const positives = onPositives.n + 2;
  const negatives = onNegatives.n + 2;
  const adjustedPositive = (onPositives.successes + 1) / positives;
  const adjustedNegative = (onNegatives.successes + 1) / negatives;
  const youden = adjustedPositive + adjustedNegative - 1;
  if (youden <= 0) return { value, n: observed.n, low: 0, high: 1 };
  const middle = (share + adjustedNegative - 1) / youden;
  const ofPositives = (adjustedPositive * (1 - adjustedPositive)) / positives;
  const ofNegatives = (adjustedNegative * (1 - adjustedNegative)) / negatives;
  const shift = 2 * z2 * (middle * ofPositives - (1 - middle) * ofNegatives);
  const error =
    Math.sqrt((share * (1 - share)) / n + middle ** 2 * ofPositives + (1 - middle) ** 2 * ofNegatives) / youden;
  return {
    value,
    n: observed.n,
    low: limit(middle + shift - Z_975 * error),
    high: limit(middle + shift + Z_975 * error),
  };
}

function limit(rate: number): number {
  return Math.min(1, Math.max(0, rate));
}
