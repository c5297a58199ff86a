import { setImmediate } from "node:timers/promises";
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

let isCalled = false;

/** Synchronous, as all search handlers are. In one transaction, only the first statement takes SQLite's locks. */
const executeSearch = db.transaction(({ handlerKey, args, context, config }: HandlerCall): SearchAnswer => {
  const handler = SEARCH_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is no handler that searches mail`);
  const result = handler.call(args, { ...context, signal }, { mailbox }, config) as ToolResult;
  return result.ok ? { ok: true, json: JSON.stringify(result.value) } : result;
});

serveCalls(
  (call: HandlerCall) => {
    isCalled = true;
    return executeSearch(call);
  },
  // SQLite's errors are about the user's file: message only. Anything else is a bug: with stack.
  ({ code, message, stack }) => ({ message: code?.startsWith("SQLITE_") ? message : (stack ?? message), code }),
);

/** The first fifty searches of a thread take two to three times as long as the last of so many. */
const WARM_UP_SEARCHES = 300;

/**
 * Searches until the first call comes, so that code is compiled by then: all tasks of a run begin at once, and make
 * their first search together. For mails from all over the file, each by its subject in a mailbox that holds it.
 */
async function warmUp(): Promise<void> {
  const mails = db.prepare("SELECT coalesce(max(id), 0) FROM mails").pluck().get() as number;
  const selectMail = db.prepare(
    `SELECT m.subject, o.address FROM mails m JOIN filings f ON f.mail_id = m.id JOIN owners o ON o.id = f.owner_id
     WHERE m.id = ? AND o.address IS NOT NULL LIMIT 1`,
  );
  const searches = Math.min(WARM_UP_SEARCHES, mails);
  for (let i = 0; i < searches && !isCalled; i++) {
    const mail = selectMail.get(1 + Math.floor((i * mails) / searches)) as WarmUpMail | undefined;
    if (mail === undefined) continue;
    const args = { query: mail.subject, limit: 10 };
    executeSearch({ handlerKey: "email_search", args, context: { inbox: mail.address, cutoff: null }, config: {} });
    await setImmediate();
  }
}

interface WarmUpMail {
  readonly subject: string;
  readonly address: string;
}

// What is wrong with the file is told to the first caller.
warmUp().catch(() => {});
