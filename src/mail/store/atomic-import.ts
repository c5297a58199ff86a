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
import { UserError } from "../../platform/errors.js";
import { isBusy } from "../../store/database-error.js";
import { connect, hasSqliteHeader } from "../../store/database-file.js";
import { checkDatabaseFile, type Db, openDatabaseFile, openStore, sleepSync } from "../../store/open-store.js";

/** A database being imported into. The caller ends with `finish` or `abandon`. */
export interface AtomicImport {
  readonly db: Db;
  finish(): void;
  abandon(): void;
}

/** Two imports that start at the same moment may both back off. They retry so often, after a random pause. */
const MAX_TRIES = 5;

/**
 * Opens a database for an import. An existing one is written in place, in one transaction. A new one is built as
 * `<path>.partial` without a journal, which is twice as fast, and renamed when complete; a failed import starts over.
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
  // An import touches the whole file: mapped pages would count as memory.
  db.pragma("mmap_size = 0");
  return { db, finish: () => db.close(), abandon: () => db.close() };
}

function importBeside(path: string): AtomicImport {
  checkDatabaseFile(path, false);
  const partial = `${path}.partial`;
  removeLeftOver(partial, path);
  const db = openPartial(partial, path);
  // Each row of the order of dates would look up its mail: 1.4 s of 240,000. All rows are of this import.
  db.pragma("foreign_keys = OFF");
  return {
    db,
    finish() {
      try {
        // Switching to WAL here syncs the file, and spares the first reader the switch.
        db.pragma("synchronous = FULL");
        db.pragma("journal_mode = WAL");
        publish(partial, path);
      } catch (error) {
        rmSync(partial, { force: true });
        throw error;
      } finally {
        // Only now: another import would delete an unlocked file as left over.
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
 * Creates and locks the partial file. Of two imports that start at the same moment one may delete the other's file as
 * left over before it is locked; the import whose file is gone backs off.
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
    // Before SQLite opens the file: closing this descriptor later would drop its locks (store/database-file.ts).
    closeSync(file);
  }
}

function inode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** A `UserError` for a full or broken disk or a file size limit; any other error as it is. */
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
 * Deletes the partial file of a killed import, but not of a running one, which holds a lock. Deleted while locked
 * here, so that an import that starts at the same moment notices before it writes any mail.
 */
function removeLeftOver(partial: string, path: string): void {
  if (!existsSync(partial)) return;
  if (hasSqliteHeader(partial) === false) {
    throw new UserError(
      "db_not_ours",
      `Cannot import into ${path}: there is a file ${partial}, where the database is made, which no import has left.`,
      "Move it away, or import into another file with --db.",
    );
  }
  const db = connect(partial, { timeout: 0 });
  try {
    lockLeftOver(db, partial, path);
    // SQLite does not delete its side files once the database is gone.
    const sideFiles = ["-journal", "-wal", "-shm"].map((end) => partial + end);
    for (const name of [partial, ...sideFiles]) rmSync(name, { force: true });
  } finally {
    db.close();
  }
}

function lockLeftOver(db: Db, partial: string, path: string): void {
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    // Any other error: a file cut off so early that it is not a database.
    if (isBusy(cause)) throw busy(partial, path);
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

/** Renames the synced file, but never over a file that another import created meanwhile. */
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
    // The file system has no hard links.
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
