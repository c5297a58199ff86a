// Opens, checks and migrates a database file.
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { databaseHint, isBusy } from "./database-error.js";
import { connect, connectToCopy, type Db, hasSqliteHeader } from "./database-file.js";
import { migrate } from "./open-store/migrate.js";
import { Database } from "./sqlite.js";

/**
 * Runs all reads of one event loop tick in one transaction. A concurrent writer invalidates SQLite's page cache once
 * per transaction, so a transaction per tick saves most of that. Longer transactions bring nothing and block
 * checkpoints, which wait for readers.
 *
 * Only for read-only connections: on others a write would not be committed until the end of the tick.
 */
export function withTickTransaction(db: Db): <T>(read: () => T) => T {
  if (!db.readonly) return (read) => read();
  const begin = db.prepare("BEGIN");
  const commit = db.prepare("COMMIT");
  const end = () => {
    if (!db.open || !db.inTransaction) return;
    try {
      commit.run();
    } catch {
      // A damaged file. Nothing was written and the next read reports it; no caller would receive an error from
      // here.
      if (db.inTransaction) db.exec("ROLLBACK");
    }
  };
  return (read) => {
    if (!db.inTransaction) {
      begin.run();
      setImmediate(end);
    }
    return read();
  };
}

/** Opens the database, which must exist, while `use` runs. */
export async function withStore<T>({ db: path }: AppSettings, use: (db: Db) => T | Promise<T>): Promise<T> {
  const db = openStore(path, { mustExist: true });
  try {
    return await use(db);
  } finally {
    db.close();
  }
}

export type { Db };

/** "arte" in ASCII. Marks a SQLite file as created by art-e (PRAGMA application_id). */
const APPLICATION_ID = 0x61727465;

const BUSY_MS = 10_000;

/**
 * Opens the database, creates it unless `mustExist`, and migrates it. With WAL, readers do not wait for a writer. A
 * second writer waits up to 10 s. An unwritable file is opened read-only, and the first write fails.
 */
export function openStore(path: string, options: { mustExist: boolean }): Db {
  checkDatabaseFile(path, options.mustExist);
  const pragmas = ["journal_mode = WAL", "synchronous = FULL", "mmap_size = 2147483648"];
  return openDatabaseFile(path, path, pragmas, existsSync(path));
}

/**
 * Opens a read-only connection, for example in a search thread, to a file that `openStore` has opened. Over 200,000
 * emails, doubling the cache size made searches no faster, and halving it made them 2% slower.
 */
export function openReadOnly(path: string): Db {
  let db = connect(path, { readonly: true, timeout: BUSY_MS });
  try {
    db.pragma("user_version");
  } catch (error) {
    db.close();
    if (!isUnwritable(error)) throw error;
    db = connectToCopy(path, error);
  }
  db.pragma("cache_size = -8192");
  return db;
}

/**
 * Returns whether a write failed because the file is unwritable, including a file that `openStore` opened read-only.
 */
export function isUnwritable(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(READONLY|CANTOPEN)/.test(error.code);
}

