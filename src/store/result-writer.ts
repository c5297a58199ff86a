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

/** On a thread of its own, so that no task waits for the disk but the one that is saved. */
export function threadedResultWriter(path: string): ResultWriter {
  const thread = new ThreadCalls<ResultRow, null>(new URL("./result-thread.js", import.meta.url), { path });
  return {
    async save(trace, result, failed) {
      await thread.call(toResultRow(trace, result, failed)).catch((cause: Error & { code?: string }) => {
        if (cause.code === undefined) throw cause;
        throw new UserError(
          "db_unwritable",
          `Cannot write ${path}: ${cause.message}.`,
          "What was finished before is saved. See that the disk has room and works, then go on with --resume latest.",
          1,
          { cause },
        );
      });
    },
    close: () => thread.close(),
  };
}
