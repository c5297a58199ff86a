import { setTimeout as delay } from "node:timers/promises";
import { type Db, isBusy } from "./open-store.js";

/** How to wait while another program, such as an import, holds the write lock. */
export interface LockWait {
  /** Aborts the wait. */
  readonly signal: AbortSignal;
  /** Called before each pause. */
  onWait(): void;
}

/** SQLite's busy timeout blocks the thread, so it is short, and the event loop runs in between. */
const BLOCKED_MS = 100;
const PAUSE_MS = 250;

/**
 * Runs `work` in one write transaction, waiting for the lock as long as needed. Rejects with the signal's reason,
 * nothing written. BEGIN IMMEDIATE: a read transaction could not be upgraded after another write.
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

/** Waits for the lock without a limit. */
export const WAIT_INDEFINITELY: LockWait = { signal: new AbortController().signal, onWait() {} };
