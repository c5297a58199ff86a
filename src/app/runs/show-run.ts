import type { RunTotals, TaskResult } from "../../domain/runs/benchmark-result.js";
import { type Headline, headlineScorer } from "../../domain/runs/headline-score.js";
import { type Ending, isFailure } from "../../domain/tasks/task-ending.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import { iterateResults } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import { computeRunTotals } from "../results/compute-run-totals.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A task of a run, as a list shows it. */
export interface ListedTask {
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly ending: Ending;
  readonly failed: boolean;
  /** By the run's headline scorer; null: not scored. */
  readonly score: number | null;
  readonly sourcesCorrect: boolean | null;
  readonly costUsd: number | null;
  readonly traceId: string;
  readonly question: string;
}

export interface RunDetails {
  readonly name: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  readonly dataset: string;
  readonly totals: RunTotals;
  readonly headline: Headline["scorer"] | null;
  /** Failed ones first, then by score from the lowest. */
  readonly tasks: readonly ListedTask[];
}

/** A run with its figures and its tasks. */
export function runDetails(name: string, settings: AppSettings): Promise<RunDetails> {
  return withStore(settings, async (db) => {
    const run = getRun(db, name);
    const totals = await computeRunTotals(db, run);
    const headline = headlineScorer((scorer) => (totals.scores[scorer]?.n ?? 0) > 0);
    const tasks = [...iterateResults(db, run.id)].map((result) => listedTask(result, headline));
    return {
      name: run.name,
      note: run.note,
      tags: run.tags,
      dataset: run.dataset.source,
      totals,
      headline,
      tasks: tasks.sort(worstFirst),
    };
  });
}

function listedTask(result: TaskResult, headline: Headline["scorer"] | null): ListedTask {
  const { taskId, epoch, ending, sourcesCorrect, costUsd, traceId, question } = result;
  return {
    taskId,
    epoch,
    ending,
    failed: isFailure(ending),
    score: headline === null ? null : (result.scores[headline] ?? null),
    sourcesCorrect,
    costUsd,
    traceId,
    question,
  };
}

/** What has no score comes before what has one: somebody should look at it. Equal ones stay in the order of tasks. */
function worstFirst(a: ListedTask, b: ListedTask): number {
  return Number(b.failed) - Number(a.failed) || (a.score ?? -1) - (b.score ?? -1);
}
