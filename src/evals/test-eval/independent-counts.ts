import { independentTrials } from "../../statistics/agreement.js";
import type { Estimate } from "../../statistics/estimate.js";
import type { LabelTable } from "../../statistics/label-errors.js";
import type { Agreement } from "../definition.js";

/** Returns the counts of the confusion table as independent traces: repetitions of a question count as less. */
export function independentCounts({ confusion, truePositiveRate, trueNegativeRate }: Agreement): LabelTable {
  const weight = (rate: Estimate) => (rate.n === 0 ? 0 : Math.min(1, independentTrials(rate).n / rate.n));
  const [good, bad] = [weight(truePositiveRate), weight(trueNegativeRate)];
  return {
    goodPassed: confusion.goodPassed * good,
    goodFailed: confusion.goodFailed * good,
    badPassed: confusion.badPassed * bad,
    badFailed: confusion.badFailed * bad,
  };
}
