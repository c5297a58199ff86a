import type { ChatTrace, Session } from "../domain/chat.js";
import type { Message } from "../domain/conversation.js";
import { UserError } from "../domain/errors.js";
import type { Db } from "./open.js";

const COLUMNS = `s.id, s.agent_id AS agentId, s.inbox, s.query_date AS queryDate,
  s.created_at AS createdAt, s.updated_at AS updatedAt`;

export function getSession(db: Db, id: string): Session {
  const session = db.prepare(`SELECT ${COLUMNS} FROM sessions s WHERE id = ?`).get(id) as Session | undefined;
  if (session !== undefined) return session;
  throw new UserError("session_unknown", `There is no session "${id}".`, "A chat without a sessionId begins one.");
}

export interface SessionLine extends Session {
  readonly chats: number;
}

/** Newest first. */
export function listSessions(db: Db, agentId: string | null, limit: number): SessionLine[] {
  return db
    .prepare(
      `SELECT ${COLUMNS}, (SELECT count(*) FROM traces WHERE session_id = s.id AND run_id IS NULL) AS chats
       FROM sessions s WHERE @agentId IS NULL OR agent_id = @agentId ORDER BY updated_at DESC, id DESC LIMIT @limit`,
    )
    .all({ agentId, limit }) as SessionLine[];
}

/** What has been said in a session, without the system prompt; chats that failed left nothing to go on from. */
export function sessionMessages(db: Db, sessionId: string): Message[] {
  const trace = db
    .prepare(
      `SELECT trace FROM traces WHERE session_id = ? AND run_id IS NULL
         AND ending NOT IN ('model_error', 'timeout', 'interrupted') ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    )
    .pluck()
    .get(sessionId) as string | undefined;
  return trace === undefined ? [] : (JSON.parse(trace) as ChatTrace).messages.slice(1);
}

/** The newest answer given in a session; null where none was. */
export function lastAnswer(db: Db, sessionId: string): string | null {
  const answer = db
    .prepare(
      `SELECT trace ->> '$.answer' FROM traces WHERE session_id = ? AND run_id IS NULL
         AND trace ->> '$.answer' IS NOT NULL ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    )
    .pluck()
    .get(sessionId) as string | undefined;
  return answer ?? null;
}

/** Saves a chat, and the session that it began or went on with. */
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
