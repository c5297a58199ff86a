import type { GuidanceComparison } from "../../../domain/runs/suite-analysis.js";
import { differenceText, pText } from "../difference-text.js";
import { count, share } from "../format-number.js";
import { table } from "../text-table.js";
import { leftOut, TEST_NAMES } from "./left-out.js";

/** Abstract against verbose instructions, with what is left out of it. */
export function guidanceText(guidance: GuidanceComparison): string {
  const rows = guidance.metrics.map(({ label, baseline, candidate, difference, p, test, wins, losses, ties }) => [
    label,
    count(difference.n),
    share(baseline),
    share(candidate),
    differenceText(difference),
    p === null ? "-" : `${pText(p)} (${TEST_NAMES[test]})`,
    `${count(wins)}/${count(losses)}/${count(ties)}`,
  ]);
  return [
    table(["pairs", "n", "abstract", "verbose", "difference, 95 %", "p", "verbose better/worse/same"], rows),
    ...leftOut(guidance),
  ].join("\n");
}
