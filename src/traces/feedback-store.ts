// Ratings that people give to traces, with their notes.
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";

export interface FeedbackLine extends Feedback {
  readonly agentId: string;
}

/** Filter for feedback. Null matches any value. */
interface FeedbackQuery {
  readonly traceId: string | null;
  readonly agentId: string | null;
  readonly rating: string | null;
}

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

const SELECT = `SELECT f.id, f.trace_id AS traceId, f.rating, f.notes, f.created_at AS createdAt, t.agent_id AS agentId
  FROM feedback f JOIN traces t ON t.id = f.trace_id`;

export const RATINGS = ["positive", "neutral", "negative"] as const;

export interface Feedback {
  readonly id: string;
  readonly traceId: string;
  readonly rating: (typeof RATINGS)[number];
  readonly notes: string | null;
  readonly createdAt: string;
}
