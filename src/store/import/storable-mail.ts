import { hash } from "node:crypto";
import type { Email, FiledEmail } from "../../domain/mail/email.js";

/** A mail as it is stored: prepared on the thread that reads, so that the thread that stores has less to do. */
export interface StorableMail {
  readonly messageId: string;
  readonly path: string;
  readonly owner: string | null;
  readonly inbox: string | null;
  /** Of the content: 32 hex digits. */
  readonly contentHash: string;
  /** Null: a mail with this hash was given before. */
  readonly content: MailContent | null;
}

/** The columns of `mails`. */
export interface MailContent {
  readonly subject: string;
  readonly sender: string;
  /** A JSON array: to, cc, bcc, each address once. */
  readonly recipients: string;
  readonly toCount: number;
  readonly ccCount: number;
  readonly date: string | null;
  readonly body: string;
}

const HASH_DIGITS = 32;

/** `isKnown` is asked whether a mail of this hash was given before. */
export function toStorableMail(email: FiledEmail, isKnown: (contentHash: string) => boolean): StorableMail {
  const { messageId, path, owner, inbox, subject, sender, date, body } = email;
  const { recipients, toCount, ccCount } = joinRecipients(email);
  const contentHash = hashContent(email, recipients);
  const content = isKnown(contentHash)
    ? null
    : { subject, sender, recipients: JSON.stringify(recipients), toCount, ccCount, date, body };
  return { messageId, path, owner, inbox, contentHash, content };
}

/** To, cc, bcc, each address once. In the Enron mail every bcc repeats a cc. */
function joinRecipients({ to, cc, bcc }: Email): { recipients: string[]; toCount: number; ccCount: number } {
  const toCount = new Set(to).size;
  const ccCount = new Set([...to, ...cc]).size - toCount;
  return { recipients: [...new Set([...to, ...cc, ...bcc])], toCount, ccCount };
}

/**
 * Mails with the same subject, body, sender, recipients (as a set) and date are one mail. Readers replace NUL in all
 * of these, so it can separate them.
 */
function hashContent({ subject, sender, date, body }: Email, recipients: readonly string[]): string {
  const fields = [subject, sender, [...recipients].sort().join("\0"), date ?? "", body];
  return hash("sha256", fields.join("\0\0"), "hex").slice(0, HASH_DIGITS);
}
