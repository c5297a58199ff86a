import { rmSync } from "node:fs";
import { builtFile } from "../../platform/installation.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";
import type { Db } from "../../store/open-store.js";
import { chunksOf, copyTables, type FtsTable, ftsStorageTables, type IndexProgress } from "./corpus-index.js";
import type { IndexThreadCall, IndexThreadData } from "./index-thread.js";

interface IndexPart {
  readonly table: FtsTable;
  readonly file: string;
  readonly first: number;
  readonly last: number;
}

/** Lets threads read a database during `use`. */
export type WhileReadable = (use: () => Promise<void>) => Promise<void>;

/** The files in which the indexes of a database are built, beside it. */
export function indexFiles(path: string): Readonly<Record<FtsTable, string>> {
  return { emails_fts: `${path}-index`, emails_fts_older: `${path}-index-older` };
}

/**
 * Builds the index of the mails in order as two, each by a thread in a file of its own, and copies both into the
 * database: half of the time of `rebuildIndex`. FTS5 cannot write one index by two threads. Runs outside of a
 * transaction. Returns the first position of the second index.
 */
export async function buildIndexOnThreads(
  db: Db,
  whileReadable: WhileReadable,
  total: number,
  onProgress: IndexProgress,
  signal: AbortSignal,
): Promise<number> {
  const olderFrom = Math.ceil(total / 2) + 1;
  const files = indexFiles(db.name);
  const parts: IndexPart[] = [
    { table: "emails_fts", file: files.emails_fts, first: 1, last: olderFrom - 1 },
    { table: "emails_fts_older", file: files.emails_fts_older, first: olderFrom, last: total },
  ];
  const removeFiles = () => {
    for (const { file } of parts) rmSync(file, { force: true });
  };
  try {
    removeFiles();
    await whileReadable(() => buildParts(db, parts, total, onProgress, signal));
    for (const { file, table } of parts) copyTables(db, file, ftsStorageTables(table));
  } finally {
    removeFiles();
  }
  return olderFrom;
}

async function buildParts(
  db: Db,
  parts: readonly IndexPart[],
  total: number,
  onProgress: IndexProgress,
  signal: AbortSignal,
): Promise<void> {
  let done = 0;
  signal.throwIfAborted();
  const threads = parts.map((part) => startThread(db, part));
  const close = () => Promise.all(threads.map((thread) => thread.close()));
  signal.addEventListener("abort", close);
  const build = async ({ first, last }: IndexPart, thread: IndexThread | undefined) => {
    for (const chunk of chunksOf(first, last)) {
      await thread?.call(chunk);
      done += chunk.last - chunk.first + 1;
      onProgress(done, total);
    }
    await thread?.call(null);
  };
  try {
    await Promise.all(parts.map((part, i) => build(part, threads[i])));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
    await close();
  }
}

type IndexThread = WorkerRpc<IndexThreadCall, null>;

function startThread(db: Db, { file, table }: IndexPart): IndexThread {
  const schema = db.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").pluck().get(table) as string;
  const data: IndexThreadData = { file, mails: db.name, table, schema };
  return new WorkerRpc(builtFile("mail/store/index-thread.js"), { data, youngGenerationMb: 8 });
}
