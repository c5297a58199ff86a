// Lists runs with their figures, filtered, sorted and in pages by the database.
import { type ListQuery, type ListTerm, listCondition, listOrder } from "../store/list-query.js";
import type { Db } from "../store/open-store.js";
import type { Headline } from "./headline-score.js";
import { RUN_FIELDS } from "./list-fields.js";
import type { RunCost } from "./run-figures.js";
import { statusOf } from "./run-lock.js";
import type { RunStatus } from "./task-result.js";

/** A run in a list. */
export interface ListedRun {
  readonly id: string;
  readonly name: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  readonly agentId: string;
  readonly model: string;
  /** Source of its tasks: a dataset's name, or the path of a file or suite. */
  readonly dataset: string;
  readonly split: string;
  /** Null for a plain run. */
  readonly perturbation: string | null;
  readonly status: RunStatus;
  readonly startedAt: string;
  /**
   * Number of tasks with a result. Tasks that are unsupported on this machine count as neither completed nor failed.
   */
  readonly tasks: number;
  readonly completedTasks: number;
  readonly failedTasks: number;
  readonly totalTasks: number;
}

/** Filter for runs. All conditions must hold. */
export interface RunFilter {
  readonly agent?: string | undefined;
  /** Part of the model name. */
  readonly model?: string | undefined;
  /** Part of the dataset's name or path. */
  readonly dataset?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly tag?: string | undefined;
  /** Part of the name or note. */
  readonly text?: string | undefined;
  /** YYYY-MM-DD, inclusive: earliest start date (UTC). */
  readonly since?: string | undefined;
  /** Only runs started before this date (YYYY-MM-DD, UTC). */
  readonly before?: string | undefined;
}

/** Number of results of a run, without superseded attempts. */
type RunCounts = Pick<ListedRun, "tasks" | "completedTasks" | "failedTasks">;

/** Figures of a run that take time to compute. The database stores them until a result changes. */
export interface RunSummary extends RunCounts, RunCost {
  readonly runId: string;
  /** Most frequent error of the failed tasks, or null. */
  readonly error: string | null;
  readonly headline: Headline | null;
  /** The headline score by which runs are ranked. */
  readonly score: number | null;
  readonly tokens: number;
}

/** A run with its figures. */
export interface SummarizedRun extends ListedRun, Omit<RunSummary, "runId" | "score"> {
  /** Milliseconds in which a process executed the run, or null if none has ended yet. */
  readonly activeMs: number | null;
}

type FoundRun = Omit<SummarizedRun, "tags" | "headline"> & {
  readonly tags: string;
  readonly headline: string | null;
};

/** Returns the conditions of a filter in the language of lists. */
export function filterTerms({ text, since, before, agent, status, ...contained }: RunFilter): ListTerm[] {
  const term = (field: string | null, operator: ListTerm["operator"], value: string | undefined): ListTerm[] =>
    value === undefined ? [] : [{ field, operator, value }];
  return [
    ...term("agent", "=", agent),
    ...term("status", "=", status),
    ...term("started", ">=", since),
    ...term("started", "<", before),
    ...Object.entries(contained).flatMap(([field, value]) => term(field, ":", value)),
    ...term("named", ":", text),
  ];
}

/** Returns the matching runs, newest first, with their result counts. */
export function listRuns(db: Db, filter: RunFilter = {}): ListedRun[] {
  const { runs } = findRuns(db, { terms: filterTerms(filter), sort: "", offset: 0, limit: -1 }, []);
  return runs.map(({ activeMs, error, headline, costUsd, judgeCostUsd, totalCostUsd, tokens, ...run }) => {
    return { ...run, ...countResults(db, run.id) };
  });
}

export function countResults(db: Db, runId: string): RunCounts {
  return db
    .prepare(
      `SELECT count(*) AS tasks, count(*) FILTER (WHERE failed = 0) AS completedTasks,
         count(*) FILTER (WHERE failed = 1 AND iif(json_valid(result), result ->> 'ending', '') <> 'not_runnable')
           AS failedTasks
       FROM results WHERE run_id = ? AND superseded = 0`,
    )
    .get(runId) as RunCounts;
}

