import type Database from "better-sqlite3";

/** The two searches of today's systems, over the tables of `naive-import.ts`. */
export function openNaiveSearch(db: Database.Database) {
  // All words, newest first, the inbox by its recipients (ART).
  const newest = db.prepare(
    `SELECT e.message_id, snippet(emails_fts, -1, '<b>', '</b>', ' ... ', 15) AS snippet
     FROM emails e JOIN emails_fts ON e.id = emails_fts.rowid
     WHERE emails_fts MATCH ? AND (e.sender = ? OR EXISTS (SELECT 1 FROM recipients r WHERE r.address = ? AND r.email_id = e.id))
     ORDER BY e.date DESC LIMIT 10`,
  );
  // Best match, one inbox per mail (iofold).
  const best = db.prepare(
    `SELECT e.message_id, e.subject, e.sender, e.date,
            snippet(emails_fts, 0, '', '', '...', 10) AS s, snippet(emails_fts, 1, '', '', '...', 32) AS b
     FROM emails_fts JOIN emails e ON e.id = emails_fts.rowid
     WHERE emails_fts MATCH ? AND e.inbox = ? ORDER BY rank LIMIT 10`,
  );
  const get = db.prepare("SELECT * FROM emails WHERE message_id = ?");
  const quoted = (words: readonly string[], joined: string) => words.map((word) => `"${word}"`).join(joined);
  return {
    newest: (words: readonly string[], address: string) => newest.all(quoted(words, " "), address, address),
    best: (words: readonly string[], folder: string) => best.all(quoted(words, " "), folder),
    any: (words: readonly string[], folder: string) => best.all(quoted(words, " OR "), folder),
    get: (messageId: string) => get.get(messageId),
  };
}
