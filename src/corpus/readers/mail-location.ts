import type { AsWritten, Email, FiledEmail } from "../../domain/mail/email.js";

export interface MailLocation {
  readonly path: string;
  readonly owner: string | null;
}

/**
 * Path and owner folder of a mail. A prefix up to `maildir` in the first two segments is removed
 * (`enron_mail_20110402/maildir/lay-k/inbox/1.`). A mail outside of folders has no owner.
 */
export function locateMail(path: string): MailLocation {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const root = segments.slice(0, 2).indexOf("maildir");
  const kept = segments.slice(root + 1);
  return { path: kept.join("/"), owner: kept.length > 1 ? (kept[0] ?? null) : null };
}

/** A mail and its location; `inbox` is the address of its mailbox where the source names it. */
export function fileEmail(email: Email, { path, owner }: MailLocation, inbox: string | null): FiledEmail {
  const { messageId, subject, sender, to, cc, bcc, date, body, asWritten } = email;
  // Spread syntax would take a tenth of the time of reading a corpus.
  const filed: FiledEmail & { asWritten?: AsWritten } = {
    messageId,
    subject,
    sender,
    to,
    cc,
    bcc,
    date,
    body,
    path,
    owner,
    inbox,
  };
  if (asWritten !== undefined) filed.asWritten = asWritten;
  return filed;
}
