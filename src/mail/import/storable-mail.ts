import { hash } from "node:crypto";
import type { Email, FiledEmail, HeaderNames } from "../email.js";
import type { ArtFinding } from "./art-filter.js";
import { displayNames, type NamedAddress, namedAddresses } from "./display-names.js";

/** An email ready to be stored. The reading thread prepares it, so that the storing thread has less work. */
export interface StorableMail extends Pick<FiledEmail, "messageId" | "path" | "owner" | "inbox" | "form"> {
  /** Content hash, 32 hex digits. */
  readonly contentHash: string;
  /** Null if an email with this hash was passed before. */
  readonly content: MailContent | null;
  /** Display names for searching. Empty if they were passed before. */
  readonly names: readonly string[];
  /** Names of addresses. Empty if they were passed before. */
  readonly named: readonly NamedAddress[];
  /** The address that the email was delivered to, or null if unknown. */
  readonly deliveredTo: string | null;
  /** Null without ART's filter. */
  readonly art: ArtFinding | null;
}

/** Columns of `mails`. */
export interface MailContent extends Pick<Email, "subject" | "sender" | "date" | "body"> {
  /** JSON array of the distinct addresses: to, cc, then bcc. */
  readonly recipients: string;
  readonly toCount: number;
  readonly ccCount: number;
}

const HASH_DIGITS = 32;

/** Prepares an email for storing. `isKnown` returns whether it was called with the same key before. */
export function toStorableMail(
  email: FiledEmail,
  isKnown: (key: string) => boolean,
  art: ArtFinding | null = null,
): StorableMail {
  const { messageId, path, owner, inbox, form, subject, sender, date, body } = email;
  const { recipients, toCount, ccCount } = joinRecipients(email);
  const contentHash = hashContent(email, recipients);
  const content = isKnown(contentHash)
    ? null
    : { subject, sender, recipients: JSON.stringify(recipients), toCount, ccCount, date, body };
  const { headerNames, deliveredTo = null } = email;
  const names =
    headerNames === undefined || isKnown(`${contentHash}${hashNames(headerNames)}`)
      ? []
      : displayNames(headerNames, [sender, ...recipients]);
  const named = headerNames === undefined ? [] : namedAddresses(headerNames, sender, isKnown);
  return { messageId, path, owner, inbox, form, contentHash, content, names, named, deliveredTo, art };
}

function hashNames({ names, lists }: HeaderNames): string {
  return hash("md5", [...names, ...lists].join("\n"), "base64");
}

/** Joins to, cc and bcc without repeats. In the Enron mail, every bcc repeats a cc. */
function joinRecipients({ to, cc, bcc }: Email): { recipients: string[]; toCount: number; ccCount: number } {
  const toCount = new Set(to).size;
  const ccCount = new Set([...to, ...cc]).size - toCount;
  return { recipients: [...new Set([...to, ...cc, ...bcc])], toCount, ccCount };
}

/**
 * Emails with the same subject, body, sender, recipients (as a set) and date count as one. Readers replace NUL in all
 * of these fields, so it can be the separator.
 */
function hashContent({ subject, sender, date, body }: Email, recipients: readonly string[]): string {
  const fields = [subject, sender, [...recipients].sort().join("\0"), date ?? "", body];
  return hash("sha256", fields.join("\0\0"), "hex").slice(0, HASH_DIGITS);
}
