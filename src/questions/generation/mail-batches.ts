import type { Email } from "../../domain/mail/email.js";
import { plainSubject } from "../../domain/mail/plain-subject.js";
import { chunk } from "../../platform/split-into-chunks.js";

/** As in ART: a model is shown so many mails at once. */
export const BATCH_MAILS = 20;

/** What batches are made by. */
export type MailHeading = Pick<Email, "messageId" | "subject" | "date">;

/**
 * Batches of 20 mails in the order of time, the mails of a thread (same subject) together in the batch of its first.
 * Ordered so that any first part of them is spread over time: middle, quarters, eighths...
 */
export function mailBatches<T extends MailHeading>(mails: readonly T[]): readonly (readonly T[])[] {
  const threads = new Map<string, T[]>();
  const byDate = [...mails].sort((a, b) => ((a.date ?? "") < (b.date ?? "") ? -1 : 1));
  for (const mail of byDate) {
    const key = threadOf(mail);
    const thread = threads.get(key);
    if (thread === undefined) threads.set(key, [mail]);
    else thread.push(mail);
  }
  const batches: T[][] = [];
  let batch: T[] = [];
  for (const mail of [...threads.values()].flatMap((thread) => [...chunk(thread, BATCH_MAILS)])) {
    if (batch.length > 0 && batch.length + mail.length > BATCH_MAILS) {
      batches.push(batch);
      batch = [];
    }
    batch.push(...mail);
  }
  if (batch.length > 0) batches.push(batch);
  return spreadOut(batches.map((one) => one.sort((a, b) => ((a.date ?? "") < (b.date ?? "") ? -1 : 1))));
}

/** A mail without a subject is a thread of its own. */
function threadOf({ subject, messageId }: MailHeading): string {
  const plain = plainSubject(subject).toLowerCase();
  return plain === "" ? messageId : plain;
}

/** By the bits of its index turned round, as in the van der Corput sequence. */
function spreadOut<T>(items: readonly T[]): T[] {
  const bits = Math.max(1, Math.ceil(Math.log2(items.length)));
  const turned = (index: number) =>
    Array.from({ length: bits }, (_, bit) => ((index >> bit) & 1) << (bits - 1 - bit)).reduce((a, b) => a | b, 0);
  return items
    .map((item, index) => ({ item, order: turned(index) }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