/** Opens the file read-only while `use` runs. */
export function withReadOnly<T>(path: string, use: (db: Db) => T): T {
  const db = openReadOnly(path);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/**
 * Limits the page cache of a connection that reads each page of a large file once, like an export, or that lives as
 * long as a run and reads little. Mapped pages of a file of gigabytes would count as this process's memory.
 */
export function limitPageCache(db: Db): void {
  db.pragma("mmap_size = 0");
  db.pragma("cache_size = -4096");
}

/** Disables checkpoints on a connection, if a result writer thread next to it does them. */
export function deferCheckpoints(db: Db): void {
  db.pragma("wal_autocheckpoint = 0");
}

/**
 * Opens and migrates `file`. Errors call it `path`, the user's name for it. If two processes switch a file to WAL at
 * the same moment, SQLite reports "locked" immediately despite the busy timeout, so the opening is retried.
 * @param canBeReadOnly whether an unwritable file is opened read-only
 */
export function openDatabaseFile(file: string, path: string, pragmas: readonly string[], canBeReadOnly = false): Db {
  const giveUpAt = performance.now() + BUSY_MS;
  const writing = [...pragmas, "foreign_keys = ON", "cache_size = -65536"];
  let isReadOnly = false;
  for (;;) {
    try {
      return isReadOnly
        ? prepared(openReadOnly(file), path, [])
        : prepared(connect(file, { timeout: BUSY_MS }), path, writing);
    } catch (error) {
      if (error instanceof UserError) throw error;
      if (isBusy(error) && performance.now() < giveUpAt) sleepSync(5 + Math.random() * 20);
      else if (isUnwritable(error) && canBeReadOnly && !isReadOnly) isReadOnly = true;
      else throw unusable(path, error as Error);
    }
  }
}

/** Checks and migrates the file of a new connection, and closes the connection if that fails. */
function prepared(db: Db, path: string, pragmas: readonly string[]): Db {
  try {
    checkApplicationId(db, path);
    for (const pragma of pragmas) db.pragma(pragma);
    migrate(db, path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Blocks the thread, because opening is synchronous, like all of better-sqlite3. */
export function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function unusable(path: string, cause: Error): UserError {
  // SQLite reports the same if only the header of a database is damaged. The file's first bytes distinguish the two.
  if (isNotDatabase(cause) && hasSqliteHeader(path) === false) return notOurs(path, "it is not a SQLite file");
  return new UserError(
    "db_unusable",
    `Cannot open the database ${path}: ${cause.message}`,
    databaseHint(cause) ?? "Make the file and its folder writable, or pass another file with --db.",
    1,
    { cause },
  );
}

function isNotDatabase(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === "SQLITE_NOTADB";
}

export function checkDatabaseFile(path: string, mustExist: boolean): void {
  if (!existsSync(path)) {
    if (mustExist) {
      throw new UserError(
        "db_missing",
        `Cannot open the database ${path}: the file does not exist.`,
        `Import mail first (${commandLine`art-e import SOURCE`}), or pass the file with --db.`,
      );
    }
    if (!existsSync(dirname(path))) {
      throw new UserError(
        "db_folder_missing",
        `Cannot create ${path}: the folder ${dirname(path)} does not exist.`,
        "Create the folder, or pass another file with --db.",
      );
    }
    return;
  }
  if (!statSync(path).isFile()) {
    throw new UserError("db_not_a_file", `Cannot open ${path}: it is not a file.`, "Pass a database file with --db.");
  }
}

/** Returns the names of tables and views that the file lacks, although its migrations create them. */
export function missingFromSchema(db: Db): string[] {
  const names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name";
  const whole = new Database(":memory:");
  try {
    migrate(whole, ":memory:");
    const present = new Set(db.prepare(names).pluck().all());
    return (whole.prepare(names).pluck().all() as string[]).filter((name) => !present.has(name));
  } finally {
    whole.close();
  }
}

function checkApplicationId(db: Db, path: string): void {
  // Count tables first: a process that creates this file concurrently sets the id before it adds tables.
  const tables = db.prepare("SELECT count(*) FROM sqlite_master").pluck().get() as number;
  const id = db.pragma("application_id", { simple: true });
  if (id === APPLICATION_ID) return;
  if (id !== 0 || tables > 0) throw notOurs(path, "it is the database of another program");
  db.pragma(`application_id = ${APPLICATION_ID}`);
}

function notOurs(path: string, why: string): UserError {
  return new UserError(
    "db_not_ours",
    `Cannot use ${path}: ${why}.`,
    "Pass another file with --db. art-e creates it if it does not exist.",
  );
}

/** Returns the version of the SQLite library inside better-sqlite3. */
export function sqliteVersion(): string {
  const db = new Database(":memory:");
  try {
    return db.prepare("SELECT sqlite_version()").pluck().get() as string;
  } finally {
    db.close();
  }
}
