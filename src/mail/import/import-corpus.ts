// Imports sources in one transaction: reads, filters, writes, indexes and counts. It does not know files or formats.
import { openDeadline } from "../../platform/deadline.js";
import { UserError } from "../../platform/errors.js";
import { sumOrNull } from "../../statistics/sum-or-null.js";
import type { Db } from "../../store/open-store.js";
import { withImportTransaction } from "../../store/write-transaction.js";
import { readCorpusStats, updateFingerprint } from "../corpus.js";
import type { BadEmail, CorpusSource, FiledEmail, MailForm, ReadTable } from "../email.js";
import { DAMAGED_PART } from "../mime/parts.js";
import { nameOwners, resolveOwners } from "../owners.js";
import { ART_RULES, type ArtRule, applyArtRules, artFilter } from "./art-filter.js";
import { rebuildCorpusIndex } from "./corpus-index.js";
import { openCorpusWriter } from "./corpus-writer.js";
import { type StorableMail, toStorableMail } from "./storable-mail.js";

export interface NamedSource {
  /** Name as entered by the user. Stored in the database. */
  readonly name: string;
  readonly source: CorpusSource<StorableMail>;
}

export interface ImportRequest {
  /** Sources, read in order. Either all are imported or none. */
  readonly sources: readonly NamedSource[];
  /** Filter that the sources were prepared with. */
  readonly filter: ImportFilter;
  /** Maximum number of emails to read, excluding bad ones (0 = all). */
  readonly limit: number;
  /** Number of emails stored between two checks of the signal. */
  readonly batchSize: number;
  /** Maps owner folders to addresses. Overrides the addresses found in the mail. */
  readonly ownerMap: ReadonlyMap<string, string>;
  /** Whether the first bad email fails the import. */
  readonly strict: boolean;
  readonly onSkipped: (bad: BadEmail) => void;
}

export type ImportProgress =
  | { readonly phase: "read"; readonly mails: number; readonly bytes: number; readonly totalBytes: number | null }
  | { readonly phase: "index"; readonly mails: number; readonly total: number };

export interface ImportSummary {
  /** The distinct formats of the sources. For folders, these are the forms of their files. */
  readonly format: string;
  /** Number of emails and skipped files. */
  readonly read: number;
  /** Number of emails per file form. */
  readonly forms: Readonly<Partial<Record<MailForm, number>>>;
  /** Number of new Message-IDs. */
  readonly stored: number;
  /** Number of new emails among `stored`. The others are copies under another Message-ID. */
  readonly distinct: number;
  /** Number of Message-IDs already stored with the same content. */
  readonly duplicates: number;
  /** Number of emails stored with a suffix, because their Message-ID belongs to a different email. */
  readonly renamed: number;
  readonly skipped: Skipped;
  /** Emails with a damaged part, which are imported without what it lost. */
  readonly damaged: Damaged;
  /** Tables of which something was not read. */
  readonly tables: readonly ReadTable[];
  /** Number of emails dropped per ART rule, or null without the filter. */
  readonly dropped: Readonly<Record<ArtRule, number>> | null;
  readonly inboxes: number;
  readonly unresolvedOwners: number;
}

/** Skipped emails and files. Only the first ones are listed. */
export interface Skipped {
  readonly mails: number;
  readonly reasons: Readonly<Record<string, number>>;
  readonly first: readonly BadEmail[];
}

/** Only the paths of the first emails are listed. */
interface Damaged {
  readonly mails: number;
  readonly first: readonly string[];
}

export type ImportFilter = "none" | "art";

const MAX_SKIPPED_LISTED = 10;
const MAX_REASONS = 50;

/**
 * Imports mail sources in one transaction. Importing the same source again changes nothing. Importing another source
 * adds its mail.
 */
