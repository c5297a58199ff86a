// Chat sessions and the traces of their chats, which belong to no run.
import type { Message } from "../models/model.js";
import { UserError } from "../platform/errors.js";
import { jsonSql, mapReadable } from "../store/damaged-row.js";
import { type ListQuery, listCondition, listOrder } from "../store/list-query.js";
import type { Db } from "../store/open-store.js";
import type { MailboxChanges } from "../tasks/mailbox-changes.js";
import { SESSION_FIELDS } from "./list-fields.js";
import type { ChatTrace } from "./trace.js";
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

/** Returns a page of sessions, the one with the newest question first or sorted. `total` counts all sessions. */
export function listSessions(
  db: Db,
  { terms, sort, offset, limit }: ListQuery,
): { readonly sessions: ChatSessionSummary[]; readonly total: number } {
  const { sql, values } = listCondition(
    terms,
    SESSION_FIELDS,
    `concat(s.id, ' ', s.agent_id, ' ', s.inbox, ' ', ${SESSION_FIELDS.question.sql})`,
  );
  const order = listOrder(sort, SESSION_FIELDS);
  const sessions = db
    .prepare(
      `SELECT ${COLUMNS}, ${SESSION_FIELDS.chats.sql} AS chats, ${SESSION_FIELDS.question.sql} AS question
       FROM sessions s WHERE ${sql}
       ORDER BY ${order === null ? "" : `${order}, `} updated_at DESC, id DESC LIMIT @limit OFFSET @offset`,
    )
    .all({ ...values, limit, offset }) as ChatSessionSummary[];
  const total = db.prepare(`SELECT count(*) FROM sessions s WHERE ${sql}`).pluck().get(values) as number;
  return { sessions, total };
}

const OF_AGENT = "(@agentId IS NULL OR agent_id = @agentId)";

const NOT_FAILED = "ending NOT IN ('model_error', 'timeout', 'interrupted')";

/** Returns the messages of a session, except the system prompt and failed chats. */
export function sessionMessages(db: Db, sessionId: string): Message[] {
  return newestChat(db, sessionId, NOT_FAILED)?.messages.slice(1) ?? [];
}

/** Returns what the chats of a session have changed in its mailbox so far, or undefined if nothing. */
export function sessionActions(db: Db, sessionId: string): MailboxChanges | undefined {
  return newestChat(db, sessionId, "TRUE")?.actions;
}

function newestChat(db: Db, sessionId: string, condition: string): ChatTrace | undefined {
  const row = db
    .prepare(
      `SELECT id, trace FROM traces WHERE session_id = ? AND run_id IS NULL AND ${condition}
       ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    )
    .get(sessionId) as { id: string; trace: unknown } | undefined;
  return row && parseTrace<ChatTrace>(row.id, row.trace);
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
  const total = db.prepare(`SELECT count(*) FROM sessions WHERE ${OF_AGENT}`).pluck().get({ agentId }) as number;
  return { sessions, total };
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

/** The mail that a chat can see: one mailbox up to a date, or everything. */
export interface MailboxBinding {
  readonly inbox: string | null;
  /** `YYYY-MM-DD`: the last visible date. */
  readonly queryDate: string | null;
}

/** A conversation of one person with one agent: several chats with the same mailbox and cutoff date. */
export interface ChatSession extends MailboxBinding {
  readonly id: string;
  readonly agentId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}
