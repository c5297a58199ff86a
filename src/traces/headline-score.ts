// The headline score: the one score that represents a run in every list, report, comparison, gate, export and label.
// Also the names by which users select scores.
import { UserError } from "../platform/errors.js";
import type { Estimate } from "../statistics/estimate.js";

/** Scorer for the judge's verdict, in runs with a judge. */
export const JUDGED = "judgeCorrect";

/**
 * The possible headline scores, best first: a training environment's reward, the judge's verdict, a suite's own grade,
 * the goal of a task that asks for actions, the F1 of one that asks for emails, the cited sources, and otherwise the
 * word overlap of the answers. A suite has `taskScore` and not `taskSolved`, because it includes partial credit.
 * Without partial credit, both are equal.
 */
export const HEADLINE_SCORERS = [
  "reward",
  JUDGED,
  "taskScore",
  "goalReached",
  "selectionF1",
  "sourcesCorrect",
  "semanticScore",
] as const;

export type HeadlineScorer = (typeof HEADLINE_SCORERS)[number];

/** Whether a headline score stands for a missing judge's verdict. Lists mark it with a star. */
export function isUnjudged(scorer: string | undefined): boolean {
  return scorer === "sourcesCorrect" || scorer === "semanticScore";
}

export interface Headline extends Estimate {
  readonly scorer: HeadlineScorer;
  /** The same with failed tasks as wrong. Empty if they cannot count as wrong. */
  readonly overAll: Estimate;
  /** pass^k for the largest k. Absent if no question has several values, and for scores that are not rates. */
  readonly passHatK?: (Estimate & { readonly k: number }) | undefined;
}

/** Returns the value that ranks runs, with failed tasks as wrong if they can be. */
export function rankingValue({ value, overAll }: Pick<Headline, "value" | "overAll">): number | null {
  return overAll.n === 0 ? value : overAll.value;
}

/** Number of tasks with a value, per scorer of a run. */
export type ScoredTasks = Readonly<Record<string, { readonly n: number }>>;

/**
 * Returns the headline scorer of a run, or null if none of its tasks is scored. Several runs have a common headline
 * scorer if possible, otherwise the best one of any of them.
 */
export function headlineScorer(...runs: readonly ScoredTasks[]): HeadlineScorer | null {
  const inAll = HEADLINE_SCORERS.find((scorer) => runs.every((scores) => isScored(scorer, scores)));
  return inAll ?? HEADLINE_SCORERS.find((scorer) => runs.some((scores) => isScored(scorer, scores))) ?? null;
}

/** Returns the names of a run's scores, headline score first, otherwise in the same order. */
export function headlineFirst(scores: ScoredTasks): string[] {
  const headline = headlineScorer(scores);
  return Object.keys(scores).sort((a, b) => Number(b === headline) - Number(a === headline));
}

/** Name of the headline score in flags. */
export const ACCURACY = "accuracy";

/** Short names for the most common scores. Every scorer's name can be used too. */
export const METRIC_ALIASES = {
  [ACCURACY]: "the headline score",
  semantic: "semanticScore",
  sources: "sourcesCorrect",
  found: "foundGold",
  read: "readGold",
  f1: "selectionF1",
  score: "taskScore",
  solved: "taskSolved",
} as const satisfies Record<string, string>;

/** Returns the scorer for a name in a flag. `accuracy` is the headline score that all runs have, if possible. */
export function scorerOfMetric(metric: string, ...runs: readonly ScoredTasks[]): string {
  if (metric === ACCURACY) return (runs.length === 0 ? null : headlineScorer(...runs)) ?? "semanticScore";
  return isAlias(metric) ? METRIC_ALIASES[metric] : metric;
}

/**
 * Returns the scorer that sorts a run's traces. Null selects the headline score. Throws a UserError for a score that no
 * task has.
 */
export function scorerForBands(metric: string | null, counts: ScoredTasks, runId: string): string {
  const scorer = scorerOfMetric(metric ?? ACCURACY, counts);
  if (metric === null || isScored(scorer, counts)) return scorer;
  const available = Object.keys(counts).join(", ");
  throw new UserError(
    "score_unknown",
    `Unknown score "${metric}" in ${runId}.`,
    available === "" ? "No task in this run has a score." : `Available: ${available}.`,
  );
}

export function isScored(scorer: string, scores: ScoredTasks): boolean {
  return (scores[scorer]?.n ?? 0) > 0;
}

function isAlias(metric: string): metric is keyof typeof METRIC_ALIASES {
  return Object.hasOwn(METRIC_ALIASES, metric);
}
