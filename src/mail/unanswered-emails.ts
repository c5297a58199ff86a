// Lists the emails of a mailbox that may need a reply: from its owner, or to the owner. The tasks about the future of a
// mailbox use the same rule.
import type { Db } from "../store/open-store.js";
import type { MadeKind } from "../tasks/selection.js";
import { addDays } from "../text/utc-day.js";
import { endOfDay } from "./date-range.js";
import { openMailboxListing } from "./mail-lookup.js";
import { type MailboxEmail, readMailboxHistory } from "./mailbox-history.js";
import { OpenEmails, reasonsToList, SELECTION_PERIODS } from "./open-emails.js";

export interface UnansweredEmails {
  /** First and last day of the window (YYYY-MM-DD), or null if the mailbox has no dated email before the cutoff. */
  readonly window: { readonly from: string; readonly until: string } | null;
  /** Newest first. */
  readonly emails: readonly UnansweredEmail[];
}

export interface UnansweredEmail {
  readonly email: MailboxEmail;
  readonly reasons: readonly string[];
}

export interface ReplyWindow {
  /** First day. Undefined for 7 days (`needs-reply`) or 14 (`waiting-for`) that end with the newest email. */
  readonly after?: string | undefined;
  /** Emails of this day and later ones are hidden. Undefined hides only those dated after today. */
  readonly before?: string | undefined;
}

/**
 * Lists the emails in the window that nobody has answered before its end: received ones (`needs-reply`), or the owner's
 * that ask for something (`waiting-for`).
 */
export function listUnanswered(
  db: Db,
  inbox: string,
  kind: MadeKind,
  { after, before }: ReplyWindow,
): UnansweredEmails {
  // Some emails have a date in the future.
  const cutoff = before === undefined ? endOfDay(new Date().toISOString()) : `${before}T00:00:00Z`;
  const [newest] = openMailboxListing(db, inbox, cutoff).list(null, 1);
  const until = newest?.date?.slice(0, 10);
  if (until === undefined) return { window: null, emails: [] };
  const from = after ?? addDays(until, 1 - SELECTION_PERIODS[kind].windowDays);
  const windowDays = Math.round((Date.parse(until) - Date.parse(from)) / 86_400_000) + 1;
  // Only later emails answer an email, so older ones are not read.
  const emails = readMailboxHistory(db, inbox, { after: from, before: endOfDay(until) });
  const open = new OpenEmails(inbox, emails).open(kind, { day: until, windowDays, replyDays: 0 });
  return {
    window: { from, until },
    emails: open.map(({ email }) => ({ email, reasons: reasonsToList(kind, inbox, email) })).reverse(),
  };
}
