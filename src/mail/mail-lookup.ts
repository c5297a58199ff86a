// Finds emails by Message-ID and lists mailboxes.
import { UserError } from "../platform/errors.js";
import { parseColumn } from "../store/damaged-row.js";
import { type Db, withTickTransaction } from "../store/open-store.js";
import type { Question } from "../tasks/question.js";
import { type AddressBook, openAddressBook, similarAddresses } from "./address-book.js";
import { endOfDay, isInRange, openDateRanges, upTo } from "./date-range.js";
import { bareMessageId, type Email } from "./email.js";
import { frequentAddresses, noMail, onlyMailbox, openMailboxes } from "./mailboxes.js";
import type { MailQuery } from "./search.js";

export interface MailHead {
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  /** Position in date order. The next page starts after it. */
  readonly cursor: number;
}

export interface MailboxListing {
  /** Returns emails after the cursor, newest first. */
  list(cursor: number | null, limit: number): MailHead[];
  /**
   * Returns Message-IDs of the mailbox with a prefix, with or without an angle bracket. Scans only a limited number of
   * Message-IDs.
   */
  complete(prefix: string, limit: number): { ids: string[]; hasMore: boolean };
}

export interface StoredMail extends Omit<Email, "headerNames" | "asWritten" | "references"> {
  readonly mailId: number;
}

export interface MailLookup {
  /** Returns the email with this Message-ID, with or without angle brackets, or null if it is unknown. */
  get(messageId: string): StoredMail | null;
  isInInbox(mailId: number, addressId: number): boolean;
  /**
   * Whether an agent can see the email: it is in the mailbox of the address and was sent before the cutoff (ISO 8601,
   * exclusive), if there is one. Searches apply the same rule to positions.
   */
  isVisible(mail: Pick<StoredMail, "mailId" | "date">, inboxId: number | "all", cutoff: string | null): boolean;
  /** Returns the same id for all Message-IDs of an email. Returns an unknown id unchanged. */
  canonicalId(messageId: string): string;
  /** Returns the Message-IDs of an email and its copies, starting with the one passed. */
  copies(messageId: string): string[];
}

interface StoredMailRow {
  mailId: number;
  messageId: string;
  subject: string;
  sender: string;
  recipients: string;
  toCount: number;
  ccCount: number;
  date: string | null;
  body: string;
}

/**
 * Maximum number of Message-IDs scanned per completion. Most start with a digit, and a one-digit prefix matches a tenth
 * of all mail.
 */
const MAX_IDS_SCANNED = 2_000;

export const LISTING_SQL = {
  list: `SELECT o.position AS cursor, (SELECT min(message_id) FROM messages WHERE mail_id = m.id) AS messageId,
                m.subject, m.sender, m.date
         FROM mailboxes b JOIN mail_order o ON o.position = b.position JOIN mails m ON m.id = o.mail_id
         WHERE b.address_id = ? AND b.position BETWEEN ? AND ? ORDER BY b.position LIMIT ?`,
  idsFrom: `SELECT x.message_id AS messageId, x.mail_id AS mailId, m.date
            FROM messages x JOIN mails m ON m.id = x.mail_id
            WHERE x.message_id >= ? AND x.message_id < ? ORDER BY x.message_id LIMIT ?`,
} as const;

/** Lists the mail in one mailbox before the cutoff (ISO 8601, exclusive), or all of its mail if the cutoff is null. */
export function openMailboxListing(db: Db, inbox: string, cutoff: string | null): MailboxListing {
  const inboxId = openAddressBook(db).idOf(inbox);
  const mails = openMailLookup(db);
  const { first, last } = openDateRanges(db).positions(upTo(cutoff));
  const list = db.prepare(LISTING_SQL.list);
  const idsFrom = db.prepare(LISTING_SQL.idsFrom);
  if (inboxId === null) return { list: () => [], complete: () => ({ ids: [], hasMore: false }) };
  return {
    list(cursor, limit) {
      const from = cursor === null ? first : Math.max(first, cursor + 1);
      return list.all(inboxId, from, last, limit) as MailHead[];
    },
    complete(prefix, limit) {
      const from = `<${prefix.trim().replace(/^</, "")}`;
      const rows = idsFrom.all(from, `${from}\u{10ffff}`, MAX_IDS_SCANNED) as {
        messageId: string;
        mailId: number;
        date: string | null;
      }[];
      const ids: string[] = [];
      for (const row of rows) {
        if (!mails.isVisible(row, inboxId, cutoff)) continue;
        if (ids.length === limit) return { ids, hasMore: true };
        ids.push(row.messageId);
      }
      return { ids, hasMore: rows.length === MAX_IDS_SCANNED };
    },
  };
}

/** Returns the search with the question itself as the query, as if an agent sent it on the day of the question. */
export function questionQuery(
  question: Pick<Question, "question" | "inbox_address" | "query_date">,
  addresses: AddressBook,
): MailQuery {
  const askedAt = endOfDay(question.query_date);
  return {
    words: question.question,
    inboxId: addresses.idOf(question.inbox_address),
    fromIds: null,
    toIds: null,
    period: upTo(askedAt),
    limit: 10,
    askedAt,
  };
}

