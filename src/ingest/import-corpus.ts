import { UserError } from "../domain/errors.js";
import type { BadEmail } from "../domain/mail/email.js";
import { sumOrNull } from "../domain/values/sum-or-null.js";
import type { Db } from "../store/connection/open-store.js";
import { type IndexProgress, rebuildIndex } from "../store/import/corpus-index.js";
import { readCorpusStats, setOlderFrom, updateFingerprint } from "../store/import/corpus-stats.js";
import { openCorpusWriter } from "../store/import/corpus-writer.js";
import { rebuildMailOrder } from "../store/import/mail-order.js";
import { buildIndexOnThreads, type WhileReadable } from "../store/import/parallel-index.js";
import { ART_RULES, type ArtRule, artFilter } from "./art-filter.js";
import type { ImportFilter, PreparedSource } from "./prepare-mail.js";
import { resolveOwners } from "./resolve-owners.js";

export interface NamedSource {
  /** As the user named it; stored in the file. */
  readonly name: string;
  readonly source: PreparedSource;
}

export interface ImportRequest {
  /** Read in order, all or none. */
  readonly sources: readonly NamedSource[];
  /** By which the sources were prepared. */
  readonly filter: ImportFilter;
  /** Mails to read, without bad ones; 0: all. */
  readonly limit: number;
  /** Mails stored between two checks of the signal. */
  readonly batchSize: number;
  /** Owner folder to address; overrides the address found in the mail. */
  readonly ownerMap: ReadonlyMap<string, string>;
  /** When and how the index is built on two threads; null: never. */
  readonly parallelIndex: ParallelIndex | null;
  /** The first bad mail fails the import. */
  readonly strict: boolean;
  /** Called for every skipped mail. */
  readonly onSkipped: (bad: BadEmail) => void;
}

export interface ParallelIndex {
  /** The least number of mails. */
  readonly fromMails: number;
  /** Of a new file: its mails are committed before they are indexed. */
  readonly whileReadable: WhileReadable;
}

export type ImportProgress =
  | { readonly phase: "read"; readonly mails: number; readonly bytes: number; readonly totalBytes: number | null }
  | { readonly phase: "index"; readonly mails: number; readonly total: number };

export interface ImportSummary {
  /** The distinct formats of the sources. */
  readonly format: string;
  readonly read: number;
  /** New Message-IDs. */
  readonly stored: number;
  /** Of these, new mails; the others are copies under another Message-ID. */
  readonly distinct: number;
  /** Message-IDs that were in the file with the same content. */
  readonly duplicates: number;
  /** Message-IDs of a different mail, stored with a suffix. */
  readonly renamed: number;
  readonly skipped: Skipped;
  /** Mails dropped by each of ART's rules; null without the filter. */
  readonly dropped: Readonly<Record<ArtRule, number>> | null;
  readonly inboxes: number;
  readonly unresolvedOwners: number;
  readonly seconds: number;
}

/** Bad mails; only the first are listed. */
export interface Skipped {
  readonly mails: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly first: readonly BadEmail[];
}

/** Skipped mails listed, and distinct reasons counted. */
const MAX_SKIPPED_LISTED = 10;
const MAX_REASONS = 50;

/**
 * Imports sources of mail in one transaction. Importing a source again changes nothing; another source adds its mail.
 */
