import type { Email } from "../../domain/mail/email.js";
import { ownText } from "../../domain/mail/quoted-text.js";
import { NamedCounts } from "../../statistics/named-counts.js";

/** Why no question is made of a mail. */
type UnusableReason = "no date" | "too short" | "too long" | "newsletter or notice" | "copy";

/** As in ART: shorter mails hold no answer, longer ones are reports and lists. Characters of the body. */
const USABLE_CHARS = { min: 200, max: 5_000 } as const;

/** More recipients are a list. */
const MAX_RECIPIENTS = 25;

const LIST_SENDER =
  /^(no[-._]?reply|no[-._]?address|do-?not-?reply|news(letter)?|listserv|majordomo|mailer-daemon|postmaster|announce\w*|alerts?|subscri\w+|info|promo\w*|deals|offers|updates?)\b|\b(newsletter|mailing-?list|bounce)|(^|[._-])(announcements?|admin|administrator|mailsweeper|notifications?)([._-]|@)/i;

/** Everyone in a company or at a site. */
const MASS_RECIPIENT = /(^|[._-])(all|everyone)([._-]|@)/i;

const LIST_TEXT =
  /\bunsubscribe\b|\bto\s+be\s+removed\s+from\b|\bto\s+remove\s+your\b|\bclick\s+here\b|\bopt[-\s]out\b|\bthis\s+(e-?mail|message)\s+was\s+sent\s+to\b|\byou\s+are\s+receiving\s+this\b|\bdo\s+not\s+reply\b|\b(automatically|computer)[-\s]generated\b|\bno\s+longer\s+wish\s+to\s+receive\b|\bview\s+this\s+(e-?mail|message)\s+(in|as)\b/i;

/**
 * The mails of which questions are made, and how many are left out for which reason. A copy is a mail whose own text
 * an earlier one of the same sender has.
 */
export function usableMails<T extends Email>(
  mails: readonly T[],
): { readonly usable: readonly T[]; readonly leftOut: Readonly<Record<string, number>> } {
  const seen = new Set<string>();
  const leftOut = new NamedCounts();
  const usable = mails.filter((mail) => {
    const reason = unusableReason(mail, seen);
    if (reason !== null) leftOut.add(reason);
    return reason === null;
  });
  return { usable, leftOut: leftOut.counts };
}

function unusableReason(mail: Email, seen: Set<string>): UnusableReason | null {
  if (mail.date === null) return "no date";
  if (mail.body.length > USABLE_CHARS.max) return "too long";
  if (mail.body.length < USABLE_CHARS.min) return "too short";
  if (isNewsletter(mail)) return "newsletter or notice";
  const key = `${mail.sender}\n${ownText(mail.body).replace(/\s+/g, " ")}`;
  if (seen.has(key)) return "copy";
  seen.add(key);
  return null;
}

function isNewsletter({ sender, to, cc, bcc, body }: Email): boolean {
  const recipients = [...to, ...cc, ...bcc];
  return (
    recipients.length > MAX_RECIPIENTS ||
    recipients.some((address) => MASS_RECIPIENT.test(address)) ||
    LIST_SENDER.test(sender) ||
    LIST_TEXT.test(body)
  );
}