export async function importCorpus(
  db: Db,
  request: ImportRequest,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportSummary> {
  const patience = openDeadline(signal, LONGEST_WAIT_MS, () => busy(db.name));
  const waiting = { signal: patience.signal, onWait() {} };
  try {
    return await withImportTransaction(db, waiting, async () => {
      patience.close();
      const before = readCorpusStats(db).distinct;
      const tally = await readAll(db, request, onProgress, signal);
      const newNames = nameOwners(db);
      const newAddresses = resolveOwners(db, request.ownerMap);
      if (tally.changed || newNames || newAddresses) {
        rebuildCorpusIndex(db, (mails, total) => onProgress({ phase: "index", mails, total }));
        updateFingerprint(db);
      }
      signal.throwIfAborted();
      const { changed, ...counts } = tally;
      const { distinct, inboxes, unresolvedOwners } = readCorpusStats(db);
      return { ...counts, distinct: distinct - before, inboxes, unresolvedOwners };
    });
  } finally {
    patience.close();
  }
}

/** Milliseconds to wait for another writer. */
const LONGEST_WAIT_MS = 10_000;

function busy(path: string): UserError {
  return new UserError(
    "db_busy",
    `Cannot import into ${path}: another process or import is writing to it.`,
    "Wait until it has finished, or import into another file with --db.",
    1,
  );
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
  const forms = new Map<MailForm, number>();
  const formats = new Set<string>();
  const outcomes = { new: 0, copy: 0, known: 0, renamed: 0 };
  const skipped = countSkipped(request);
  const damaged = { mails: 0, first: [] as string[] };
  const tables: ReadTable[] = [];
  const totalBytes = sumOrNull(sources.map(({ source }) => source.totalBytes));
  let changed = false;
  let read = 0;
  let mails = 0;
  let bytesBefore = 0;
  reading: for (const { name, source } of sources) {
    const formsHere = new Set<MailForm>();
    const writer = openCorpusWriter(db, { source: name, format: source.format, filter: request.filter });
    let bytes = 0;
    for await (const batch of source.batches(signal)) {
      signal.throwIfAborted();
      for (const bad of batch.bad) skipped.add(bad);
      tables.push(...(batch.tables ?? []).filter(isIncomplete));
      read += batch.bad.length;
      for (const mail of batch.mails) {
        read++;
        mails++;
        formsHere.add(mail.form);
        forms.set(mail.form, (forms.get(mail.form) ?? 0) + 1);
        if (mail.content?.body.includes(DAMAGED_PART)) {
          damaged.mails++;
          if (damaged.first.length < MAX_SKIPPED_LISTED) damaged.first.push(mail.path);
        }
        const drop = mail.art === null ? null : dropRule(mail.art);
        if (drop !== null) dropped[drop]++;
        else outcomes[writer.add(mail)]++;
        changed ||= writer.changed;
        if (mails === limit) {
          formats.add(formatOf(source, formsHere));
          break reading;
        }
        if (mails % request.batchSize === 0) await checkAbort(signal);
      }
      bytes = batch.bytesRead;
      onProgress({ phase: "read", mails: read, bytes: bytesBefore + bytes, totalBytes });
    }
    formats.add(formatOf(source, formsHere));
    bytesBefore += source.totalBytes ?? bytes;
  }
  return {
    format: [...formats].join(", "),
    read,
    forms: Object.fromEntries([...forms].sort(([, a], [, b]) => b - a)),
    stored: outcomes.new + outcomes.copy + outcomes.renamed,
    duplicates: outcomes.known,
    renamed: outcomes.renamed,
    skipped: skipped.all(),
    damaged,
    tables: withoutRepeats(tables),
    dropped: request.filter === "art" ? dropped : null,
    changed,
  };
}

/** Returns the format name. A folder is named after the forms found in it. */
function formatOf({ format }: CorpusSource<StorableMail>, forms: ReadonlySet<MailForm>): string {
  const isFolderOfEmails = [...forms].every((form) => form === "maildir" || form === "eml");
  return format !== "maildir" || isFolderOfEmails ? format : [...forms].join(", ");
}

function isIncomplete({ unread, missing, unreadDates, foreignCells }: ReadTable): boolean {
  return unread.length + missing.length + unreadDates + foreignCells > 0;
}

/** Joins tables with the same columns, such as the shards of a data set. */
function withoutRepeats(tables: readonly ReadTable[]): ReadTable[] {
  const joined = new Map<string, ReadTable>();
  for (const table of tables) {
    const key = JSON.stringify([table.unread, table.missing]);
    const first = joined.get(key) ?? { ...table, dates: 0, unreadDates: 0, foreignCells: 0 };
    joined.set(key, {
      ...first,
      dates: first.dates + table.dates,
      unreadDates: first.unreadDates + table.unreadDates,
      foreignCells: first.foreignCells + table.foreignCells,
    });
  }
  return [...joined.values()];
}

function countSkipped({ strict, onSkipped }: ImportRequest) {
  const reasons = new Map<string, number>();
  const first: BadEmail[] = [];
  let mails = 0;
  return {
    add(bad: BadEmail): void {
      if (strict && bad.isSideFile === undefined) {
        throw new UserError(
          "mail_invalid",
          `${bad.where}: ${bad.reason}.`,
          "Nothing was imported. Omit --strict to skip such emails and list them.",
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

/** Storing is synchronous. Without this pause, Ctrl-C would take effect only at the end of a batch. */
async function checkAbort(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/** Prepares the mail of a source. Without a filter, only the first copy of an email includes its content. */
export function prepareSource(source: CorpusSource, filter: ImportFilter): CorpusSource<StorableMail> {
  const { format, totalBytes } = source;
  return {
    format,
    totalBytes,
    async *batches(signal) {
      const passed = { firstNames: new Map<string, number>(), keys: new Set<string>() };
      // ART's filter might drop the first copy and pass the next one.
      const prepare = (email: FiledEmail) =>
        filter === "art" ? toStorableMail(email, null, applyArtRules(email)) : toStorableMail(email, passed);
      for await (const { mails, ...rest } of source.batches(signal)) {
        yield { mails: mails.map(prepare), ...rest };
      }
    },
  };
}
