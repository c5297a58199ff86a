import type { Db } from "./open-store.js";

/**
 * Runs all reads of one tick of the event loop in one transaction. A concurrent writer invalidates SQLite's page
 * cache per transaction, so one transaction serves a tick. Longer ones are no gain: a checkpoint waits for its
 * readers.
 *
 * Only on read-only connections; on others a write would be committed only at the end of the tick.
 */
export function withTickTransaction(db: Db): <T>(read: () => T) => T {
  if (!db.readonly) return (read) => read();
  const begin = db.prepare("BEGIN");
  const commit = db.prepare("COMMIT");
  const end = () => {
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // A damaged file. Nothing was written, and the next read reports it; an error thrown here would reach no caller.
      if (db.inTransaction) db.exec("ROLLBACK");
    }
  };
  return (read) => {
    if (!db.inTransaction) {
      begin.run();
      setImmediate(end);
    }
    return read();
  };
}
