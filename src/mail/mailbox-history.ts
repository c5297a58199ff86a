// The emails of a mailbox with their threads: which email answers which, and when a text could first be read.
import type { Db } from "../store/open-store.js";
import { openAddressBook } from "./address-book.js";
import { type DateRange, openDateRanges, upTo } from "./date-range.js";
import { type Email, ownText, recipientsOf } from "./email.js";
import { openMailLookup } from "./mail-lookup.js";
import { isForward } from "./subject.js";

export interface MailboxEmail extends Email {
  readonly date: string;
  readonly threadId: number;
  /** Message-IDs of the email and its copies. */
  readonly ids: readonly string[];
}

const HISTORY_SQL = {
  mailbox: `SELECT o.mail_id AS mailId, coalesce(t.thread_id, o.mail_id) AS threadId,
                   (SELECT json_group_array(message_id) FROM messages x WHERE x.mail_id = o.mail_id) AS ids
            FROM mailboxes b JOIN mail_order o ON o.position = b.position LEFT JOIN mail_threads t ON t.mail_id = o.mail_id
            WHERE b.address_id = ? AND b.position BETWEEN ? AND ? AND o.date IS NOT NULL ORDER BY o.position DESC`,
} as const;

/** Returns the dated emails of a mailbox in a period, or all of them, oldest first. */
export function readMailboxHistory(db: Db, address: string, period: DateRange = upTo(null)): readonly MailboxEmail[] {
  const inboxId = openAddressBook(db).idOf(address);
  const { get } = openMailLookup(db);
  const { first, last } = openDateRanges(db).positions(period);
  const rows = db.prepare(HISTORY_SQL.mailbox).all(inboxId, first, last) as { threadId: number; ids: string }[];
  return rows.flatMap(({ threadId, ids }) => {
    const all = (JSON.parse(ids) as string[]).sort();
    const mail = get(all[0] ?? "");
    return mail === null || mail.date === null ? [] : [{ ...mail, date: mail.date, threadId, ids: all }];
  });
}

/**
 * Whether a later email in the same thread answers an email: it is from another address, and it goes back to the
 * email's sender, or it quotes the email. A forward is not an answer.
 */
export function isAnswer(later: MailboxEmail, email: MailboxEmail): boolean {
  if (later.threadId !== email.threadId || later.date <= email.date || later.sender === email.sender) return false;
  if (isForward(later.subject)) return false;
  return recipientsOf(later).includes(email.sender) || quotes(later, email);
}

function quotes(later: MailboxEmail, email: MailboxEmail): boolean {
  const opening = openingOf(email);
  return opening !== null && wordsOf(later.body).join(" ").includes(opening);
}

/** A text is recognized in another email by this many first words. Shorter texts occur everywhere. */
const OPENING_WORDS = 8;

/** Returns the first words of an email's own text, or null if it is too short to be recognized. */
function openingOf({ body }: MailboxEmail): string | null {
  const words = wordsOf(ownText(body)).slice(0, OPENING_WORDS);
  return words.length === OPENING_WORDS ? words.join(" ") : null;
}

/** Marks, line ends and spaces change when a text is quoted. Its words do not. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/**
 * Returns the date of the first email of a mailbox that contains the first words of an email's text. It can be before
 * the email's own date, because a forwarded chain or a copy can have a wrong one. The time is linear.
 * @param emails of the mailbox, oldest first
 */
export function firstReadable(emails: readonly MailboxEmail[]): (email: MailboxEmail) => string {
  const dates = new Map<string, string>();
  const known = new Set(emails.flatMap((email) => openingOf(email) ?? []));
  for (const { body, date } of emails) {
    const words = wordsOf(body);
    for (let i = 0; i + OPENING_WORDS <= words.length; i++) {
      const opening = words.slice(i, i + OPENING_WORDS).join(" ");
      if (known.has(opening) && !dates.has(opening)) dates.set(opening, date);
    }
  }
  return (email) => dates.get(openingOf(email) ?? "") ?? email.date;
}
