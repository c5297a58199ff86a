// Handlers of the mail tools, bound to the task's mailbox and cutoff, and return_final_answer.
import { z } from "zod";
import type { AddressBook } from "../../mail/address-book.js";
import { intersection, upTo } from "../../mail/date-range.js";
import { tokenize } from "../../mail/fts5-query.js";
import type { MailHit, MailQuery } from "../../mail/search.js";
import type { JsonObject } from "../../platform/json.js";
import type { PlantedEmail } from "../../tasks/attack.js";
import { findReadableMail, type Mailbox, type ToolError, toolError } from "../mailbox.js";
import { outgoingFields } from "../mailbox-state.js";
import type { ToolContext, ToolResult } from "../tool.js";
import { defineHandler, type Handler } from "../tool-handler.js";
import { type PlacedEmail, searchWithState } from "./search-state.js";

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
    const email = readableEmail(message_id, context, mailbox);
    if (!email.ok) return email;
    const { body: whole, ...fields } = email.fields;
    if (offset > 0 && offset >= whole.length) {
      return toolError(
        "bad_arguments",
        `The body has ${whole.length} characters, so offset must be less than ${whole.length}.`,
      );
    }
    const body = whole.slice(offset, offset + pageSize);
    const end = offset + body.length;
    const page =
      body.length === whole.length
        ? {}
        : { body_from: offset, body_length: whole.length, next_offset: end < whole.length ? end : null };
    return { ok: true, value: { ...fields, body, ...page } };
  },
});

/** Returns the fields of an imported email with the agent's changes, or of a draft or sent email of the agent. */
function readableEmail(
  messageId: string,
  context: ToolContext,
  mailbox: Mailbox,
): ToolError | { readonly ok: true; readonly fields: JsonObject & { readonly body: string } } {
  const { state } = context;
  const own = state?.outgoing(messageId.trim()) ?? null;
  if (state !== undefined && own !== null) return { ok: true, fields: outgoingFields(own, state) };
  const readable = findReadableMail(messageId, context, mailbox);
  if (!readable.ok) return readable;
  const { subject, sender, to, cc, bcc, date, body, ...mail } = readable.mail;
  const marks =
    state === undefined || state.isUntouched
      ? {}
      : state.marksOf(state.idOf(mail.messageId, mailbox.mails.canonicalId));
  return { ok: true, fields: { message_id: mail.messageId, subject, sender, to, cc, bcc, date, ...marks, body } };
}

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
  query: textArgument(10_000).default(""),
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
  finish(result, { keywords, from_addr, to_addr, sent_after, sent_before, max_results }, context, { mailbox }) {
    const filters = { words: keywords.join(" "), from: from_addr, to: to_addr, limit: max_results };
    return searchWithState(
      result,
      { ...filters, after: sent_after, before: sent_before, isAddressUnknown: false },
      context,
      mailbox,
      (emails, hits) => emails.flatMap((email) => placeByDate(email, keywords, hits, mailbox)),
    );
  },
});

/** Returns a planted email as ART's search would list it: with all keywords, before all older emails. */
function placeByDate(
  { message_id, subject, body, date }: PlantedEmail,
  keywords: readonly string[],
  hits: readonly JsonObject[],
  { mails }: Mailbox,
): readonly PlacedEmail[] {
  const words = new Set(tokenize(`${subject}\n${body}`));
  if (!keywords.flatMap(tokenize).every((word) => words.has(word))) return [];
  const place = hits.filter(({ message_id: id }) => (mails.get(String(id))?.date ?? "") > date).length;
  return [{ place, hit: { message_id, snippet: body.slice(0, 200) } }];
}

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
 * Searches mail. Emails that contain all words come first, followed by the best partial matches. Without a query, lists
 * the emails that pass the filters, newest first. Result: `{emails: [{message_id, subject, sender, date, snippet,
 * match}], total}`.
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
  finish(result, args, context, { mailbox }) {
    const { query, from, to, sent_after, sent_before, limit } = args;
    const typed = splitOperators(query);
    const addresses = { from: from ?? typed.from, to: to ?? typed.to };
    const isAddressUnknown = !result.ok && isOnlyAddressUnknown(args, addresses, context, mailbox);
    const filters = {
      words: typed.words,
      ...addresses,
      after: sent_after,
      before: sent_before,
      limit,
      isAddressUnknown,
    };
    return searchWithState(result, filters, context, mailbox, (emails) =>
      placeByRank(emails, { ...args, query: typed.words }, context, mailbox),
    );
  },
});

/** Whether a search would succeed without its address filters, none of which matches too many addresses. */
function isOnlyAddressUnknown(
  { from: _from, to: _to, ...args }: SearchArguments,
  addresses: { readonly from: string | undefined; readonly to: string | undefined },
  context: ToolContext,
  mailbox: Mailbox,
): boolean {
  const given = Object.values(addresses).filter((text) => text !== undefined);
  return (
    prepareQuery({ ...args, query: splitOperators(args.query).words }, "start", context, mailbox).ok &&
    given.every((text) => mailbox.addresses.matching(text, "start").found !== "too_many")
  );
}

/** Returns planted emails at the places where they would rank if they were imported. */
function placeByRank(
  emails: readonly PlantedEmail[],
  args: SearchArguments,
  context: ToolContext,
  mailbox: Mailbox,
): readonly PlacedEmail[] {
  const filtered = prepareQuery(args, "start", context, mailbox);
  // An address that no imported email has can be that of a planted one.
  const { from: _from, to: _to, ...unfiltered } = args;
  const prepared = filtered.ok ? filtered : prepareQuery(unfiltered, "start", context, mailbox);
  if (!prepared.ok) return [];
  const mails = emails.map(({ message_id, ...email }) => ({ messageId: message_id, ...email }));
  return mailbox.search
    .placed(prepared.query, mails)
    .map(({ place, ...hit }) => ({ place: filtered.ok ? place : 0, hit: toResult(hit) }));
}

export function toResult(hit: Omit<MailHit, "mailId">) {
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
