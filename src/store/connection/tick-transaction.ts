import type { Db } from "./open-store.js";

/**
 * Reads in one transaction with all else that is read in the same turn of the loop. Where another thread writes all the
 * time, each transaction finds that something has changed, and forgets every page that was read. (Longer than a turn is no
 * gain: who moves the log into the file waits for its readers.)
 *
 * On a connection that cannot write: on any other, what is written in a turn would wait for its end to be saved.
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
      // A damaged file: nothing was written, and whoever reads next is told. Here nobody would hear of it.
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
