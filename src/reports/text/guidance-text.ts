import type { GuidanceComparison } from "../../domain/runs/suite-analysis.js";
import { differenceText, pText } from "./difference-text.js";
import { count, share } from "./format-number.js";
import { table } from "./text-table.js";

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

export const TEST_NAMES = { mcnemar: "McNemar", sign_flip: "sign flips" } as const;

/** Each reason why tasks are in no pair, with their number. */
export function leftOut({ ungradedPairs, sameGuidance, unpaired }: GuidanceComparison): string[] {
  const { notInRun, own, none, notMutual } = unpaired;
  const reasons = [
    [ungradedPairs, "pairs not graded on both sides"],
    [sameGuidance, "pairs that are not one abstract and one verbose task"],
    [notInRun, "tasks whose counterpart is not in the run"],
    [own, "tasks that are their own counterpart"],
    [none, "tasks without a counterpart"],
    [notMutual, "tasks whose counterpart is another's"],
  ] as const;
  const counted = reasons.filter(([tasks]) => tasks > 0).map(([tasks, reason]) => `${reason} ${count(tasks)}`);
  return counted.length === 0 ? [] : [`Left out: ${counted.join("; ")}.`];
}
