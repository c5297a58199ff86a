// The tables of a run's tasks and results: what is planned, what is left, and the attempts to add up.
import { chunk } from "../platform/batches.js";
import { DamagedRowError, jsonSql, mapReadable, parseColumn } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";
import {
  type PlannedSuiteTask,
  type PlannedTask,
  placeSuiteTask,
  portableTask,
  questionSchema,
  type Task,
  type TaskId,
  type TaskSet,
} from "../tasks/question.js";
import type { SuiteTask } from "../tasks/suite-task.js";
import type { RunSettings } from "./run-settings.js";
import { type TaskResult, toTaskResult } from "./task-result.js";
import type { Trace } from "./trace.js";
import { parseTrace } from "./traces-store.js";

interface SuiteTaskColumns {
  readonly task_id: TaskId;
  readonly source: string;
  readonly suiteTask: string;
  readonly suiteTaskSha256: string;
}

type StoredTaskRow = Record<string, unknown> & { task_id: TaskId; message_ids: string; epoch: number } & (
    | SuiteTaskColumns
    | { readonly suiteTask: null }
  );

export interface SavedAttempt {
  readonly position: number;
  readonly startedAt: string;
  readonly result: TaskResult;
}

interface SavedAttemptRow {
  readonly position: number;
  readonly traceId: string;
  readonly startedAt: string;
  readonly result: string;
}

/** A finished task, or a superseded failed attempt, whose cost still counts. */
interface Attempt {
  readonly result: TaskResult;
  readonly isFailed: boolean;
  readonly isSuperseded: boolean;
}

interface AttemptKey extends TaskEpoch {
  readonly attempt: number;
}

interface AttemptRow extends AttemptKey {
  readonly failed: 0 | 1;
  readonly superseded: 0 | 1;
  readonly result: string;
}

export interface AverageTask {
  readonly tasks: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly turns: number;
  readonly seconds: number;
}

/**
 * Returns the run's next traces that have or can have scores, by task id and epoch, and the cursor that follows them. A
 * null cursor starts with the first trace. Damaged traces are left out. Returns null at the end.
 */
export function tracesAfter(
  db: Db,
  runId: string,
  after: TaskEpoch | null,
  limit: number,
): { readonly traces: Trace[]; readonly last: TaskEpoch } | null {
  const rows = db
    .prepare(
      `SELECT t.id, t.trace, r.task_id AS taskId, r.epoch FROM results r JOIN traces t ON t.id = r.trace_id
       WHERE r.run_id = ? AND r.superseded = 0 AND (r.task_id, r.epoch) > (?, ?)
       ORDER BY r.task_id, r.epoch LIMIT ?`,
    )
    .all(runId, after?.taskId ?? Number.MIN_SAFE_INTEGER, after?.epoch ?? 0, limit) as (TaskEpoch & {
    id: string;
    trace: unknown;
  })[];
  const last = rows.at(-1);
  if (last === undefined) return null;
  return { traces: mapReadable(rows, ({ id, trace }) => parseTrace(id, trace)), last };
}

/** Returns a function that replaces the scores of traces, and their results, in one transaction. */
export function openScoreWriter(db: Db): (traces: readonly Trace[]) => void {
  const setTrace = db.prepare("UPDATE traces SET trace = ? WHERE id = ?");
  const setResult = db.prepare(
    `UPDATE results SET result = @result, semantic_score = @score
     WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND trace_id = @traceId`,
  );
  const write = db.transaction((traces: readonly Trace[]) => {
    for (const trace of traces) {
      const { runId, taskId, epoch, traceId } = trace;
      const result = toTaskResult(trace);
      setTrace.run(JSON.stringify(trace), traceId);
      setResult.run({ runId, taskId, epoch, traceId, score: result.semanticScore, result: JSON.stringify(result) });
    }
  });
  return (traces) => write.immediate(traces);
}

export function saveScoringSettings(db: Db, runId: string, settings: RunSettings): void {
  db.prepare("UPDATE runs SET settings = ? WHERE id = ?").run(JSON.stringify(settings), runId);
}

