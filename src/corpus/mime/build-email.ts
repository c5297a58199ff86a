import { createHash } from "node:crypto";
import type { AsWritten, Email } from "../../domain/mail/email.js";
import { parseAllAddresses } from "./addresses.js";
import { normalizeMessageId, normalizeSubject, splitBody } from "./mail-text.js";

/** A mail's raw fields; `to`, `cc` and `bcc` are comma lists, `date` is parsed. */
export interface EmailFields {
  readonly messageId: string;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly cc: string;
  readonly bcc: string;
  readonly date: string | null;
  readonly body: string;
}

/**
 * Builds an `Email` from the fields and the text of any format, so that the same mail is equal in all of them. Without
 * a Message-ID it gets `<H@missing>`, H being the first 32 hex digits of the SHA-256 of its other fields.
 */
export function buildEmail(fields: Omit<EmailFields, "body">, text: string): Email {
  const { before, body, behind } = splitBody(text);
  const [to, cc, bcc] = [parseAllAddresses(fields.to), parseAllAddresses(fields.cc), parseAllAddresses(fields.bcc)];
  // Spreading objects would take a fifth of the time of reading a corpus.
  const email: Email & { messageId: string; asWritten?: AsWritten } = {
    messageId: normalizeMessageId(fields.messageId),
    subject: normalizeSubject(fields.subject),
    sender: parseAllAddresses(fields.from)[0] ?? "",
    to: [...new Set(to)],
    cc: [...new Set(cc)],
    bcc: [...new Set(bcc)],
    date: fields.date,
    body,
  };
  if (email.messageId === "") email.messageId = idFromContent(email);
  const recipients = to.length + cc.length + bcc.length;
  const isUnchanged =
    before === "" && behind === "" && recipients === email.to.length + email.cc.length + email.bcc.length;
  if (!isUnchanged) email.asWritten = { beforeBody: before, behindBody: behind, recipients };
  return email;
}

/** As `buildEmail` for a row of a table; the reason as a string if the row is empty. */
export function buildEmailFromRow(fields: EmailFields): Email | string {
  const identifyingFields = [fields.messageId, fields.from, fields.subject, fields.body];
  if (identifyingFields.every((field) => field.trim() === ""))
    return "it has neither Message-ID, sender, subject nor body";
  return buildEmail(fields, fields.body);
}

function idFromContent({ subject, sender, to, cc, bcc, date, body }: Email): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([subject, sender, to, cc, bcc, date, body]))
    .digest("hex");
  return `<${digest.slice(0, 32)}@missing>`;
}
