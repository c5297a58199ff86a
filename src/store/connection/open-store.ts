import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { UserError } from "../../domain/errors.js";
import { databaseHint } from "./database-error.js";
import { migrate } from "./migrate.js";

export type Db = Database.Database;

/** "arte" in ASCII: marks a SQLite file as ours (PRAGMA application_id). */
const APPLICATION_ID = 0x61727465;

const SQLITE_MAGIC = "SQLite format 3\0";

/** How long a file that others hold is waited for. */
const BUSY_MS = 10_000;

/**
 * Opens the one file, makes it where it does not exist (unless `mustExist`), and brings it to this
 * version's tables. Readers are not disturbed by a writer (WAL). A second writer waits 10 s.
 */
export function openStore(path: string, options: { mustExist: boolean }): Db {
  checkDatabaseFile(path, options.mustExist);
  return openDatabaseFile(path, path, ["journal_mode = WAL", "synchronous = NORMAL", "mmap_size = 2147483648"]);
}

/**
 * A second connection to a file that `openStore` has opened, for another thread. There may be three of these: twice the
 * cache made searches over 200,000 mails no faster, half of it 2 % slower.
 */
export function openReadOnly(path: string): Db {
  const db = new Database(path, { readonly: true, timeout: BUSY_MS });
  db.pragma("cache_size = -8192");
  return db;
}

/**
 * For a connection that lives as long as a run and reads little: what it maps or keeps of a file that grows by gigabytes
 * would count as this process's memory.
 */
export function limitPageCache(db: Db): void {
  db.pragma("mmap_size = 0");
  db.pragma("cache_size = -4096");
}

/** For a connection beside another thread's that writes all the time: that one moves the log into the file as well. */
export function deferCheckpoints(db: Db): void {
  db.pragma("wal_autocheckpoint = 0");
}

/**
 * Opens `file` and brings it to this version's tables; errors name it by `path`, as the user knows it. SQLite waits for
 * others by itself, but not where two switch one file to WAL at the same moment: there it says "locked" at once.
 */
export function openDatabaseFile(file: string, path: string, pragmas: readonly string[]): Db {
  const giveUpAt = Date.now() + BUSY_MS;
  for (;;) {
    try {
      return openOnce(file, path, pragmas);
    } catch (error) {
      if (error instanceof UserError) throw error;
      if (isBusy(error) && Date.now() < giveUpAt) sleepSync(5 + Math.random() * 20);
      else throw unusable(path, error as Error);
    }
  }
}

function openOnce(file: string, path: string, pragmas: readonly string[]): Db {
  const db = new Database(file, { timeout: BUSY_MS });
  try {
    checkApplicationId(db, path);
    for (const pragma of pragmas) db.pragma(pragma);
    db.pragma("foreign_keys = ON");
    db.pragma("cache_size = -65536");
    migrate(db, path);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");
}

/** Blocks this thread: opening a file is synchronous, as all of SQLite is here. */
export function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function unusable(path: string, cause: Error): UserError {
  return new UserError(
    "db_unusable",
    `Cannot open the database ${path}: ${cause.message}`,
    databaseHint(cause) ?? "Check that the file and its folder can be written, or name another file with --db.",
    1,
    { cause },
  );
}

export function checkDatabaseFile(path: string, mustExist: boolean): void {
  if (!existsSync(path)) {
    if (mustExist) {
      throw new UserError(
        "db_missing",
        `There is no database at ${path}.`,
        "Import some mail first (art-e import SOURCE), or name the file with --db.",
      );
    }
    if (!existsSync(dirname(path))) {
      throw new UserError(
        "db_folder_missing",
        `There is no folder ${dirname(path)} to keep ${path} in.`,
        "Make it, or name another file with --db.",
      );
    }
    return;
  }
  if (!statSync(path).isFile()) {
    throw new UserError("db_not_a_file", `${path} is not a file.`, "Name a database file with --db.");
  }
  if (!isSqlite(path)) throw notOurs(path, "it is not a SQLite file");
}

/** Also where nothing has been written to it so far. */
export function isSqlite(path: string): boolean {
  return statSync(path).size === 0 || head(path) === SQLITE_MAGIC;
}

function head(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(SQLITE_MAGIC.length);
    readSync(file, bytes, 0, bytes.length, 0);
    return bytes.toString("latin1");
  } finally {
    closeSync(file);
  }
}

/** Refuses a SQLite file of another program rather than laying our tables into it. */
function checkApplicationId(db: Db, path: string): void {
  // Tables first: whoever makes this file at the same time marks it before laying tables into it.
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
    "Name another file with --db; a file that does not exist is made.",
  );
}
