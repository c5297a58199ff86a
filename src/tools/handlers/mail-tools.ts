import { z } from "zod";
import type { AddressBook } from "../../mail/address-book.js";
import { intersection, upTo } from "../../mail/date-range.js";
import type { MailHit, MailQuery } from "../../mail/search.js";
import { findReadableMail, type Mailbox, type ToolError, toolError } from "../mailbox.js";
import type { ToolContext, ToolResult } from "../tool.js";
import { defineHandler, type Handler } from "../tool-handler.js";

export const returnFinalAnswer = defineHandler({
  args: z.object({ answer: z.string(), sources: z.array(z.string()).default([]) }),
  config: z.strictObject({}),
  call({ answer, sources }) {
    return { ok: true, value: { accepted: true }, final: { answer, sources } };
  },
});

/**
 * Returns one email. A body longer than `pageSize` is split into pages. Result: `{message_id, subject, sender, to, cc,
 * bcc, date, body}`, plus `{body_from, body_length, next_offset}` if the body is incomplete.
 */
export const emailGet = defineHandler({
  args: z.object({ message_id: textArgument(2_000).min(1), offset: z.number().int().min(0).default(0) }),
  config: z.strictObject({
    /** Maximum body characters per result. */
    pageSize: z.number().int().min(1000).default(20_000),
  }),
  call({ message_id, offset }, context, { mailbox }, { pageSize }) {
    const readable = findReadableMail(message_id, context, mailbox);
    if (!readable.ok) return readable;
    const { mail } = readable;
    if (offset > 0 && offset >= mail.body.length) {
      return toolError(
        "bad_arguments",
        `The body has ${mail.body.length} characters, so offset must be less than ${mail.body.length}.`,
      );
    }
    const body = mail.body.slice(offset, offset + pageSize);
    const end = offset + body.length;
    const page =
      body.length === mail.body.length
        ? {}
        : { body_from: offset, body_length: mail.body.length, next_offset: end < mail.body.length ? end : null };
    return {
      ok: true,
      value: {
        message_id: mail.messageId,
        subject: mail.subject,
        sender: mail.sender,
        to: mail.to,
        cc: mail.cc,
        bcc: mail.bcc,
        date: mail.date,
        body,
        ...page,
      },
    };
  },
});

/** Applies the task's solution from the run's oracle file. Returns the applied solution. */
export const applyOracle = defineHandler({
  args: z.object({}),
  config: z.strictObject({}),
  async call(_args, { oracle, signal }) {
    if (oracle === undefined)
      return toolError("failed", "This task does not have an oracle file. Continue without it.");
    const done = await oracle.apply(signal);
    return done.ok ? { ok: true, value: done.applied } : toolError("failed", done.reason);
  },
});

const day = z.iso.date();

const emailSearchArguments = z.object({
  query: textArgument(10_000),
  inbox_id: textArgument(1_000).optional(),
  limit: z.number().int().min(1).max(50).default(10),
  from: textArgument(1_000).optional(),
  to: textArgument(1_000).optional(),
  sent_after: day.optional(),
  sent_before: day.optional(),
});

type SearchArguments = z.output<typeof emailSearchArguments>;

/** Address filters: the start of words of an address or a name, or a complete one. */
type AddressFilter = "start" | "complete";

type BoundQuery = MailQuery & { readonly inboxId: number };

export const searchEmailsArguments = z.object({
  keywords: z.array(textArgument(1_000)).min(1).max(100, "expected at most 100 keywords"),
  from_addr: textArgument(1_000).optional(),
  to_addr: textArgument(1_000).optional(),
  sent_after: day.optional(),
  sent_before: day.optional(),
  max_results: z.number().int().min(1).max(10).default(10),
});

/**
 * ART's search. All keywords must match, without stemming. It covers mail from or to the user's address, regardless of
 * the folder. Result: `[{message_id, snippet}]`, newest first, at most 10. Unlike ART's original, it uses one
 * Message-ID for all copies of an email, hides mail sent after the task's day, accepts complete names as address
 * filters, and rejects invalid dates.
 */
export const searchEmails = defineHandler({
  args: searchEmailsArguments,
  config: z.strictObject({}),
  call: (args, context, { mailbox }) => findAllWords(args, "complete", context, mailbox),
});

/** @param how `complete` accepts only whole addresses and names, and an unknown one finds nothing, as in ART */
export function findAllWords(
  { keywords, from_addr, to_addr, max_results, ...days }: z.output<typeof searchEmailsArguments>,
  how: AddressFilter,
  context: ToolContext,
  mailbox: Mailbox,
): ToolResult {
  const args = { query: "", from: from_addr, to: to_addr, limit: max_results, ...days };
  const prepared = prepareQuery(args, how, context, mailbox);
  if (!prepared.ok) return prepared;
  const { inboxId, ...query } = prepared.query;
  const hits = mailbox.artSearch({ ...query, keywords, namedId: inboxId });
  return { ok: true, value: hits.map((hit) => ({ message_id: hit.messageId, snippet: hit.snippet })) };
}

