/** A thread that searches the mail file for agents: calls of the search handlers come in, their results go out. */
import { parentPort, workerData } from "node:worker_threads";
import type { ToolResult } from "../../domain/agents/tool.js";
import { lowerThreadPriority } from "../../platform/thread-priority.js";
import type { RpcAnswer, RpcCall } from "../../platform/worker-rpc.js";
import { openReadOnly } from "../../store/connection/open-store.js";
import { openMailbox } from "../mailbox.js";
import { SEARCH_HANDLERS } from "./search-handlers.js";
import type { SearchAnswer, SearchCall } from "./search-pool.js";
import { warmupSearches } from "./search-warmup.js";

/**
 * With 15 a run without latency, where all cores are full, loses 7 % to tasks that wait for searches; with 5 it loses 1 %,
 * and one with latency gains 4 %.
 */
lowerThreadPriority(5);

const db = openReadOnly((workerData as { path: string }).path);
const mailbox = openMailbox(db);

/** No call here can be stopped halfway: each is a few milliseconds of SQLite. */
const { signal } = new AbortController();

/** At once, as all of these handlers do; and in one transaction, of which only the first statement asks for SQLite's locks. */
const executeSearch = db.transaction(({ handlerKey, args, context, config }: SearchCall): ToolResult => {
  const handler = SEARCH_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler that searches mail`);
  return handler.call(args, { ...context, signal }, { mailbox }, config) as ToolResult;
});

function toRpcAnswer({ id, call }: RpcCall<SearchCall>): RpcAnswer<SearchAnswer> {
  try {
    const result = executeSearch(call);
    return { id, answer: result.ok ? { ok: true, json: JSON.stringify(result.value) } : result };
  } catch (error) {
    const { code, message, stack } = error as Error & { code?: string };
    // What SQLite says of the file is the user's to read, anything else a fault of ours.
    return { id, error: { message: code?.startsWith("SQLITE_") ? message : (stack ?? message), code } };
  }
}

let hasReceivedCall = false;

/** Until the first call comes. What is wrong with the file is that one's to say. */
function warmUp(calls: Iterator<SearchCall, void>): void {
  try {
    const call = hasReceivedCall ? undefined : calls.next().value;
    if (call === undefined) return;
    executeSearch(call);
    setImmediate(warmUp, calls);
  } catch {
    return;
  }
}
warmUp(warmupSearches(db));

parentPort?.on("message", (calls: readonly RpcCall<SearchCall>[]) => {
  hasReceivedCall = true;
  for (const call of calls) parentPort?.postMessage([toRpcAnswer(call)]);
});
