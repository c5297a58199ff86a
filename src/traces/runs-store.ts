// The table of runs: creates, finds, changes and deletes them. It does not read their results.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { DamagedRowError, parseColumn } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { TaskSet } from "../tasks/question.js";
import { statusOf } from "./run-lock.js";
import { NO_LIMITS, type RunLimits, type RunSettings } from "./run-settings.js";
import type { RunStatus } from "./task-result.js";

interface ImportedRun {
  readonly id: string;
  readonly settings: RunSettings;
  readonly totalTasks: number;
  readonly startedAt: string;
  readonly completedAt: string;
  readonly status: RunStatus;
  readonly tags: readonly string[];
}

export interface RunRow {
  readonly id: string;
  readonly name: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  readonly agentId: string;
  readonly model: string;
  readonly split: string;
  readonly settings: RunSettings;
  /** Source of the run's tasks. Two runs over the same content can have different sources. */
  readonly dataset: Omit<TaskSet, "split">;
  readonly corpusFingerprint: string;
  readonly totalTasks: number;
  readonly limits: RunLimits;
  /** Absolute path of the results file, or null if there is none. */
  readonly output: string | null;
  /** A run whose process was killed counts as interrupted, not running. */
  readonly status: RunStatus;
  /** Milliseconds of work on the run, over all attempts. */
  readonly activeMs: number;
  readonly startedAt: string;
  readonly completedAt: string | null;
}

/** Fields that are set during the run or later. */
type LaterField = "name" | "note" | "tags" | "status" | "activeMs" | "completedAt";

