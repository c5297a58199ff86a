import type { GuidanceComparison } from "../../../domain/runs/suite-analysis.js";
import { count } from "../format-number.js";

export const TEST_NAMES = { mcnemar: "McNemar", sign_flip: "sign flips" } as const;

/** Each reason why tasks are in no pair, with their number. */
export function leftOut({ ungradedPairs, sameGuidance, unpaired }: Omit<GuidanceComparison, "metrics">): string[] {
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
