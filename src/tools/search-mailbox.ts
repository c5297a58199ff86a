import { openMailLookup, resolveInbox, type StoredMail } from "../mail/mail-lookup.js";
import { endOfDay } from "../mail/search-query.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { JsonValue } from "../platform/json.js";
import { type Db, withStore } from "../store/open-store.js";
import { emailSearch, prepareQuery, searchEmails, toResult } from "./mail-tools.js";
import { openMailbox } from "./mailbox.js";
import { getTool } from "./tool.js";

export function readMail(messageId: string, settings: AppSettings): Promise<StoredMail> {
  return withStore(settings, (db) => getMail(db, messageId));
}

export function getMail(db: Db, messageId: string): StoredMail {
  const mail = openMailLookup(db).get(messageId);
  if (mail !== null) return mail;
  throw new UserError(
    "mail_unknown",
    `There is no mail ${messageId} in ${db.name}.`,
    `${commandLine`art-e search ADDRESS WORDS`} finds mails.`,
  );
}

/** The hits of email_search, and what an agent is not told: which part of each score comes from what. */
export function explainSearch(options: SearchOptions, settings: AppSettings) {
  if (options.order !== "best") {
    throw new UserError(
      "flag_invalid",
      "--explain is about scores, which --order newest has none of.",
      "Leave out one of the two.",
    );
  }
  return withStore(settings, async (db) => {
    const mailbox = openMailbox(db);
    const prepared = prepareQuery(
      {
        words: options.words.join(" "),
        inbox: undefined,
        from: options.from,
        to: options.to,
        sentAfter: options.after,
        sentBefore: options.before,
        limit: options.limit,
        addressFilter: "containing",
      },
      {
        inbox: resolveInbox(db, options.inbox_address),
        cutoff: options.cutoff === undefined ? null : endOfDay(options.cutoff),
        signal: new AbortController().signal,
      },
      mailbox,
    );
    if (!prepared.ok) throw refused(prepared.error);
    if (prepared.query === null) return { emails: [], total: 0, corrections: [] };
    const { hits, total, corrections } = mailbox.search.explainBestFirst(prepared.query);
    return { emails: hits.map((hit) => ({ ...toResult(hit), score: hit.explanation })), total, corrections };
  });
}

interface SearchOptions {
  readonly inbox_address: string;
  readonly words: readonly string[];
  readonly limit: number;
  /** best: email_search; newest: search_emails. */
  readonly order: "best" | "newest";
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  /** As for a question of this day: later mail is invisible. */
  readonly cutoff?: string | undefined;
}

/** Calls the handlers of the tools that agents call: the result is what an agent would see. */
export function searchMailbox(options: SearchOptions, settings: AppSettings): Promise<JsonValue> {
  return withStore(settings, async (db) => {
    const isBest = options.order === "best";
    const id = isBest ? "email_search" : "search_emails";
    const handler = isBest ? emailSearch : searchEmails;
    const inbox = resolveInbox(db, options.inbox_address);
    const args = handler.args.safeParse(isBest ? bestArguments(inbox, options) : newestArguments(options));
    if (!args.success) throw refused(args.error.issues[0]?.message ?? "it cannot be used");
    const context = {
      inbox,
      cutoff: options.cutoff === undefined ? null : endOfDay(options.cutoff),
      signal: new AbortController().signal,
    };
    const config = handler.config.parse(getTool(db, id).handlerConfig);
    const result = await handler.call(args.data, context, { mailbox: openMailbox(db) }, config);
    if (result.ok) return result.value;
    throw refused(result.error);
  });
}

function refused(why: string): UserError {
  return new UserError("search_refused", why, "See art-e search --help.");
}

function bestArguments(inbox: string, { words, limit, from, to, after, before }: SearchOptions): JsonValue {
  return withoutUndefined({
    query: words.join(" "),
    inbox_id: inbox,
    limit,
    from,
    to,
    sent_after: after,
    sent_before: before,
  });
}

function newestArguments({ words, limit, from, to, after, before }: SearchOptions): JsonValue {
  return withoutUndefined({
    keywords: words,
    max_results: Math.min(limit, 10),
    from_addr: from,
    to_addr: to,
    sent_after: after,
    sent_before: before,
  });
}

function withoutUndefined(args: Readonly<Record<string, JsonValue | undefined>>): JsonValue {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as JsonValue;
}