/**
 * Searches mail. Emails that contain all words come first, followed by the best partial matches. Result: `{emails:
 * [{message_id, subject, sender, date, snippet, match}], total}`.
 */
export const emailSearch = defineHandler({
  args: emailSearchArguments,
  config: z.strictObject({}),
  call(args, context, { mailbox }) {
    const prepared = prepareQuery(args, "start", context, mailbox);
    if (!prepared.ok) return prepared;
    const { hits, total } = mailbox.search.bestFirst(prepared.query);
    return { ok: true, value: { emails: hits.map(toResult), total } };
  },
});

export function toResult(hit: MailHit) {
  return {
    message_id: hit.messageId,
    subject: hit.subject,
    sender: hit.sender,
    date: hit.date,
    snippet: hit.snippet,
    match: hit.match,
  };
}

/**
 * Handlers that run on search threads, because each call takes milliseconds in SQLite. Reading one email takes a
 * fiftieth of that, less than a call to a thread.
 */
export const SEARCH_HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  search_emails: searchEmails,
};

/** Binds a call to the task's inbox and cutoff. `from:` and `to:` in the query are filters, too. */
export function prepareQuery(
  call: SearchArguments,
  how: AddressFilter,
  context: ToolContext,
  mailbox: Mailbox,
): { ok: true; query: BoundQuery } | ToolError {
  const inbox = chooseInbox(call.inbox_id, context, mailbox.addresses);
  if (!inbox.ok) return inbox;
  const period = intersection(
    { after: startOf(call.sent_after), before: startOf(call.sent_before) },
    upTo(context.cutoff),
  );
  const typed = splitOperators(call.query);
  const resolve = (name: "from" | "to") =>
    resolveFilter(name, call[name] || typed[name], how, mailbox, { inboxId: inbox.id, before: period.before });
  const from = resolve("from");
  const to = resolve("to");
  if (!from.ok) return from;
  if (!to.ok) return to;
  return {
    ok: true,
    query: {
      words: typed.words,
      inboxId: inbox.id,
      fromIds: from.ids,
      toIds: to.ids,
      period,
      limit: call.limit,
      askedAt: context.cutoff,
    },
  };
}

/**
 * Splits a query into its words and its address filters: `from:zora`, `to:"Perry Vance"`, `from:<pv@plains.example>`.
 * If nothing else is left, the names are the words.
 */
export function splitOperators(query: string): { words: string; from?: string; to?: string } {
  const filters: { from?: string; to?: string } = {};
  const words = query.replace(OPERATOR, (_, name: string, quoted: string | undefined, word: string) => {
    filters[name.toLowerCase() as "from" | "to"] = quoted ?? word;
    return "";
  });
  const rest = words.trim() === "" ? Object.values(filters).join(" ") : words.trim();
  return filters.from === undefined && filters.to === undefined ? { words: query } : { words: rest, ...filters };
}

const OPERATOR = /(?<![\p{L}\p{N}])(from|to):(?:"([^"]+)"|([\p{L}\p{N}<][^\s"]*))/giu;

function resolveFilter(
  name: string,
  text: string | undefined,
  how: AddressFilter,
  { addresses }: Mailbox,
  mailbox: { readonly inboxId: number; readonly before: string | null },
): { ok: true; ids: readonly number[] | null } | ToolError {
  if (text === undefined || text.trim() === "") return { ok: true, ids: null };
  const match = addresses.matching(text, how);
  if (match.found === "some") return { ok: true, ids: match.ids };
  if (match.found === "none" && how === "complete") return { ok: true, ids: [] };
  if (match.found === "none") {
    const near = addresses.nearest(text, mailbox);
    const hint =
      near.length === 0 ? `Omit "${name}", or pass another name or address.` : `Similar: ${near.join(", ")}.`;
    return toolError("bad_arguments", `No email in the mailbox is ${name} "${text}". ${hint}`);
  }
  return toolError(
    "bad_arguments",
    `"${text}" matches more than ${match.count - 1} addresses. Pass a longer part of the address in "${name}", or omit it.`,
  );
}

function startOf(day: string | undefined): string | null {
  return day === undefined ? null : `${day}T00:00:00Z`;
}

/** Returns the inbox that a call may search: the task's own inbox or, outside a task, the requested one. */
function chooseInbox(
  requestedInbox: string | undefined,
  context: ToolContext,
  addresses: AddressBook,
): { ok: true; id: number } | ToolError {
  const requested = requestedInbox?.trim().toLowerCase();
  const address = context.inbox ?? requested;
  if (address === undefined || address === "")
    return toolError("bad_arguments", "Pass the mailbox to search in inbox_id.");
  if (context.inbox !== null && requested !== undefined && requested !== context.inbox) {
    return toolError(
      "bad_arguments",
      `You may search only the mailbox ${context.inbox}, not ${requestedInbox}. Call again with inbox_id "${context.inbox}".`,
    );
  }
  const id = addresses.idOf(address);
  if (id === null) return toolError("failed", `No imported email is from or to ${address}.`);
  return { ok: true, id };
}

function textArgument(maxChars: number) {
  return z.string().max(maxChars, `expected at most ${maxChars} characters`);
}
