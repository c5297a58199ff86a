// The lists of the pages. A thread reads them, because searching all texts would hold up other requests.
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import { pageOfRuns } from "../../results/run-summaries.js";
import type { Db } from "../../store/open-store.js";
import { listSessions } from "../../traces/chats-store.js";
import { pageOfTraces } from "../../traces/traces-store.js";

const READERS = { runs: pageOfRuns, traces: pageOfTraces, sessions: listSessions } as const;

type Readers = typeof READERS;

type PageOf<K extends keyof Readers> = Promise<Awaited<ReturnType<Readers[K]>>>;

type ReadList = <K extends keyof Readers>(list: K, query: Parameters<Readers[K]>[1]) => PageOf<K>;

/** Reads pages of lists. */
export interface Lists {
  readonly read: ReadList;
}

export interface ListCall {
  readonly list: keyof Readers;
  readonly query: unknown;
}

/** Reads lists on this thread. */
export function listsOf(db: Db): Lists {
  const read = async (list: keyof Readers, query: unknown) =>
    (READERS[list] as (db: Db, query: unknown) => unknown)(db, query);
  return { read: read as ReadList };
}

const YOUNG_GENERATION_MB = 8;

/** Reads lists on another thread, which starts with the first list. */
export class ListThread implements Lists {
  private thread: WorkerRpc<ListCall, unknown> | undefined;

  /** @param path of the database */
  constructor(private readonly path: string) {}

  readonly read = ((list: keyof Readers, query: unknown) => {
    const data = { path: this.path };
    const file = builtFile("server/lists/list-thread.js");
    this.thread ??= new WorkerRpc(file, { data, youngGenerationMb: YOUNG_GENERATION_MB });
    return this.thread.call({ list, query });
  }) as ReadList;

  async close(): Promise<void> {
    await this.thread?.close();
  }
}
