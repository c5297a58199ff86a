// Copies the mail of a database into a new one, without its runs, for queue workers.
import { untilAborted } from "../../platform/deadline.js";
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import { openDatabaseFile } from "../../store/open-store.js";
import { copyTables, FTS_TABLES, ftsStorageTables } from "./corpus-index.js";

/** The tables of the mail and its index. All other tables (runs, chats, agents, labels) are left out. */
const MAIL_TABLES = [
  "imports",
  "mails",
  "mail_names",
  "address_names",
  "owners",
  "deliveries",
  "messages",
  "filings",
  "addresses",
  "mail_order",
  "mail_columns",
  "mail_bigrams",
  "mail_references",
  "mail_threads",
  "mailboxes",
  "corpus_state",
  // The index is copied, because rebuilding it takes as long as an import.
  ...FTS_TABLES.flatMap(ftsStorageTables),
];

export interface MailCopy {
  readonly from: string;
  /** Path of a file that does not exist yet. */
  readonly to: string;
}

/**
 * Copies a consistent snapshot of a database's mail into a new database. SQLite's backup would also copy the runs.
 * Blocks the thread.
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

/** Runs `copyMail` on a thread, which is terminated if the signal aborts. */
export async function copyMailOnThread(copy: MailCopy, signal: AbortSignal): Promise<void> {
  const file = builtFile("mail/import/corpus-copy-thread.js");
  const thread = new WorkerRpc<MailCopy, null>(file, { data: null, youngGenerationMb: 8 });
  await untilAborted(signal, () => thread.call(copy)).finally(() => thread.close());
}
