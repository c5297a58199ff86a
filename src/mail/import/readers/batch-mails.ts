// Groups the emails of a reader into batches, and stops between them.
import type { BadEmail, CorpusBatch, FiledEmail, ReadTable } from "../../email.js";

export type ReadResult = { readonly email: FiledEmail } | { readonly bad: BadEmail } | { readonly table: ReadTable };

export type ReadItems = AsyncGenerator<ReadResult | readonly ReadResult[]>;

const MAILS_PER_BATCH = 100;
/** Number of body characters that end a batch early, to limit memory use with huge emails. */
const CHARS_PER_BATCH = 8_000_000;

/**
 * Groups a reader's items into batches of at most 100, so that most of an email's memory is free before the next
 * collection. If the signal aborts, rejects with its reason after the current batch. If the source fails, yields the
 * items read so far before the error.
 */
export async function* batchMails(
  results: AsyncIterable<ReadResult | readonly ReadResult[]>,
  bytesRead: () => number,
  signal: AbortSignal,
): AsyncGenerator<CorpusBatch> {
  signal.throwIfAborted();
  let mails: FiledEmail[] = [];
  let bad: BadEmail[] = [];
  let tables: ReadTable[] = [];
  let text = 0;
  const takeBatch = (): CorpusBatch => {
    const batch = { mails, bad, tables, bytesRead: bytesRead() };
    tables = [];
    mails = [];
    bad = [];
    text = 0;
    return batch;
  };
  try {
    for await (const items of results) {
      for (const item of "length" in items ? items : [items]) {
        if ("email" in item) {
          mails.push(item.email);
          text += item.email.body.length;
        } else if ("bad" in item) {
          bad.push(item.bad);
        } else {
          tables.push(item.table);
        }
        if (mails.length + bad.length < MAILS_PER_BATCH && text < CHARS_PER_BATCH) continue;
        yield takeBatch();
        signal.throwIfAborted();
      }
    }
  } catch (error) {
    if (mails.length + bad.length + tables.length > 0) yield takeBatch();
    throw error;
  }
  if (mails.length + bad.length + tables.length > 0) yield takeBatch();
}
