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

/**
 * Searches until the first call arrives, so that the code is already compiled. All tasks of a run start together and
 * make their first searches at the same time. The queries are subjects of emails spread across the file, and each
 * search uses a mailbox that contains its email. A thread's first 50 searches take two to three times as long as the
 * last of these 300.
 */
async function warmUp(): Promise<void> {
  const selectMails = db.prepare(
    `WITH RECURSIVE spread(position) AS (SELECT 0 UNION ALL SELECT position + 1 FROM spread LIMIT 300)
     SELECT m.subject, o.address FROM spread
       JOIN mails m ON m.id = 1 + position * (SELECT max(id) FROM mails) / 300
       JOIN filings f ON f.mail_id = m.id JOIN owners o ON o.id = f.owner_id
     WHERE o.address IS NOT NULL GROUP BY m.id`,
  );
  for (const { subject, address } of selectMails.all() as WarmUpMail[]) {
    if (isCalled) return;
    const args = { query: subject, limit: 10 };
    executeSearch({ handlerKey: "email_search", args, context: { inbox: address, cutoff: null }, config: {} });
    await setImmediate();
  }
}

// The first call reports any problem with the file.
warmUp().catch(() => {});
