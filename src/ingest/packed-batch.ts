import type { BadEmail } from "../domain/mail/email.js";
import type { ArtFinding } from "./art-filter.js";
import type { PreparedBatch, PreparedMail } from "./prepare-mail.js";

/**
 * A batch between threads: the fields of all mails in one list. Cloning a list of strings takes a fifth of the time of
 * cloning as many objects.
 */
export interface PackedBatch {
  readonly fields: readonly unknown[];
  readonly bad: readonly BadEmail[];
  readonly bytesRead: number;
}

export function packBatch({ mails, bad, bytesRead }: PreparedBatch): PackedBatch {
  const fields: unknown[] = [];
  for (const { messageId, path, owner, inbox, contentHash, art, content } of mails) {
    fields.push(messageId, path, owner, inbox, contentHash, art, content !== null);
    if (content === null) continue;
    const { subject, sender, recipients, toCount, ccCount, date, body } = content;
    fields.push(subject, sender, recipients, toCount, ccCount, date, body);
  }
  return { fields, bad, bytesRead };
}

export function unpackBatch({ fields, bad, bytesRead }: PackedBatch): PreparedBatch {
  const mails: PreparedMail[] = [];
  let at = 0;
  const text = () => fields[at++] as string;
  const textOrNull = () => fields[at++] as string | null;
  const number = () => fields[at++] as number;
  const content = () => ({
    subject: text(),
    sender: text(),
    recipients: text(),
    toCount: number(),
    ccCount: number(),
    date: textOrNull(),
    body: text(),
  });
  while (at < fields.length) {
    mails.push({
      messageId: text(),
      path: text(),
      owner: textOrNull(),
      inbox: textOrNull(),
      contentHash: text(),
      art: fields[at++] as ArtFinding | null,
      content: fields[at++] === true ? content() : null,
    });
  }
  return { mails, bad, bytesRead };
}
