import type { Message } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import { jsonSql, mapReadable } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { ChatSession, ChatTrace, Feedback } from "./trace.js";
import { parseTrace } from "./traces-store.js";

interface ChatSessionSummary extends ChatSession {
  readonly chats: number;
  /** The first question, or null if its chats were deleted. */
  readonly question: string | null;
}

/** A session with the model and agent version of its newest chat. `chats` excludes failed chats. */
export interface SessionDetails extends ChatSession {
  readonly model: string;
  readonly agentVersion: number;
  readonly chats: number;
}

export interface FeedbackLine extends Feedback {
  readonly agentId: string;
}

/** Filter for feedback. Null matches any value. */
interface FeedbackQuery {
  readonly traceId: string | null;
  readonly agentId: string | null;
  readonly rating: string | null;
}

const TRACE = jsonSql("trace");

const COLUMNS = `s.id, s.agent_id AS agentId, s.inbox, s.query_date AS queryDate,
  s.created_at AS createdAt, s.updated_at AS updatedAt`;

export function getSession(db: Db, id: string): ChatSession {
  const session = db.prepare(`SELECT ${COLUMNS} FROM sessions s WHERE id = ?`).get(id) as ChatSession | undefined;
  if (session !== undefined) return session;
  throw new UserError(
    "session_unknown",
    `Unknown session "${id}".`,
    "To start a session, send a chat without a sessionId.",
  );
}

/** Returns a page of sessions, newest first. `total` counts the sessions on all pages. */
export function listSessions(
  db: Db,
  agentId: string | null,
  offset: number,
  limit: number,
): { readonly sessions: ChatSessionSummary[]; readonly total: number } {
  const sessions = db
    .prepare(
      `SELECT ${COLUMNS}, (SELECT count(*) FROM traces WHERE session_id = s.id AND run_id IS NULL) AS chats,
              (SELECT ${TRACE} ->> '$.question' FROM traces WHERE session_id = s.id AND run_id IS NULL
               ORDER BY started_at, rowid LIMIT 1) AS question
       FROM sessions s WHERE ${OF_AGENT} ORDER BY updated_at DESC, id DESC LIMIT @limit OFFSET @offset`,
    )
    .all({ agentId, limit, offset }) as ChatSessionSummary[];
  return { sessions, total: countSessions(db, agentId) };
}

const OF_AGENT = "(@agentId IS NULL OR agent_id = @agentId)";

function countSessions(db: Db, agentId: string | null): number {
  return db.prepare(`SELECT count(*) FROM sessions WHERE ${OF_AGENT}`).pluck().get({ agentId }) as number;
}

const NOT_FAILED = "ending NOT IN ('model_error', 'timeout', 'interrupted')";