const MAX_SUGGESTED = 8;

/**
 * Returns the address in its stored form.
 * @throws UserError with similar addresses if no mail is from or to this address
 */
export function resolveInbox(db: Db, address: string): string {
  const inbox = address.trim().toLowerCase();
  if (openAddressBook(db).idOf(inbox) !== null) return inbox;
  const all = db.prepare("SELECT address FROM addresses").pluck().iterate() as Iterable<string>;
  const near = similarAddresses(all, inbox, MAX_SUGGESTED);
  if (near.length > 0) throw unknown(db, address, `Similar addresses: ${near.join(", ")}.`);
  const frequent = frequentAddresses(db, MAX_SUGGESTED);
  if (frequent.length === 0) throw noMail(db);
  const list = frequent.map(({ address: each, mails }) => `${each} (${mails})`).join(", ");
  throw unknown(db, address, `Addresses with the most mail: ${list}.`);
}

/**
 * Separates the mailbox from the words of a search or a question. Unless a mailbox is given, the first word names it,
 * which can be omitted if the database has only one mailbox. A first word with an @ always names a mailbox.
 * @throws UserError with addresses if the first word does not name a mailbox, unless there is only one
 */
export function mailboxAndWords(
  db: Db,
  mailbox: string | undefined,
  all: readonly string[],
): { readonly inbox: string; readonly words: readonly string[] } {
  if (mailbox !== undefined) return { inbox: resolveInbox(db, mailbox), words: all };
  const [first = "", ...words] = all;
  if (!/^\S+@\S+$/.test(first)) {
    const isAddress = openMailboxes(db).addresses.length > 1 && openAddressBook(db).idOf(first.toLowerCase()) !== null;
    if (!isAddress) return { inbox: onlyMailbox(db), words: all };
  }
  return { inbox: resolveInbox(db, first), words };
}

function unknown(db: Db, address: string, hint: string): UserError {
  return new UserError("inbox_unknown", `No mail in ${db.name} is from or to ${address}.`, hint);
}

export const LOOKUP_SQL = {
  get: `SELECT m.id AS mailId, x.message_id AS messageId, m.subject, m.sender, m.recipients,
               m.to_count AS toCount, m.cc_count AS ccCount, m.date, m.body
        FROM messages x JOIN mails m ON m.id = x.mail_id WHERE x.message_id = ?`,
  isInInbox: `SELECT 1 FROM mail_order o JOIN mailboxes b ON b.position = o.position
              WHERE o.mail_id = ? AND b.address_id = ?`,
  copies: `SELECT c.message_id FROM messages x JOIN messages c ON c.mail_id = x.mail_id WHERE x.message_id = ?
           ORDER BY c.message_id`,
} as const;

export function openMailLookup(db: Db): MailLookup {
  const get = db.prepare(LOOKUP_SQL.get);
  const inMailbox = db.prepare(LOOKUP_SQL.isInInbox).pluck();
  const copies = db.prepare(LOOKUP_SQL.copies).pluck();
  const inTickTransaction = withTickTransaction(db);
  const isInInbox = (mailId: number, addressId: number) =>
    inTickTransaction(() => inMailbox.get(mailId, addressId)) !== undefined;
  /** Returns all Message-IDs of an email, sorted. */
  const idsOf = (messageId: string): readonly string[] => {
    for (const id of spellings(messageId)) {
      const all = inTickTransaction(() => copies.all(id)) as string[];
      if (all.length > 0) return all;
    }
    return [];
  };
  return {
    get(messageId) {
      for (const id of spellings(messageId)) {
        const row = inTickTransaction(() => get.get(id)) as StoredMailRow | undefined;
        if (row !== undefined) return toMail(row);
      }
      return null;
    },
    isInInbox,
    isVisible({ mailId, date }, inboxId, cutoff) {
      return isInRange(date, upTo(cutoff)) && (inboxId === "all" || isInInbox(mailId, inboxId));
    },
    canonicalId: (messageId) => idsOf(messageId)[0] ?? messageId,
    copies: (messageId) => [...new Set([messageId, ...idsOf(messageId)])],
  };
}

/** The original id comes first, because it usually matches. */
function* spellings(messageId: string): Generator<string> {
  yield messageId;
  const bare = messageId.trim();
  yield bare;
  yield `<${bareMessageId(bare)}>`;
}

function toMail({ recipients, toCount, ccCount, ...mail }: StoredMailRow): StoredMail {
  const all = parseColumn<string[]>(recipients, "array", { table: "mails", row: mail.messageId, column: "recipients" });
  return {
    ...mail,
    to: all.slice(0, toCount),
    cc: all.slice(toCount, toCount + ccCount),
    bcc: all.slice(toCount + ccCount),
  };
}
