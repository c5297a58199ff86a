// A search thread: runs the handlers of search tools on its own read-only connection.
import { setImmediate } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { serveCalls } from "../../platform/worker-rpc.js";
import { openReadOnly } from "../../store/open-store.js";
import { SEARCH_HANDLERS } from "../handlers/mail-tools.js";
import { openMailbox } from "../mailbox.js";
import type { HandlerCall, SearchAnswer } from "../search-pool.js";
import { resultJson, type ToolResult } from "../tool.js";

interface WarmUpMail {
  readonly subject: string;
  readonly address: string;
}

/** Entry point of a search thread. Receives calls to the search handlers and posts their results. */

const db = openReadOnly((workerData as { path: string }).path);
const mailbox = openMailbox(db);

/** Never aborts, because a search is a few milliseconds of synchronous SQLite work. */
const { signal } = new AbortController();

let isCalled = false;

/** Synchronous, like all search handlers. In a transaction, only the first statement acquires SQLite's locks. */
const executeSearch = db.transaction(({ handlerKey, args, context, config }: HandlerCall): SearchAnswer => {
  const handler = SEARCH_HANDLERS[handlerKey];
  if (handler === undefined) throw new Error(`${handlerKey} is not a search handler`);
  const result = handler.call(args, { ...context, signal }, { mailbox }, config) as ToolResult;
  return result.ok ? { ok: true, json: resultJson(result) } : result;
});

serveCalls(
  (call: HandlerCall) => {
    isCalled = true;
    return executeSearch(call);
  },
  // SQLite errors concern the user's file, so the message is enough. Any other error is a bug and includes the stack.
  ({ code, message, stack }) => ({ message: code?.startsWith("SQLITE_") ? message : (stack ?? message), code }),
);

/** A thread's first 50 searches take two to three times as long as the last of these 300. */
const WARM_UP_SEARCHES = 300;

/**
 * Searches until the first call arrives, so that the code is already compiled. All tasks of a run start together and
 * make their first searches at the same time. The queries are subjects of emails spread across the file, and each
 * search uses a mailbox that contains its email.
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

// The first call reports any problem with the file.
warmUp().catch(() => {});
