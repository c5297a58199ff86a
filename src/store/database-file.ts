// The file of an open database: connects to it, and notices if it is deleted, replaced or truncated.
import { closeSync, fstatSync, openSync, readSync, rmSync, statSync } from "node:fs";
import type BetterSqlite3 from "better-sqlite3";
import { UserError } from "../platform/errors.js";
import { isReserved, isReservedFileReplaced, reserveFile } from "../platform/reserved-files.js";
import { Database } from "./sqlite.js";

/**
 * The only place that opens the database file, for SQLite connections and for direct reads.
 *
 * SQLite locks the file with POSIX locks. The kernel drops all locks of a process on a file when the process closes any
 * descriptor of that file, in any thread, even one that `fs.openSync` has just opened. An SQLite in another program
 * then sees no lock, assumes that it is the last connection, and on closing deletes the `-wal` file that this process
 * still writes to. All later writes are lost.
 * https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 *
 * Therefore:
 * - Whatever SQLite can answer is read through SQLite: the page count, the schema version, whether it is a database.
 * - `stat` opens no descriptor and is safe.
 * - Only `hasSqliteHeader` and `connectToCopy` read the file through `fs`, and only if this process does not have it
 *   open.
 * - `refuseReserved` checks every file from the user before it is read.
 */

export type Db = BetterSqlite3.Database;

/** Faults of a database file while it is open. Each completes the sentence "the file was ...". */
export type FileFault = "deleted" | "replaced" | "truncated" | "separated from its -wal file";

interface Identity {
  readonly ino: bigint;
  readonly dev: bigint;
}

/** Files that SQLite keeps next to the database. A process also holds locks on `-shm`. */
const SIDE_FILES = ["-wal", "-shm", "-journal"];

/**
 * Opens a connection and reserves the file while it is open.
 *
 * @throws UserError if this process has the file open that the path led to before. Both would use the same `-shm` file,
 * which the new connection would truncate: it sees no lock, because POSIX locks do not exclude the process that holds
 * them. A thread that reads the file's mapped memory at that moment crashes the process.
 */
export function connect(path: string, options: BetterSqlite3.Options): Db {
  if (isReservedFileReplaced(path)) {
    throw new UserError(
      "db_replaced",
      `Cannot open the database ${path}: the file was deleted or replaced while this program had it open.`,
      "Start the program again to use the new file.",
      1,
    );
  }
  const db = new Database(path, options);
  if (!db.memory) reserveFile(path, SIDE_FILES, () => db.open);
  return db;
}

/** Deletes a database with the files next to it. */
export function removeDatabase(path: string): void {
  for (const ending of ["", ...SIDE_FILES]) rmSync(`${path}${ending}`, { force: true });
}

/**
 * Opens a database in a read-only folder. In WAL mode SQLite would create a `-shm` file even to read, so the file is
 * copied into memory. If all changes are in the main file, the copy's header can be set to say that there is no WAL.
 * @throws `unreadable` if the WAL contains changes, or if a connection in this or another process has the file open,
 * which the `-shm` file shows
 */
export function connectToCopy(path: string, unreadable: unknown): Db {
  if ((statsOf(`${path}-wal`)?.size ?? 0n) > 0n || statsOf(`${path}-shm`) !== undefined) throw unreadable;
  const file = openSync(path, "r");
  try {
    // Read in parts, because one read returns at most 2 GB.
    const bytes = Buffer.allocUnsafe(fstatSync(file).size);
    let read = 0;
    while (read < bytes.length) {
      const more = readSync(file, bytes, read, Math.min(bytes.length - read, 1 << 30), read);
      if (more === 0) throw unreadable;
      read += more;
    }
    bytes.fill(1, 18, 20);
    // SQLite names a database in memory ":memory:". Messages and threads need the file, and `name` cannot be redefined.
    return Object.create(new Database(bytes, { readonly: true }), { name: { value: path } }) as Db;
  } finally {
    closeSync(file);
  }
}

const SQLITE_MAGIC = "SQLite format 3\0";

/**
 * Returns whether the file starts like a database, or null if this process has the file open and must not read it. An
 * empty file counts as a database, because SQLite creates one before the first write.
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

/**
 * Checks that the paths of an open database still lead to the files that SQLite writes to. SQLite itself does not
 * check: it continues to write to a deleted file without an error.
 */
export class FileWatch {
  private readonly file: Identity;
  /** Null until SQLite creates the WAL, which then exists while a connection is open. */
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

  /** Returns the current fault, or null. Makes two `stat` calls. */
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

  /** Returns the size in bytes below which the file is missing pages. Each page is in the file or in a WAL frame. */
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
