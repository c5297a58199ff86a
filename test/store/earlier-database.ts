import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FiledEmail } from "../../src/mail/email.js";
import { Database } from "../../src/store/sqlite.js";
import { openCorpus } from "../mail/small-corpus.js";

/** Creates a file like the version before a migration, with the tables and the index of that time. */

const SQL = join(import.meta.dirname, "../../sql");
const TABLES = ["imports", "mails", "owners", "messages", "filings", "addresses", "mail_order", "corpus_state"];

/** Columns that later versions have replaced, derived from their present tables. */
const REPLACED_COLUMNS: Readonly<Record<string, string>> = {
  older_from: "NULL",
  parties: `(SELECT group_concat('in' || address_id || iif(is_sender, ' from' || address_id, '') ||
                                 iif(is_recipient, ' to' || address_id, ''), ' ')
             FROM mailboxes WHERE mailboxes.position = mail_order.position)`,
};

export function writeEarlierFile(path: string, mails: readonly FiledEmail[], before = "unicode_words"): void {
  const now = openCorpus(mails);
  const db = new Database(path);
  // Program functions that migrations call even without mail.
  for (const name of ["bigram_text", "name_text", "indexed"]) db.function(name, { varargs: true }, () => null);
  db.pragma("application_id = 0x61727465");
  db.exec(
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)",
  );
  const names = readdirSync(SQL).sort();
  for (const name of names.slice(
    0,
    names.findIndex((file) => file.endsWith(`_${before}.sql`)),
  )) {
    const sql = readFileSync(join(SQL, name), "utf8");
    db.exec(sql);
    const sha256 = createHash("sha256").update(sql).digest("hex");
    const number = Number(name.slice(0, 3));
    db.prepare("INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)").run(number, name, sha256);
    db.pragma(`user_version = ${number}`);
  }
  for (const table of TABLES) {
    // Later versions have added columns.
    const names = db.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[];
    const columns = names.map((name) => REPLACED_COLUMNS[name] ?? name).join(", ");
    const rows = now.prepare(`SELECT ${columns} FROM ${table}`).raw().all() as unknown[][];
    for (const row of rows) db.prepare(`INSERT INTO ${table} VALUES (${row.map(() => "?").join(", ")})`).run(...row);
  }
  db.exec("INSERT INTO emails_fts (emails_fts) VALUES ('rebuild')");
  db.close();
  now.close();
}
