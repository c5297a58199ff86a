import { independentTrials } from "../../statistics/agreement.js";
import type { Estimate } from "../../statistics/estimate.js";
import type { LabelTable } from "../../statistics/label-errors.js";
import type { Agreement } from "../definition.js";

/** Returns the confusion table as independent traces: repetitions and unequal weights count as less. */
export function independentCounts(agreement: Agreement): LabelTable {
  const { truePositiveRate, trueNegativeRate, confusion, weighted = confusion } = agreement;
  const [good, bad] = [independentNumber(truePositiveRate), independentNumber(trueNegativeRate)];
  const [passed, failed] = [truePositiveRate.value ?? 0, trueNegativeRate.value ?? 0];
  const goodWeight = weighted.goodPassed + weighted.goodFailed;
  const badWeight = weighted.badPassed + weighted.badFailed;
  return {
    goodPassed: good * passed,
    goodFailed: good * (1 - passed),
    badPassed: bad * (1 - failed),
    badFailed: bad * failed,
    badWeight: goodWeight * bad === 0 ? 1 : (badWeight / goodWeight) * (good / bad),
  };
}

function independentNumber(rate: Estimate): number {
  return Math.min(rate.n, independentTrials(rate).n);
}
