import type { Db } from "../connection/open-store.js";
import { openAddressBook, PARTY } from "./address-book.js";
import { openDateRanges } from "./date-range.js";
import { rowidBetween } from "./fts-postings.js";
import { openMailLookup } from "./mail-lookup.js";

/** A mail in a mailbox listing. */
export interface MailHead {
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  /** Position in date order; the next page starts after it. */
  readonly cursor: number;
}

export interface MailboxListing {
  /** Newest first, after the cursor. */
  list(cursor: number | null, limit: number): MailHead[];
  /** Message-IDs of the mailbox with a prefix, with or without angle bracket; scans a bounded number. */
  complete(prefix: string, limit: number): { ids: string[]; hasMore: boolean };
}

/**
 * Message-IDs scanned for a completion: most begin with a digit, and a prefix of one digit fits a tenth of all mail.
 */
const MAX_IDS_SCANNED = 2_000;

const listFrom = (table: string) =>
  `SELECT o.position AS cursor, (SELECT min(message_id) FROM messages WHERE mail_id = m.id) AS messageId,
          m.subject, m.sender, m.date
   FROM ${table} f JOIN mail_order o ON o.position = f.rowid JOIN mails m ON m.id = o.mail_id
   WHERE ${table} MATCH ? AND ${rowidBetween("f.rowid")} ORDER BY f.rowid LIMIT ?`;

export const LISTING_SQL = {
  list: listFrom("emails_fts"),
  listOlder: listFrom("emails_fts_older"),
  idsFrom: `SELECT x.message_id AS messageId, x.mail_id AS mailId, m.date
            FROM messages x JOIN mails m ON m.id = x.mail_id
            WHERE x.message_id >= ? AND x.message_id < ? ORDER BY x.message_id LIMIT ?`,
} as const;

/** Lists one mailbox before the cutoff (ISO 8601, exclusive; null: none). */
export function openMailboxListing(db: Db, inbox: string, cutoff: string | null): MailboxListing {
  const inboxId = openAddressBook(db).idOf(inbox);
  const mails = openMailLookup(db);
  const { first, last } = openDateRanges(db).positions({ after: null, before: cutoff });
  const list = db.prepare(LISTING_SQL.list);
  const listOlder = db.prepare(LISTING_SQL.listOlder);
  const idsFrom = db.prepare(LISTING_SQL.idsFrom);
  if (inboxId === null) return { list: () => [], complete: () => ({ ids: [], hasMore: false }) };
  return {
    list(cursor, limit) {
      const from = cursor === null ? first : Math.max(first, cursor + 1);
      const inInbox = `parties : ${PARTY.in(inboxId)}`;
      const heads = list.all(inInbox, from, last, limit) as MailHead[];
      if (heads.length >= limit) return heads;
      return heads.concat(listOlder.all(inInbox, from, last, limit - heads.length) as MailHead[]);
    },
    complete(prefix, limit) {
      const from = `<${prefix.trim().replace(/^</, "")}`;
      const rows = idsFrom.all(from, `${from}\u{10ffff}`, MAX_IDS_SCANNED) as {
        messageId: string;
        mailId: number;
        date: string | null;
      }[];
      const ids: string[] = [];
      for (const { messageId, mailId, date } of rows) {
        const isVisible = cutoff === null || (date !== null && date < cutoff);
        if (!isVisible || !mails.isInInbox(mailId, inboxId)) continue;
        if (ids.length === limit) return { ids, hasMore: true };
        ids.push(messageId);
      }
      return { ids, hasMore: rows.length === MAX_IDS_SCANNED };
    },
  };
}