export function releaseRun(db: Db, runId: string, worker: string): void {
  db.prepare("UPDATE runs SET worker = NULL WHERE id = ? AND worker = ?").run(runId, worker);
}

/**
 * Stores tasks once, under the digest of their content, and returns the id of their dataset. The rows do not contain
 * the tasks' folder or file, because that can differ between runs.
 */
export function saveTasks(db: Db, set: TaskSet, tasks: readonly Task[]): string {
  const id = set.sha256.slice(0, 16);
  const addSuiteTask = db.prepare(
    "INSERT OR IGNORE INTO suite_tasks (dataset_id, id, task, sha256) VALUES (?, ?, ?, ?)",
  );
  const addQuestion = db.prepare(
    `INSERT OR IGNORE INTO art_e_tasks
       (dataset_id, id, question, answer, message_ids, inbox_address, query_date, how_realistic, split,
        goal, drafts, selection)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  db.transaction(() => {
    db.prepare("INSERT OR IGNORE INTO datasets (id, sha256) VALUES (?, ?)").run(id, set.sha256);
    for (const { kind, task } of tasks) {
      if (kind === "suite") {
        addSuiteTask.run(id, task.id, JSON.stringify(portableTask(task)), task.sha256);
        continue;
      }
      const q = task;
      addQuestion.run(
        id,
        q.id,
        q.question,
        q.answer,
        JSON.stringify(q.message_ids),
        q.inbox_address,
        q.query_date,
        q.how_realistic,
        q.split ?? set.split,
        q.goal === undefined ? null : JSON.stringify(q.goal),
        q.drafts === undefined ? null : JSON.stringify(q.drafts),
        q.select === undefined ? null : JSON.stringify(q.select),
      );
    }
  })();
  return id;
}

/** Number of example questions per mailbox. */
const EXAMPLES = 3;

/** Returns a few realistic questions per mailbox, without tasks that ask for changes or for emails. */
export function exampleQuestions(
  db: Db,
): readonly { readonly inbox: string; readonly question: string; readonly date: string }[] {
  return db
    .prepare(
      `SELECT inbox, question, date FROM (
         SELECT inbox_address AS inbox, question, query_date AS date,
                row_number() OVER (PARTITION BY inbox_address ORDER BY how_realistic DESC, id) AS place
         FROM art_e_tasks WHERE goal IS NULL AND selection IS NULL AND message_ids <> '[]'
         GROUP BY inbox_address, question)
       WHERE place <= ${EXAMPLES}`,
    )
    .all() as { readonly inbox: string; readonly question: string; readonly date: string }[];
}

/** Saves the order in which a run answers its tasks. */
export function saveRunTasks(db: Db, runId: string, tasks: readonly PlannedTask[]): void {
  const add = db.prepare("INSERT INTO run_tasks (run_id, position, task_id, epoch) VALUES (?, ?, ?, ?)");
  tasks.forEach(({ task, epoch }, i) => {
    add.run(runId, i + 1, task.id, epoch);
  });
}

/** Returns the order in which a run asks its tasks. */
export function plannedOrder(db: Db, runId: string): TaskEpoch[] {
  return db
    .prepare("SELECT task_id AS taskId, epoch FROM run_tasks WHERE run_id = ? ORDER BY position")
    .all(runId) as TaskEpoch[];
}

/** Returns the position of the first epoch of a task in the run's plan, or null if the run does not have the task. */
export function firstPosition(db: Db, runId: string, taskId: TaskId): number | null {
  return db
    .prepare("SELECT min(position) FROM run_tasks WHERE run_id = ? AND task_id = ?")
    .pluck()
    .get(runId, taskId) as number | null;
}

/** Tasks per query. The number is small because reading blocks the event loop, and with it the running tasks. */
const TASKS_READ_AHEAD = 20;

/** Yields the tasks at these positions in a run's order. Reads small batches, so that not all tasks are in memory. */
export function* tasksAt(db: Db, runId: string, positions: readonly number[]): Generator<PlannedTask> {
  const select = db.prepare(
    `SELECT q.*, t.task_id, t.epoch, r.source, ${SUITE_TASK} ${PLANNED} AND t.position IN (SELECT value FROM json_each(@some)) ORDER BY t.position`,
  );
  for (const some of chunk(positions, TASKS_READ_AHEAD)) {
    const rows = select.all({ runId, some: JSON.stringify(some) }) as StoredTaskRow[];
    // If a task is missing, the run can never be completed.
    const missing = some.length - rows.length;
    if (missing > 0) throw new Error(`${missing} of ${some.length} tasks of run ${runId} are not in the file`);
    for (const row of rows) yield toTask(row);
  }
}

const PLANNED = `FROM run_tasks t
  JOIN runs r ON r.id = t.run_id
  LEFT JOIN art_e_tasks q ON q.dataset_id = r.dataset_id AND q.split = r.split AND q.id = t.task_id
  LEFT JOIN suite_tasks s ON s.dataset_id = r.dataset_id AND s.id = t.task_id
  WHERE t.run_id = @runId AND coalesce(q.id, s.id) IS NOT NULL`;

/** Positions per query. A query takes a few milliseconds. */
const PAGE = 100;

/**
 * Yields the positions of tasks without a result and, with `retryFailed`, of tasks whose last attempt failed. There is
 * one list per page of the order, possibly empty.
 */
export function* remainingPositions(db: Db, runId: string, retryFailed: boolean): Generator<readonly number[]> {
  const select = db
    .prepare(
      `SELECT t.position ${PLANNED} AND t.position > @after AND t.position <= @after + ${PAGE} AND NOT EXISTS (
         SELECT 1 FROM results x WHERE x.run_id = t.run_id AND x.task_id = t.task_id AND x.epoch = t.epoch
           AND x.superseded = 0 AND NOT (x.failed AND @retryFailed))
       ORDER BY t.position`,
    )
    .pluck();
  const last = db.prepare("SELECT max(position) FROM run_tasks WHERE run_id = ?").pluck().get(runId) as number | null;
  for (let after = 0; after < (last ?? 0); after += PAGE) {
    yield select.all({ runId, after, retryFailed: retryFailed ? 1 : 0 }) as number[];
  }
}

/** Returns the positions of tasks whose last attempt failed. */
export function failedPositions(db: Db, runId: string): number[] {
  return db
    .prepare(
      `SELECT t.position FROM results x
       JOIN run_tasks t ON t.run_id = x.run_id AND t.task_id = x.task_id AND t.epoch = x.epoch
       WHERE x.run_id = ? AND x.superseded = 0 AND x.failed = 1 ORDER BY t.position`,
    )
    .pluck()
    .all(runId) as number[];
}

const SUITE_TASK = "s.task AS suiteTask, s.sha256 AS suiteTaskSha256";

/** Returns the stored task with the folder from which the run takes it. */
function toSuiteTask({ task_id: row, source, suiteTask, suiteTaskSha256 }: SuiteTaskColumns): PlannedSuiteTask {
  const place = { table: "suite_tasks", row, column: "task" };
  return placeSuiteTask(parseColumn<SuiteTask>(suiteTask, { id: "string" }, place), source, suiteTaskSha256);
}

/** Returns the suite tasks of a run by id, without repetitions. */
export function suiteTasksOf(db: Db, runId: string): PlannedSuiteTask[] {
  const rows = db
    .prepare(
      `SELECT s.id AS task_id, r.source, ${SUITE_TASK} FROM runs r JOIN suite_tasks s ON s.dataset_id = r.dataset_id
       WHERE r.id = @runId AND s.id IN (SELECT task_id FROM run_tasks WHERE run_id = @runId) ORDER BY s.id`,
    )
    .all({ runId }) as SuiteTaskColumns[];
  return rows.map(toSuiteTask);
}

function toTask({ epoch, goal, drafts, selection, ...row }: StoredTaskRow): PlannedTask {
  if (row.suiteTask !== null) return { kind: "suite", task: toSuiteTask(row as SuiteTaskColumns), epoch };
  const place = { table: "art_e_tasks", row: row.task_id, column: "message_ids" };
  const question = questionSchema.safeParse({
    ...row,
    message_ids: parseColumn(row.message_ids, "array", place),
    ...(goal === null ? {} : { goal: parseColumn(goal, {}, { ...place, column: "goal" }) }),
    ...(drafts === null ? {} : { drafts: parseColumn(drafts, "array", { ...place, column: "drafts" }) }),
    ...(selection === null ? {} : { select: parseColumn(selection, {}, { ...place, column: "selection" }) }),
  });
  if (question.success) return { kind: "question", task: question.data, epoch };
  const [issue] = question.error.issues;
  throw new DamagedRowError({ ...place, column: String(issue?.path[0] ?? "id") }, issue?.message ?? "it is unusable");
}

/** Yields the attempts that were saved after `position`, page by page. A later attempt supersedes an earlier one. */
export function* attemptsSavedAfter(db: Db, runId: string, position: number): Generator<readonly SavedAttempt[]> {
  // Sorts the positions once. Sorting for every page took six times as long with 10,000 tasks.
  const positions = db
    .prepare("SELECT rowid FROM traces WHERE run_id = @runId AND rowid > @position ORDER BY rowid")
    .pluck()
    .all({ runId, position }) as number[];
  const select = db.prepare(
    `SELECT t.rowid AS position, t.id AS traceId, t.started_at AS startedAt, x.result
     FROM traces t JOIN results x ON x.trace_id = t.id WHERE t.rowid = ?`,
  );
  for (const page of chunk(positions, PAGE)) {
    const rows = page.flatMap((each) => select.all(each) as SavedAttemptRow[]);
    yield mapReadable(rows, toSavedAttempt);
  }
}

function toSavedAttempt({ position, traceId, startedAt, result }: SavedAttemptRow): SavedAttempt {
  return { position, startedAt, result: parseResult(`of trace ${traceId}`, result) };
}

/** Fields that every reader of a result needs. */
const RESULT_SHAPE = { traceId: "string", ending: "string", usage: "object", scores: "object" } as const;

/** @throws DamagedRowError */
function parseResult(row: string, json: unknown): TaskResult {
  return parseColumn(json, RESULT_SHAPE, { table: "results", row, column: "result" });
}

/**
 * Returns a value that changes with every write to the file. `data_version` covers the other connections, and
 * `total_changes` covers this one.
 */
export function dataVersion(db: Db): string {
  const own = db.prepare("SELECT total_changes()").pluck().get() as number;
  return `${db.pragma("data_version", { simple: true })}/${own}`;
}

/** Yields all attempts of a run by task id, epoch and attempt, page by page. */
export function* attemptPages(db: Db, runId: string): Generator<readonly Attempt[]> {
  const select = db.prepare(
    `SELECT task_id AS taskId, epoch, attempt, failed, superseded, result FROM results
     WHERE run_id = @runId AND (task_id, epoch, attempt) > (@taskId, @epoch, @attempt)
     ORDER BY task_id, epoch, attempt LIMIT ${PAGE}`,
  );
  let last: AttemptKey = { taskId: Number.MIN_SAFE_INTEGER, epoch: 0, attempt: 0 };
  for (;;) {
    const { taskId, epoch, attempt } = last;
    const rows = select.all({ runId, taskId, epoch, attempt }) as AttemptRow[];
    if (rows.length > 0) yield mapReadable(rows, (row) => toAttempt(runId, row));
    if (rows.length < PAGE) return;
    last = rows.at(-1) ?? last;
  }
}

function toAttempt(runId: string, { taskId, epoch, attempt, result, failed, superseded }: AttemptRow): Attempt {
  const row = `${runId}/${taskId}/${epoch}, attempt ${attempt}`;
  return { result: parseResult(row, result), isFailed: failed === 1, isSuperseded: superseded === 1 };
}

export function* iterateResults(db: Db, runId: string): Generator<TaskResult> {
  for (const page of attemptPages(db, runId)) {
    for (const { result, isSuperseded } of page) if (!isSuperseded) yield result;
  }
}

/** Returns the last epoch of each task of a run that has a result. */
export function lastEpochs(db: Db, runId: string): Map<TaskId, number> {
  const rows = db.prepare("SELECT task_id, max(epoch) FROM results WHERE run_id = ? GROUP BY task_id").raw().all(runId);
  return new Map(rows as [TaskId, number][]);
}

const RESULT = jsonSql("result");

/** Returns null if no task has finished. */
export function averageTask(db: Db, agentId: string, model: string): AverageTask | null {
  const row = db
    .prepare(
      `SELECT count(*) AS tasks, avg(${RESULT} ->> '$.usage.inputTokens') AS inputTokens,
              avg(${RESULT} ->> '$.usage.outputTokens') AS outputTokens,
              avg(${RESULT} ->> '$.usage.cachedInputTokens') AS cachedInputTokens,
              avg(coalesce(${RESULT} ->> '$.usage.cacheWriteTokens', 0)) AS cacheWriteTokens,
              coalesce(avg(${RESULT} ->> '$.turns'), 1) AS turns, avg(${RESULT} ->> '$.modelTimeMs' + ${RESULT} ->> '$.toolTimeMs') / 1000 AS seconds
       FROM results x JOIN runs r ON r.id = x.run_id WHERE r.agent_id = ? AND r.model = ? AND x.failed = 0`,
    )
    .get(agentId, model) as AverageTask;
  return row.tasks === 0 ? null : row;
}

/** Returns a page of a run's results by task id and epoch. `total` counts the results on all pages. */
export function pageOfResults(
  db: Db,
  runId: string,
  offset: number,
  limit: number,
): { readonly results: TaskResult[]; readonly total: number } {
  const total = db
    .prepare("SELECT count(*) FROM results WHERE run_id = ? AND superseded = 0")
    .pluck()
    .get(runId) as number;
  const rows = db
    .prepare(
      "SELECT trace_id AS traceId, result FROM results WHERE run_id = ? AND superseded = 0 ORDER BY task_id, epoch, attempt LIMIT ? OFFSET ?",
    )
    .all(runId, limit, offset) as { traceId: string; result: unknown }[];
  return { results: mapReadable(rows, ({ traceId, result }) => parseResult(`of trace ${traceId}`, result)), total };
}

/** The result of a task in one of the runs over the same questions. */
export interface ResultInRun {
  readonly runId: string;
  readonly runName: string | null;
  readonly agentId: string;
  readonly model: string;
  readonly startedAt: string;
  readonly epoch: number;
  readonly result: TaskResult;
}

/** Maximum number of results of one task to list. */
const MOST_RESULTS = 100;

/** Returns the results of a task in a run and in other runs over the same dataset, newest run first. */
export function resultsOfTask(db: Db, runId: string, taskId: TaskId): ResultInRun[] {
  const rows = db
    .prepare(
      `SELECT runId, runName, agentId, model, startedAt, epoch, result FROM (
         SELECT r.id AS runId, r.name AS runName, r.agent_id AS agentId, r.model, r.started_at AS startedAt,
           r.rowid AS place, x.epoch, x.result
         -- A cross join keeps its order. Otherwise, SQLite reads all results of all runs, in six times as long.
         FROM runs r CROSS JOIN results x ON x.run_id = r.id AND x.task_id = @taskId AND x.superseded = 0
         WHERE (r.dataset_id, r.split) = (SELECT dataset_id, split FROM runs WHERE id = @runId)
         ORDER BY r.id = @runId DESC, r.started_at DESC, r.rowid DESC, x.epoch LIMIT ${MOST_RESULTS})
       ORDER BY startedAt DESC, place DESC, epoch`,
    )
    .all({ runId, taskId }) as (Omit<ResultInRun, "result"> & { readonly result: unknown })[];
  return mapReadable(rows, (row) => ({
    ...row,
    result: parseResult(`${row.runId}/${taskId}/${row.epoch}`, row.result),
  }));
}
