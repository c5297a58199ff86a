// Recognizes newsletters, notices and emails to many recipients by their addresses and words.
import { type Email, recipientsOf } from "./email.js";

/** Emails with more recipients are treated as mailing list emails. */
const MAX_RECIPIENTS = 25;

const LIST_SENDER =
  /^(no[-._]?reply|no[-._]?address|do-?not-?reply|news(letter)?|listserv|majordomo|mailer-daemon|postmaster|announce\w*|alerts?|subscri\w+|info|promo\w*|deals|offers|updates?)\b|\b(newsletter|mailing-?list|bounce)|(^|[._-])(announcements?|admin|administrator|mailsweeper|notifications?)([._-]|@)/i;

/** Addresses of everyone in a company or at a site. */
const MASS_RECIPIENT = /(^|[._-])(all|everyone)([._-]|@)/i;

const LIST_TEXT =
  /\bunsubscribe\b|\bto\s+be\s+removed\s+from\b|\bto\s+remove\s+your\b|\bclick\s+here\b|\bopt[-\s]out\b|\bthis\s+(e-?mail|message)\s+was\s+sent\s+to\b|\byou\s+are\s+receiving\s+this\b|\bdo\s+not\s+reply\b|\b(automatically|computer)[-\s]generated\b|\bno\s+longer\s+wish\s+to\s+receive\b|\bview\s+this\s+(e-?mail|message)\s+(in|as)\b/i;

/** Whether an email looks like one of a mailing list or a program, which nobody has to answer. */
export function isNewsletter(email: Email): boolean {
  const { sender, body } = email;
  const recipients = recipientsOf(email);
  return (
    recipients.length > MAX_RECIPIENTS ||
    recipients.some((address) => MASS_RECIPIENT.test(address)) ||
    LIST_SENDER.test(sender) ||
    LIST_TEXT.test(body)
  );
}
