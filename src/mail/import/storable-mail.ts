// Prepares an email for storing on the reading thread, so that the storing thread only writes.
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Email, FiledEmail, HeaderNames } from "../email.js";
import type { ArtFinding } from "./art-filter.js";
import { displayNames, type NamedAddress, NO_NAMES, namedAddresses } from "./display-names.js";

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
  /** Message-IDs that the email refers to. */
  readonly references: readonly string[];
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

/** What was already passed from a source. */
export interface PassedMail {
  /** The hash of the display names of each content hash's first copy. */
  readonly firstNames: Map<string, number>;
  /** The names of all other copies and of addresses. */
  readonly keys: Set<string>;
}

/** Prepares an email for storing, without what was passed before. */
export function toStorableMail(
  email: FiledEmail,
  passed: PassedMail | null,
  art: ArtFinding | null = null,
): StorableMail {
  const { messageId, path, owner, inbox, form, subject, sender, date, body } = email;
  const { recipients, toCount, ccCount } = joinRecipients(email);
  const contentHash = hashContent(email, recipients);
  const { headerNames, deliveredTo = null, references = NO_REFERENCES } = email;
  const namesHash = headerNames === undefined ? NO_NAMES_HASH : hashNames(headerNames);
  const firstHash = passed?.firstNames.get(contentHash);
  if (firstHash === undefined) passed?.firstNames.set(contentHash, namesHash);
  const isKnown = (key: string) => passed !== null && passed.keys.size === passed.keys.add(key).size;
  const hasNewNames =
    headerNames !== undefined &&
    firstHash !== namesHash &&
    (firstHash === undefined || !isKnown(`${contentHash} ${namesHash}`));
  const content =
    firstHash === undefined
      ? { subject, sender, recipients: JSON.stringify(recipients), toCount, ccCount, date, body }
      : null;
  const names = hasNewNames ? displayNames(headerNames, [sender, ...recipients]) : NO_NAMES;
  const named = hasNewNames ? namedAddresses(headerNames, sender, isKnown) : NO_NAMES;
  return { messageId, path, owner, inbox, form, contentHash, content, names, named, deliveredTo, references, art };
}

const NO_NAMES_HASH = 0;
const NO_REFERENCES: readonly string[] = [];

/**
 * Returns a checksum of 32 bits, plus 1. It only distinguishes copies of one email. Cryptographic hashes would take
 * 2% of an import.
 */
function hashNames({ names, addresses, lists }: HeaderNames): number {
  return 1 + crc32([names, addresses, lists].map((texts) => texts.join("\0")).join("\0\0"));
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
