import { workerData } from "node:worker_threads";
import { serveCalls } from "../platform/worker-rpc.js";
import { openReadOnly } from "../store/open-store.js";
import { SEARCH_HANDLERS } from "./mail-tools.js";
import { openMailbox } from "./mailbox.js";
import type { HandlerCall, SearchAnswer } from "./search-pool.js";
import type { ToolResult } from "./tool.js";

/** Entry point of a search thread: receives calls of the search handlers and posts their results. */

const db = openReadOnly((workerData as { path: string }).path);
const mailbox = openMailbox(db);

/** Never aborts: a search is a few milliseconds of synchronous SQLite. */
const { signal } = new AbortController();

/** Synchronous, as all search handlers are. In one transaction, only the first statement takes SQLite's locks. */
const executeSearch = db.transaction(({ handlerKey, args, context, config }: HandlerCall): SearchAnswer => {
  const handler = SEARCH_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler that searches mail`);
  const result = handler.call(args, { ...context, signal }, { mailbox }, config) as ToolResult;
  return result.ok ? { ok: true, json: JSON.stringify(result.value) } : result;
});

// SQLite's errors are about the user's file: message only. Anything else is a bug: with stack.
serveCalls(executeSearch, ({ code, message, stack }) => ({
  message: code?.startsWith("SQLITE_") ? message : (stack ?? message),
  code,
}));
