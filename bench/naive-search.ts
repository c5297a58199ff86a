import type Database from "better-sqlite3";

/** A hit's Message-ID, as returned by each of these searches. */
export interface SqlHit {
  readonly message_id: string;
}

const quoted = (words: readonly string[], joined: string) => words.map((word) => `"${word}"`).join(joined);

/** ART's search over the tables of `art-import.py`: all words, newest first, the mailbox by sender and recipients. */
export function openArtSearch(db: Database.Database) {
  const newest = db.prepare(
    `SELECT e.message_id, snippet(emails_fts, -1, '<b>', '</b>', ' ... ', 15) AS snippet
     FROM emails e JOIN emails_fts ON e.id = emails_fts.rowid
     WHERE emails_fts MATCH ? AND (e.from_address = ? OR EXISTS (SELECT 1 FROM recipients r WHERE r.recipient_address = ? AND r.email_id = e.id))
     ORDER BY e.date DESC LIMIT 10`,
  );
  return (words: readonly string[], address: string) => newest.all(quoted(words, " "), address, address) as SqlHit[];
}

/** iofold's search over the tables of `naive-import.ts`: best match, one mailbox per email. */
export function openNaiveSearch(db: Database.Database) {
  const best = (condition: string) =>
    db.prepare(
      `SELECT e.message_id, e.subject, e.sender, e.date,
              snippet(emails_fts, 0, '', '', '...', 10) AS s, snippet(emails_fts, 1, '', '', '...', 32) AS b
       FROM emails_fts JOIN emails e ON e.id = emails_fts.rowid
       WHERE emails_fts MATCH ? AND e.inbox = ? ${condition} ORDER BY rank LIMIT 10`,
    );
  const always = best("");
  const before = best("AND e.date < ?");
  const get = db.prepare("SELECT * FROM emails WHERE message_id = ?");
  return {
    best: (words: readonly string[], folder: string) => always.all(quoted(words, " "), folder) as SqlHit[],
    any: (words: readonly string[], folder: string) => always.all(quoted(words, " OR "), folder) as SqlHit[],
    anyBefore: (words: readonly string[], folder: string, day: string) =>
      before.all(quoted(words, " OR "), folder, day) as SqlHit[],
    get: (messageId: string) => get.all(messageId) as SqlHit[],
  };
}
