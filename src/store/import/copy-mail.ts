import { WorkerRpc } from "../../platform/worker-rpc.js";
import { type Db, openDatabaseFile } from "../connection/open-store.js";
import { copyTables } from "./copy-tables.js";
import { ftsStorageTables } from "./corpus-index.js";

/** The mail and its index. Everything else in the file (runs, chats, agents, labels) is left out. */
const MAIL_TABLES = [
  "imports",
  "mails",
  "owners",
  "messages",
  "filings",
  "addresses",
  "mail_order",
  "mail_bigrams",
  "corpus_state",
  // The index as it is: building it anew takes as long as an import.
  ...ftsStorageTables("emails_fts"),
  ...ftsStorageTables("emails_fts_older"),
];

export interface MailCopy {
  readonly from: string;
  /** A file that does not exist. */
  readonly to: string;
}

/**
 * Copies the mail of a database into a new one, as it is at one moment. SQLite's backup would copy the runs too. Blocks
 * the thread.
 */
export function copyMail({ from, to }: MailCopy): void {
  const db = openDatabaseFile(to, to, ["journal_mode = OFF", "synchronous = OFF"]);
  try {
    db.pragma("foreign_keys = OFF");
    copyTables(db, from, MAIL_TABLES);
  } finally {
    db.close();
  }
}

/** The same on a thread, which ends when the signal aborts. */
export async function copyMailOnThread(copy: MailCopy, signal: AbortSignal): Promise<void> {
  const file = new URL("./copy-mail-thread.js", import.meta.url);
  const thread = new WorkerRpc<MailCopy, null>(file, { data: null, youngGenerationMb: 8 });
  const close = () => thread.close();
  signal.addEventListener("abort", close);
  try {
    signal.throwIfAborted();
    await thread.call(copy);
  } finally {
    signal.removeEventListener("abort", close);
    await close();
  }
}

/** What tells a database of this program's tables from any other: the SQL of every table, index, view and trigger. */
export function readSchema(db: Db): string {
  const rows = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").all();
  return JSON.stringify(rows);
}
