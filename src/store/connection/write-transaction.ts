import { setTimeout as delay } from "node:timers/promises";
import { type Db, isBusy } from "./open-store.js";

/** How another program that writes to the file, such as an import, is waited for. */
export interface LockWait {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called when it begins. */
  onWait(): void;
}

/** SQLite's own wait blocks the thread: between two short ones the event loop goes on. */
const BLOCKED_MS = 100;
const PAUSE_MS = 250;

/**
 * Writes in one transaction, however long others hold the file. Rejects with the signal's reason, nothing written. It is begun
 * as a writer's: begun as a reader's it would be refused where another has written meanwhile.
 */
export async function withWriteTransaction<T>(db: Db, waiting: LockWait, work: () => T | Promise<T>): Promise<T> {
  while (!tryBegin(db)) {
    waiting.onWait();
    await delay(PAUSE_MS);
    waiting.signal.throwIfAborted();
  }
  try {
    const done = await work();
    db.exec("COMMIT");
    return done;
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function tryBegin(db: Db): boolean {
  const busyTimeout = db.pragma("busy_timeout", { simple: true });
  db.pragma(`busy_timeout = ${BLOCKED_MS}`);
  try {
    db.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  } finally {
    db.pragma(`busy_timeout = ${busyTimeout}`);
  }
}

/** Waits until the file is free. */
export const WAIT_INDEFINITELY: LockWait = { signal: new AbortController().signal, onWait() {} };
