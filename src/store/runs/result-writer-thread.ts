/** A thread that saves finished tasks, as many as come together in one transaction. */
import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { lowerThreadPriority } from "../../platform/thread-priority.js";
import type { RpcAnswer, RpcCall } from "../../platform/worker-rpc.js";
import { FileWatch } from "../connection/file-watch.js";
import { limitPageCache, openStore } from "../connection/open-store.js";
import { FILE_LOST, type SaveCall, type SaveOutcome } from "./result-writer.js";
import { openRowWriter, type ResultRow } from "./results.js";

/** Nobody waits for it but a task that is over. As urgent as the loop, it takes a core from it at each of its wakings. */
lowerThreadPriority(5);

/**
 * Pages of the log (16 MB) after which SQLite moves them into the file: it waits for the disk then, and with it what is to
 * be saved meanwhile. By itself it would do so four times as often.
 */
const CHECKPOINT_PAGES = 4_000;

const { path } = workerData as { path: string };
const db = openStore(path, { mustExist: true });
limitPageCache(db);
const watch = new FileWatch(path);

/** Whoever holds the file longer is waited for by those who ask again: in between this thread can be ended. */
db.pragma("busy_timeout = 2000");
db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
const write = openRowWriter(db);
const writeAll = db.transaction((rows: readonly ResultRow[]) => {
  for (const row of rows) write(row);
});

/** Bytes. */
const MAX_WAL_BYTES = 64 * 1024 * 1024;

function save(calls: readonly RpcCall<SaveCall>[]): RpcAnswer<SaveOutcome>[] {
  const rows = calls.flatMap(({ call }) => call ?? []);
  const outcomes = saveAll(rows);
  const isLast = rows.length < calls.length;
  try {
    truncateWal(isLast ? 0 : truncateAt);
  } catch {
    // What is saved is saved; it will be tried again.
  }
  return calls.map(({ id, call }) => ({ id, answer: outcomes.get(call) ?? null }));
}

/** Those that are not saved, and why. */
function saveAll(rows: readonly ResultRow[]): ReadonlyMap<SaveCall, SaveOutcome> {
  const outcomes = (outcomeOf: (row: ResultRow) => SaveOutcome) => new Map(rows.map((row) => [row, outcomeOf(row)]));
  try {
    if (rows.length > 0) writeAll.immediate(rows);
    // After it too: what was written to a file that had gone is not saved.
    const fault = watch.check();
    return fault === null ? new Map() : outcomes(() => ({ message: `the file was ${fault}`, code: FILE_LOST }));
  } catch (thrown) {
    const fault = watch.check();
    if (fault !== null) return outcomes(() => ({ message: `the file was ${fault}`, code: FILE_LOST }));
    const failure = outcome(thrown);
    // Each alone would wait as long again for who holds the file.
    if (failure.code?.startsWith("SQLITE_BUSY")) return outcomes(() => failure);
    // Whichever of them it was, the others are still worth keeping.
    return outcomes(saveSingly);
  }
}

let truncateAt = MAX_WAL_BYTES;

/**
 * SQLite begins its log anew only at a moment when nobody reads: beside threads that search without a pause there may be
 * none, and the log would grow with the run. Here the readers are waited for, a few milliseconds; for one that reads on and
 * on a moment only, and again when the log has grown as much once more.
 *
 * At the end it is cut however short it is: whoever closes the file last would do it, on the thread that everything else waits for.
 */
function truncateWal(longest: number): void {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (log <= longest) return;
  const busyTimeout = db.pragma("busy_timeout", { simple: true });
  db.pragma("busy_timeout = 250");
  try {
    const [{ busy }] = db.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: 0 | 1 }];
    truncateAt = busy === 1 ? log + MAX_WAL_BYTES : MAX_WAL_BYTES;
  } finally {
    db.pragma(`busy_timeout = ${busyTimeout}`);
  }
}

function saveSingly(row: ResultRow): SaveOutcome {
  try {
    write(row);
    return null;
  } catch (thrown) {
    return outcome(thrown);
  }
}

function outcome(thrown: unknown): NonNullable<SaveOutcome> {
  const { message, code } = thrown as Error & { code?: string };
  return { message, code };
}

parentPort?.on("message", (calls: readonly RpcCall<SaveCall>[]) => parentPort?.postMessage(save(calls)));
