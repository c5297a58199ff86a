import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { addCost } from "../models/model.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { isProcessAlive } from "../platform/processes.js";
import { DamagedRowError, jsonSql, parseColumn, reportDamaged } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { TaskId, TaskSet } from "../tasks/question.js";
import { NO_LIMITS, type RunLimits, type RunSettings } from "./run-settings.js";
import type { ScorableQuestion } from "./score.js";
import type { RunStatus, TaskResult } from "./task-result.js";

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

type RunCounts = Pick<ListedRun, "tasks" | "completedTasks" | "failedTasks">;

/** `tags` is a JSON array. */
interface FoundRun extends Omit<ListedRun, keyof RunCounts | "tags"> {
  readonly tags: string;
  readonly worker: string | null;
}

/** Further figures of a run in a list. */
interface RunEffort {
  readonly tokens: number;
  /** Milliseconds in which a process executed the run, or null if none has ended yet. */
  readonly activeMs: number | null;
}

/** Number and sum of the values that count in a run's score, for one task. */
interface TaskScoreSums<S extends string> {
  readonly scorer: S;
  readonly taskId: TaskId;
  readonly n: number;
  readonly sum: number;
}

interface ImportedRun {
  readonly id: string;
  readonly settings: RunSettings;
  readonly totalTasks: number;
  readonly startedAt: string;
  readonly completedAt: string;
  readonly status: RunStatus;
  readonly tags: readonly string[];
}

