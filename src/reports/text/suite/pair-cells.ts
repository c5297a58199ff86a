import type { MetricComparison } from "../../../domain/scores/metric-comparison.js";
import { differenceText, pText } from "../difference-text.js";
import { count, share } from "../format-number.js";
import { TEST_NAMES } from "./left-out.js";

/** A score over the pairs: its name, how many pairs, both means, the difference, and how sure it is. */
export function pairCells({ label, baseline, candidate, difference, p, test }: MetricComparison): string[] {
  return [
    label,
    count(difference.n),
    share(baseline),
    share(candidate),
    differenceText(difference),
    p === null ? "-" : `${pText(p)} (${TEST_NAMES[test]})`,
  ];
}
