// Compares stored runs, and refuses those that cannot be compared.
import { isDeepStrictEqual } from "node:util";
import {
  type ComparableRun,
  comparableRun,
  compareRuns,
  PUBLISHED,
  type RunComparison,
  type RunHead,
  scorersAmong,
  sharedScores,
} from "../analysis/paired-comparison.js";
import { withSequentialFigures } from "../analysis/sequential-comparison.js";
import type { AppContext } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import type { FailedTasks } from "../tasks/ending.js";
import { headlineFirst } from "../traces/headline-score.js";
import { RunSources, unfinished } from "./results-file.js";

interface CompareOptions {
  /** Run ids, `latest`, or results files. The baseline comes first. */
  readonly runs: readonly string[];
  readonly metric?: readonly string[] | undefined;
  /** Maximum number of lost and of won questions to show. */
  readonly flips: number;
  /** Compare with the published figures even if there was no judge. */
  readonly published: boolean;
  readonly force: boolean;
  /** Add always-valid intervals. */
  readonly sequential: boolean;
  readonly failedTasks: FailedTasks;
}

export interface Comparison {
  readonly runs: readonly RunHead[];
  readonly comparisons: readonly RunComparison[];
  readonly published: {
    readonly figures: (typeof PUBLISHED)["figures"];
    /** Differences between each run's setup and that of the published figures, by run id. */
    readonly differences: Readonly<Record<string, readonly string[]>>;
  } | null;
}

/** @param publishedDifferences describes how a run's conditions differ from those of the published figures */
export async function compareStoredRuns(
  options: CompareOptions,
  publishedDifferences: (run: RunHead) => string[],
  context: AppContext,
): Promise<Comparison> {
  const sources = new RunSources(context.settings.db);
  try {
    const runs: ComparableRun[] = [];
    for (const name of options.runs) {
      const { head, results } = await sources.open(name);
      const why = unfinished(head);
      if (why !== null) context.note(`art-e: ${why}${noteOnUntil(head, options)}`);
      runs.push(comparableRun(head, results()));
    }
    return compareAll(runs, options, publishedDifferences);
  } finally {
    sources.close();
  }
}

function compareAll(
  runs: readonly ComparableRun[],
  options: CompareOptions,
  publishedDifferences: (run: RunHead) => string[],
): Comparison {
  const [baseline, ...candidates] = runs as [ComparableRun, ...ComparableRun[]];
  const comparisons = candidates.map((candidate) => {
    refuseItself(baseline, candidate);
    const shared = sharedScores(baseline.head, candidate.head, options.failedTasks);
    const scorers = scorersAmong(options.metric ?? headlineFirst(shared), shared);
    const comparison = compareRuns(baseline, candidate, scorers, options.flips, options.failedTasks);
    if (!options.force) refuseIncomparable(comparison);
    return comparison;
  });
  const judged = runs.filter(({ head }) => (head.scores.judgeCorrect?.n ?? 0) > 0);
  const beside = options.published ? runs : judged;
  const differences = Object.fromEntries(beside.map(({ head }) => [head.runId, publishedDifferences(head)]));
  return {
    runs: runs.map(({ head }) => head),
    comparisons: options.sequential
      ? withSequentialFigures(comparisons, baseline, candidates, options.failedTasks)
      : comparisons,
    published: beside.length === 0 ? null : { figures: PUBLISHED.figures, differences },
  };
}

/** A run that stopped itself did so because of its results, which biases every fixed-n figure. */
function noteOnUntil({ settings }: RunHead, { sequential }: CompareOptions): string {
  if (settings.until === undefined || sequential) return "";
  return " It was run with --until, so only always-valid intervals may be read (--sequential).";
}

/**
 * Throws a UserError if both are the same run with the same results, which would count as evidence that nothing
 * changed. A results file from before the run was scored again has other results.
 */
export function refuseItself(baseline: ComparableRun, candidate: ComparableRun): void {
  const { runId } = baseline.head;
  if (candidate.head.runId !== runId || !isDeepStrictEqual(baseline.questions, candidate.questions)) return;
  throw new UserError(
    "runs_equal",
    `Cannot compare run ${runId} with itself.`,
    "Pass another run. A results file that run -o has overwritten contains the new run.",
  );
}

function refuseIncomparable({ baseline, candidate, incomparable }: RunComparison): void {
  if (incomparable.length === 0) return;
  throw new UserError(
    "runs_incomparable",
    `Cannot compare ${baseline} and ${candidate}. They differ in ${incomparable.join("; ")}.`,
    "Run both on the same questions and the same mail, or pass --force to compare them anyway.",
  );
}
