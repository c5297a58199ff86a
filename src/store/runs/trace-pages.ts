import type { Feedback } from "../../domain/runs/chat.js";
import type { Db } from "../connection/open-store.js";

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
  readonly taskId: number | null;
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
