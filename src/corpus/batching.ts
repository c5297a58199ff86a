import type { BadEmail, CorpusBatch, FiledEmail } from "../domain/mail/email.js";

/** One item of a reader: a mail, or one that cannot be used. */
export type ReadResult = { readonly email: FiledEmail } | { readonly bad: BadEmail };

const MAILS_PER_BATCH = 500;
/** Characters of bodies that end a batch early, to bound memory with huge mails. */
const CHARS_PER_BATCH = 8_000_000;

/**
 * Groups items of a reader into batches of at most 500. Rejects with the signal's reason after the batch during which
 * it aborts. If the source fails, the items before the error are yielded first.
 */
export async function* batchMails(
  found: AsyncIterable<ReadResult | readonly ReadResult[]>,
  bytesRead: () => number,
  signal: AbortSignal,
): AsyncGenerator<CorpusBatch> {
  signal.throwIfAborted();
  let emails: FiledEmail[] = [];
  let bad: BadEmail[] = [];
  let text = 0;
  const takeBatch = (): CorpusBatch => {
    const batch = { emails, bad, bytesRead: bytesRead() };
    emails = [];
    bad = [];
    text = 0;
    return batch;
  };
  try {
    for await (const items of found) {
      for (const item of "length" in items ? items : [items]) {
        if ("email" in item) {
          emails.push(item.email);
          text += item.email.body.length;
        } else {
          bad.push(item.bad);
        }
        if (emails.length + bad.length < MAILS_PER_BATCH && text < CHARS_PER_BATCH) continue;
        yield takeBatch();
        signal.throwIfAborted();
      }
    }
  } catch (error) {
    if (emails.length + bad.length > 0) yield takeBatch();
    throw error;
  }
  if (emails.length + bad.length > 0) yield takeBatch();
}
