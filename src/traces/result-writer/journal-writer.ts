// Writes and deletes the paid replies of a task.
import type { Db } from "../../store/open-store.js";
import type { TaskEpoch } from "../../tasks/epoch-key.js";

/** The stored form of a paid reply. `entry` is JSON. */
export interface JournalRow extends TaskEpoch {
  readonly runId: string;
  readonly position: number;
  readonly entry: string;
}

/** Returns a function that stores a reply. A reply that arrives after its task was finished elsewhere is dropped. */
export function openJournalWriter(db: Db): (row: JournalRow) => void {
  const insert = db.prepare(
    `INSERT OR REPLACE INTO reply_journal (run_id, task_id, epoch, position, entry)
     SELECT @runId, @taskId, @epoch, @position, @entry WHERE NOT EXISTS (
       SELECT 1 FROM results
       WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch AND superseded = 0 AND failed = 0)`,
  );
  return (row) => void insert.run(row);
}

/** Returns a function that deletes the journal of a task. */
export function openJournalEraser(db: Db): (task: Pick<JournalRow, "runId" | "taskId" | "epoch">) => void {
  const erase = db.prepare("DELETE FROM reply_journal WHERE run_id = @runId AND task_id = @taskId AND epoch = @epoch");
  return (task) => void erase.run(task);
}
