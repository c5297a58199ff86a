import type { Feedback } from "../domain/chat.js";
import type { Db } from "./open.js";

/** The trace must be there. */
export function saveFeedback(db: Db, feedback: Feedback): void {
  db.prepare(
    "INSERT INTO feedback (id, trace_id, rating, notes, created_at) VALUES (@id, @traceId, @rating, @notes, @createdAt)",
  ).run(feedback);
}

/** Newest first. */
export function listFeedback(db: Db, traceId: string): Feedback[] {
  return db
    .prepare(
      `SELECT id, trace_id AS traceId, rating, notes, created_at AS createdAt FROM feedback
       WHERE trace_id = ? ORDER BY created_at DESC, rowid DESC`,
    )
    .all(traceId) as Feedback[];
}
