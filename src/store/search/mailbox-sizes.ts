import type { Db } from "../connection/open-store.js";
import type { AddressCount } from "../import/owners.js";
import { PARTY } from "./address-book.js";

const FTS_TABLES = ["emails_fts", "emails_fts_older"] as const;

/** How many mails are in the inbox of an address, by its id. */
export function openMailCount(db: Db): (inboxId: number) => number {
  const counts = FTS_TABLES.map((table) => db.prepare(`SELECT count(*) FROM ${table} WHERE ${table} MATCH ?`).pluck());
  return (inboxId) => counts.reduce((sum, count) => sum + (count.get(`parties : ${PARTY.in(inboxId)}`) as number), 0);
}

/** The addresses with most mail in their inboxes, whether imported as mailboxes or not. Reads only the index. */
export function largestInboxes(db: Db, limit: number): AddressCount[] {
  for (const table of FTS_TABLES) {
    // The terms of an index, with the number of mails that hold each. Temporary, as the file may be read-only.
    db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.${table}_terms USING fts5vocab('main', '${table}', 'col')`);
  }
  const inboxes = FTS_TABLES.map(
    (table) =>
      `SELECT CAST(substr(term, 3) AS INTEGER) AS id, doc FROM temp.${table}_terms
       WHERE term >= 'in0' AND term < 'in:' AND col = 'parties'`,
  );
  return db
    .prepare(
      `SELECT a.address, sum(doc) AS mails FROM (${inboxes.join(" UNION ALL ")}) JOIN addresses a USING (id)
       GROUP BY id ORDER BY mails DESC, address LIMIT ?`,
    )
    .all(limit) as AddressCount[];
}
