import type { ComparableRun } from "../domain/scores/comparison.js";
import type { TaskId } from "../domain/tasks/task-id.js";
import type { MetricDescription, ValuePair } from "./compare-pairs.js";

export interface Pair extends ValuePair {
  readonly taskId: TaskId;
}

/** Relative: sums of the same numbers in another order differ in their last digits. */
const ROUNDING = 1e-9;

/** The questions that both runs have a value of the metric for. */
export function pairsOf(metric: string, baseline: ComparableRun, candidate: ComparableRun): Pair[] {
  return [...baseline.questions].flatMap(([taskId, { values }]) => {
    const before = values[metric];
    const after = candidate.questions.get(taskId)?.values[metric];
    if (before === undefined || after === undefined) return [];
    const isSame = Math.abs(after - before) <= ROUNDING * Math.max(Math.abs(before), Math.abs(after));
    return [{ taskId, before, after: isSame ? before : after }];
  });
}

/**
 * How the candidate does on each question of the baseline, a letter each in their order: w won, l lost, t tied, `-`
 * where one of the two has no value.
 */
export function pairOutcomes(
  { metric, better }: Pick<MetricDescription, "metric" | "better">,
  baseline: ComparableRun,
  candidate: ComparableRun,
): string {
  const sign = better === "higher" ? 1 : -1;
  const letters = new Map(
    pairsOf(metric, baseline, candidate).map(({ taskId, before, after }) => {
      const gain = sign * (after - before);
      return [taskId, gain > 0 ? "w" : gain < 0 ? "l" : "t"] as const;
    }),
  );
  return [...baseline.questions.keys()].map((taskId) => letters.get(taskId) ?? "-").join("");
}
