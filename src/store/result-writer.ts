import { UserError } from "../domain/errors.js";
import type { TaskResult } from "../domain/result.js";
import type { Trace } from "../domain/trace.js";
import type { Db } from "./open.js";
import { openRowWriter, type ResultRow, toResultRow } from "./runs.js";
import { ThreadCalls } from "./thread-calls.js";

/** Where a run's finished tasks go. When `save` resolves, the task would outlive this process. */
export interface ResultWriter {
  save(trace: Trace, result: TaskResult, failed: boolean): Promise<void>;
  close(): Promise<void>;
}

/** On this thread, task by task. */
export function resultWriter(db: Db): ResultWriter {
  const write = openRowWriter(db);
  return {
    save: async (trace, result, failed) => write(toResultRow(trace, result, failed)),
    close: async () => {},
  };
}

const YOUNG_MEGABYTES = 8;

/**
 * Of a run of quick tasks, several finish in so short a time: a transaction for each would take twice as much of the
 * processor as one for all. Where tasks take seconds, none waits.
 */
const GATHER_MS = 20;

/** A task to be saved; null: no more will come. */
export type SaveCall = ResultRow | null;

/** Null: it is saved. Else what SQLite said. */
export type SaveOutcome = { readonly message: string; readonly code?: string | undefined } | null;

/** On a thread of its own, so that no task waits for the disk but those that are saved. What comes in together is saved together. */
export function threadedResultWriter(path: string): ResultWriter {
  const file = new URL("./result-thread.js", import.meta.url);
  const thread = new ThreadCalls<SaveCall, SaveOutcome>(file, {
    data: { path },
    youngMegabytes: YOUNG_MEGABYTES,
    gatherMs: GATHER_MS,
  });
  return {
    async save(trace, result, failed) {
      const refused = await thread.call(toResultRow(trace, result, failed));
      if (refused !== null) throw unwritable(path, refused);
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
