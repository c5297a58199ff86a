// Shows what only this attempt at a task knows in the results of a search: the labels, folders and marks of the emails
// found, the agent's drafts and sent emails, and planted emails. The index contains only the imported mail.
import { contentTokens, tokenize } from "../../mail/fts5-query.js";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import type { PlantedEmail } from "../../tasks/attack.js";
import type { OutgoingEmail } from "../../tasks/mailbox-changes.js";
import { stemOf } from "../../text/porter.js";
import type { Mailbox } from "../mailbox.js";
import { DRAFTS, type MailboxState } from "../mailbox-state.js";
import { resultValue, type ToolContext, type ToolResult } from "../tool.js";

/** The arguments of `email_search` or `search_emails`, which name the same things differently. */
interface SearchFilters {
  readonly words: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
  /** Whether the search failed only because no imported email has an address of the filters. */
  readonly isAddressUnknown: boolean;
}

/** A planted email as a hit, and the number of imported emails that rank before it. */
export interface PlacedEmail {
  readonly place: number;
  readonly hit: JsonObject;
}

/** Returns the hits among the planted emails, given the hits of the search. */
type PlaceEmails = (emails: readonly PlantedEmail[], hits: readonly JsonObject[]) => readonly PlacedEmail[];

const SNIPPET_CHARS = 200;

/** Returns the result of a search with the state of the mailbox. Its own emails come first, because they are newest. */
export function searchWithState(
  result: ToolResult,
  filters: SearchFilters,
  { state }: ToolContext,
  { mails }: Mailbox,
  placeEmails: PlaceEmails,
): ToolResult {
  if (state === undefined || state.isUntouched) return result;
  const planted = (state.attack?.emails ?? []).filter((email) => passes(email, filters));
  const own = state.allOutgoing().filter(({ email }) => matches(email, filters, state));
  const shown = own.map(({ email, folder }) => shownAs(email, folder, state));
  // An address that no imported email has can be that of a draft.
  if (!result.ok && !(filters.isAddressUnknown && own.length + planted.length > 0)) return result;
  const value = result.ok ? resultValue(result) : { emails: [], total: 0 };
  const list = (Array.isArray(value) ? value : (value as { emails: JsonValue }).emails) as readonly JsonObject[];
  const marked = list.map((email) => ({
    ...email,
    ...state.marksOf(state.idOf(String(email.message_id), mails.canonicalId)),
  }));
  const placed = planted.length === 0 ? [] : placeEmails(planted, list);
  const found = withPlaced(marked, placed, state, mails.canonicalId);
  const emails = [...shown, ...found].slice(0, filters.limit);
  if (!result.ok && emails.length === 0) return result;
  if (Array.isArray(value)) return { ok: true, value: emails as JsonValue };
  const { total } = value as { total: number };
  return {
    ok: true,
    value: {
      ...(value as JsonObject),
      emails,
      total: Math.max(total, list.length + placed.length) + own.length,
    } as JsonValue,
  };
}

/** Inserts the planted emails where they rank. */
function withPlaced(
  hits: readonly JsonObject[],
  placed: readonly PlacedEmail[],
  state: MailboxState,
  canonicalId: (messageId: string) => string,
): readonly JsonObject[] {
  const all = [...hits];
  for (const { place, hit } of [...placed].sort((a, b) => b.place - a.place)) {
    all.splice(place, 0, { ...hit, ...state.marksOf(state.idOf(String(hit.message_id), canonicalId)) });
  }
  return all;
}

/** Whether a planted email passes the filters of a search. Its words are compared by `placeEmails`. */
function passes({ sender, to, date }: PlantedEmail, { from, to: recipient, after, before }: SearchFilters): boolean {
  const day = date.slice(0, 10);
  return (
    has(from, [sender]) &&
    has(recipient, to) &&
    (after === undefined || day >= after) &&
    (before === undefined || day < before)
  );
}

/** Whether an address filter accepts one of the addresses. */
function has(text: string | undefined, addresses: readonly string[]): boolean {
  return text === undefined || addresses.some((address) => address.includes(text.trim().toLowerCase()));
}

/** An email of the agent's own matches if it contains every word. */
function matches(
  { subject, body, to, cc, bcc }: OutgoingEmail,
  { words, from, to: recipient, after, before }: SearchFilters,
  { owner, now }: MailboxState,
): boolean {
  const today = now.slice(0, 10);
  if (!has(from, [owner]) || !has(recipient, [...to, ...cc, ...bcc])) return false;
  if ((after !== undefined && today < after) || (before !== undefined && today >= before)) return false;
  const present = new Set(tokenize(`${subject}\n${body}`).map(stemOf));
  return contentTokens(words).every((word) => present.has(stemOf(word)));
}

function shownAs({ message_id, subject, body }: OutgoingEmail, folder: string, { owner, now }: MailboxState) {
  const shown = { message_id, subject, sender: owner, date: now, snippet: body.slice(0, SNIPPET_CHARS), folder };
  return folder === DRAFTS ? { ...shown, draft_id: message_id } : shown;
}
