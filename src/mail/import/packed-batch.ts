// The form in which emails cross from the reading to the storing thread. Faster than cloning objects (measured here).
import type { CorpusBatch } from "../email.js";
import type { MailContent, StorableMail } from "./storable-mail.js";

/**
 * A batch sent between threads, with the fields of all emails in one list. Cloning a list of strings takes a fifth of
 * the time needed to clone the same number of objects.
 */
export interface PackedBatch extends Omit<CorpusBatch, "mails"> {
  readonly fields: readonly unknown[];
}

/** Lists of field names would save the repetition, but reading by name takes 5% of an import. */
export function packBatch({ mails, ...rest }: CorpusBatch<StorableMail>): PackedBatch {
  const fields: unknown[] = [];
  for (const mail of mails) {
    fields.push(
      mail.messageId,
      mail.path,
      mail.owner,
      mail.inbox,
      mail.form,
      mail.contentHash,
      mail.art,
      mail.names,
      mail.named.length === 0 ? null : mail.named,
      mail.deliveredTo,
      mail.references.length === 0 ? null : mail.references,
      mail.content !== null,
    );
    if (mail.content === null) continue;
    const { subject, sender, recipients, toCount, ccCount, date, body } = mail.content;
    fields.push(subject, sender, recipients, toCount, ccCount, date, body);
  }
  return { fields, ...rest };
}

export function unpackBatch({ fields, ...rest }: PackedBatch): CorpusBatch<StorableMail> {
  const mails: StorableMail[] = [];
  let at = 0;
  // The properties are read in the order in which they were packed.
  const next = <T>() => fields[at++] as T;
  const content = (): MailContent => ({
    subject: next(),
    sender: next(),
    recipients: next(),
    toCount: next(),
    ccCount: next(),
    date: next(),
    body: next(),
  });
  while (at < fields.length) {
    mails.push({
      messageId: next(),
      path: next(),
      owner: next(),
      inbox: next(),
      form: next(),
      contentHash: next(),
      art: next(),
      names: next(),
      named: next<StorableMail["named"] | null>() ?? [],
      deliveredTo: next(),
      references: next<StorableMail["references"] | null>() ?? [],
      content: next<boolean>() ? content() : null,
    });
  }
  return { mails, ...rest };
}
