import { availableParallelism } from "node:os";
import { WorkerRpc } from "../platform/worker-rpc.js";
import type { ToolContext, ToolResult } from "./tool.js";

/** A call of a search handler. Arguments and config are checked already. */
export interface SearchCall {
  readonly handlerKey: string;
  readonly args: unknown;
  readonly context: Omit<ToolContext, "signal">;
  readonly config: unknown;
}

/** More threads contend for SQLite's pages. */
const MAX_THREADS = 3;

/** For all threads together. A search allocates 0.5 MB: with 12 MB, frequent GC makes it 4 % slower. */
const YOUNG_GENERATION_MB = 32;

/**
 * Threads that search mail, so that no search blocks the event loop. One core is left to the event loop: on two cores a
 * second thread costs it, and the first thread, more than it gains.
 */
export class SearchPool {
  private readonly threads: readonly WorkerRpc<SearchCall, ToolResult>[];

  constructor(path: string, count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))) {
    const file = new URL("./search-thread.js", import.meta.url);
    const options = { data: { path }, youngGenerationMb: YOUNG_GENERATION_MB / count };
    this.threads = Array.from({ length: count }, () => new WorkerRpc(file, options));
  }

  /** Rejects only if a thread failed, which is a bug. */
  async call(handlerKey: string, args: unknown, context: ToolContext, config: unknown): Promise<ToolResult> {
    const { inbox, cutoff } = context;
    return this.leastBusy().call({ handlerKey, args, context: { inbox, cutoff }, config });
  }

  private leastBusy(): WorkerRpc<SearchCall, ToolResult> {
    return this.threads.reduce((a, b) => (b.pending < a.pending ? b : a));
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }
}
