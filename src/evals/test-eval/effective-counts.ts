import { independentTrials, type Proportion } from "../../statistics/agreement.js";
import type { LabeledCounts } from "../../statistics/label-errors.js";
import type { Agreement, LabelErrors } from "../definition.js";

/** Scales an eval's counts to the number of independent traces, because traces of the same question are dependent. */
export function effectiveCounts(
  agreement: Pick<Agreement, "confusion" | "truePositiveRate" | "trueNegativeRate">,
): LabeledCounts {
  const { confusion, truePositiveRate, trueNegativeRate } = agreement;
  // One factor for both kinds keeps their ratio, on which the effect of label errors depends.
  const factors = [truePositiveRate, trueNegativeRate].map((rate) => independentTrials(rate).n / Math.max(1, rate.n));
  const factor = Math.min(1, ...factors);
  const { goodPassed, goodFailed, badPassed, badFailed } = confusion;
  return {
    goodPassed: goodPassed * factor,
    goodFailed: goodFailed * factor,
    badPassed: badPassed * factor,
    badFailed: badFailed * factor,
  };
}

/** Returns the traces that were labeled twice, as independent trials. */
export function repeatsOf(labelErrors: LabelErrors | null): Proportion | null {
  return labelErrors === null ? null : independentTrials(labelErrors.agreement);
}
