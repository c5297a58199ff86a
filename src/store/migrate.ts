import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { UserError } from "../platform/errors.js";
import { programFile } from "../platform/installation.js";
import { nameText } from "../text/searchable-names.js";
import { bigramText } from "../text/tokenizer.js";
import { isBusy } from "./database-error.js";

const FOLDER = programFile("sql/");

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

/** Progress of a migration that rebuilds the index, which takes half as long as the import. */
export type IndexingListener = (done: number, total: number) => void;

let listener: IndexingListener = () => undefined;

/** One listener per process: any command may be the first to open the file with a new version. */
export function onMigrationIndexing(hear: IndexingListener): void {
  listener = hear;
}

/** Mails between two calls of the listener. */
const REPORT_EVERY = 1_000;

/**
 * Applies `sql/NNN_name.sql` in order, each in one transaction with its record, so that two processes may open a new
 * file at once. Rejects a file of a newer program, and one whose applied migrations differ from ours.
 */
export function migrate(db: Database.Database, path: string): void {
  const known = readMigrations();
  const current = db.pragma("user_version", { simple: true }) as number;
  if (current > known.length) {
    throw new UserError(
      "db_newer",
      `${path} was made by a newer version of art-e (its tables are at version ${current}, this program knows ${known.length}).`,
      "Update art-e, or name another file with --db.",
    );
  }
  // Before the migrations: on tables of another history they would fail with SQL errors.
  if (current > 0) checkHistory(db, path, known.slice(0, current));
  if (current === known.length) return;
  addFunctions(db, current === 0 ? 0 : (db.prepare("SELECT count(*) FROM mail_order").pluck().get() as number));
  for (const migration of known) {
    if (migration.number > current) apply(db, migration, path);
  }
}

/** SQL functions that migrations call. */
function addFunctions(db: Database.Database, mails: number): void {
  let hasReported = false;
  db.function("bigram_text", (subject: unknown, body: unknown) => {
    if (!hasReported) listener(0, mails);
    hasReported = true;
    return bigramText(subject as string, body as string);
  });
  db.function("name_text", (sender: unknown, recipients: unknown) =>
    nameText(sender as string, JSON.parse(recipients as string) as string[]),
  );
  db.function("indexed", (position: unknown) => {
    if ((position as number) % REPORT_EVERY === 0 || position === mails) listener(position as number, mails);
    return 1;
  });
}

function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}_\w+\.sql$/.test(file))
    .sort()
    .map((name, i) => {
      const sql = readFileSync(new URL(name, FOLDER), "utf8");
      if (Number(name.slice(0, 3)) !== i + 1) throw new Error(`sql/${name} is out of order: expected number ${i + 1}`);
      return { number: i + 1, name, sql, sha256: createHash("sha256").update(sql).digest("hex") };
    });
}

function apply(db: Database.Database, migration: Migration, path: string): void {
  const inTransaction = db.transaction(() => {
    // Another process may have migrated while this one waited for the write lock.
    if ((db.pragma("user_version", { simple: true }) as number) >= migration.number) return;
    db.exec(
      "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)",
    );
    db.exec(migration.sql);
    db.prepare("INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)").run(
      migration.number,
      migration.name,
      migration.sha256,
    );
    db.pragma(`user_version = ${migration.number}`);
  });
  try {
    inTransaction.immediate();
  } catch (cause) {
    if (!isBusy(cause) || migration.number === 1) throw cause;
    throw new UserError(
      "db_busy",
      `${path} was made by an earlier version of art-e, and cannot be brought to this one: another process is writing to it, or doing the same.`,
      "Wait until it has finished, then try again.",
      1,
      { cause },
    );
  }
}

function checkHistory(db: Database.Database, path: string, known: readonly Migration[]): void {
  const rows = db.prepare("SELECT number, sha256 FROM migrations ORDER BY number").all() as {
    number: number;
    sha256: string;
  }[];
  const changed = known.find((migration, i) => rows[i]?.sha256 !== migration.sha256);
  if (changed) {
    throw new UserError(
      "db_other_history",
      `${path} was made with another text of sql/${changed.name} than this program has.`,
      "Import the mail into a new file (--db), or use the version of art-e that made this one.",
    );
  }
}
