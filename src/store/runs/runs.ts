import { UserError } from "../../domain/errors.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import { NO_LIMITS, type RunLimits } from "../../domain/runs/run-limits.js";
import type { RunStatus } from "../../domain/runs/run-status.js";
import type { Db } from "../connection/open-store.js";
import { hasHolderExited } from "./process-identity.js";

export interface RunRow {
  readonly id: string;
  /** What a person calls it; null: nothing. */
  readonly name: string | null;
  /** What a person says of it; null: nothing. */
  readonly note: string | null;
  readonly tags: readonly string[];
  readonly agentId: string;
  readonly model: string;
  readonly split: string;
  readonly settings: RunSettings;
  readonly dataset: { readonly source: string; readonly revision: string | null; readonly sha256: string };
  readonly corpusFingerprint: string;
  readonly totalTasks: number;
  readonly limits: RunLimits;
  /** Absolute path of its results file; null: none. */
  readonly output: string | null;
  /** A run whose process was killed counts as interrupted, not running. */
  readonly status: RunStatus;
  /** Time worked on it, over all attempts. */
  readonly activeMs: number;
  readonly startedAt: string;
  readonly completedAt: string | null;
}

/** Fields that are set while it runs, or later. */
type LaterField = "name" | "note" | "tags" | "status" | "activeMs" | "completedAt";

export interface NewRun extends Omit<RunRow, "dataset" | "limits" | "output" | LaterField> {
  readonly datasetId: string;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

export function insertRun(db: Db, run: NewRun): void {
  db.prepare(
    `INSERT INTO runs (id, agent_id, model, dataset_id, split, settings, limits, output, corpus_fingerprint, total_tasks, status, started_at)
     VALUES (@id, @agentId, @model, @datasetId, @split, @settings, @limits, @output, @corpusFingerprint, @totalTasks, 'running', @startedAt)`,
  ).run({
    output: null,
    ...run,
    settings: JSON.stringify(run.settings),
    limits: JSON.stringify(run.limits ?? NO_LIMITS),
  });
}

/** Ends an attempt at a run; `activeMs` is its length. */
export function finishRun(db: Db, id: string, status: RunStatus, completedAt: string, activeMs: number): void {
  db.prepare("UPDATE runs SET status = ?, completed_at = ?, active_ms = active_ms + ?, worker = NULL WHERE id = ?").run(
    status,
    completedAt,
    Math.round(activeMs),
    id,
  );
}

/** What may change when a run is resumed: settings only with --force, the others where their flag is given. */
export interface RunChange {
  readonly settings: RunSettings;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

export function reopenRun(db: Db, id: string, { settings, limits, output }: RunChange): void {
  db.prepare(
    `UPDATE runs SET status = 'running', settings = @settings, limits = COALESCE(@limits, limits),
       output = COALESCE(@output, output) WHERE id = @id`,
  ).run({
    id,
    settings: JSON.stringify(settings),
    limits: limits === undefined ? null : JSON.stringify(limits),
    output: output ?? null,
  });
}

/**
 * Locks a run for `worker` (`host:pid@start`). Returns null on success, otherwise the holder. The lock of a holder
 * that `isGone`, as it was killed, is taken over.
 */
export function lockRun(db: Db, id: string, worker: string, isGone: (holder: string) => boolean): string | null {
  return db
    .transaction(() => {
      const holder = db.prepare("SELECT worker FROM runs WHERE id = ?").pluck().get(id) as string | null;
      if (holder !== null && holder !== worker && !isGone(holder)) return holder;
      // A killed holder left the status at running.
      const status = holder === null ? "status" : "CASE status WHEN 'running' THEN 'interrupted' ELSE status END";
      db.prepare(`UPDATE runs SET worker = ?, status = ${status} WHERE id = ?`).run(worker, id);
      return null;
    })
    .immediate();
}

/** What `latest` means: the newest run, or the newest that has completed a task. */
export type LatestRun = "newest" | "completed_a_task";

/**
 * Finds a run by its id, its name, the beginning of its id, or by `latest`: the newest one that has completed a task,
 * or where none has, the newest. To go on with a run or to gate it, `latest` must mean the newest.
 */
export function getRun(db: Db, id: string, latest: LatestRun = "completed_a_task"): RunRow {
  const select = `SELECT r.id, r.agent_id AS agentId, r.model, r.split, r.settings, r.corpus_fingerprint AS corpusFingerprint,
      r.name, r.note, (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = r.id) AS tags,
      r.limits, r.output, r.total_tasks AS totalTasks, r.status, r.worker, r.active_ms AS activeMs, r.started_at AS startedAt, r.completed_at AS completedAt,
      d.source, d.revision, d.sha256
    FROM runs r JOIN datasets d ON d.id = r.dataset_id`;
  const rows = (
    id === "latest"
      ? db
          .prepare(
            `${select} ORDER BY @latest = 'completed_a_task' AND EXISTS (SELECT 1 FROM results WHERE run_id = r.id AND failed = 0) DESC,
               r.started_at DESC, r.rowid DESC LIMIT 1`,
          )
          .all({ latest })
      : db
          .prepare(
            `${select} WHERE r.id = @id OR r.name = @id OR substr(r.id, 1, length(@id)) = @id
             ORDER BY r.id = @id DESC, r.name IS @id DESC LIMIT 2`,
          )
          .all({ id })
  ) as (Omit<RunRow, "settings" | "limits" | "dataset" | "tags"> & {
    tags: string;
    settings: string;
    limits: string | null;
    worker: string | null;
    source: string;
    revision: string | null;
    sha256: string;
  })[];
  const [row, second] = rows;
  if (row === undefined || (second !== undefined && row.id !== id && row.name !== id)) {
    throw new UserError(
      "run_unknown",
      row === undefined ? `There is no run "${id}" in ${db.name}.` : `More than one run begins with "${id}".`,
      "art-e runs list lists them; latest is the newest that has completed a task.",
    );
  }
  const { tags, settings, limits, worker, source, revision, sha256, ...run } = row;
  return {
    ...run,
    status: statusOf(run.status, worker),
    tags: JSON.parse(tags) as string[],
    settings: JSON.parse(settings) as RunSettings,
    limits: limits === null ? NO_LIMITS : (JSON.parse(limits) as RunLimits),
    dataset: { source, revision, sha256 },
  };
}

/** A running run without a live holder was killed. */
export function statusOf(status: RunStatus, worker: string | null): RunStatus {
  return status === "running" && (worker === null || hasHolderExited(worker)) ? "interrupted" : status;
}
