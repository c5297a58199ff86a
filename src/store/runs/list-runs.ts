import type { RunStatus } from "../../domain/runs/run-status.js";
import type { Db } from "../connection/open-store.js";
import { statusOf } from "./runs.js";

/** A run of a list, newest first. */
export interface ListedRun {
  readonly id: string;
  readonly name: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  readonly agentId: string;
  readonly model: string;
  /** Where its tasks come from: a dataset's name, or the path of a file or suite. */
  readonly dataset: string;
  readonly split: string;
  readonly status: RunStatus;
  readonly startedAt: string;
  /** Tasks with a result, and those of them that did not fail. */
  readonly tasks: number;
  readonly completedTasks: number;
  readonly totalTasks: number;
}

/** Which runs to list; each that is given must hold. */
export interface RunFilter {
  readonly agent?: string | undefined;
  /** Part of the model's name. */
  readonly model?: string | undefined;
  /** Part of the dataset's name or path. */
  readonly dataset?: string | undefined;
  readonly status?: RunStatus | undefined;
  readonly tag?: string | undefined;
  /** Part of the name or note. */
  readonly text?: string | undefined;
  /** YYYY-MM-DD: started on this day (UTC) or later. */
  readonly since?: string | undefined;
  /** YYYY-MM-DD: started before this day (UTC). */
  readonly before?: string | undefined;
}

export function listRuns(db: Db, filter: RunFilter = {}): ListedRun[] {
  return pageOfRuns(db, filter, 0, Number.POSITIVE_INFINITY).runs;
}

/** Of the runs that match at most `limit` from `offset` on, whose results are counted; `total`: how many match. */
export function pageOfRuns(
  db: Db,
  filter: RunFilter,
  offset: number,
  limit: number,
): { readonly runs: ListedRun[]; readonly total: number } {
  const found = findRuns(db, filter);
  const counts = db.prepare(
    `SELECT count(*) AS tasks, count(*) FILTER (WHERE failed = 0) AS completedTasks
     FROM results WHERE run_id = ? AND superseded = 0`,
  );
  const runs = found.slice(offset, offset + limit).map(({ totalTasks, tags, worker: _, ...run }) => {
    const { tasks, completedTasks } = counts.get(run.id) as Pick<ListedRun, "tasks" | "completedTasks">;
    return { ...run, tasks, completedTasks, totalTasks, tags: JSON.parse(tags) as string[] };
  });
  return { runs, total: found.length };
}

/** `tags` is a JSON array. */
interface FoundRun extends Omit<ListedRun, "tasks" | "completedTasks" | "tags"> {
  readonly tags: string;
  readonly worker: string | null;
}

function findRuns(db: Db, filter: RunFilter): FoundRun[] {
  const rows = db
    .prepare(
      `SELECT r.id, r.name, r.note, (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = r.id) AS tags,
              r.agent_id AS agentId, r.model, d.source AS dataset, r.split, r.status, r.worker, r.started_at AS startedAt,
              r.total_tasks AS totalTasks
       FROM runs r JOIN datasets d ON d.id = r.dataset_id
       WHERE (@agent IS NULL OR r.agent_id = @agent)
         AND (@model IS NULL OR instr(r.model, @model) > 0)
         AND (@dataset IS NULL OR instr(d.source, @dataset) > 0)
         AND (@tag IS NULL OR EXISTS (SELECT 1 FROM run_tags WHERE run_id = r.id AND tag = @tag))
         AND (@text IS NULL OR instr(lower(concat(r.name, ' ', r.note)), lower(@text)) > 0)
         AND (@since IS NULL OR r.started_at >= @since)
         AND (@before IS NULL OR r.started_at < @before)
       ORDER BY r.started_at DESC, r.rowid DESC`,
    )
    .all({ ...NO_FILTER, ...filter }) as FoundRun[];
  return rows
    .map((run) => ({ ...run, status: statusOf(run.status, run.worker) }))
    .filter(({ status }) => filter.status === undefined || status === filter.status);
}

const NO_FILTER: Readonly<Record<Exclude<keyof RunFilter, "status">, null>> = {
  agent: null,
  model: null,
  dataset: null,
  tag: null,
  text: null,
  since: null,
  before: null,
};

export function newestRunIds(db: Db, limit: number): string[] {
  return db.prepare("SELECT id FROM runs ORDER BY started_at DESC, rowid DESC LIMIT ?").pluck().all(limit) as string[];
}

/** What all attempts of a run cost; null: the price of the model is not known. Reads every result. */
export function costOfRun(db: Db, runId: string): number | null {
  return db
    .prepare(
      `SELECT CASE WHEN count(*) = count(result ->> '$.costUsd') THEN coalesce(sum(result ->> '$.costUsd'), 0) END
       FROM results WHERE run_id = ?`,
    )
    .pluck()
    .get(runId) as number | null;
}

/** The values that a scorer gave a task's completed attempts: how many, their sum, and the sum of their squares. */
export interface TaskScoreSums {
  readonly n: number;
  readonly sum: number;
  readonly squares: number;
}

/** Of a scorer over a run, task by task; empty where it scored nothing. */
export function scoreSums(db: Db, runId: string, scorer: string): TaskScoreSums[] {
  return db
    .prepare(
      `SELECT count(value) AS n, sum(value) AS sum, sum(value * value) AS squares
       FROM (SELECT task_id, json_extract(result, @path) AS value FROM results
             WHERE run_id = @runId AND superseded = 0 AND failed = 0)
       WHERE value IS NOT NULL GROUP BY task_id`,
    )
    .all({ runId, path: `$.scores."${scorer}"` }) as TaskScoreSums[];
}
