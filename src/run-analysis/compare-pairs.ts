import type { MetricComparison } from "../domain/scores/metric-comparison.js";
import { mcnemar } from "../statistics/mcnemar.js";
import { meanOf } from "../statistics/mean.js";
import { pairedDifference, signFlipTest } from "../statistics/paired-difference.js";
import { computePower } from "../statistics/power.js";

/** The values of one question on two sides. */
export interface ValuePair {
  readonly before: number;
  readonly after: number;
}

export type MetricDescription = Pick<MetricComparison, "metric" | "label" | "kind" | "better">;

/** One metric of two sides, over what both have a value of. */
export function comparePairs(described: MetricDescription, pairs: readonly ValuePair[]): MetricComparison {
  const differences = pairs.map(({ before, after }) => after - before);
  const difference = pairedDifference(differences);
  const up = differences.filter((value) => value > 0).length;
  const down = differences.filter((value) => value < 0).length;
  const isBinary = pairs.every(({ before, after }) => [0, 1].includes(before) && [0, 1].includes(after));
  const test = described.kind === "rate" && isBinary ? "mcnemar" : "sign_flip";
  const p = pairs.length === 0 ? null : test === "mcnemar" ? mcnemar(up, down) : signFlipTest(differences);
  const higherIsBetter = described.better === "higher";
  const { moreNeeded, detectable } = computePower(differences);
  return {
    ...described,
    baseline: meanOf(pairs.map(({ before }) => before)),
    candidate: meanOf(pairs.map(({ after }) => after)),
    difference,
    p,
    test,
    wins: higherIsBetter ? up : down,
    losses: higherIsBetter ? down : up,
    ties: pairs.length - up - down,
    verdict: significanceOf(difference, p, higherIsBetter),
    moreQuestions: moreNeeded,
    detectable,
  };
}

function significanceOf(
  { low, high }: MetricComparison["difference"],
  p: number | null,
  higherIsBetter: boolean,
): MetricComparison["verdict"] {
  if (low === null || high === null || p === null || p >= 0.05 || (low <= 0 && high >= 0)) return null;
  return low > 0 === higherIsBetter ? "better" : "worse";
}
