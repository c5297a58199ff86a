// The lists of the pages, the data of reports, and the traces to label. Threads read them, because searching all texts
// or reading all tasks of a run would hold up other requests.
import { openCoding } from "../../error-analysis/coding.js";
import { type LabelingOptions, openLabeling } from "../../evals/labeling.js";
import { readCorpusStats } from "../../mail/corpus.js";
import { openMailboxes } from "../../mail/mailboxes.js";
import { NEVER } from "../../platform/deadline.js";
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import { collectReport, storedRun } from "../../results/collect-report.js";
import { pageOfRuns } from "../../results/run-summaries.js";
import type { Db } from "../../store/open-store.js";
import { listSessions } from "../../traces/chats-store.js";
import { exampleQuestions } from "../../traces/results-store.js";
import { getRun } from "../../traces/runs-store.js";
import { pageOfTraces } from "../../traces/traces-store.js";

const READERS = {
  runs: pageOfRuns,
  traces: pageOfTraces,
  sessions: listSessions,
  inboxes: listInboxes,
  report: reportJson,
  tracesToLabel,
  tracesToCode: openCoding,
} as const;

/** They read whole runs, which takes seconds if a run is large. */
const SLOW: ReadonlySet<keyof Readers> = new Set(["report", "tracesToLabel", "tracesToCode"]);

type Readers = typeof READERS;

type PageOf<K extends keyof Readers> = Promise<Awaited<ReturnType<Readers[K]>>>;

type ReadList = <K extends keyof Readers>(list: K, query: Parameters<Readers[K]>[1]) => PageOf<K>;

const NO_LISTENER = { onTask: () => undefined, onTrace: () => undefined };

/** Counting the mail and choosing examples among all questions takes as long as a list. */
function listInboxes(db: Db, _query: null) {
  const { messages, firstDate, lastDate } = readCorpusStats(db);
  const { addresses } = openMailboxes(db);
  return { inboxes: [...addresses], questions: [...exampleQuestions(db)], messages, firstDate, lastDate };
}

/** Returns the data of a report as JSON in UTF-8. For a large run, it has many megabytes. */
async function reportJson(db: Db, { runs }: { readonly runs: readonly string[] }): Promise<Uint8Array<ArrayBuffer>> {
  const stored = await Promise.all(runs.map((run) => storedRun(db, getRun(db, run))));
  return new TextEncoder().encode(JSON.stringify(await collectReport(stored, NO_LISTENER, NEVER)));
}

async function tracesToLabel(db: Db, { limit, ...options }: LabelingOptions & { readonly limit: number }) {
  const { runId, sentence, waiting, queue } = await openLabeling(db, options);
  return { runId, sentence, waiting, queue: [...queue].slice(0, limit) };
}

/** Reads pages of lists, the data of reports, and the traces to label. */
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

/** Reads lists on one thread, and what takes longer on another. Each starts with its first call. */
export class ListThreads implements Lists {
  private readonly threads = new Map<"lists" | "slow", WorkerRpc<ListCall, unknown>>();

  /** @param path of the database */
  constructor(private readonly path: string) {}

  readonly read = ((list: keyof Readers, query: unknown) => {
    const name = SLOW.has(list) ? "slow" : "lists";
    const data = { path: this.path };
    const file = builtFile("server/lists/list-thread.js");
    const thread = this.threads.get(name) ?? new WorkerRpc(file, { data, youngGenerationMb: YOUNG_GENERATION_MB });
    this.threads.set(name, thread);
    return thread.call({ list, query });
  }) as ReadList;

  async close(): Promise<void> {
    await Promise.all([...this.threads.values()].map((thread) => thread.close()));
  }
}
