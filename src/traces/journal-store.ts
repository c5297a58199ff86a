import { type JournalEntry, journalEntrySchema } from "../models/reply-journal.js";
import { parseJsonOrNull } from "../platform/json.js";
import type { Db } from "../store/open-store.js";
import type { TaskId } from "../tasks/question.js";

/** Stores the reply journals of a run's unfinished tasks. Saving a task's result deletes its journal. */

/** `entry` is JSON. */
export interface JournalRow {
  readonly runId: string;
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly position: number;
  readonly entry: string;
}

/** A task without a result and its paid replies, oldest first. */
export interface UnfinishedTask {
  readonly taskId: TaskId;
  readonly epoch: number;
  readonly entries: readonly JournalEntry[];
  /** Position of the next reply. Damaged entries keep theirs. */
  readonly nextPosition: number;
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

/** Yields the tasks of a run that have paid replies but no result. Skips damaged entries. */
export function* unfinishedTasks(db: Db, runId: string): Generator<UnfinishedTask> {
  const select = db.prepare(
    `SELECT task_id AS taskId, epoch, json_group_array(entry ORDER BY position) AS entries,
       max(position) + 1 AS nextPosition
     FROM reply_journal WHERE run_id = ? GROUP BY task_id, epoch`,
  );
  for (const row of select.iterate(runId)) {
    const { entries, ...task } = row as Omit<UnfinishedTask, "entries"> & { readonly entries: string };
    yield { ...task, entries: (JSON.parse(entries) as string[]).flatMap(parseEntry) };
  }
}

function parseEntry(json: string): JournalEntry[] {
  const { data } = journalEntrySchema.safeParse(parseJsonOrNull(json));
  return data === undefined ? [] : [data];
}
