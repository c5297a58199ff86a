// Searches and opens emails for a person, with the handlers that agents use.
import type { z } from "zod";
import { endOfDay } from "../mail/date-range.js";
import { mailboxAndWords, openMailLookup, resolveInbox, type StoredMail } from "../mail/mail-lookup.js";
import { openThreads, type ThreadMail } from "../mail/threads.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { NEVER } from "../platform/deadline.js";
import { UserError } from "../platform/errors.js";
import { firstIssue, type JsonValue } from "../platform/json.js";
import { type Db, withStore } from "../store/open-store.js";
import {
  emailSearch,
  findAllWords,
  prepareQuery,
  searchEmailsArguments,
  splitOperators,
  toResult,
} from "./handlers/mail-tools.js";
import { openMailbox } from "./mailbox.js";
import { resultValue, type ToolContext, type ToolResult } from "./tool.js";
import { getTool } from "./tools-store.js";

interface SearchOptions {
  readonly inbox_address: string;
  readonly words: readonly string[];
  readonly limit: number;
  /** `best` uses email_search, and `newest` uses search_emails. */
  readonly order: "best" | "newest";
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  /** Date of an assumed question (YYYY-MM-DD). Later mail is invisible. */
  readonly cutoff?: string | undefined;
}

/** A search whose mailbox is the first word, or the only mailbox, if it is not given. */
interface TypedSearch extends Omit<SearchOptions, "inbox_address"> {
  readonly mailbox?: string | undefined;
}

/** Returns an email with the emails of its thread, oldest first and including itself. */
export function readMail(
  messageId: string,
  settings: AppSettings,
): Promise<{ readonly mail: StoredMail; readonly thread: readonly ThreadMail[] }> {
  return withStore(settings, (db) => {
    const mail = getMail(db, messageId);
    return { mail, thread: openThreads(db).visible(mail.mailId, "all", null) };
  });
}

export function getMail(db: Db, messageId: string): StoredMail {
  const mail = openMailLookup(db).get(messageId);
  if (mail !== null) return mail;
  throw new UserError(
    "mail_unknown",
    `Unknown email ${messageId} in ${db.name}.`,
    `Search for its Message-ID: ${commandLine`art-e search ADDRESS WORDS`}`,
  );
}

/** Returns the hits of email_search with a breakdown of each score, which agents do not see. */
export function explainSearch(typed: TypedSearch, settings: AppSettings) {
  if (typed.order !== "best") {
    throw new UserError(
      "flag_invalid",
      "--explain cannot be combined with --order newest, which does not compute scores.",
      "Remove one of them.",
    );
  }
  return withStore(settings, async (db) => {
    const options = searchOptions(db, typed);
    if (options.words.length === 0) {
      throw new UserError("words_missing", "--explain requires words to search for.", "Add them after the mailbox.");
    }
    const mailbox = openMailbox(db);
    const prepared = prepareQuery(bestArguments(options), "start", contextOf(db, options), mailbox);
    if (!prepared.ok) throw refused(prepared.error);
    const { hits, total, corrections } = mailbox.search.explainBestFirst(prepared.query);
    return { emails: hits.map((hit) => ({ ...toResult(hit), score: hit.explanation })), total, corrections };
  });
}

/**
 * Calls the same handlers as agents do, so that the value is the same as an agent's. `isListing`: there are no words to
 * search for, so the emails are the newest ones.
 */
export function searchMailbox(
  typed: TypedSearch,
  settings: AppSettings,
): Promise<{ readonly value: JsonValue; readonly isListing: boolean }> {
  return withStore(settings, async (db) => {
    const options = searchOptions(db, typed);
    return { value: await searchIn(db, options), isListing: options.words.length === 0 };
  });
}

function searchOptions(db: Db, { mailbox, ...options }: TypedSearch): SearchOptions {
  const { inbox, words } = mailboxAndWords(db, mailbox, options.words);
  return { ...options, inbox_address: inbox, words };
}

/** Like `searchMailbox`, in an open database. */
export async function searchIn(db: Db, options: SearchOptions): Promise<JsonValue> {
  const context = contextOf(db, options);
  const mailbox = openMailbox(db);
  let result: ToolResult;
  // Without words, both searches would list the newest emails first.
  if (options.order === "best" || options.words.length === 0) {
    const config = emailSearch.config.parse(getTool(db, "email_search").handlerConfig);
    result = await emailSearch.call(parse(emailSearch.args, bestArguments(options)), context, { mailbox }, config);
  } else {
    // An agent has to pass complete names and addresses, as in ART.
    result = findAllWords(parse(searchEmailsArguments, newestArguments(options)), "start", context, mailbox);
  }
  if (result.ok) return resultValue(result);
  throw refused(result.error);
}

function parse<T>(schema: z.ZodType<T>, args: object): T {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw refused(firstIssue(parsed.error));
}

function refused(why: string): UserError {
  return new UserError("search_refused", why, `See ${commandLine`art-e search --help`}.`);
}

function contextOf(db: Db, { inbox_address, cutoff }: SearchOptions): ToolContext {
  return {
    inbox: resolveInbox(db, inbox_address),
    cutoff: cutoff === undefined ? null : endOfDay(cutoff),
    signal: NEVER,
  };
}

function bestArguments({ words, limit, from, to, after, before }: SearchOptions) {
  return { query: words.join(" "), limit, from, to, sent_after: after, sent_before: before };
}

function newestArguments({ words, limit, from, to, after, before }: SearchOptions) {
  const typed = splitOperators(words.join(" "));
  return {
    keywords: typed.from === undefined && typed.to === undefined ? words : typed.words.split(/\s+/),
    max_results: Math.min(limit, 10),
    from_addr: from ?? typed.from,
    to_addr: to ?? typed.to,
    sent_after: after,
    sent_before: before,
  };
}
