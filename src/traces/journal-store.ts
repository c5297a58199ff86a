// Reads the paid replies of unfinished tasks. The result writer stores and deletes them.
import { type JournalEntry, journalEntrySchema } from "../models/reply-journal.js";
import { parseJsonOrNull } from "../platform/json.js";
import type { Db } from "../store/open-store.js";
import type { TaskEpoch } from "../tasks/epoch-key.js";

/** A task without a result and its paid replies, oldest first. */
export interface UnfinishedTask extends TaskEpoch {
  readonly entries: readonly JournalEntry[];
  /** Position of the next reply. Damaged entries keep theirs. */
  readonly nextPosition: number;
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
