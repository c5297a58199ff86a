import { UserError } from "../../domain/errors.js";
import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import type { Trace } from "../../domain/runs/trace.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import type { Db } from "../connection/open-store.js";
import { type LockWait, WAIT_INDEFINITELY } from "../connection/write-transaction.js";
import { openRowWriter, type ResultRow, toResultRow } from "./results.js";

/** Where a run's finished tasks go. */
export interface ResultWriter {
  /** True: the task would outlive this process. False: others held the file, and nobody waits any longer. */
  save(trace: Trace, result: TaskResult, failed: boolean): Promise<boolean>;
  /** An answer that could not be scored because the file cannot be read: it is kept with the recent ones. */
  keep?(trace: Trace): void;
  close(): Promise<void>;
}

/** On this thread, task by task. */
export function resultWriter(db: Db): ResultWriter {
  const write = openRowWriter(db);
  return {
    async save(trace, result, failed) {
      write(toResultRow(trace, result, failed));
      return true;
    },
    close: async () => {},
  };
}

const YOUNG_GENERATION_MB = 8;

/**
 * Of a run of quick tasks, several finish in so short a time: a transaction for each would take twice as much of the
 * processor as one for all. Where tasks take seconds, none waits.
 */
const BATCH_DELAY_MS = 20;

/** A task to be saved; null: no more will come. */
export type SaveCall = ResultRow | null;

/** Null: it is saved. Else what SQLite said. */
export type SaveOutcome = { readonly message: string; readonly code?: string | undefined } | null;

/** The code of a save that found the file gone, another, or cut off. */
export const FILE_LOST = "FILE_LOST";

/** Characters. */
const MAX_CHARS = 4_000_000;

/** The last traces of a run as JSON, as many as have room: of a file that is cut off there is nothing else to be had. */
class RecentTraces {
  private traces: string[] = [];
  private length = 0;

  add(trace: string): void {
    this.traces.push(trace);
    this.length += trace.length;
    while (this.length > MAX_CHARS && this.traces.length > 1) this.length -= this.traces.shift()?.length ?? 0;
  }

  all(): readonly string[] {
    return this.traces;
  }
}

export interface ThreadedResultWriter extends ResultWriter {
  /** The last traces it was given, saved or not, as JSON: should the file be lost. */
  recent(): readonly string[];
}

/**
 * On a thread of its own, so that no task waits for the disk but those that are saved. What comes in together is saved together.
 * While another program holds the file, tasks wait to be saved.
 */
export function threadedResultWriter(path: string, waiting: LockWait = WAIT_INDEFINITELY): ThreadedResultWriter {
  const file = new URL("./result-writer-thread.js", import.meta.url);
  const thread = new WorkerRpc<SaveCall, SaveOutcome>(file, {
    data: { path },
    youngGenerationMb: YOUNG_GENERATION_MB,
    batchDelayMs: BATCH_DELAY_MS,
  });
  const recent = new RecentTraces();
  return {
    recent: () => recent.all(),
    keep: (trace) => recent.add(JSON.stringify(trace)),
    async save(trace, result, failed) {
      const row = toResultRow(trace, result, failed);
      recent.add(row.trace);
      for (;;) {
        const failure = await thread.call(row);
        if (failure === null) return true;
        if (!failure.code?.startsWith("SQLITE_BUSY")) throw unwritable(path, failure);
        if (waiting.signal.aborted) return false;
        waiting.onWait();
      }
    },
    async close() {
      // Whatever becomes of it, all that was said to be saved is.
      await thread.call(null).catch(() => undefined);
      await thread.close();
    },
  };
}

function unwritable(path: string, { message, code }: NonNullable<SaveOutcome>): Error {
  if (code === undefined) return new Error(message);
  return new UserError(
    "db_unwritable",
    `Cannot write ${path}: ${message}.`,
    "What was finished before is saved. See that the disk has room and works, then go on with --resume latest.",
    1,
  );
}
