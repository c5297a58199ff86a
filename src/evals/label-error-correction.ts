// The error rates of an eval if some of the labels that it was tested on are wrong.
import { independentTrials } from "../statistics/agreement.js";
import type { Estimate } from "../statistics/estimate.js";
import {
  type LabelPairs,
  type LabelTable,
  labelNoise,
  MIN_PAIRS,
  trueRates,
  wrongLabels,
} from "../statistics/label-errors.js";
import type { Agreement, Confusion } from "./definition.js";

/** The rates on truly good and truly bad traces, or null if the labels are too noisy to say. */
export function ratesDespiteErrors(agreement: Agreement) {
  const pairs = enoughPairs(agreement);
  const noise = labelNoise(pairs, pairs === null ? undefined : smoothed(pairs));
  const rates = trueRates(independentCounts(agreement), noise);
  return rates === null ? null : { truePositive: rates.truePositive, trueNegative: 1 - rates.falsePositive };
}

/** Says how many labels are wrong. The fraction is null if fewer than MIN_PAIRS traces were labeled twice. */
export function wrongLabelsText(fraction: number | null): string {
  return fraction === null
    ? `it is unknown how many labels are wrong, because fewer than ${MIN_PAIRS} traces were labeled twice`
    : `about ${Math.round(fraction * 100)}% of the labels are wrong, as traces that were labeled twice show`;
}

/** The estimated fraction of wrong labels, or null if too few were repeated. */
export function labelErrors(agreement: Pick<Agreement, "labelPairs">): number | null {
  const pairs = enoughPairs(agreement);
  return pairs === null ? null : wrongLabels(pairs, smoothed(pairs));
}

function enoughPairs({ labelPairs: pairs }: Pick<Agreement, "labelPairs">): LabelPairs | null {
  return pairs === undefined || pairs.n < MIN_PAIRS ? null : pairs;
}

/** Jeffreys prior: agreement on a few repeated labels does not prove perfect agreement. */
function smoothed({ alike, n }: LabelPairs): number {
  return (alike + 0.5) / (n + 1);
}

/**
 * Returns the confusion table for independent traces: repetitions count as less, and weighted traces by their weights.
 */
export function independentCounts({ confusion, weighted, ...rates }: Agreement): LabelTable {
  if (weighted !== undefined) return tableOfWeights(weighted);
  const [good, bad] = [independentNumber(rates.truePositiveRate), independentNumber(rates.trueNegativeRate)];
  const [passed, failed] = [rates.truePositiveRate.value ?? 0, rates.trueNegativeRate.value ?? 0];
  const goodCount = confusion.goodPassed + confusion.goodFailed;
  const badCount = confusion.badPassed + confusion.badFailed;
  return {
    goodPassed: good * passed,
    goodFailed: good * (1 - passed),
    badPassed: bad * (1 - failed),
    badFailed: bad * failed,
    badWeight: goodCount * bad === 0 ? 1 : (badCount / goodCount) * (good / bad),
  };
}

export function tableOfWeights({
  squares,
  next,
  designEffect,
  ...totals
}: NonNullable<Agreement["weighted"]>): LabelTable {
  const { good, bad } = designEffect ?? { good: 1, bad: 1 };
  const independent = (cells: Confusion): Confusion => ({
    goodPassed: cells.goodPassed / good,
    goodFailed: cells.goodFailed / good,
    badPassed: cells.badPassed / bad,
    badFailed: cells.badFailed / bad,
  });
  return { ...independent(totals), badWeight: bad / good, weights: { squares: independent(squares), next } };
}

function independentNumber(rate: Estimate): number {
  return Math.min(rate.n, independentTrials(rate).n);
}
