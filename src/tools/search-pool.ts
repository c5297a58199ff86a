// The search threads, which keep searches off the event loop.
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { crc32 } from "node:zlib";
import { builtFile } from "../platform/program-files.js";
import { WorkerRpc } from "../platform/worker-rpc.js";
import type { Db } from "../store/open-store.js";
import type { ToolContext, ToolResult } from "./tool.js";

export interface HandlerCall {
  readonly handlerKey: string;
  readonly args: unknown;
  readonly context: Omit<ToolContext, "signal">;
  readonly config: unknown;
}

/** Passing text between threads takes a third of the time of passing a value. */
export type SearchAnswer = { readonly ok: true; readonly json: string } | Extract<ToolResult, { ok: false }>;

/** More threads would contend for SQLite's pages. */
const MAX_THREADS = 3;

/** A search of less mail takes a few milliseconds, and starting a thread as much processor time as three questions. */
const FEWEST_MAILS = 500;

/** Total for all threads. With 32 MB, a run uses 30 MB more memory and is no faster. */
const YOUNG_GENERATION_MB = 12;

/**
 * Threads that search mail, so that no search blocks the event loop. One core is reserved for the event loop. On two
 * cores, a second thread costs the event loop and the first thread more than it gains.
 */
export class SearchPool {
  /** Open pools by the database file, whatever its path. */
  private static readonly shared = new Map<string, SearchPool>();

  private readonly threads: readonly WorkerRpc<HandlerCall, SearchAnswer>[];
  private users = 1;

  /**
   * Returns the pool of a database, which all runs of this process share. Each of them closes it. Undefined if the
   * database contains so little mail that searches do not need threads.
   */
  static open(db: Db, fewestMails = FEWEST_MAILS): SearchPool | undefined {
    const mails = db.prepare("SELECT coalesce(max(id), 0) FROM mails").pluck().get() as number;
    if (mails < fewestMails) return undefined;
    const path = db.name;
    const { dev, ino } = statSync(path);
    const file = `${dev}:${ino}`;
    const open = SearchPool.shared.get(file);
    if (open !== undefined) {
      open.users++;
      return open;
    }
    const pool = new SearchPool(path);
    SearchPool.shared.set(file, pool);
    return pool;
  }

  constructor(path: string, count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))) {
    const file = builtFile("tools/search-pool/search-thread.js");
    const options = { data: { path }, youngGenerationMb: YOUNG_GENERATION_MB / count };
    this.threads = Array.from({ length: count }, () => new WorkerRpc(file, options));
  }

  /** Rejects only if a thread fails, which is a bug. */
  async call(handlerKey: string, args: unknown, context: ToolContext, config: unknown): Promise<ToolResult> {
    const { inbox, cutoff } = context;
    return this.threadFor(inbox).call({ handlerKey, args, context: { inbox, cutoff }, config });
  }

  /**
   * Returns the least busy thread. If several are equally busy, a mailbox always gets the same one, because that thread
   * has already read the mailbox's posting lists.
   */
  private threadFor(inbox: string | null): WorkerRpc<HandlerCall, SearchAnswer> {
    const first = crc32(inbox ?? "") % this.threads.length;
    const inOrder = [...this.threads.slice(first), ...this.threads.slice(0, first)];
    return inOrder.reduce((a, b) => (b.pending < a.pending ? b : a));
  }

  async close(): Promise<void> {
    if (--this.users > 0) return;
    for (const [file, pool] of SearchPool.shared) if (pool === this) SearchPool.shared.delete(file);
    await Promise.all(this.threads.map((thread) => thread.close()));
  }
}
