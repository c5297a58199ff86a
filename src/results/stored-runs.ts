// Reads, names and tags stored runs, with their headline scores.
import { existsSync } from "node:fs";
import { estimateOf, isGraded, RepeatedTries } from "../analysis/score-aggregate.js";
import { type CorpusStats, readCorpusStats } from "../mail/corpus.js";
import type { AppContext, AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { appliesTo, SCORES } from "../scoring/scorers.js";
import { NO_ESTIMATE } from "../statistics/estimate.js";
import { ClusteredMean } from "../statistics/intervals.js";
import { type Db, withStore } from "../store/open-store.js";
import { waitForWriter, withWriteTransaction } from "../store/write-transaction.js";
import { isFailure } from "../tasks/ending.js";
import type { TaskId } from "../tasks/question.js";
import { HEADLINE_SCORERS, type Headline, type HeadlineScorer, headlineScorer } from "../traces/headline-score.js";
import { iterateResults } from "../traces/results-store.js";
import { type FailedTask, failedTasks, scoreSums, type TaskScoreSums } from "../traces/run-figures.js";
import { type ListedRun, listRuns, newestRunIds, type RunFilter } from "../traces/run-list.js";
import { acquireRunLock, thisProcess } from "../traces/run-lock.js";
import { perturbationOf } from "../traces/run-settings.js";
import { mostTries } from "../traces/run-totals.js";
import {
  addRunTags,
  deleteRun,
  getRun,
  type RunRow,
  removeRunTags,
  runOfName,
  setRunName,
  setRunNote,
} from "../traces/runs-store.js";
import { isFailureZero } from "../traces/score.js";
import { scorableOf, type TaskResult } from "../traces/task-result.js";
import { getTrace } from "../traces/traces-store.js";
import { claimOf } from "./claim-text.js";
import { computeRunTotals } from "./results-file.js";

type RunNames = Pick<RunRow, "id" | "name" | "note" | "tags">;

interface DeletedRuns {
  readonly runs: readonly ListedRun[];
  readonly deleted: boolean;
}

interface Pruning extends RunFilter {
  readonly keep: number;
  /** Only runs without a completed task. */
  readonly empty: boolean;
}

/** Returns the id of the latest run, or null if there is no database or it contains no runs. */
export async function latestRunId(settings: AppSettings): Promise<string | null> {
  if (!existsSync(settings.db)) return null;
  return withStore(settings, (db) => (newestRunIds(db, 1).length === 0 ? null : getRun(db, "latest").id));
}

export function runDetails(name: string, settings: AppSettings) {
  return withStore(settings, async (db) => {
    const run = getRun(db, name);
    const totals = await computeRunTotals(db, run);
    const headline = headlineScorer(totals.scores);
    const results = [...iterateResults(db, run.id)].toSorted((a, b) => sortKey(a, headline) - sortKey(b, headline));
    return {
      name: run.name,
      note: run.note,
      tags: run.tags,
      dataset: run.dataset.source,
      limits: run.limits,
      perturbation: perturbationOf(run.settings),
      changes: run.settings.changes ?? [],
      until: claimOf({ ...run.settings }),
      totals,
      headline,
      /** Failed tasks first, then in ascending order of score. */
      tasks: results.map((result): ListedTask => listedTask(result, headline)),
    };
  });
}

function listedTask(result: TaskResult, headline: HeadlineScorer | null) {
  const { taskId, epoch, ending, sourcesCorrect, costUsd, traceId, question } = result;
  return {
    taskId,
    epoch,
    ending,
    failed: isFailure(ending),
    /** Score from the run's headline scorer, or null if not scored. */
    score: headline === null ? null : (result.scores[headline] ?? null),
    sourcesCorrect,
    costUsd,
    traceId,
    question,
  };
}

type ListedTask = ReturnType<typeof listedTask>;

/**
 * Sorts failed tasks first, then tasks without the score that they should have, because someone should look at them.
 * Tasks that the score does not apply to come last. Ties stay in task order.
 */
function sortKey(result: TaskResult, headline: HeadlineScorer | null): number {
  if (isFailure(result.ending)) return -Number.MAX_VALUE;
  const score = headline === null ? null : (result.scores[headline] ?? null);
  if (score !== null) return score;
  return headline === null || appliesTo(headline, scorableOf(result)) ? -1 : Number.MAX_VALUE;
}

/**
 * Returns the headline score, as in the run's totals, or null if nothing is scored yet. Reads the scores of all
 * results.
 */
export function headlineOf(db: Db, runId: string): Headline | null {
  return headlineFrom(scoreSums(db, runId, HEADLINE_SCORERS), failedTasks(db, runId));
}

/** Returns the headline score of the tasks with these sums, with and without the failed tasks. */
export function headlineFrom(
  tasks: readonly TaskScoreSums<HeadlineScorer>[],
  failedTasks: Iterable<FailedTask>,
): Headline | null {
  const scorer = headlineScorer(Object.fromEntries(tasks.map((task) => [task.scorer, task])));
  const description = scorer === null ? undefined : SCORES[scorer];
  if (scorer === null || description === undefined) return null;
  const failed = new Map<TaskId, number>();
  for (const task of failedTasks) {
    if (isGraded(task) || !appliesTo(scorer, task)) continue;
    failed.set(task.taskId, (failed.get(task.taskId) ?? 0) + 1);
  }
  const [completed, withFailed, tries] = [new ClusteredMean(), new ClusteredMean(), new RepeatedTries()];
  for (const { scorer: name, taskId, n, sum } of tasks) {
    if (name !== scorer) continue;
    completed.add(n, sum);
    if (description.kind === "rate") tries.add(n, sum);
    withFailed.add(n + (failed.get(taskId) ?? 0), sum);
    failed.delete(taskId);
  }
  for (const epochs of failed.values()) withFailed.add(epochs, 0);
  const overAll = isFailureZero(description) ? estimateOf(description, withFailed) : NO_ESTIMATE;
  const repeat = mostTries(tries.figures());
  return {
    scorer,
    ...estimateOf(description, completed),
    overAll,
    ...(repeat === null ? {} : { passHatK: { k: repeat.k, ...repeat.passHatK } }),
  };
}

const TAG = /^[\p{L}\p{N}][\p{L}\p{N}._:-]{0,49}$/u;

export function renameRun(run: string, name: string | null, context: AppContext): Promise<RunNames> {
  if (name !== null) checkRunName(name, "NAME");
  return changeNames(run, context, (db, id) => {
    if (name !== null) refuseTakenName(db, name, id);
    setRunName(db, id, name);
  });
}

export function noteRun(run: string, note: string | null, context: AppContext): Promise<RunNames> {
  return changeNames(run, context, (db, id) => setRunNote(db, id, note));
}

export function tagRun(
  run: string,
  tags: readonly string[],
  how: "add" | "remove",
  context: AppContext,
): Promise<RunNames> {
  const invalid = tags.find((tag) => !TAG.test(tag));
  if (invalid !== undefined) {
    throw new UserError(
      "tag_invalid",
      `TAGS: "${invalid}" is not a valid tag.`,
      "Use up to 50 letters, digits, dots, colons, dashes and underscores.",
    );
  }
  return changeNames(run, context, (db, id) => (how === "add" ? addRunTags : removeRunTags)(db, id, tags));
}

function changeNames(name: string, context: AppContext, change: (db: Db, id: string) => void): Promise<RunNames> {
  return withStore(context.settings, async (db) => {
    const { id } = getRun(db, name);
    await withWriteTransaction(db, waitForWriter(context, context.signal), () => change(db, id));
    const run = getRun(db, id);
    return { id, name: run.name, note: run.note, tags: run.tags };
  });
}

/** Deletes runs by id, id prefix or name, with their results and traces. Deletes either all of them or none. */
export function deleteRuns(names: readonly string[], really: boolean, context: AppContext): Promise<DeletedRuns> {
  return withStore(context.settings, async (db) => {
    if (names.includes("latest")) {
      throw new UserError(
        "run_unknown",
        "RUNS: cannot delete latest.",
        `Pass the run id: ${commandLine`art-e runs list`}`,
      );
    }
    const ids = new Set(names.map((name) => getRun(db, name).id));
    return deleteAll(
      db,
      listRuns(db).filter(({ id }) => ids.has(id)),
      really,
      context,
    );
  });
}

/** Deletes matching runs. Runs with a name, a note or a tag are kept, because someone wants to find them again. */
export function pruneRuns(pruning: Pruning, really: boolean, context: AppContext): Promise<DeletedRuns> {
  const { keep, empty, ...filter } = pruning;
  return withStore(context.settings, (db) => {
    const runs = listRuns(db, filter)
      .filter((run) => run.status !== "running" && (!empty || run.completedTasks === 0))
      .slice(keep)
      .filter((run) => run.name === null && run.note === null && run.tags.length === 0);
    return deleteAll(db, runs, really, context);
  });
}

async function deleteAll(
  db: Db,
  runs: readonly ListedRun[],
  really: boolean,
  context: AppContext,
): Promise<DeletedRuns> {
  if (!really || runs.length === 0) return { runs, deleted: false };
  await withWriteTransaction(db, waitForWriter(context, context.signal), () => {
    for (const { id } of runs) {
      // Prevents deleting a run while its process is running.
      acquireRunLock(db, id, thisProcess);
      deleteRun(db, id);
    }
  });
  return { runs, deleted: true };
}

export function readTrace(name: string, settings: AppSettings): Promise<ReturnType<typeof getTrace>> {
  return withStore(settings, (db) => getTrace(db, name));
}

export function corpusStats(settings: AppSettings): Promise<CorpusStats> {
  return withStore(settings, readCorpusStats);
}

/** Allows only short names that cannot be mistaken for an id, a path or `latest`. */
const NAME = /^(?!latest$|run_)[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;

function checkRunName(name: string, source: string): void {
  if (NAME.test(name) && !name.endsWith(".json")) return;
  throw new UserError(
    "name_invalid",
    `${source}: "${name}" is not a valid run name.`,
    "Use up to 100 letters, digits, spaces, dots, dashes and underscores. The name must not start with run_ or end with .json.",
  );
}

export function checkNewRunName(db: Db, name: string): void {
  checkRunName(name, "--name");
  refuseTakenName(db, name, null);
}

/** Throws a UserError if another run has the name. `id` is the run to be named, or null for a new run. */
function refuseTakenName(db: Db, name: string, id: string | null): void {
  const holder = runOfName(db, name);
  if (holder === null || holder === id) return;
  throw new UserError(
    "name_taken",
    `Run ${holder} already has the name "${name}".`,
    `Choose another name, or rename that run: ${commandLine`art-e runs rename ${holder} OTHER`}`,
  );
}