/** Returns the messages of a session, except the system prompt and failed chats. */
export function sessionMessages(db: Db, sessionId: string): Message[] {
  const row = db
    .prepare(
      `SELECT id, trace FROM traces WHERE session_id = ? AND run_id IS NULL AND ${NOT_FAILED}
       ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    )
    .get(sessionId) as { id: string; trace: unknown } | undefined;
  return row === undefined ? [] : parseTrace<ChatTrace>(row.id, row.trace).messages.slice(1);
}

const CONTINUED = `session_id = s.id AND run_id IS NULL AND ${NOT_FAILED}`;
const NEWEST = "FROM traces WHERE session_id = s.id AND run_id IS NULL ORDER BY started_at DESC, rowid DESC LIMIT 1";
const DETAILS = `SELECT ${COLUMNS}, coalesce((SELECT ${TRACE} ->> '$.model' ${NEWEST}), '') AS model,
  coalesce((SELECT ${TRACE} ->> '$.agentVersion' ${NEWEST}), 0) AS agentVersion, (SELECT count(*) FROM traces WHERE ${CONTINUED}) AS chats
  FROM sessions s`;

/** Returns a page of sessions, newest first. `total` counts the sessions on all pages. */
export function pageOfSessions(
  db: Db,
  agentId: string | null,
  offset: number,
  limit: number,
): { readonly sessions: SessionDetails[]; readonly total: number } {
  const sessions = db
    .prepare(`${DETAILS} WHERE ${OF_AGENT} ORDER BY updated_at DESC, id DESC LIMIT @limit OFFSET @offset`)
    .all({ agentId, limit, offset }) as SessionDetails[];
  return { sessions, total: countSessions(db, agentId) };
}

/** Returns a session of an agent with its chats, oldest first. Failed chats are left out. */
export function sessionOfAgent(
  db: Db,
  agentId: string,
  id: string,
): { readonly session: SessionDetails; readonly traces: ChatTrace[] } {
  const session = db.prepare(`${DETAILS} WHERE s.id = ? AND s.agent_id = ?`).get(id, agentId) as
    | SessionDetails
    | undefined;
  if (session === undefined) {
    const hint = "To start a session, send a chat without a sessionId.";
    throw new UserError("session_unknown", `Unknown session "${id}" of agent "${agentId}".`, hint);
  }
  const rows = db
    .prepare(
      `SELECT t.id, t.trace FROM sessions s JOIN traces t ON ${CONTINUED} WHERE s.id = ? ORDER BY t.started_at, t.rowid`,
    )
    .all(id) as { id: string; trace: unknown }[];
  return { session, traces: mapReadable(rows, (row) => parseTrace<ChatTrace>(row.id, row.trace)) };
}

/** Deletes a session but not its traces. */
export function deleteSession(db: Db, id: string): void {
  db.prepare("DELETE FROM sessions WHERE id = ?").run(id);
}

/** Saves a chat and creates or updates its session. */
export function saveChat(db: Db, trace: ChatTrace): void {
  const session = db.prepare(
    `INSERT INTO sessions (id, agent_id, inbox, query_date, created_at, updated_at)
     VALUES (@sessionId, @agentId, @inbox, @queryDate, @startedAt, @endedAt)
     ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at`,
  );
  const chat = db.prepare(
    `INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace)
     VALUES (@traceId, @agentId, @sessionId, @startedAt, @ending, @json)`,
  );
  const { traceId, sessionId, agentId, inbox, queryDate, startedAt, endedAt, ending } = trace;
  const save = db.transaction(() => {
    session.run({ sessionId, agentId, inbox, queryDate, startedAt, endedAt });
    chat.run({ traceId, agentId, sessionId, startedAt, ending, json: JSON.stringify(trace) });
  });
  save.immediate();
}

/** Saves the scores of chats that were scored again. */
export function saveChatScores(db: Db, traces: readonly ChatTrace[]): void {
  const update = db.prepare("UPDATE traces SET trace = json_set(trace, '$.scores', json(?)) WHERE id = ?");
  db.transaction(() => {
    for (const { traceId, scores } of traces) update.run(JSON.stringify(scores), traceId);
  }).immediate();
}

const SELECT = `SELECT f.id, f.trace_id AS traceId, f.rating, f.notes, f.created_at AS createdAt, t.agent_id AS agentId
  FROM feedback f JOIN traces t ON t.id = f.trace_id`;

/** Saves feedback on an existing trace. */
export function saveFeedback(db: Db, feedback: Feedback): void {
  db.prepare(
    "INSERT INTO feedback (id, trace_id, rating, notes, created_at) VALUES (@id, @traceId, @rating, @notes, @createdAt)",
  ).run(feedback);
}

/** Returns the feedback that comes after `after`, newest first. */
export function pageOfFeedback(
  db: Db,
  query: FeedbackQuery,
  after: { readonly at: string; readonly id: string } | null,
  limit: number,
): { readonly lines: FeedbackLine[]; readonly hasMore: boolean } {
  const conditions = ["1"];
  if (query.traceId !== null) conditions.push("f.trace_id = @traceId");
  if (query.agentId !== null) conditions.push("t.agent_id = @agentId");
  if (query.rating !== null) conditions.push("f.rating = @rating");
  // Row ids give the order within a millisecond, but feedback ids do not.
  if (after !== null) {
    conditions.push(
      "(f.created_at, f.rowid) < (@afterAt, (SELECT coalesce(max(rowid), 0) FROM feedback WHERE id = @afterId))",
    );
  }
  const rows = db
    .prepare(`${SELECT} WHERE ${conditions.join(" AND ")} ORDER BY f.created_at DESC, f.rowid DESC LIMIT @limit`)
    .all({ ...query, afterAt: after?.at, afterId: after?.id, limit: limit + 1 }) as FeedbackLine[];
  return { lines: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** Returns all feedback on a trace, newest first. */
export function listFeedback(db: Db, traceId: string): FeedbackLine[] {
  return pageOfFeedback(db, { traceId, agentId: null, rating: null }, null, 1_000_000).lines;
}

export function getFeedback(db: Db, id: string): FeedbackLine {
  const line = db.prepare(`${SELECT} WHERE f.id = ?`).get(id) as FeedbackLine | undefined;
  if (line !== undefined) return line;
  throw new UserError("feedback_unknown", `Unknown feedback "${id}".`, "List the feedback with GET /api/feedback.");
}

export function updateFeedback(db: Db, { id, rating, notes }: Pick<Feedback, "id" | "rating" | "notes">): void {
  db.prepare("UPDATE feedback SET rating = ?, notes = ? WHERE id = ?").run(rating, notes, id);
}

export function deleteFeedback(db: Db, id: string): void {
  db.prepare("DELETE FROM feedback WHERE id = ?").run(id);
}

/** Returns the newest feedback on each trace of a run, or on each trace in the database if `runId` is null. */
export function newestFeedback(db: Db, runId: string | null): Feedback[] {
  return db
    .prepare(
      `SELECT id, traceId, rating, notes, createdAt FROM (
         SELECT f.id, f.trace_id AS traceId, f.rating, f.notes, f.created_at AS createdAt, t.run_id AS runId,
                row_number() OVER (PARTITION BY f.trace_id ORDER BY f.created_at DESC, f.rowid DESC) AS rank
         FROM feedback f JOIN traces t ON t.id = f.trace_id)
       WHERE rank = 1 AND (@runId IS NULL OR runId = @runId) ORDER BY traceId`,
    )
    .all({ runId }) as Feedback[];
}
