// The database during an import: a new file that is renamed at the end, or one transaction in an existing file.
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
import { reasonOf, UserError } from "../../platform/errors.js";
import { isBusy } from "../../store/database-error.js";
import { connect, hasSqliteHeader, removeDatabase } from "../../store/database-file.js";
import { checkDatabaseFile, type Db, openDatabaseFile, openStore, sleepSync } from "../../store/open-store.js";

/** A database during an import. The caller must call `finish` or `abandon` at the end. */
export interface AtomicImport {
  readonly db: Db;
  finish(): void;
  abandon(): void;
}

/**
 * Maximum number of tries. Two imports that start at the same moment might both back off. They then retry after a
 * random pause.
 */
const MAX_TRIES = 5;

/**
 * Opens a database for an import. An existing database is updated in place, in one transaction. A new database is built
 * as `<path>.partial` without a journal, which is twice as fast, and renamed when complete. A failed import starts
 * over.
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
  if (db.readonly) {
    db.close();
    throw new UserError(
      "db_unwritable",
      `Cannot import into ${path}: the file or its folder is read-only.`,
      "Make both writable, or import into another file with --db.",
      1,
    );
  }
  // An import accesses the entire file, and mapped pages would count as memory.
  db.pragma("mmap_size = 0");
  return { db, finish: () => db.close(), abandon: () => db.close() };
}

function importBeside(path: string): AtomicImport {
  checkDatabaseFile(path, false);
  const partial = `${path}.partial`;
  removeLeftOver(partial, path);
  const db = openPartial(partial, path);
  // Each row of `mail_order` would look up its email, which takes 1.4 s for 240,000 emails. All rows come from this
  // import.
  db.pragma("foreign_keys = OFF");
  return {
    db,
    finish() {
      try {
        // Switching to WAL here syncs the file, and the first reader does not have to do it.
        db.pragma("synchronous = FULL");
        db.pragma("journal_mode = WAL");
        publish(partial, path);
      } catch (error) {
        rmSync(partial, { force: true });
        throw error;
      } finally {
        // Close the database last. Otherwise, another import would delete the unlocked file as a leftover.
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
 * Creates and locks the partial file. If two imports start at the same moment, one might delete the other's file as a
 * leftover before it is locked. The import whose file is gone waits and tries again.
 */
function openPartial(partial: string, path: string): Db {
  const ownInode = createEmptyFile(partial, path);
  let db: Db | undefined;
  try {
    db = openDatabaseFile(partial, path, ["locking_mode = EXCLUSIVE", "journal_mode = OFF", "synchronous = OFF"]);
    if (inode(partial) === ownInode) return db;
    db.close();
  } catch (error) {
    if (inode(partial) === ownInode) {
      rmSync(partial, { force: true });
      throw error;
    }
  }
  throw busy(partial, path);
}

function createEmptyFile(partial: string, path: string): number {
  let file: number;
  try {
    file = openSync(partial, "wx");
  } catch (cause) {
    if (existsSync(partial)) throw busy(partial, path);
    throw new UserError(
      "db_unusable",
      `Cannot create the database ${path}: ${reasonOf(cause)}.`,
      "Check that its folder is writable, or choose another file with --db.",
      1,
      { cause },
    );
  }
  try {
    return fstatSync(file).ino;
  } finally {
    // Close the descriptor before SQLite opens the file: closing it later would drop SQLite's locks
    // (store/database-file.ts).
    closeSync(file);
  }
}

function inode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** Returns a `UserError` for a full or failing disk or a file size limit. Returns any other error unchanged. */
export function importFailure(error: unknown, path: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!/^(SQLITE_FULL|SQLITE_IOERR|ENOSPC|EDQUOT|EFBIG|EIO)/.test(code)) return error;
  return new UserError(
    "db_unwritable",
    `Cannot write ${path}: ${reasonOf(error)}.`,
    "Nothing was imported. Check that the disk works and has free space, or import into another file with --db.",
    1,
    { cause: error },
  );
}

/**
 * Deletes the partial file of a killed import, but not of a running one, which holds a lock. The file is locked before
 * it is deleted, so that an import that starts at the same moment notices before it writes any mail.
 */
function removeLeftOver(partial: string, path: string): void {
  if (!existsSync(partial)) return;
  if (hasSqliteHeader(partial) === false) {
    throw new UserError(
      "db_not_ours",
      `Cannot import into ${path}: ${partial} exists and was not left over from an import.`,
      "Move it away, or import into another file with --db.",
    );
  }
  const db = connect(partial, { timeout: 0 });
  try {
    lockLeftOver(db, partial, path);
    // SQLite does not delete its side files when the database is gone.
    removeDatabase(partial);
  } finally {
    db.close();
  }
}

function lockLeftOver(db: Db, partial: string, path: string): void {
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    // Any other error means that the file was cut off so early that it is not a database.
    if (isBusy(cause)) throw busy(partial, path);
  }
}

function busy(partial: string, path: string): UserError {
  return new UserError(
    "db_busy",
    `Cannot import into ${path}: another import is creating it (${partial}).`,
    "Wait until it has finished, or import into another file with --db.",
    1,
  );
}

/** Renames the synced file, but never overwrites a file that another import created in the meantime. */
function publish(partial: string, path: string): void {
  try {
    linkSync(partial, path);
    unlinkSync(partial);
  } catch (cause) {
    if (existsSync(path)) {
      throw new UserError(
        "db_appeared",
        `Another program created ${path} during this import, so the import was discarded.`,
        "Import again to add the mail to it.",
        1,
        { cause },
      );
    }
    // The file system does not support hard links.
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
