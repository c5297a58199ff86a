import type { Email } from "../../domain/mail/email.js";
import { bareMessageId } from "../../domain/mail/message-id.js";
import type { Db } from "../connection/open-store.js";
import { withTickTransaction } from "../connection/transaction-per-tick.js";
import { PARTY } from "./address-book.js";

/** A complete mail as it is stored. */
export interface StoredMail extends Omit<Email, "asWritten"> {
  readonly mailId: number;
}

export interface MailLookup {
  /** By any of its Message-IDs, with or without angle brackets. Null: no such mail. */
  get(messageId: string): StoredMail | null;
  isInInbox(mailId: number, addressId: number): boolean;
  /** One id for all Message-IDs of a mail; an unknown id is returned as it is. */
  canonicalId(messageId: string): string;
}

interface Row {
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

export const LOOKUP_SQL = {
  get: `SELECT m.id AS mailId, x.message_id AS messageId, m.subject, m.sender, m.recipients,
               m.to_count AS toCount, m.cc_count AS ccCount, m.date, m.body
        FROM messages x JOIN mails m ON m.id = x.mail_id WHERE x.message_id = ?`,
  parties: "SELECT parties FROM mail_order WHERE mail_id = ?",
  canonical: "SELECT min(c.message_id) FROM messages x JOIN messages c ON c.mail_id = x.mail_id WHERE x.message_id = ?",
} as const;

export function openMailLookup(db: Db): MailLookup {
  const get = db.prepare(LOOKUP_SQL.get);
  const parties = db.prepare(LOOKUP_SQL.parties).pluck();
  const canonical = db.prepare(LOOKUP_SQL.canonical).pluck();
  const inTickTransaction = withTickTransaction(db);
  return {
    get(messageId) {
      for (const id of spellings(messageId)) {
        const row = inTickTransaction(() => get.get(id)) as Row | undefined;
        if (row !== undefined) return toMail(row);
      }
      return null;
    },
    isInInbox(mailId, addressId) {
      const row = inTickTransaction(() => parties.get(mailId)) as string | undefined;
      return row?.split(" ").includes(PARTY.in(addressId)) ?? false;
    },
    canonicalId(messageId) {
      for (const id of spellings(messageId)) {
        const found = inTickTransaction(() => canonical.get(id)) as string | null;
        if (found !== null) return found;
      }
      return messageId;
    },
  };
}

/** The id as given comes first, as it mostly matches. */
function* spellings(messageId: string): Generator<string> {
  yield messageId;
  const bare = messageId.trim();
  yield bare;
  yield `<${bareMessageId(bare)}>`;
}

function toMail({ recipients, toCount, ccCount, ...mail }: Row): StoredMail {
  const all = JSON.parse(recipients) as string[];
  return {
    ...mail,
    to: all.slice(0, toCount),
    cc: all.slice(toCount, toCount + ccCount),
    bcc: all.slice(toCount + ccCount),
  };
}