/** Returns the runs whose figures are not stored, because a result has changed or the run was not listed yet. */
export function runsWithoutSummary(db: Db): { readonly id: string; readonly isRunning: boolean }[] {
  const rows = db
    .prepare(
      `SELECT id, status, worker FROM runs WHERE NOT EXISTS (SELECT 1 FROM run_summaries WHERE run_id = runs.id)`,
    )
    .all() as { readonly id: string; readonly status: RunStatus; readonly worker: string | null }[];
  return rows.map(({ id, status, worker }) => ({ id, isRunning: statusOf(status, worker) === "running" }));
}

/** Stores the figures of runs until a result changes. */
export function saveSummaries(db: Db, summaries: readonly RunSummary[]): void {
  db.prepare(`INSERT OR REPLACE INTO run_summaries SELECT ${SUMMARY} FROM json_each(?)`).run(JSON.stringify(summaries));
}

const SUMMARY = `value ->> '$.runId', value ->> '$.tasks', value ->> '$.completedTasks', value ->> '$.failedTasks',
  value ->> '$.error', value ->> '$.score', value -> '$.headline', value ->> '$.costUsd', value ->> '$.judgeCostUsd',
  value ->> '$.totalCostUsd', value ->> '$.tokens'`;

const TEXT = "concat(r.id, ' ', r.name, ' ', r.note, ' ', r.agent_id, ' ', r.model, ' ', r.source, ' ', r.tags)";

/** The text that `--text` searches. Not part of the language. */
const FIELDS = { ...RUN_FIELDS, named: { kind: "text", sql: "concat(r.name, ' ', r.note)", help: "" } } as const;

/**
 * Returns a page of the matching runs. `total` counts all matching runs. `computed` are the figures of runs without
 * stored ones.
 */
export function findRuns(
  db: Db,
  { terms, sort, offset, limit }: ListQuery,
  computed: readonly RunSummary[],
): { readonly runs: SummarizedRun[]; readonly total: number } {
  const condition = listCondition(terms, FIELDS, TEXT);
  const order = listOrder(sort, RUN_FIELDS);
  const rows = db
    .prepare(
      `WITH s AS (SELECT * FROM run_summaries UNION ALL SELECT ${SUMMARY} FROM json_each(@computed)),
         listed AS (
           SELECT *, rowid AS place, iif(id IN (SELECT value FROM json_each(@killed)), 'interrupted', status) AS live_status,
             (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = runs.id) AS tags
           FROM runs)
       SELECT r.id, r.name, r.note, r.tags, r.agent_id AS agentId, r.model, r.source AS dataset, r.split,
              r.live_status AS status, r.started_at AS startedAt, r.total_tasks AS totalTasks,
              nullif(r.active_ms, 0) AS activeMs,
              iif(json_valid(r.settings), r.settings ->> '$.perturbation', NULL) AS perturbation,
              coalesce(s.tasks, 0) AS tasks, coalesce(s.completed_tasks, 0) AS completedTasks,
              coalesce(s.failed_tasks, 0) AS failedTasks, s.error, s.headline, s.cost_usd AS costUsd,
              s.judge_cost_usd AS judgeCostUsd, s.total_cost_usd AS totalCostUsd, coalesce(s.tokens, 0) AS tokens,
              count(*) OVER () AS total
       FROM listed r LEFT JOIN s ON s.run_id = r.id
       WHERE ${condition.sql}
       ORDER BY ${order === null ? "" : `${order}, `} r.started_at DESC, r.place DESC LIMIT @limit OFFSET @offset`,
    )
    .all({
      ...condition.values,
      computed: JSON.stringify(computed),
      killed: JSON.stringify(killedRuns(db)),
      limit,
      offset,
    }) as (FoundRun & { readonly total: number })[];
  const runs = rows.map(({ tags, headline, total: _, ...run }) => ({
    ...run,
    tags: JSON.parse(tags) as string[],
    headline: headline === null ? null : (JSON.parse(headline) as Headline | null),
  }));
  // A page after the last one has no row with the total.
  const total =
    rows[0]?.total ?? (offset === 0 ? 0 : findRuns(db, { terms, sort, offset: 0, limit: 1 }, computed).total);
  return { runs, total };
}

/** Returns the runs whose status is "running", although their process was killed. */
function killedRuns(db: Db): string[] {
  const running = db.prepare("SELECT id, worker FROM runs WHERE status = 'running'").all() as {
    readonly id: string;
    readonly worker: string | null;
  }[];
  return running.filter(({ worker }) => statusOf("running", worker) !== "running").map(({ id }) => id);
}

export function newestRunIds(db: Db, limit: number): string[] {
  return db.prepare("SELECT id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?").pluck().all(limit) as string[];
}
