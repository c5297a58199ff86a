import { UserError } from "../../domain/errors.js";
import type { ChatTrace, Feedback } from "../../domain/runs/chat.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { TaskId } from "../../domain/tasks/task-id.js";
import type { Db } from "../connection/open-store.js";
import { getRun } from "./runs.js";
import { selectTraceIds, type TraceFilter } from "./trace-selection.js";

/** Traces one at a time, in the order of their ids. May be iterated more than once. */
export function readTraces<T extends Trace | ChatTrace = Trace>(db: Db, ids: readonly string[]): Iterable<T> {
  const select = db.prepare("SELECT trace FROM traces WHERE id = ?").pluck();
  return {
    *[Symbol.iterator]() {
      for (const id of ids) {
        const row = select.get(id) as string | undefined;
        // Deleted in between.
        if (row !== undefined) yield JSON.parse(row) as T;
      }
    },
  };
}

/** A run's traces by task id and epoch, one at a time. */
export function* iterateTraces(db: Db, filter: TraceFilter): Generator<Trace> {
  yield* readTraces(db, selectTraceIds(db, filter));
}

export function hasTrace(db: Db, traceId: string): boolean {
  return db.prepare("SELECT 1 FROM traces WHERE id = ?").get(traceId) !== undefined;
}

/**
 * Finds a trace by its id, by the beginning of it, or by `RUN/TASK` or `RUN/TASK/EPOCH`, where RUN may be `latest`.
 */
export function getTrace(db: Db, name: string): Trace | ChatTrace {
  const [, run, task, epoch = "1"] = /^([^/]+)\/([^/]+)(?:\/(\d+))?$/.exec(name) ?? [];
  const rows = (
    run === undefined
      ? db
          .prepare(
            `SELECT trace FROM traces WHERE id = @name OR substr(id, 1, length(@name)) = @name
             ORDER BY id = @name DESC LIMIT 2`,
          )
          .pluck()
          .all({ name })
      : db
          .prepare(
            `SELECT t.trace FROM results r JOIN traces t ON t.id = r.trace_id
             WHERE r.run_id = ? AND r.epoch = ? AND r.superseded = 0
               AND (r.task_id = ? OR typeof(r.task_id) = 'text' AND substr(r.task_id, 1, length(?)) = ?) LIMIT 2`,
          )
          .pluck()
          .all(getRun(db, run).id, Number(epoch), taskIdOf(task ?? ""), task, task)
  ) as string[];
  const [row] = rows;
  const trace = row === undefined ? undefined : (JSON.parse(row) as Trace | ChatTrace);
  // A complete id wins over another that begins with it.
  if (trace !== undefined && (rows.length === 1 || trace.traceId === name)) return trace;
  throw new UserError(
    "trace_unknown",
    row === undefined ? `There is no trace "${name}" in ${db.name}.` : `More than one trace begins with "${name}".`,
    "Name a traceId of a results file, or RUN/TASK, for example latest/12.",
  );
}

/** Numbers are questions of ART-E; other tasks have texts, of which the beginning is enough. */
function taskIdOf(written: string): TaskId {
  return /^\d+$/.test(written) ? Number(written) : written;
}

/** Which traces; null: any. */
export interface TraceQuery {
  readonly agentId: string | null;
  readonly runId: string | null;
  readonly sessionId: string | null;
  readonly ending: string | null;
  /** The newest feedback on it. */
  readonly rating: string | null;
  /** ISO 8601, inclusive. */
  readonly startedFrom: string | null;
  /** ISO 8601, exclusive. */
  readonly startedBefore: string | null;
}

/** The last trace of a page: the next page begins after it. */
export interface TraceCursor {
  readonly startedAt: string;
  readonly id: string;
}

/** A trace in a list. */
export interface TraceSummary {
  readonly id: string;
  readonly runId: string | null;
  readonly taskId: TaskId | null;
  readonly agentId: string;
  readonly sessionId: string;
  readonly startedAt: string;
  readonly ending: string;
  readonly model: string;
  readonly question: string;
  readonly answer: string | null;
  readonly durationMs: number;
  readonly rating: Feedback["rating"] | null;
}

const RATING =
  "(SELECT rating FROM feedback f WHERE f.trace_id = t.id ORDER BY f.created_at DESC, f.rowid DESC LIMIT 1)";

/** Newest first, of runs and of chats; `total` counts those on all pages. */
export function pageOfTraces(
  db: Db,
  query: TraceQuery,
  after: TraceCursor | null,
  limit: number,
): { readonly lines: TraceSummary[]; readonly hasMore: boolean; readonly total: number } {
  const conditions = ["1"];
  if (query.agentId !== null) conditions.push("t.agent_id = @agentId");
  if (query.runId !== null) conditions.push("t.run_id = @runId");
  if (query.sessionId !== null) conditions.push("t.session_id = @sessionId");
  if (query.ending !== null) conditions.push("t.ending = @ending");
  if (query.rating !== null) conditions.push(`${RATING} = @rating`);
  if (query.startedFrom !== null) conditions.push("t.started_at >= @startedFrom");
  if (query.startedBefore !== null) conditions.push("t.started_at < @startedBefore");
  const where = conditions.join(" AND ");
  const total = db.prepare(`SELECT count(*) FROM traces t WHERE ${where}`).pluck().get(query) as number;
  const rows = db
    .prepare(
      `SELECT t.id, t.run_id AS runId, t.task_id AS taskId, t.agent_id AS agentId, t.session_id AS sessionId,
              t.started_at AS startedAt, t.ending, t.trace ->> '$.model' AS model,
              coalesce(t.trace ->> '$.question', t.trace ->> '$.task.question', '') AS question,
              t.trace ->> '$.answer' AS answer, t.trace ->> '$.durationMs' AS durationMs, ${RATING} AS rating
       FROM traces t WHERE ${where} ${after === null ? "" : "AND (t.started_at, t.id) < (@afterStart, @afterId)"}
       ORDER BY t.started_at DESC, t.id DESC LIMIT @limit`,
    )
    .all({ ...query, afterStart: after?.startedAt, afterId: after?.id, limit: limit + 1 }) as TraceSummary[];
  return { lines: rows.slice(0, limit), hasMore: rows.length > limit, total };
}
