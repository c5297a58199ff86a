import { HEADLINE_SCORERS, type Headline } from "../../domain/runs/headline-score.js";
import { estimateOf } from "../../run-analysis/aggregate/score-aggregate.js";
import { SCORES } from "../../scoring/scorers.js";
import { ClusteredMean } from "../../statistics/clustered-mean.js";
import type { Db } from "../../store/connection/open-store.js";
import { costOfRun, type ListedRun, pageOfRuns, type RunFilter, scoreSums } from "../../store/runs/list-runs.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A run with its headline figure over the completed tasks; null: nothing is scored yet. */
export interface RunWithHeadline extends ListedRun {
  readonly headline: Headline | null;
  /** US dollars, all attempts; null: the price of the model is not known. */
  readonly costUsd: number | null;
}

export interface RunList {
  readonly runs: readonly RunWithHeadline[];
  /** How many there are, listed or not. */
  readonly total: number;
}

/** The newest runs that match; `limit` 0: all. */
export function runsWithHeadlines(filter: RunFilter, limit: number, settings: AppSettings): Promise<RunList> {
  return withStore(settings, (db) => {
    const { runs, total } = pageOfRuns(db, filter, 0, limit === 0 ? Number.POSITIVE_INFINITY : limit);
    return {
      runs: runs.map((run) => ({ ...run, headline: headlineOf(db, run.id), costUsd: costOfRun(db, run.id) })),
      total,
    };
  });
}

function headlineOf(db: Db, runId: string): Headline | null {
  for (const scorer of HEADLINE_SCORERS) {
    const sums = new ClusteredMean();
    const tasks = scoreSums(db, runId, scorer);
    for (const { n, sum, squares } of tasks) sums.add(n, sum, squares);
    const description = SCORES[scorer];
    if (tasks.length > 0 && description !== undefined) return { scorer, ...estimateOf(description, sums) };
  }
  return null;
}
