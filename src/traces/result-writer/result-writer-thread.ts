// The thread of `threadedResultWriter`: saves each batch of finished tasks and paid replies in one transaction.
import { statSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { type RpcAnswer, type RpcCall, tellLoaded } from "../../platform/worker-rpc.js";
import { FileWatch } from "../../store/database-file.js";
import { limitPageCache, openStore } from "../../store/open-store.js";
import { openJournalWriter, openRowWriter, type SaveCall, type SaveOutcome } from "../result-writer.js";

type Save = Exclude<SaveCall, { kind: "last" }>;

/**
 * WAL pages between checkpoints (16 MB), four times the default. Each checkpoint waits for the disk and delays saves.
 */
const CHECKPOINT_PAGES = 4_000;

const { path } = workerData as { path: string };
const db = openStore(path, { mustExist: true });
limitPageCache(db);
const watch = new FileWatch(db, path);

/** Callers retry if the lock lasts longer. A short timeout allows the thread to be terminated in between. */
db.pragma("busy_timeout = 2000");
db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
const writeResult = openRowWriter(db);
const writeReply = openJournalWriter(db);
const writeAll = db.transaction((saves: readonly Save[]) => {
  for (const save of saves) write(save);
});

function write(save: Save): void {
  if (save.kind === "result") writeResult(save.row);
  else writeReply(save.row);
}

const MAX_WAL_BYTES = 64 * 1024 * 1024;

function save(calls: readonly RpcCall<SaveCall>[]): RpcAnswer<SaveOutcome>[] {
  const saves = calls.flatMap(({ call }) => (call.kind === "last" ? [] : [call]));
  const outcomes = saveAll(saves);
  const isLast = saves.length < calls.length;
  try {
    truncateWal(isLast ? 0 : truncateAt);
  } catch {
    // The saves are committed, and the next batch truncates the log again if this fails.
  }
  return calls.map(({ id, call }) => ({ id, answer: outcomes.get(call) ?? null }));
}

/** Saves everything and returns the failed saves with their errors. */
function saveAll(saves: readonly Save[]): ReadonlyMap<SaveCall, SaveOutcome> {
  const outcomes = (ofSave: (save: Save) => SaveOutcome) => new Map(saves.map((save) => [save, ofSave(save)]));
  const failure = outcomeOf(() => {
    if (saves.length > 0) writeAll.immediate(saves);
  });
  // Checked even after a commit, because SQLite writes to a deleted file without an error.
  const fault = watch.check();
  if (fault !== null) return outcomes(() => ({ message: `the file was ${fault}`, code: "FILE_LOST" }));
  if (failure === null) return new Map();
  // If they were saved individually, each one would wait for the lock again.
  if (failure.code?.startsWith("SQLITE_BUSY")) return outcomes(() => failure);
  // Perhaps only one of them causes the error, so save the others.
  return outcomes((save) => outcomeOf(() => write(save)));
}

let truncateAt = MAX_WAL_BYTES;

/**
 * SQLite restarts the WAL only when no reader is active. If threads search without a pause, that might never happen,
 * and the log would grow with the run. A TRUNCATE checkpoint therefore waits for the readers, usually for a few
 * milliseconds and at most 250 ms. If they do not finish, it is repeated after the log has grown by the same amount.
 *
 * At the end the log is truncated at any size. Otherwise the last connection to close would do it on the event loop's
 * thread.
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

function outcomeOf(work: () => void): SaveOutcome {
  try {
    work();
    return null;
  } catch (thrown) {
    const { message, code } = thrown as Error & { code?: string };
    return { message, code };
  }
}

parentPort?.on("message", (calls: readonly RpcCall<SaveCall>[]) => parentPort?.postMessage(save(calls)));
tellLoaded();
