import type { BadEmail, CorpusFormat, CorpusSource, FiledEmail } from "../domain/mail/email.js";
import { type StorableMail, toStorableMail } from "../store/import/storable-mail.js";
import { type ArtFinding, applyArtRules } from "./art-filter.js";

/** Whether ART's import filter is applied. */
export type ImportFilter = "none" | "art";

/** A mail ready to be stored. `art` is null without ART's filter. */
export type PreparedMail = StorableMail & { readonly art: ArtFinding | null };

/** As `CorpusBatch`. */
export interface PreparedBatch {
  readonly mails: readonly PreparedMail[];
  readonly bad: readonly BadEmail[];
  readonly bytesRead: number;
}

/** As `CorpusSource`. */
export interface PreparedSource {
  readonly format: CorpusFormat;
  readonly totalBytes: number | null;
  batches(signal: AbortSignal): AsyncIterable<PreparedBatch>;
}

/** Prepares the mail of a source. Without a filter only the first of the copies of a mail comes with its content. */
export function prepareSource(source: CorpusSource, filter: ImportFilter): PreparedSource {
  const { format, totalBytes } = source;
  return {
    format,
    totalBytes,
    async *batches(signal) {
      const hashes = new Set<string>();
      // ART's filter may drop the first copy and pass the next.
      const isKnown = (hash: string) => filter === "none" && hashes.size === hashes.add(hash).size;
      for await (const { emails, bad, bytesRead } of source.batches(signal)) {
        yield { mails: emails.map((email) => prepareMail(email, filter, isKnown)), bad, bytesRead };
      }
    },
  };
}

function prepareMail(email: FiledEmail, filter: ImportFilter, isKnown: (hash: string) => boolean): PreparedMail {
  const { messageId, path, owner, inbox, contentHash, content } = toStorableMail(email, isKnown);
  return { messageId, path, owner, inbox, contentHash, content, art: filter === "art" ? applyArtRules(email) : null };
}
