import { basename } from "node:path";
import { sha256OfFile } from "../../platform/download/download-cache.js";
import { saveChat } from "../../store/chats/sessions.js";
import { openStore } from "../../store/connection/open-store.js";
import { withWriteTransaction } from "../../store/connection/write-transaction.js";
import { hasTrace } from "../../store/runs/imported-runs.js";
import { openImport } from "../../trace-imports/open-import.js";
import { notUsable } from "../../trace-imports/parse-line.js";
import type { AppContext } from "../use-case-context.js";
import { type ImportedFile, ImportedRunWriter } from "./imported-run.js";

export interface ImportedTraces {
  readonly format: string;
  /** Ids of the runs that were made. */
  readonly runs: readonly string[];
  /** Traces of them. */
  readonly traces: number;
  /** Traces without a task, which are kept as chats. */
  readonly chats: number;
  /** What traces lack, with how many. */
  readonly lacking: Readonly<Record<string, number>>;
}

/** Reads the traces of a file into the database: all of them, or none where one cannot be used. */
export async function importTraces(path: string, { settings, note, signal }: AppContext): Promise<ImportedTraces> {
  const source = await openImport(path);
  const sha256 = await sha256OfFile(path, signal);
  const file: ImportedFile = { format: source.format, name: basename(path), sha256 };
  const db = openStore(settings.db, { mustExist: false });
  const waiting = { signal, onWait: () => note(`art-e: another program is writing to ${settings.db}; waiting.`) };
  try {
    return await withWriteTransaction(db, waiting, async () => {
      const runs = new Map<string, ImportedRunWriter>();
      let traces = 0;
      let chats = 0;
      for await (const { trace, where } of source.traces()) {
        signal.throwIfAborted();
        if (hasTrace(db, trace.traceId)) throw notUsable(where, `trace ${trace.traceId} is in this database already`);
        if (!("runId" in trace)) {
          saveChat(db, trace);
          chats++;
          continue;
        }
        const run = runs.get(trace.runId) ?? new ImportedRunWriter(db, trace, file, source.run(), where);
        runs.set(trace.runId, run);
        run.add(trace, where);
        traces++;
      }
      for (const run of runs.values()) run.complete(source.tools());
      return { format: source.format, runs: [...runs.keys()], traces, chats, lacking: source.lacking() };
    });
  } finally {
    db.close();
  }
}
