import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { UserError } from "../platform/errors.js";
import { programFile } from "../platform/program-files.js";
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

/** Receives the progress of a migration that rebuilds the index, which takes half as long as the import. */
type IndexingListener = (done: number, total: number) => void;

let listener: IndexingListener = () => undefined;

/** Sets the process's only listener. Any command can be the first to open the file with a new version. */
export function onMigrationIndexing(hear: IndexingListener): void {
  listener = hear;
}

/** Number of emails between two calls of the listener. */
const REPORT_EVERY = 1_000;

/**
 * Applies `sql/NNN_name.sql` in order, each in one transaction with its record, so that two processes can open a new
 * file at the same time.
 * @throws UserError if the file is from a newer program, or if its applied migrations differ from the program's
 */
export function migrate(db: Database.Database, path: string): void {
  const migrations = readMigrations();
  const current = db.pragma("user_version", { simple: true }) as number;
  if (current > migrations.length) {
    throw new UserError(
      "db_newer",
      `Cannot open ${path}: a newer version of art-e created it (schema version ${current}, this program supports up to ${migrations.length}).`,
      "Update art-e, or pass another file with --db.",
    );
  }
  // Checked before the migrations, which would fail with SQL errors on tables with another history.
  if (current > 0) checkHistory(db, path, migrations.slice(0, current));
  if (current === migrations.length) return;
  addFunctions(db, current === 0 ? 0 : (db.prepare("SELECT count(*) FROM mail_order").pluck().get() as number));
  for (const migration of migrations) {
    if (migration.number > current) apply(db, migration, path);
  }
}

/** Adds the SQL functions that migrations call. */
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
    // Another process might have migrated while this one waited for the write lock.
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
      `Cannot update ${path} from an earlier version of art-e: another process is writing to it or updating it.`,
      "Wait until the other process has finished, then try again.",
      1,
      { cause },
    );
  }
}

function checkHistory(db: Database.Database, path: string, migrations: readonly Migration[]): void {
  const rows = db.prepare("SELECT number, sha256 FROM migrations ORDER BY number").all() as {
    number: number;
    sha256: string;
  }[];
  const changed = migrations.find((migration, i) => rows[i]?.sha256 !== migration.sha256);
  if (changed) {
    throw new UserError(
      "db_other_history",
      `Cannot open ${path}: it was created with a version of sql/${changed.name} that differs from this program's.`,
      "Import the mail into a new file (--db), or use the version of art-e that created this file.",
    );
  }
}
