import type { Db } from "../connection/open-store.js";

/**
 * Deletes a run with its results, traces, and what was said of them. The pages of the file are used again; the file
 * does not become smaller.
 */
export function deleteRun(db: Db, id: string): void {
  // Before the traces that they refer to.
  db.prepare("DELETE FROM results WHERE run_id = ?").run(id);
  db.prepare("DELETE FROM runs WHERE id = ?").run(id);
}