/** A process that executes a run. Only one process can lock a run at a time. */
export interface RunOwner {
  readonly name: string;
  /** Whether the process with this name was killed, so that its lock was not released. */
  isGone(name: string): boolean;
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

export function listRuns(db: Db, filter: RunFilter = {}): ListedRun[] {
  return pageOfRuns(db, filter, 0, Number.POSITIVE_INFINITY).runs;
}

/**
 * Returns at most `limit` matching runs from `offset` on, with their result counts. `total` counts all matching runs.
 */
export function pageOfRuns(
  db: Db,
  filter: RunFilter,
  offset: number,
  limit: number,
): { readonly runs: ListedRun[]; readonly total: number } {
  const matches = findRuns(db, filter);
  const counts = db.prepare(
    `SELECT count(*) AS tasks, count(*) FILTER (WHERE failed = 0) AS completedTasks,
       count(*) FILTER (WHERE failed = 1 AND iif(json_valid(result), result ->> 'ending', '') <> 'not_runnable')
         AS failedTasks
     FROM results WHERE run_id = ? AND superseded = 0`,
  );
  const runs = matches.slice(offset, offset + limit).map(({ totalTasks, tags, worker: _, ...run }) => {
    const counted = counts.get(run.id) as RunCounts;
    return { ...run, ...counted, totalTasks, tags: JSON.parse(tags) as string[] };
  });
  return { runs, total: matches.length };
}

function findRuns(db: Db, filter: RunFilter): FoundRun[] {
  const rows = db
    .prepare(
      `SELECT r.id, r.name, r.note, (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = r.id) AS tags,
              r.agent_id AS agentId, r.model, r.source AS dataset, r.split, r.status, r.worker, r.started_at AS startedAt,
              r.total_tasks AS totalTasks, iif(json_valid(r.settings), r.settings ->> '$.perturbation', NULL) AS perturbation
       FROM runs r
       WHERE (@agent IS NULL OR r.agent_id = @agent)
         AND (@model IS NULL OR instr(r.model, @model) > 0)
         AND (@dataset IS NULL OR instr(r.source, @dataset) > 0)
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

const RESULT = jsonSql("result");
const ENTRY = jsonSql("entry");

/** US dollars. Null if a price is unknown. */
export interface RunCost {
  /** The agent's cost. */
  readonly costUsd: number | null;
  readonly judgeCostUsd: number | null;
  /** The sum of both. */
  readonly totalCostUsd: number | null;
}

/**
 * Returns the cost of a run, including all attempts and unfinished tasks. Reads every result. A damaged result is
 * reported, and makes the cost unknown.
 */
export function costOfRun(db: Db, runId: string): RunCost {
  const sum = (field: string) =>
    `CASE WHEN count(*) = count(${RESULT} ->> '$.${field}') THEN coalesce(sum(${RESULT} ->> '$.${field}'), 0) END`;
  const { agent, judge, damaged } = db
    .prepare(
      `SELECT json_group_array(task_id || '/' || epoch) FILTER (WHERE NOT json_valid(result)) AS damaged, ${sum("costUsd")} AS agent, ${sum("judgeCostUsd")} AS judge
       FROM results WHERE run_id = ?`,
    )
    .get(runId) as { agent: number | null; judge: number | null; damaged: string };
  for (const row of JSON.parse(damaged) as string[]) {
    reportDamaged({ table: "results", row: `${runId}/${row}`, column: "result" }, "it is not JSON");
  }
  const unfinished = db
    .prepare(
      `SELECT sum(coalesce(${ENTRY} ->> '$.reply.costUsd', 0)) FROM reply_journal
       WHERE run_id = ? AND ${ENTRY} ->> '$.caller' = ?`,
    )
    .pluck();
  const added = (cost: number | null, caller: "agent" | "judge") =>
    addCost(cost, (unfinished.get(runId, caller) as number | null) ?? 0);
  const [costUsd, judgeCostUsd] = [added(agent, "agent"), added(judge, "judge")];
  return { costUsd, judgeCostUsd, totalCostUsd: addCost(costUsd, judgeCostUsd) };
}

/** A failed task, with the facts that decide whether it counts as wrong. */
export interface FailedTask extends Pick<TaskResult, "taskId" | "ending" | "suite">, ScorableQuestion {}

export function failedTasks(db: Db, runId: string): FailedTask[] {
  const rows = db
    .prepare(
      `SELECT task_id AS taskId, ${RESULT} ->> '$.ending' AS ending, ${RESULT} -> '$.suite' AS suite,
              ${RESULT} ->> '$.groundTruth' AS goldAnswer, ${RESULT} ->> '$.goldSources' AS goldMails
       FROM results WHERE run_id = ? AND superseded = 0 AND failed = 1 AND json_valid(result)`,
    )
    .all(runId) as (Omit<FailedTask, "suite"> & { readonly suite: string | null })[];
  return rows.map(({ suite, ...row }) => ({ ...row, ...(suite === null ? {} : { suite: JSON.parse(suite) }) }));
}

/** Reads every result of the run. */
export function effortOfRun(db: Db, runId: string): RunEffort {
  return db
    .prepare(
      `SELECT (SELECT coalesce(sum(coalesce(${RESULT} ->> '$.usage.inputTokens', 0) + coalesce(${RESULT} ->> '$.usage.outputTokens', 0)), 0)
               FROM results WHERE run_id = r.id AND superseded = 0) AS tokens,
              nullif(r.active_ms, 0) AS activeMs
       FROM runs r WHERE r.id = ?`,
    )
    .get(runId) as RunEffort;
}

/** Returns the most frequent error of a run's failed tasks, or null if none failed. Skips damaged results. */
export function mostFrequentError(db: Db, runId: string): string | null {
  const message = db
    .prepare(
      `SELECT ${RESULT} ->> '$.error' AS message FROM results
       WHERE run_id = ? AND superseded = 0 AND failed = 1 AND message IS NOT NULL
       GROUP BY message ORDER BY count(*) DESC, message LIMIT 1`,
    )
    .pluck()
    .get(runId) as string | undefined;
  return message ?? null;
}

/** Returns the sums of scorers over a run, task by task. A failed task counts only if a suite graded it. */
export function scoreSums<S extends string>(db: Db, runId: string, scorers: readonly S[]): TaskScoreSums<S>[] {
  return db
    .prepare(
      `SELECT scores.key AS scorer, task_id AS taskId, count(*) AS n, sum(scores.value) AS sum
       FROM results, json_each(${RESULT}, '$.scores') AS scores
       WHERE run_id = @runId AND superseded = 0 AND (failed = 0 OR ${RESULT} -> 'suite' IS NOT NULL)
         AND scores.type <> 'null' AND scores.key IN (SELECT value FROM json_each(@scorers))
       GROUP BY scores.key, task_id`,
    )
    .all({ runId, scorers: JSON.stringify(scorers) }) as TaskScoreSums<S>[];
}

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

/**
 * Locks a run for `worker`. Takes over the lock of a process that was killed (`isGone`). Throws if a live process holds
 * it.
 */
export function acquireRunLock(db: Db, runId: string, worker: RunOwner): void {
  const holder = lockRun(db, runId, worker);
  if (holder === null) return;
  throw new UserError(
    "run_busy",
    `Run ${runId} is already running in process ${formatHolder(holder)}.`,
    isOnOtherHost(holder)
      ? "Wait until that process has ended. If it was killed, pass --resume RUN --force."
      : "Wait until that process has ended, or stop it.",
    1,
  );
}

/** Returns null on success, otherwise the current holder. */
function lockRun(db: Db, id: string, { name, isGone }: RunOwner): string | null {
  return db
    .transaction(() => {
      const holder = db.prepare("SELECT worker FROM runs WHERE id = ?").pluck().get(id) as string | null;
      if (holder !== null && holder !== name && !isGone(holder)) return holder;
      // The process that was killed left the status at running.
      const status = holder === null ? "status" : "CASE status WHEN 'running' THEN 'interrupted' ELSE status END";
      db.prepare(`UPDATE runs SET worker = ?, status = ${status} WHERE id = ?`).run(name, id);
      return null;
    })
    .immediate();
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

/** Whether the text names a run: `latest`, an id, a name, or the start of one id or several ids. */
export function matchesRun(db: Db, id: string): boolean {
  return id === "latest" || db.prepare(`SELECT 1 FROM runs r WHERE ${MATCHES_ID} LIMIT 1`).get({ id }) !== undefined;
}

/**
 * Finds a run by its id, its name, a prefix of its id, or `latest`. By default, `latest` is the newest run with a
 * result, which can be the result of a failed task, or the newest run if none has a result. For resuming or gating a
 * run, it is the newest run.
 */
export function getRun(db: Db, id: string, latest: LatestRun = "has_a_result"): RunRow {
  const select = `SELECT r.id, r.agent_id AS agentId, r.model, r.dataset_id AS datasetId, r.split, r.settings, r.corpus_fingerprint AS corpusFingerprint,
      r.name, r.note, (SELECT json_group_array(tag ORDER BY tag) FROM run_tags WHERE run_id = r.id) AS tags,
      r.limits, r.output, r.total_tasks AS totalTasks, r.status, r.worker, r.active_ms AS activeMs, r.started_at AS startedAt, r.completed_at AS completedAt,
      r.source, r.revision, d.sha256
    FROM runs r LEFT JOIN datasets d ON d.id = r.dataset_id`;
  const rows = (
    id === "latest"
      ? db
          .prepare(
            `${select} ORDER BY @latest = 'has_a_result' AND EXISTS (SELECT 1 FROM results WHERE run_id = r.id AND superseded = 0) DESC,
               r.started_at DESC, r.rowid DESC LIMIT 1`,
          )
          .all({ latest })
      : db
          .prepare(
            `${select} WHERE ${MATCHES_ID}
             ORDER BY r.id = @id DESC, r.name IS @id DESC LIMIT 2`,
          )
          .all({ id })
  ) as (Omit<RunRow, "settings" | "limits" | "dataset" | "tags"> & {
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
  if (row === undefined || (second !== undefined && row.id !== id && row.name !== id)) {
    throw new UserError(
      "run_unknown",
      row === undefined ? `Unknown run "${id}" in ${db.name}.` : `More than one run starts with "${id}".`,
      `${commandLine`art-e runs list`} shows the runs; latest is the newest one with a result.`,
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

/** A run whose status is `running` but that has no live holder was killed. */
function statusOf(status: RunStatus, worker: string | null): RunStatus {
  return status === "running" && (worker === null || hasHolderExited(worker)) ? "interrupted" : status;
}

/**
 * Whether a holder ended without releasing its lock. False for a process on another host, which cannot be checked.
 */
function hasHolderExited(holder: string): boolean {
  const { host, pid, start } = parse(holder);
  if (host !== hostname()) return false;
  if (!isProcessAlive(pid)) return true;
  const now = readStartTime(pid);
  return start !== null && now !== null && now !== start;
}

function isOnOtherHost(holder: string): boolean {
  return parse(holder).host !== hostname();
}

/** Formats the holder of a lock for messages, without its start time. */
function formatHolder(holder: string): string {
  const { host, pid } = parse(holder);
  return `${host}:${pid}`;
}

function parse(holder: string): { host: string; pid: number; start: string | null } {
  const [, host = holder, pid = "", start = null] = /^(.*):(\d+)(?:@(\d+))?$/.exec(holder) ?? [];
  return { host, pid: Number(pid), start };
}

/** Returns the start time in clock ticks since boot (`man 5 proc`, field 22), or null without /proc. */
function readStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain any character.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * The holder of a run lock, as stored in the run's row: `host:pid@start`. The start time distinguishes it from a later
 * process with the same pid, which is common after a container restart.
 */
function nameOfThisProcess(): string {
  const start = readStartTime(process.pid);
  return `${hostname()}:${process.pid}${start === null ? "" : `@${start}`}`;
}

export const thisProcess: RunOwner = { name: nameOfThisProcess(), isGone: hasHolderExited };

/**
 * Also takes over the locks of processes on other machines. Only the user can know whether these processes have ended.
 */
export const forcedProcess: RunOwner = {
  name: thisProcess.name,
  isGone: (name) => hasHolderExited(name) || isOnOtherHost(name),
};
