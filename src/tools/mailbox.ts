// Read access to one mailbox up to a date. Every tool that shows an email uses its rule.
import { type AddressBook, openAddressBook } from "../mail/address-book.js";
import { type ArtHit, type ArtQuery, openArtSearch } from "../mail/art-search.js";
import { type MailLookup, openMailLookup, type StoredMail } from "../mail/mail-lookup.js";
import { type MailSearch, openMailSearch } from "../mail/search.js";
import type { Db } from "../store/open-store.js";
import type { ToolContext, ToolResult } from "./tool.js";

/** Read access to mail for the mail tools. Open it once and share it, so that its statements are prepared only once. */
export interface Mailbox {
  readonly search: MailSearch;
  readonly artSearch: (query: ArtQuery) => readonly ArtHit[];
  readonly mails: MailLookup;
  readonly addresses: AddressBook;
}

/** An email as agents see it: an imported one, or one that is planted for this attempt at a task. */
export type ReadableMail = Omit<StoredMail, "mailId">;

export type ToolError = Extract<ToolResult, { ok: false }>;

export function openMailbox(db: Db): Mailbox {
  return {
    search: openMailSearch(db),
    artSearch: openArtSearch(db),
    mails: openMailLookup(db),
    addresses: openAddressBook(db),
  };
}

export function toolError(kind: ToolError["kind"], error: string): ToolError {
  return { ok: false, kind, error };
}

/**
 * Returns an email that the agent may read, which is one in its inbox and sent before its cutoff. The error is the same
 * if the email does not exist, is in another inbox or is later, so that an agent cannot probe for hidden mail.
 */
export function findReadableMail(
  messageId: string,
  context: ToolContext,
  { mails, addresses }: Mailbox,
): { ok: true; mail: ReadableMail } | ToolError {
  const planted = context.state?.plantedEmail(messageId) ?? null;
  if (planted !== null) {
    const { message_id, ...email } = planted;
    return { ok: true, mail: { messageId: message_id, ...email, cc: [], bcc: [] } };
  }
  const mail = mails.get(messageId);
  const inboxId = context.inbox === null ? "all" : addresses.idOf(context.inbox);
  if (mail === null || inboxId === null || !mails.isVisible(mail, inboxId, context.cutoff)) {
    const place = context.inbox === null ? "the imported mail" : `the mailbox ${context.inbox}`;
    const until = context.cutoff === null ? "" : ` up to ${lastDayBefore(context.cutoff)}`;
    return toolError(
      "invalid_email",
      `Unknown email ${messageId} in ${place}${until}. Use a message_id from a search result unchanged.`,
    );
  }
  return { ok: true, mail };
}

function lastDayBefore(cutoff: string): string {
  return new Date(Date.parse(cutoff) - 1).toISOString().slice(0, 10);
}
