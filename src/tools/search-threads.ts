import { availableParallelism } from "node:os";
import type { ToolContext, ToolResult } from "../domain/tool.js";
import { ThreadCalls } from "../store/thread-calls.js";

/** A call of a search handler. Arguments and config are checked already. */
export interface SearchCall {
  readonly handlerKey: string;
  readonly args: unknown;
  readonly context: Omit<ToolContext, "signal">;
  readonly config: unknown;
}

/** More than a few threads wait for each other's pages of the file. */
const MOST_THREADS = 3;

/** Of all threads together. A search makes half a megabyte of garbage: with 12 it is collected so often that it takes 4 % longer. */
const YOUNG_MEGABYTES = 32;

/**
 * Threads that search mail, so that the loop of a run waits for no search. As many as there are cores: the loop
 * leaves a third of one free, which a thread too few leaves idle.
 */
export class SearchThreads {
  private readonly threads: readonly ThreadCalls<SearchCall, ToolResult>[];

  constructor(path: string, count = Math.min(MOST_THREADS, availableParallelism())) {
    const file = new URL("./search-thread.js", import.meta.url);
    this.threads = Array.from({ length: count }, () => new ThreadCalls(file, { path }, YOUNG_MEGABYTES / count));
  }

  /** Rejects only where a thread failed, which is a fault of ours. */
  call(handlerKey: string, args: unknown, { inbox, cutoff }: ToolContext, config: unknown): Promise<ToolResult> {
    const idlest = this.threads.reduce((a, b) => (b.pending < a.pending ? b : a));
    return idlest.call({ handlerKey, args, context: { inbox, cutoff }, config });
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }
}
