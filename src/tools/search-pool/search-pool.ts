import { availableParallelism } from "node:os";
import type { ToolContext, ToolResult } from "../../domain/agents/tool.js";
import type { JsonValue } from "../../domain/json.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";

/** A call of a search handler. Arguments and config are checked already. */
export interface SearchCall {
  readonly handlerKey: string;
  readonly args: unknown;
  readonly context: Omit<ToolContext, "signal">;
  readonly config: unknown;
}

/** Text crosses between threads in a third of the time of what it says. */
export type SearchAnswer = { readonly ok: true; readonly json: string } | Extract<ToolResult, { ok: false }>;

/** More than a few threads wait for each other's pages of the file. */
const MAX_THREADS = 3;

/** Of all threads together. A search makes half a megabyte of garbage: with 12 it is collected so often that it takes 4 % longer. */
const YOUNG_GENERATION_MB = 32;

/**
 * Threads that search mail, so that the loop of a run waits for no search. One core is left to the loop: on two cores a
 * second thread takes more from the loop, and from the first, than it gives.
 */
export class SearchPool {
  private readonly threads: readonly WorkerRpc<SearchCall, SearchAnswer>[];

  constructor(path: string, count = Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1))) {
    const file = new URL("./search-thread.js", import.meta.url);
    const options = { data: { path }, youngMegabytes: YOUNG_GENERATION_MB / count };
    this.threads = Array.from({ length: count }, () => new WorkerRpc(file, options));
  }

  /** Rejects only where a thread failed, which is a fault of ours. */
  async call(handlerKey: string, args: unknown, context: ToolContext, config: unknown): Promise<ToolResult> {
    const { inbox, cutoff } = context;
    const answer = await this.threadFor(inbox).call({ handlerKey, args, context: { inbox, cutoff }, config });
    return answer.ok ? { ...answer, value: JSON.parse(answer.json) as JsonValue } : answer;
  }

  /** The idlest, and of equals the same for a mailbox each time: it has the mailbox's words at hand. */
  private threadFor(inbox: string | null): WorkerRpc<SearchCall, SearchAnswer> {
    const leastBusy = this.threads.reduce((a, b) => (b.pending < a.pending ? b : a));
    const hash = [...(inbox ?? "")].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
    const preferred = this.threads[hash % this.threads.length];
    return preferred !== undefined && preferred.pending <= leastBusy.pending ? preferred : leastBusy;
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.close()));
  }
}
