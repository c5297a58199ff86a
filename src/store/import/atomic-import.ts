import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { UserError } from "../../domain/errors.js";
import {
  checkDatabaseFile,
  type Db,
  isSqlite,
  openDatabaseFile,
  openStore,
  sleepSync,
} from "../connection/open-store.js";

/** A file that mail is being imported into. One of the two ends is called. */
export interface AtomicImport {
  readonly db: Db;
  /** Makes what was imported lasting and seen by others. */
  finish(): void;
  abandon(): void;
}

/**
 * Two imports that begin at the same moment may both find the place taken by the other, and each give way: after a pause of
 * its own length one of them is first. So often they try.
 */
const MAX_TRIES = 5;

/**
 * Opens the file for an import. One that exists is written to in place, in a transaction that its readers do not see. A new one
 * is made beside its place as `<path>.partial`, without a journal, since nothing in it is worth more than doing it
 * again, and put into its place when it is whole: that is twice as fast.
 */
export function openForImport(path: string): AtomicImport {
  for (let tries = 1; ; tries++) {
    if (existsSync(path)) return importInPlace(path);
    try {
      return importBeside(path);
    } catch (error) {
      const isTaken = error instanceof UserError && ["db_busy", "db_unusable"].includes(error.code);
      if (!isTaken || tries === MAX_TRIES) throw error;
      sleepSync(50 + Math.random() * 150);
    }
  }
}

function importInPlace(path: string): AtomicImport {
  const db = openStore(path, { mustExist: true });
  // An import reads and writes all of the file: mapped, it would count as memory.
  db.pragma("mmap_size = 0");
  return { db, finish: () => db.close(), abandon: () => db.close() };
}

function importBeside(path: string): AtomicImport {
  checkDatabaseFile(path, false);
  const partial = `${path}.partial`;
  removeLeftOver(partial, path);
  const db = openPartial(partial, path);
  return {
    db,
    finish() {
      try {
        // As it will be used, so that whoever opens it first has nothing to switch over; with it all that was written is synced.
        db.pragma("synchronous = FULL");
        db.pragma("journal_mode = WAL");
        publish(partial, path);
      } catch (error) {
        rmSync(partial, { force: true });
        throw error;
      } finally {
        // Not before: unlocked, another import would take it for a left-over.
        db.close();
      }
      syncFolder(dirname(path));
    },
    abandon() {
      db.close();
      rmSync(partial, { force: true });
    },
  };
}

/**
 * A file of our own, locked from here on. Of two imports that begin at the same moment one may take the other's file
 * for a left-over and remove it before it is locked; whoever's file has gone by then gives way.
 */
function openPartial(partial: string, path: string): Db {
  const made = createEmptyFile(partial, path);
  let db: Db | undefined;
  try {
    db = openDatabaseFile(partial, path, ["locking_mode = EXCLUSIVE", "journal_mode = OFF", "synchronous = OFF"]);
    if (inode(partial) === made) return db;
    db.close();
  } catch (error) {
    if (inode(partial) === made) {
      rmSync(partial, { force: true });
      throw error;
    }
  }
  throw busy(partial, path);
}

/** Makes an empty file and gives its inode. */
function createEmptyFile(partial: string, path: string): number {
  let file: number;
  try {
    file = openSync(partial, "wx");
  } catch (cause) {
    if (existsSync(partial)) throw busy(partial, path);
    throw new UserError(
      "db_unusable",
      `Cannot make the database ${path}: ${(cause as Error).message}`,
      "Check that its folder can be written, or name another file with --db.",
      1,
      { cause },
    );
  }
  try {
    return fstatSync(file).ino;
  } finally {
    // SQLite's locks are the process's: they would go with this descriptor, if it were closed later.
    closeSync(file);
  }
}

function inode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/**
 * What to tell the user of an import that failed: a disk that is full or broken, and a file that may not grow, are the
 * user's to mend. Any other error is given back as it is.
 */
export function importFailure(error: unknown, path: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!/^(SQLITE_FULL|SQLITE_IOERR|ENOSPC|EDQUOT|EFBIG|EIO)/.test(code)) return error;
  return new UserError(
    "db_unwritable",
    `Cannot write ${path}: ${(error as Error).message}.`,
    "Nothing was imported. See that the disk has room and works, or import into another file with --db.",
    1,
    { cause: error },
  );
}

/**
 * What a killed import left is removed; what a living one is making is not. It goes while it is locked: another import that
 * began at the same moment then finds its file gone before it has written any mail.
 */
function removeLeftOver(partial: string, path: string): void {
  if (!existsSync(partial)) return;
  if (!isSqlite(partial)) {
    throw new UserError(
      "db_not_ours",
      `Cannot import into ${path}: there is a file ${partial}, where the database is made, which no import has left.`,
      "Move it away, or import into another file with --db.",
    );
  }
  const db = new Database(partial, { timeout: 0 });
  try {
    lockLeftOver(db, partial, path);
    // SQLite leaves its own files lying where the database has gone from under it.
    for (const name of [partial, `${partial}-journal`, `${partial}-wal`, `${partial}-shm`])
      rmSync(name, { force: true });
  } finally {
    db.close();
  }
}

function lockLeftOver(db: Db, partial: string, path: string): void {
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    // Anything else is a file that was cut off so early that it is none.
    if (cause instanceof Database.SqliteError && cause.code.startsWith("SQLITE_BUSY")) throw busy(partial, path);
  }
}

function busy(partial: string, path: string): UserError {
  return new UserError(
    "db_busy",
    `Cannot import into ${path}: another import is making it (${partial}).`,
    "Wait until it has finished, or import into another file with --db.",
    1,
  );
}

/** Gives a file, whole on the disk, its name; never over a file that another import has put there meanwhile. */
function publish(partial: string, path: string): void {
  try {
    linkSync(partial, path);
    unlinkSync(partial);
  } catch (cause) {
    if (existsSync(path)) {
      throw new UserError(
        "db_appeared",
        `${path} was made by another program while this import ran, so nothing of this import was kept.`,
        "Import again: it then adds to what is there.",
        1,
        { cause },
      );
    }
    // A file system without hard links.
    renameSync(partial, path);
  }
}

function syncFolder(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
