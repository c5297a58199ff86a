import type { Db } from "../connection/open-store.js";

/**
 * Replaces the rows of tables with those of another file, as they are at one moment: SQLite reads all tables in one
 * transaction. Runs outside of a transaction, and blocks the thread: 4 s of processor time for each GB.
 */
export function copyTables(db: Db, from: string, tables: readonly string[]): void {
  // SQLite protects the tables of its index from writes.
  db.unsafeMode(true);
  try {
    db.prepare("ATTACH ? AS source").run(from);
    db.transaction(() => {
      for (const table of tables) {
        db.exec(`DELETE FROM main.${table}; INSERT INTO main.${table} SELECT * FROM source.${table}`);
      }
    })();
    db.exec("DETACH source");
  } finally {
    db.unsafeMode(false);
  }
}
