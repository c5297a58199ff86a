// Write transactions that wait for other processes without blocking this one.
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { AppContext } from "../platform/app-context.js";
import { NEVER, untilAborted } from "../platform/deadline.js";
import { isBusy } from "./database-error.js";
import type { Db } from "./database-file.js";

/**
 * Write transactions of the event loop's thread. The writers of this process queue up per database file, and only the
 * first of them asks SQLite for the lock, without blocking: a writer that blocked the thread would keep the holder of
 * the lock from finishing if both are in this process.
 *
 * Nothing awaits inside a write transaction, except an import of mail or traces: it is all or nothing, and longer than
 * the event loop can be blocked. It keeps its place in the queue until it ends.
 */

/** Options for waiting while another writer, such as an import, holds the write lock. */
export interface LockWait {
  readonly signal: AbortSignal;
  onWait(): void;
}

/** Waits for the lock without a limit. */
export const WAIT_INDEFINITELY: LockWait = { signal: NEVER, onWait() {} };

/** Waits until `signal` aborts while another program writes to the database, and notes it once. */
export function waitForWriter({ note, settings }: AppContext, signal: AbortSignal): LockWait {
  let isNoted = false;
  return {
    signal,
    onWait() {
      if (!isNoted) note(`art-e: another program is writing to ${settings.db}. Waiting until it has finished.`);
      isNoted = true;
    },
  };
}

/** Never for a promise, so that the compiler rejects work that would await inside the transaction. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/**
 * Runs `work` in one write transaction, waiting as long as necessary for the lock. If the signal aborts, rejects with
 * its reason and writes nothing. Uses BEGIN IMMEDIATE, because a read transaction cannot be upgraded after another
 * write.
 */
export function withWriteTransaction<T>(
  db: Db,
  waiting: LockWait,
  work: () => Synchronous<T>,
): Promise<Synchronous<T>> {
  return inTurn(db, waiting.signal, () =>
    withLock(db, waiting, (begun) =>
      db
        .transaction(() => {
          begun();
          return work();
        })
        .immediate(),
    ),
  );
}

/**
 * Runs a long import in one write transaction. The event loop runs in between, so `db` must not be used for anything
 * else. `test/conventions.test.ts` lists the imports that may call this.
 */
export function withImportTransaction<T>(db: Db, waiting: LockWait, work: () => Promise<T>): Promise<T> {
  return inTurn(db, waiting.signal, async () => {
    await withLock(db, waiting, (begun) => {
      db.exec("BEGIN IMMEDIATE");
      begun();
    });
    try {
      const done = await work();
      db.exec("COMMIT");
      return done;
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      throw error;
    }
  });
}

/** The end of the last writer in the queue of each database file. */
const queues = new Map<string, Promise<unknown>>();

async function inTurn<T>(db: Db, signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  const file = identityOf(db);
  const before = queues.get(file);
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const last = Promise.all([before, finished]);
  queues.set(file, last);
  try {
    if (before !== undefined) await untilAborted(signal, () => before);
    signal.throwIfAborted();
    return await write();
  } finally {
    finish();
    if (queues.get(file) === last) queues.delete(file);
  }
}

/** The file behind a path, because connections can name it differently. A deleted file has no other writer. */
function identityOf({ name }: Db): string {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats === undefined ? name : `${stats.dev}:${stats.ino}`;
}

/** Milliseconds between requests for the lock. Result writer threads hold it briefly, other programs for minutes. */
const SHORTEST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 250;

/** Writers of this process are faster. */
const NOTED_AFTER_MS = 500;

/** Calls `write` until it gets the lock. `write` reports that it has begun. From then on, errors are its own. */
async function withLock<T>(db: Db, waiting: LockWait, write: (begun: () => void) => T): Promise<T> {
  const started = performance.now();
  for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    let hasBegun = false;
    try {
      return withoutBlocking(db, () =>
        write(() => {
          hasBegun = true;
        }),
      );
    } catch (error) {
      if (hasBegun || !isBusy(error)) throw error;
    }
    if (performance.now() - started >= NOTED_AFTER_MS) waiting.onWait();
    await delay(pauseMs, undefined, { signal: waiting.signal }).catch(() => waiting.signal.throwIfAborted());
  }
}

/** SQLite's busy timeout would block the thread. */
function withoutBlocking<T>(db: Db, use: () => T): T {
  const busyTimeout = db.pragma("busy_timeout", { simple: true });
  db.pragma("busy_timeout = 0");
  try {
    return use();
  } finally {
    db.pragma(`busy_timeout = ${busyTimeout}`);
  }
}
