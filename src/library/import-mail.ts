// Imports mail for a program, like `art-e import`.
import { contextOf } from "./options/context.js";
import type { LibraryOptions } from "./options.js";

/** Named and described like the flags of `art-e import`. */
export interface ImportMailOptions extends LibraryOptions {
  /** Format of the sources [default: recognized]. */
  readonly format?: "maildir" | "tar" | "kaggle-csv" | "parsed-csv" | "parquet" | "mbox" | "eml" | "zip";
  /** Maximum number of emails to read [default: 0, all]. */
  readonly limit?: number;
  /** "art" keeps only the mail that ART's own import keeps [default: "none"]. */
  readonly filter?: "none" | "art";
  /** Path of a TSV file with owner folder and address. */
  readonly ownerMap?: string;
  /** Imports nothing if an email is unusable. */
  readonly strict?: boolean;
  readonly onProgress?: (progress: ImportMailProgress) => void;
}

export type ImportMailProgress =
  | { readonly phase: "read"; readonly mails: number; readonly bytes: number; readonly totalBytes: number | null }
  | { readonly phase: "index"; readonly mails: number; readonly total: number };

export interface ImportMailResult {
  readonly format: string;
  /** Number of emails and skipped files. */
  readonly read: number;
  /** Number of new Message-IDs. */
  readonly stored: number;
  /** Number of new emails among `stored`. The others are copies under another Message-ID. */
  readonly distinct: number;
  /** Number of Message-IDs already stored with the same content. */
  readonly duplicates: number;
  /** Number of emails stored with a suffix, because their Message-ID belongs to a different email. */
  readonly renamed: number;
  readonly skipped: {
    readonly mails: number;
    /** Number of emails per reason. */
    readonly reasons: Readonly<Record<string, number>>;
    /** The first ones. All are in `skippedFile`. */
    readonly first: readonly { readonly where: string; readonly reason: string }[];
  };
  /** Emails with a damaged part, which were imported without what it lost. `first` contains paths. */
  readonly damaged: { readonly mails: number; readonly first: readonly string[] };
  /** Tables of which columns or dates were not read. */
  readonly tables: readonly {
    readonly where: string;
    readonly unread: readonly string[];
    readonly missing: readonly string[];
    readonly dates: number;
    readonly unreadDates: number;
    readonly foreignCells: number;
  }[];
  /** Number of emails dropped per rule of the filter, or null without it. */
  readonly dropped: Readonly<Record<string, number>> | null;
  readonly inboxes: number;
  readonly unresolvedOwners: number;
  readonly seconds: number;
  /** Path of the list of skipped emails, or null if none were skipped. */
  readonly skippedFile: string | null;
  /** Some of the mailboxes, largest first. */
  readonly mailboxes: readonly {
    readonly address: string;
    readonly mails: number;
    /** How the address was found, or null if no owner is known. */
    readonly basis: string | null;
  }[];
}

/**
 * Imports mail into the database, which is created if necessary. `sources` are paths of folders, archives, mbox, .eml,
 * CSV and Parquet files. Without any, the Enron mail is downloaded. Everything is imported, or nothing if the import
 * fails or is stopped.
 */
export async function importMail(
  sources: string | readonly string[] = [],
  options: ImportMailOptions = {},
): Promise<ImportMailResult> {
  const context = contextOf(options);
  const { importMail: importSources } = await import("../mail/import.js");
  const { ownOptions, parseOptions } = await import("./options/parse-options.js");
  const { importSchema } = await import("./options/mail-options.js");
  const { parsed } = parseOptions({ sources: [sources].flat(), ...ownOptions(options) }, importSchema);
  const { format = null, limit, filter, ownerMap, strict } = parsed;
  const { onProgress } = options;
  const { summary, ...outcome } = await importSources(
    { sources: parsed.sources, format, limit, batchSize: BATCH_MAILS, filter, ownerMap, strict },
    context,
    { show: (progress) => onProgress?.(progress), stop() {}, letSignalsEnd: () => () => {} },
  );
  const { forms: _, ...counts } = summary;
  return { ...counts, ...outcome };
}

/** Emails between two checks of the signal. */
const BATCH_MAILS = 1_000;
