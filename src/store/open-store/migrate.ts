// Applies the migrations in `sql/`.
import { readdirSync, readFileSync } from "node:fs";
import type Database from "better-sqlite3";
import { UserError } from "../../platform/errors.js";
import { programFile } from "../../platform/program-files.js";
import { sha256Of } from "../../platform/sha256.js";
import { isBusy } from "../database-error.js";

const FOLDER = programFile("sql/");

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

/**
 * Applies `sql/NNN_name.sql` in order, each in one transaction with its record, so that two processes can open a new
 * file at the same time.
 * @throws UserError if the file is from a newer program, or if its applied migrations differ from the program's
 */
export function migrate(db: Database.Database, path: string): void {
  const migrations = readMigrations();
  const current = db.pragma("user_version", { simple: true }) as number;
  if (current > 0) checkHistory(db, path, migrations.slice(0, current));
  if (current > migrations.length) {
    throw new UserError(
      "db_newer",
      `Cannot open ${path}: a newer version of art-e created it (schema version ${current}, this program supports up to ${migrations.length}).`,
      "Update art-e, or pass another file with --db.",
    );
  }
  for (const migration of migrations) {
    if (migration.number > current) apply(db, migration, path);
  }
}

function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => /^\d{3}_\w+\.sql$/.test(file))
    .sort()
    .map((name, i) => {
      const sql = readFileSync(new URL(name, FOLDER), "utf8");
      if (Number(name.slice(0, 3)) !== i + 1) throw new Error(`sql/${name} is out of order: expected number ${i + 1}`);
      return { number: i + 1, name, sql, sha256: sha256Of(sql) };
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

/** Compares the applied migrations, because the files change until art-e is released. */
function checkHistory(db: Database.Database, path: string, migrations: readonly Migration[]): void {
  const applied = db.prepare("SELECT sha256 FROM migrations ORDER BY number").pluck().all();
  const changed = migrations.find(({ sha256 }, i) => applied[i] !== sha256);
  if (changed === undefined) return;
  throw new UserError(
    "db_other_history",
    `Cannot open ${path}: an unreleased version of art-e created it, with another sql/${changed.name}.`,
    "Import the mail again into a new file (--db PATH), or use the version of art-e that created this file.",
  );
}