export async function importCorpus(
  db: Db,
  request: ImportRequest,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportSummary> {
  const started = performance.now();
  beginTransaction(db);
  try {
    const before = readCorpusStats(db).distinct;
    const tally = await readAll(db, request, onProgress, signal);
    const newOwners = resolveOwners(db, request.ownerMap);
    if (tally.changed || newOwners) {
      await indexCorpus(db, request, (mails, total) => onProgress({ phase: "index", mails, total }), signal);
    }
    signal.throwIfAborted();
    db.exec("COMMIT");
    const { changed, ...counts } = tally;
    const { distinct, inboxes, unresolvedOwners } = readCorpusStats(db);
    return {
      ...counts,
      distinct: distinct - before,
      inboxes,
      unresolvedOwners,
      seconds: (performance.now() - started) / 1000,
    };
  } catch (error) {
    if (db.inTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

async function indexCorpus(db: Db, request: ImportRequest, onProgress: IndexProgress, signal: AbortSignal) {
  const total = rebuildMailOrder(db);
  const { parallelIndex } = request;
  if (parallelIndex === null || total < parallelIndex.fromMails) {
    rebuildIndex(db, total, onProgress);
    updateFingerprint(db);
    return;
  }
  db.exec("COMMIT");
  const olderFrom = await buildIndexOnThreads(db, parallelIndex.whileReadable, total, onProgress, signal);
  beginTransaction(db);
  updateFingerprint(db);
  setOlderFrom(db, olderFrom);
}

function beginTransaction(db: Db): void {
  try {
    db.exec("BEGIN IMMEDIATE");
  } catch (cause) {
    throw new UserError(
      "db_busy",
      `Cannot import into ${db.name}: another process is writing to it.`,
      "Wait until it has finished, or import into another file with --db.",
      1,
      { cause },
    );
  }
}

async function readAll(
  db: Db,
  request: ImportRequest,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
) {
  const { sources, limit } = request;
  const dropRule = artFilter();
  const dropped = Object.fromEntries(ART_RULES.map((name) => [name, 0])) as Record<ArtRule, number>;
  const outcomes = { new: 0, copy: 0, known: 0, renamed: 0 };
  const skipped = countSkipped(request);
  const totalBytes = sumOrNull(sources.map(({ source }) => source.totalBytes));
  let changed = false;
  let read = 0;
  let mails = 0;
  let bytesBefore = 0;
  reading: for (const { name, source } of sources) {
    const writer = openCorpusWriter(db, { source: name, format: source.format, filter: request.filter });
    let bytes = 0;
    for await (const batch of source.batches(signal)) {
      signal.throwIfAborted();
      for (const bad of batch.bad) skipped.add(bad);
      read += batch.bad.length;
      for (const mail of batch.mails) {
        read++;
        mails++;
        const drop = mail.art === null ? null : dropRule(mail.art);
        if (drop !== null) dropped[drop]++;
        else outcomes[writer.add(mail)]++;
        changed ||= writer.changed;
        if (mails === limit) break reading;
        if (mails % request.batchSize === 0) await checkAbort(signal);
      }
      bytes = batch.bytesRead;
      onProgress({ phase: "read", mails: read, bytes: bytesBefore + bytes, totalBytes });
    }
    bytesBefore += source.totalBytes ?? bytes;
  }
  return {
    format: [...new Set(sources.map(({ source }) => source.format))].join(", "),
    read,
    stored: outcomes.new + outcomes.copy + outcomes.renamed,
    duplicates: outcomes.known,
    renamed: outcomes.renamed,
    skipped: skipped.all(),
    dropped: request.filter === "art" ? dropped : null,
    changed,
  };
}

function countSkipped({ strict, onSkipped }: ImportRequest) {
  const reasons = new Map<string, number>();
  const first: BadEmail[] = [];
  let mails = 0;
  return {
    add(bad: BadEmail): void {
      if (strict) {
        throw new UserError(
          "bad_mail",
          `${bad.where}: ${bad.reason}.`,
          "Nothing was imported. Leave --strict out to pass over such mails and have them listed.",
          1,
        );
      }
      const reason = reasons.has(bad.reason) || reasons.size < MAX_REASONS ? bad.reason : "of other reasons";
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      if (first.length < MAX_SKIPPED_LISTED) first.push(bad);
      mails++;
      onSkipped(bad);
    },
    all: (): Skipped => ({ mails, reasons: Object.fromEntries(reasons), first }),
  };
}

/** Storing is synchronous: without this pause Ctrl-C would take effect only at the end of a batch. */
async function checkAbort(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
