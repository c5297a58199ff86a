import type { Db } from "../../store/connection/open-store.js";
import type { SearchCall } from "./search-pool.js";

/**
 * Enough for V8 to compile the search: the first fifty searches of a thread take two to three times as long as later
 * ones.
 */
const MAX_WARMUP_SEARCHES = 300;

interface Row {
  readonly subject: string;
  readonly sender: string;
}

const SQL = {
  mails: "SELECT max(position) FROM mail_order",
  read: "SELECT m.subject, m.sender FROM mail_order o JOIN mails m ON m.id = o.mail_id WHERE o.position = ?",
} as const;

/** Typical searches, for mails spread over the database: each by its subject, in its sender's mailbox. */
export function* warmupSearches(db: Db): Generator<SearchCall> {
  const mails = (db.prepare(SQL.mails).pluck().get() as number | null) ?? 0;
  const read = db.prepare(SQL.read);
  const calls = Math.min(MAX_WARMUP_SEARCHES, mails);
  for (let i = 0; i < calls; i++) {
    const row = read.get(1 + Math.floor((i * mails) / calls)) as Row | undefined;
    if (row === undefined || row.sender === "") continue;
    const { subject, sender } = row;
    const context = { inbox: sender, cutoff: null };
    yield { handlerKey: "email_search", args: { query: subject, limit: 10 }, context, config: {} };
  }
}