export interface NewRun extends Omit<RunRow, "dataset" | "limits" | "output" | LaterField> {
  readonly datasetId: string;
  readonly source: string;
  readonly revision: string | null;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

/** Changes when a run is resumed: settings only with --force, the other fields if their flag is given. */
export interface RunChange {
  /** New folder of a suite run that was moved. */
  readonly source?: string;
  readonly settings: RunSettings;
  readonly limits?: RunLimits;
  readonly output?: string | null;
}

/** Meaning of `latest`: the newest run, or the newest run with a result. */
export type LatestRun = "newest" | "has_a_result";

/** Returns the ids of the newest repeat of a run, or of a repeat of it, for each perturbation. */
export function perturbedRepeats(db: Db, runId: string): string[] {
  return db
    .prepare(
      `WITH RECURSIVE repeats(id) AS (
         SELECT ? UNION SELECT runs.id FROM runs JOIN repeats ON runs.settings ->> '$.repeats' = repeats.id
       )
       SELECT id FROM (
         SELECT id, row_number() OVER (PARTITION BY settings ->> '$.perturbation' ORDER BY started_at DESC, id DESC) AS age
         FROM runs JOIN repeats USING (id) WHERE settings ->> '$.perturbation' IS NOT NULL)
       WHERE age = 1 ORDER BY id`,
    )
    .pluck()
    .all(runId) as string[];
}

export function hasRun(db: Db, id: string): boolean {
  return db.prepare("SELECT 1 FROM runs WHERE id = ?").get(id) !== undefined;
}

/**
 * Completes an imported run whose traces are saved. Its duration comes from the file, because art-e did not execute it.
 */
export function completeImportedRun(db: Db, run: ImportedRun): void {
  const { id, settings, totalTasks, startedAt, completedAt, status, tags } = run;
  db.prepare("UPDATE runs SET settings = ?, total_tasks = ?, started_at = ? WHERE id = ?").run(
    JSON.stringify(settings),
    totalTasks,
    startedAt,
    id,
  );
  addRunTags(db, id, tags);
  finishRun(db, id, status, completedAt, Math.max(0, Date.parse(completedAt) - Date.parse(startedAt)));
}

/**
 * Deletes a run with its results, traces, feedback and labels. The file does not shrink, but SQLite reuses its free
 * pages.
 */
export function deleteRun(db: Db, id: string): void {
  // The results refer to the traces, so they are deleted first.
  db.prepare("DELETE FROM results WHERE run_id = ?").run(id);
  db.prepare("DELETE FROM runs WHERE id = ?").run(id);
}

/** Sets the name of a run, or removes it if null. Throws SQLite's error if another run has the name. */
export function setRunName(db: Db, id: string, name: string | null): void {
  db.prepare("UPDATE runs SET name = ? WHERE id = ?").run(name, id);
}

export function runOfName(db: Db, name: string): string | null {
  return (db.prepare("SELECT id FROM runs WHERE name = ?").pluck().get(name) as string | undefined) ?? null;
}

export function setRunNote(db: Db, id: string, note: string | null): void {
  db.prepare("UPDATE runs SET note = ? WHERE id = ?").run(note, id);
}

export function addRunTags(db: Db, id: string, tags: readonly string[]): void {
  const add = db.prepare("INSERT OR IGNORE INTO run_tags (run_id, tag) VALUES (?, ?)");
  for (const tag of tags) add.run(id, tag);
}

export function removeRunTags(db: Db, id: string, tags: readonly string[]): void {
  const remove = db.prepare("DELETE FROM run_tags WHERE run_id = ? AND tag = ?");
  for (const tag of tags) remove.run(id, tag);
}

export function insertRun(db: Db, run: NewRun): void {
  db.prepare(
    `INSERT INTO runs (id, agent_id, model, dataset_id, source, revision, split, settings, limits, output, corpus_fingerprint, total_tasks, status, started_at)
     VALUES (@id, @agentId, @model, @datasetId, @source, @revision, @split, @settings, @limits, @output, @corpusFingerprint, @totalTasks, 'running', @startedAt)`,
  ).run({
    output: null,
    ...run,
    settings: JSON.stringify(run.settings),
    limits: JSON.stringify(run.limits ?? NO_LIMITS),
  });
}

/** Ends an attempt at a run. `activeMs` is its duration. */
export function finishRun(db: Db, id: string, status: RunStatus, completedAt: string, activeMs: number): void {
  db.prepare("UPDATE runs SET status = ?, completed_at = ?, active_ms = active_ms + ?, worker = NULL WHERE id = ?").run(
    status,
    completedAt,
    Math.round(activeMs),
    id,
  );
}

export function reopenRun(db: Db, id: string, { settings, limits, output, source }: RunChange): void {
  db.prepare(
    `UPDATE runs SET status = 'running', settings = @settings, limits = COALESCE(@limits, limits),
       output = COALESCE(@output, output), source = COALESCE(@source, source) WHERE id = @id`,
  ).run({
    id,
    settings: JSON.stringify(settings),
    limits: limits === undefined ? null : JSON.stringify(limits),
    output: output ?? null,
    source: source ?? null,
  });
}

/** Saves a change that was made while the run was running, and the settings that record it. */
export function saveRunChange(db: Db, id: string, { settings, limits }: Pick<RunRow, "settings" | "limits">): void {
  db.prepare("UPDATE runs SET settings = ?, limits = ? WHERE id = ?").run(
    JSON.stringify(settings),
    JSON.stringify(limits),
    id,
  );
}

/** Fields that every reader of a run's settings needs. */
const SETTINGS_SHAPE = {
  agentId: "string",
  model: "string",
  scorers: "array",
  tools: "array",
  kind: "string",
} as const;

/** Condition for the runs with the id or name `@id`, or with an id that starts with it. */
const MATCHES_ID = "(r.id = @id OR r.name = @id OR substr(r.id, 1, length(@id)) = @id)";

/** Whether the text names a run: `latest`, an id, a name, an agent with runs, or the start of one id or several ids. */
export function matchesRun(db: Db, id: string): boolean {
  const matches = `SELECT 1 FROM runs r WHERE ${MATCHES_ID} OR r.agent_id = @id LIMIT 1`;
  return id === "latest" || db.prepare(matches).get({ id }) !== undefined;
}

/**
 * Finds a run by its id, its name, a prefix of its id, its agent, or `latest`. Among all runs or those of an agent, the
 * default is the newest run with a result, which can be the result of a failed task, or the newest run if none has a
 * result. For resuming or gating a run, it is the newest run.
 */
export function getRun(db: Db, id: string, latest: LatestRun = "has_a_result"): RunRow {
  const select = `SELECT r.id, r.agent_id AS agentId, r.model, r.dataset_id AS datasetId, r.split, r.settings, r.corpus_fingerprint AS corpusFingerprint,
      r.name, r.note, (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = r.id) AS tags,
      r.limits, r.output, r.total_tasks AS totalTasks, r.status, r.worker, r.active_ms AS activeMs, r.started_at AS startedAt, r.completed_at AS completedAt,
      r.source, r.revision, d.sha256
    FROM runs r LEFT JOIN datasets d ON d.id = r.dataset_id`;
  const newest = (where: string) =>
    db
      .prepare(
        `${select} ${where}
         ORDER BY @latest = 'has_a_result' AND EXISTS (SELECT 1 FROM results WHERE run_id = r.id AND superseded = 0) DESC,
           r.started_at DESC, r.rowid DESC LIMIT 1`,
      )
      .all({ latest, id });
  const named = () =>
    db
      .prepare(
        `${select} WHERE ${MATCHES_ID}
         ORDER BY r.id = @id DESC, r.name IS @id DESC LIMIT 2`,
      )
      .all({ id });
  const found = id === "latest" ? newest("") : named();
  const rows = (found.length > 0 ? found : newest("WHERE r.agent_id = @id")) as (Omit<
    RunRow,
    "settings" | "limits" | "dataset" | "tags"
  > & {
    tags: string;
    settings: unknown;
    limits: unknown;
    worker: string | null;
    datasetId: string;
    source: string | null;
    revision: string | null;
    sha256: string | null;
  })[];
  const [row, second] = rows;
  if (row === undefined && id === "latest") {
    throw new UserError("run_unknown", `No runs in ${db.name} yet.`, `Start one: ${commandLine`art-e run -a AGENT`}`);
  }
  if (row === undefined || (second !== undefined && row.id !== id && row.name !== id)) {
    throw new UserError(
      "run_unknown",
      row === undefined ? `Unknown run "${id}" in ${db.name}.` : `More than one run starts with "${id}".`,
      `${commandLine`art-e runs list`} shows the runs; latest is the newest one with a result, and an agent's name its newest one.`,
    );
  }
  const { tags, settings, limits, worker, datasetId, source, revision, sha256, ...run } = row;
  if (source === null || sha256 === null) {
    throw new DamagedRowError(
      { table: "datasets", row: datasetId, column: "id" },
      `the dataset of run ${row.id} is missing`,
    );
  }
  const place = (column: string) => ({ table: "runs", row: row.id, column });
  return {
    ...run,
    status: statusOf(run.status, worker),
    tags: JSON.parse(tags) as string[],
    settings: parseColumn<RunSettings>(settings, SETTINGS_SHAPE, place("settings")),
    limits: limits === null ? NO_LIMITS : parseColumn<RunLimits>(limits, {}, place("limits")),
    dataset: { source, revision, sha256 },
  };
}
