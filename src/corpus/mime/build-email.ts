import { createHash } from "node:crypto";
import type { Email } from "../../domain/mail/email.js";
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
 * Builds an `Email` from the fields of any format, so that the same mail is equal in all of them. Without a
 * Message-ID it gets `<H@missing>`, H being the first 32 hex digits of the SHA-256 of its other fields.
 */
export function buildEmail(fields: EmailFields): Email {
  const { before, body, behind } = splitBody(fields.body);
  const [to, cc, bcc] = [parseAllAddresses(fields.to), parseAllAddresses(fields.cc), parseAllAddresses(fields.bcc)];
  const content = {
    subject: normalizeSubject(fields.subject),
    sender: parseAllAddresses(fields.from)[0] ?? "",
    to: [...new Set(to)],
    cc: [...new Set(cc)],
    bcc: [...new Set(bcc)],
    date: fields.date,
    body,
  };
  const messageId = normalizeMessageId(fields.messageId) || idFromContent(content);
  const recipients = to.length + cc.length + bcc.length;
  const isUnchanged =
    before === "" && behind === "" && recipients === content.to.length + content.cc.length + content.bcc.length;
  const asWritten = { beforeBody: before, behindBody: behind, recipients };
  return { messageId, ...content, ...(isUnchanged ? {} : { asWritten }) };
}

/** As `buildEmail` for a row of a table; the reason as a string if the row is empty. */
export function buildEmailFromRow(fields: EmailFields): Email | string {
  const identifyingFields = [fields.messageId, fields.from, fields.subject, fields.body];
  if (identifyingFields.every((field) => field.trim() === ""))
    return "it has neither Message-ID, sender, subject nor body";
  return buildEmail(fields);
}

function idFromContent(content: Omit<Email, "messageId">): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(Object.values(content)))
    .digest("hex");
  return `<${digest.slice(0, 32)}@missing>`;
}
