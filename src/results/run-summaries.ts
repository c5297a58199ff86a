// Lists runs with their figures. The database stores the figures of a run at its end, until one of its results
// changes.
import { setImmediate as otherEvents } from "node:timers/promises";
import type { AppSettings } from "../platform/app-context.js";
import { NEVER, openDeadline } from "../platform/deadline.js";
import { type ListQuery, parseListQuery } from "../store/list-query.js";
import { type Db, withStore } from "../store/open-store.js";
import { withWriteTransaction } from "../store/write-transaction.js";
import { rankingValue } from "../traces/headline-score.js";
import { RUN_FIELDS } from "../traces/list-fields.js";
import { dataVersion } from "../traces/results-store.js";
import { costOfRun, effortOfRun, mostFrequentError } from "../traces/run-figures.js";
import {
  countResults,
  filterTerms,
  findRuns,
  type RunFilter,
  type RunSummary,
  runsWithoutSummary,
  type SummarizedRun,
  saveSummaries,
} from "../traces/run-list.js";
import { headlineOf } from "./stored-runs.js";

/**
 * Returns a page of the matching runs, and the number of all matching runs. Computes the figures of runs with new
 * results first, and lets the event loop run in between.
 */
export async function pageOfRuns(
  db: Db,
  query: ListQuery,
): Promise<{ readonly runs: SummarizedRun[]; readonly total: number }> {
  const computed = await refreshSummaries(db, runsWithoutSummary(db));
  return findRuns(db, query, computed);
}

/** Returns the matching runs of a command. A `limit` of 0 returns all of them. */
export function runsWithFigures(
  filter: RunFilter,
  { query, sort, limit }: { readonly query: string; readonly sort: string; readonly limit: number },
  settings: AppSettings,
) {
  const terms = [...filterTerms(filter), ...parseListQuery(query, RUN_FIELDS)];
  return withStore(settings, (db) => pageOfRuns(db, { terms, sort, offset: 0, limit: limit === 0 ? -1 : limit }));
}

/** Milliseconds of computing whose figures are stored in one transaction. */
const BATCH_MS = 30;

/** Milliseconds to wait for another writer. The figures are computed again if they cannot be stored now. */
const SAVE_MS = 50;

/** Computes and stores the figures of a run that has ended. If that fails, the next list does it. */
export async function storeRunFigures(db: Db, runId: string): Promise<void> {
  await refreshSummaries(db, [{ id: runId, isRunning: false }]);
}

/**
 * Computes figures of runs, and stores those of runs that are not running. Returns the figures that could not be
 * stored.
 */
async function refreshSummaries(db: Db, runs: ReturnType<typeof runsWithoutSummary>): Promise<RunSummary[]> {
  const unsaved: RunSummary[] = [];
  let batch: RunSummary[] = [];
  let version = dataVersion(db);
  let start = performance.now();
  const save = async () => {
    if (batch.length > 0 && !(await trySave(db, batch, version))) unsaved.push(...batch);
    batch = [];
    version = dataVersion(db);
    start = performance.now();
  };
  for (const { id, isRunning } of runs) {
    const summary = await summarize(db, id);
    (isRunning ? unsaved : batch).push(summary);
    if (performance.now() - start > BATCH_MS) await save();
  }
  await save();
  return unsaved;
}

/** Stores figures if the database has not changed since `version`. Returns whether it did. */
async function trySave(db: Db, summaries: readonly RunSummary[], version: string): Promise<boolean> {
  if (db.readonly) return false;
  const deadline = openDeadline(NEVER, SAVE_MS, () => new Error("another program keeps the lock"));
  try {
    return await withWriteTransaction(db, { signal: deadline.signal, onWait() {} }, () => {
      if (dataVersion(db) !== version) return false;
      saveSummaries(db, summaries);
      return true;
    });
  } catch {
    // A list must be readable even if another program keeps the lock or the disk is full.
    return false;
  } finally {
    deadline.close();
  }
}

/** Each query reads all results of the run: about 40 ms for 20,000 tasks. */
async function summarize(db: Db, runId: string): Promise<RunSummary> {
  const counts = countResults(db, runId);
  if (counts.tasks > SMALL) await otherEvents();
  const headline = headlineOf(db, runId);
  if (counts.tasks > SMALL) await otherEvents();
  const cost = costOfRun(db, runId);
  if (counts.tasks > SMALL) await otherEvents();
  const { tokens } = effortOfRun(db, runId);
  const error = counts.failedTasks === 0 ? null : mostFrequentError(db, runId);
  return { runId, ...counts, error, headline, score: headline && rankingValue(headline), ...cost, tokens };
}

/** Number of tasks whose figures take a few milliseconds. */
const SMALL = 1_000;
