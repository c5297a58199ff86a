import type { BadEmail, CorpusBatch, FiledEmail } from "../domain/mail/email.js";

/** What a reader found next: a mail or a bad one. */
export type ReadResult = { readonly email: FiledEmail } | { readonly bad: BadEmail };

const MAILS_PER_BATCH = 500;
/** Characters of bodies after which a batch is given early, so that a run of huge mails stays small in memory. */
const CHARS_PER_BATCH = 8_000_000;

/**
 * Gathers what a reader finds, one by one or several at once, into batches of at most 500. When the signal aborts, the iteration rejects with
 * the signal's reason at the next batch border. When the source breaks off, what was found before is given
 * first, then the error is thrown.
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
