import { workerData } from "node:worker_threads";
import { serveCalls } from "../../platform/worker-rpc.js";
import { Database } from "../../store/sqlite.js";
import { type FtsTable, type IndexBuilder, openIndexBuilder } from "./corpus-index.js";

/** The thread of `buildIndexOnThreads`: builds one index in a file of its own. */

export interface IndexThreadData {
  readonly file: string;
  readonly mails: string;
  readonly table: FtsTable;
  readonly schema: string;
}

/** Positions to index next; null: none are left, so that the index is finished and the file closed. */
export type IndexThreadCall = { readonly first: number; readonly last: number } | null;

const { file, mails, table, schema } = workerData as IndexThreadData;
let index: IndexBuilder | null = null;

// Opened by the first call: what fails there reaches the caller as an error with a code.
serveCalls((call: IndexThreadCall) => {
  index ??= openIndexFile();
  if (call === null) index.finish();
  else index.add(call.first, call.last);
  return null;
});

function openIndexFile(): IndexBuilder {
  const db = new Database(file);
  // If this thread fails or the process is killed, the file is deleted. (better-sqlite3 does not allow the mode OFF.)
  for (const pragma of ["journal_mode = MEMORY", "synchronous = OFF", "cache_size = -65536"]) db.pragma(pragma);
  db.prepare("ATTACH ? AS source").run(mails);
  db.exec("BEGIN");
  db.exec(schema);
  const { add, finish } = openIndexBuilder(db, table, "source.indexed_mails");
  return {
    add,
    finish() {
      finish();
      db.exec("COMMIT");
      db.close();
    },
  };
}
