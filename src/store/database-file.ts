import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import type BetterSqlite3 from "better-sqlite3";
import { isReserved, reserveFile } from "../platform/reserved-files.js";
import { Database } from "./sqlite.js";

/**
 * The database file as a file: every connection to it is opened here, and nothing else in the program opens it.
 *
 * SQLite locks the file with POSIX locks. The kernel drops all locks that a process has on a file when the process
 * closes any descriptor of that file, in any thread, even one that `fs.openSync` opened a moment before. An SQLite of
 * another program then sees no lock, takes itself for the last connection, and on closing deletes the `-wal` file that
 * this process is still writing to: whatever is written from then on is lost.
 * https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 *
 * Therefore:
 * - What can be asked of SQLite is asked of SQLite: the page count, the schema version, whether it is a database.
 * - `stat` opens nothing and is safe.
 * - Only `hasSqliteHeader` and `connectToCopy` read it through `fs`, and only if this process does not have it open.
 * - A file that the user names is checked with `refuseReserved` before it is read.
 */

export type Db = BetterSqlite3.Database;

/** Files that SQLite keeps next to the database. A process holds locks on `-shm` as well. */
const SIDE_FILES = ["-wal", "-shm", "-journal"];

/** Opens a connection, and reserves the file while it is open. */
export function connect(path: string, options: BetterSqlite3.Options): Db {
  const db = new Database(path, options);
  if (!db.memory) reserveFile(path, SIDE_FILES, () => db.open);
  return db;
}

/**
 * Opens a database in a folder without write permission. In WAL mode SQLite would create a `-shm` file even to read, so
 * the file is copied into memory. With all changes in the main file, its header may say that there is no WAL.
 * @throws `unreadable` if the WAL has changes, or if a connection, in this process or another, has the file open: there
 *   is a `-shm` file then
 */
export function connectToCopy(path: string, unreadable: unknown): Db {
  if ((statsOf(`${path}-wal`)?.size ?? 0n) > 0n || statsOf(`${path}-shm`) !== undefined) throw unreadable;
  const file = openSync(path, "r");
  try {
    // In parts, because one read returns at most 2 GB.
    const bytes = Buffer.allocUnsafe(fstatSync(file).size);
    let read = 0;
    while (read < bytes.length) {
      const more = readSync(file, bytes, read, Math.min(bytes.length - read, 1 << 30), read);
      if (more === 0) throw unreadable;
      read += more;
    }
    bytes.fill(1, 18, 20);
    return new Database(bytes, { readonly: true });
  } finally {
    closeSync(file);
  }
}

const SQLITE_MAGIC = "SQLite format 3\0";

/**
 * Whether the file begins like a database. An empty file does too, as SQLite creates it before the first write. Null if
 * this process has the file open, so that it must not be read.
 */
export function hasSqliteHeader(path: string): boolean | null {
  if (isReserved(path)) return null;
  if (statSync(path).size === 0) return true;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(SQLITE_MAGIC.length);
    readSync(file, bytes, 0, bytes.length, 0);
    return bytes.toString("latin1") === SQLITE_MAGIC;
  } finally {
    closeSync(file);
  }
}

/** What can happen to a database file while it is open. Completes the sentence "the file was ...". */
export type FileFault = "deleted" | "replaced" | "truncated" | "separated from its -wal file";

interface Identity {
  readonly ino: bigint;
  readonly dev: bigint;
}

/**
 * Checks that the paths of an open database still name the files that SQLite writes to. SQLite itself does not check:
 * it continues to write to a deleted file without an error.
 */
export class FileWatch {
  private readonly file: Identity;
  /** Null until SQLite has created it. It then stays while a connection is open. */
  private wal: Identity | null;
  private largest: bigint;
  private schemaVersion: unknown;

  constructor(
    private readonly db: Db,
    private readonly path: string,
  ) {
    const stats = statSync(path, { bigint: true });
    this.file = stats;
    this.largest = stats.size;
    this.wal = statsOf(`${path}-wal`) ?? null;
    this.schemaVersion = db.pragma("schema_version", { simple: true });
  }

  /** Costs two `stat` calls. */
  check(): FileFault | null {
    const now = statsOf(this.path);
    if (now === undefined) return "deleted";
    if (!isSame(now, this.file)) return "replaced";
    if (now.size < this.largest && this.isTruncated(now.size)) return "truncated";
    if (now.size > this.largest) this.largest = now.size;
    const wal = statsOf(`${this.path}-wal`);
    if (this.wal !== null && (wal === undefined || !isSame(wal, this.wal))) return "separated from its -wal file";
    this.wal ??= wal ?? null;
    return null;
  }

  /**
   * The only legitimate way to shrink the file is VACUUM, which increments the schema version:
   * https://sqlite.org/pragma.html#pragma_schema_version
   */
  private isTruncated(size: bigint): boolean {
    try {
      const version = this.db.pragma("schema_version", { simple: true });
      if (version === this.schemaVersion || size < this.smallest()) return true;
      this.schemaVersion = version;
      this.largest = size;
      return false;
    } catch {
      return true;
    }
  }

  /** The size in bytes below which the file lacks pages: a page is in the file or in a frame of the WAL. */
  private smallest(): bigint {
    const pages = this.db.pragma("page_count", { simple: true }) as number;
    const pageSize = this.db.pragma("page_size", { simple: true }) as number;
    const walBytes = Number(statsOf(`${this.path}-wal`)?.size ?? 0n);
    return BigInt(Math.max(1, pages - Math.floor(walBytes / pageSize))) * BigInt(pageSize);
  }
}

function statsOf(path: string) {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function isSame(a: Identity, b: Identity): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}
