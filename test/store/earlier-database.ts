import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FiledEmail } from "../../src/mail/email.js";
import type { Db } from "../../src/store/open-store.js";
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
  const db = openAtMigration(path, before);
  copyTables(now, db, TABLES);
  db.exec("INSERT INTO emails_fts (emails_fts) VALUES ('rebuild')");
  db.close();
  now.close();
}

/** The names of the migrations, oldest first, such as `unicode_words`. */
export const MIGRATIONS = readdirSync(SQL)
  .sort()
  .map((name) => name.slice(4, -".sql".length));

/** Tables of agents, runs and labels, after the tables that they refer to. */
const RUN_TABLES = [
  "datasets",
  "art_e_tasks",
  "agents",
  "agent_versions",
  "tools",
  "agent_tools",
  "runs",
  "run_tasks",
  "traces",
  "results",
  "eval_labels",
];

/** Creates a file like the version before a migration, with the mail, runs and labels of a present file. */
export function writeEarlierCopy(path: string, present: string, before: string): void {
  if (MIGRATIONS.indexOf(before) >= MIGRATIONS.indexOf("names_and_spellings")) {
    undoMigrations(path, present, before);
    return;
  }
  const now = new Database(present, { readonly: true });
  const db = openAtMigration(path, before);
  db.pragma("foreign_keys = OFF");
  for (const table of ["agents", "tools", "agent_tools", "agent_versions"]) db.exec(`DELETE FROM ${table}`);
  const known = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  const tables = [...TABLES, ...RUN_TABLES].filter((table) => known.includes(table));
  copyTables(now, db, tables, RUN_COLUMNS);
  // The index is made again by a later migration.
  db.close();
  now.close();
}

/** What each of the newest migrations has added. Their index is the one of today. */
const UNDO: Readonly<Record<string, string>> = {
  names_and_spellings: "DROP TABLE mail_names",
  kinds: `UPDATE traces SET trace = json_remove(trace, '$.kind');
          UPDATE runs SET settings = json_remove(settings, '$.kind')`,
  reply_journal: "DROP TABLE reply_journal",
  error_analysis: `DROP TABLE coded_modes; DROP TABLE failure_modes; DROP TABLE coding_notes;
                   ALTER TABLE eval_labels DROP COLUMN basis`,
  label_probabilities: `ALTER TABLE eval_labels DROP COLUMN probability;
                        ALTER TABLE coding_notes DROP COLUMN probability`,
  eval_watches: `DROP TABLE eval_anchor_rounds; DROP TABLE eval_watches; DROP TABLE eval_anchors;
                 DROP TABLE eval_baselines`,
  owner_places: `DROP INDEX idx_owners_place; ALTER TABLE owners DROP COLUMN place`,
  repeated_notes: `DELETE FROM coding_notes WHERE is_repeat = 1;
                   ALTER TABLE coded_modes RENAME TO coded_modes_now;
                   ALTER TABLE coding_notes RENAME TO coding_notes_now;
                   CREATE TABLE coding_notes (
                     trace_id TEXT PRIMARY KEY REFERENCES traces(id) ON DELETE CASCADE, note TEXT, annotator TEXT,
                     drawn_from INTEGER, created_at TEXT NOT NULL,
                     probability REAL CHECK (probability > 0 AND probability <= 1)) WITHOUT ROWID;
                   CREATE TABLE coded_modes (
                     trace_id TEXT NOT NULL REFERENCES coding_notes(trace_id) ON DELETE CASCADE,
                     mode TEXT NOT NULL REFERENCES failure_modes(name) ON UPDATE CASCADE ON DELETE CASCADE,
                     PRIMARY KEY (trace_id, mode)) WITHOUT ROWID;
                   INSERT INTO coding_notes (trace_id, note, annotator, drawn_from, created_at, probability)
                   SELECT trace_id, note, annotator, drawn_from, created_at, probability FROM coding_notes_now;
                   INSERT INTO coded_modes SELECT trace_id, mode FROM coded_modes_now;
                   DROP TABLE coded_modes_now; DROP TABLE coding_notes_now;
                   CREATE INDEX idx_coded_modes_mode ON coded_modes(mode)`,
  label_sources: "DELETE FROM eval_labels WHERE source = 'import'",
};

function undoMigrations(path: string, present: string, before: string): void {
  copyFileSync(present, path);
  const db = new Database(path);
  const first = MIGRATIONS.indexOf(before);
  for (const name of MIGRATIONS.slice(first).reverse()) {
    const sql = UNDO[name];
    if (sql === undefined) throw new Error(`add what undoes the migration ${name}`);
    db.exec(sql);
  }
  db.prepare("DELETE FROM migrations WHERE number > ?").run(first);
  db.pragma(`user_version = ${first}`);
  db.close();
}

/** Columns of other tables that later versions have replaced. */
const RUN_COLUMNS: Readonly<Record<string, string>> = {
  "datasets.source": "(SELECT source FROM runs WHERE dataset_id = datasets.id LIMIT 1)",
  "datasets.revision": "(SELECT revision FROM runs WHERE dataset_id = datasets.id LIMIT 1)",
  "traces.trace": "json_remove(trace, '$.kind')",
  "runs.settings": "json_remove(settings, '$.kind')",
};

/** Creates a file with the tables of the version before a migration. */
function openAtMigration(path: string, before: string): Db {
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
  return db;
}

/** Copies rows. `replaced` has SQL for columns that later versions do not have, as `table.column`. */
function copyTables(
  from: Db,
  to: Db,
  tables: readonly string[],
  replaced: Readonly<Record<string, string>> = {},
): void {
  for (const table of tables) {
    // Later versions have added columns.
    const names = to.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[];
    const columns = names.map((name) => replaced[`${table}.${name}`] ?? REPLACED_COLUMNS[name] ?? name).join(", ");
    const rows = from.prepare(`SELECT ${columns} FROM ${table}`).raw().all() as unknown[][];
    for (const row of rows) to.prepare(`INSERT INTO ${table} VALUES (${row.map(() => "?").join(", ")})`).run(...row);
  }
}
