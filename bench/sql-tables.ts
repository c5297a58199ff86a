import { existsSync, renameSync, rmSync } from "node:fs";
import type BetterSqlite3 from "better-sqlite3";
import { Database } from "../src/store/sqlite.js";
import { ART_INDEXES, ART_LIMITS, ART_TABLES } from "./art-import.js";
import { NAIVE_INDEXES, NAIVE_TABLES } from "./naive-import.js";

/**
 * The tables of other systems, filled from art-e's database: their searches run over the same mail without their
 * imports, which take minutes with 500,000 emails.
 */

/** ART: one row per distinct email, without long ones and those to many recipients. */
const ART_ROWS = `
  INSERT INTO emails (id, message_id, subject, from_address, date, body, file_name)
    SELECT m.id, min(x.message_id), m.subject, m.sender, m.date, m.body, x.path
    FROM source.mails m JOIN source.messages x ON x.mail_id = m.id
    WHERE length(m.body) <= ${ART_LIMITS.bodyChars} AND json_array_length(m.recipients) <= ${ART_LIMITS.recipients}
    GROUP BY m.id;
  INSERT INTO recipients
    SELECT m.id, r.value, CASE WHEN r.key < to_count THEN 'to' WHEN r.key < to_count + cc_count THEN 'cc' ELSE 'bcc' END
    FROM source.mails m JOIN json_each(m.recipients) r WHERE m.id IN (SELECT id FROM emails);
`;

/** iofold: one row per copy, in the mailbox of the folder that it was in. */
const NAIVE_ROWS = `
  INSERT INTO emails (message_id, inbox, subject, sender, recipients, date, body)
    SELECT x.message_id, coalesce(w.folder, ''), m.subject, m.sender, m.recipients, m.date, m.body
    FROM source.messages x JOIN source.mails m ON m.id = x.mail_id LEFT JOIN source.owners w ON w.id = x.owner_id;
  INSERT INTO recipients
    SELECT e.id, r.value FROM emails e JOIN json_each(e.recipients) r;
`;

export function fillArtTables(ours: string, path: string): void {
  fill(ours, path, [ART_TABLES, ART_ROWS, ART_INDEXES]);
}

export function fillNaiveTables(ours: string, path: string): void {
  fill(ours, path, [NAIVE_TABLES, NAIVE_ROWS, NAIVE_INDEXES]);
}

/** Creates a file once for a folder that is kept. */
function fill(ours: string, path: string, statements: readonly string[]): void {
  if (existsSync(path)) return;
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  const db: BetterSqlite3.Database = new Database(partial);
  db.pragma("journal_mode = OFF");
  db.pragma("synchronous = OFF");
  db.prepare("ATTACH ? AS source").run(ours);
  for (const sql of statements) db.exec(sql);
  db.exec("DETACH source");
  db.close();
  renameSync(partial, path);
}
