// Imports mail: finds the sources, downloads the corpus if asked, and resolves owners. The entry point of `art-e
// import`.
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { type AppContext, type AppSettings, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { isSameFile } from "../platform/files.js";
import { hubOf } from "../platform/huggingface.js";
import { count, counted, rate } from "../text/format.js";
import type { BadEmail, CorpusFormat } from "./email.js";
import { downloadEnronEmails, EMAILS_DATASET } from "./enron-emails.js";
import { importFailure, openForImport } from "./import/atomic-import.js";
import { openCorpus } from "./import/corpus-formats.js";
import { type ImportProgress, type ImportSummary, importCorpus, type NamedSource } from "./import/import-corpus.js";
import { readOnThread } from "./import/import-reader.js";
import { countParquetRows } from "./import/readers/parquet.js";
import { type MailboxSize, mailboxSizes } from "./mailboxes.js";
import { readOwnerMap } from "./owners.js";

export type { ImportProgress, ImportSummary, Skipped } from "./import/import-corpus.js";

interface ImportOptions {
  /** Mail files and folders. If empty, the published dataset is downloaded. */
  readonly sources: readonly string[];
  /** Source format, or null to detect it from the content. */
  readonly format: CorpusFormat | null;
  /** Maximum number of emails to read (0 = all). */
  readonly limit: number;
  readonly batchSize: number;
  readonly filter: "none" | "art";
  /** Path of a TSV file of owner folders and addresses. */
  readonly ownerMap: string | undefined;
  readonly strict: boolean;
}

export interface ImportOutcome {
  readonly summary: ImportSummary;
  readonly seconds: number;
  /** Path of the list of skipped emails, or null if none were skipped. */
  readonly skippedFile: string | null;
  /** The largest mailboxes. */
  readonly mailboxes: readonly MailboxSize[];
}

interface ImportMonitor {
  show(progress: ImportProgress, format: string): void;
  stop(): void;
  /**
   * Indexing on this thread is one long SQLite statement, during which no signal handler can run. Signals end the
   * process until the returned function is called.
   */
  letSignalsEnd(): () => void;
}

/** The list of skipped emails. Each line contains the location and the reason, separated by a tab. */
interface SkippedFile {
  add(bad: BadEmail): void;
  /** Returns the path, or null if nothing was skipped and no file was written. */
  finish(): string | null;
  abandon(): void;
}

const MAILBOXES_LISTED = 5;

/** Number of emails from which indexing takes longer than a few seconds. */
const LONG_INDEXING = 50_000;

/** Imports all the mail into the database, or none of it if there is an error or an interruption. */
export async function importMail(
  options: ImportOptions,
  context: AppContext,
  monitor: ImportMonitor,
): Promise<ImportOutcome> {
  const { settings, signal } = context;
  const ownerMap = options.ownerMap === undefined ? new Map<string, string>() : readOwnerMap(options.ownerMap);
  refuseToOverwriteSources([...options.sources, options.ownerMap], settings);
  const sources = await openSources(options, context);
  const format = sources.length === 1 ? (sources[0]?.source.format ?? "") : "mail";
  const started = performance.now();
  const file = openForImport(settings.db);
  const skipped = openSkippedFile(`${settings.db}.skipped.tsv`);
  let isIndexing = false;
  let listenAgain = () => {};
  try {
    const { filter, limit, batchSize, strict } = options;
    const summary = await importCorpus(
      file.db,
      { sources, filter, limit, batchSize, ownerMap, strict, onSkipped: skipped.add },
      (progress) => {
        const isLong = progress.phase === "index" && progress.total > LONG_INDEXING;
        if (isLong && !isIndexing) {
          isIndexing = true;
          listenAgain = monitor.letSignalsEnd();
        }
        monitor.show(progress, format === "maildir" ? "mail" : format);
      },
      signal,
    );
    const mailboxes = mailboxSizes(file.db).slice(0, MAILBOXES_LISTED);
    listenAgain();
    file.finish();
    monitor.stop();
    const seconds = (performance.now() - started) / 1000;
    return { summary, seconds, skippedFile: skipped.finish(), mailboxes };
  } catch (error) {
    monitor.stop();
    skipped.abandon();
    if (file.db.open) file.abandon();
    if (!(error instanceof Interrupted)) throw importFailure(error, settings.db);
    throw new Interrupted(`import stopped: ${settings.db} is as it was before. Run the same command to start again.`);
  }
}

async function openSources(options: ImportOptions, context: AppContext): Promise<NamedSource[]> {
  const open = async (path: string, format: CorpusFormat | null, name = path): Promise<NamedSource> => ({
    name,
    source: readOnThread(path, await openCorpus(path, format), options.filter),
  });
  if (options.sources.length === 0) {
    return [await open(await download(options.limit, context), options.format ?? "parquet", EMAILS_DATASET)];
  }
  const sources: NamedSource[] = [];
  for (const path of options.sources) sources.push(await open(path, options.format));
  return sources;
}

/** Throws if the import reads a file that it would also write, or delete as a leftover. */
function refuseToOverwriteSources(read: readonly (string | undefined)[], { db }: AppSettings): void {
  for (const end of [".partial", ".skipped.tsv", ".skipped.tsv.partial"]) {
    const source = read.find((path) => path !== undefined && isSameFile(path, `${db}${end}`));
    if (source === undefined) continue;
    throw new UserError(
      "output_is_input",
      `Cannot import ${source}: the import would overwrite this file, which is named like the database with ${end} added.`,
      "Rename it first.",
    );
  }
}

/** Downloads the published mail. With a limit, downloads only the files needed for that number of emails. */
async function download(limit: number, { settings, note, progress, signal }: AppContext): Promise<string> {
  const size =
    limit === 0 ? "about 1 GB" : `at most 1 GB in three files; only the files needed for ${counted(limit, "email")}`;
  note(`Downloading ${EMAILS_DATASET} (${size}) to ${settings.cacheDir}. Existing files are not downloaded again.`);
  const started = performance.now();
  const bar = progress("Download");
  let mails = 0;
  return downloadEnronEmails(
    hubOf(settings.env),
    settings.cacheDir,
    signal,
    (bytes, total) => {
      const speed = rate(bytes / 1e6, performance.now() - started).replace("/s", " MB/s");
      bar.update(bytes, total, `${count(Math.round(bytes / 1e6))} MB  ${speed}`);
    },
    async (newest) => {
      if (limit > 0) mails += await countParquetRows(newest);
      return limit > 0 && mails >= limit;
    },
  ).finally(() => bar.stop());
}

function openSkippedFile(path: string): SkippedFile {
  const partial = `${path}.partial`;
  let file: number | null = null;
  const close = () => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return {
    add({ where, reason }) {
      file ??= openSync(partial, "w");
      writeSync(file, `${[where, reason].map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t")}\n`);
    },
    finish() {
      if (file === null) {
        // The list of an earlier import.
        rmSync(path, { force: true });
        return null;
      }
      close();
      renameSync(partial, path);
      return path;
    },
    abandon() {
      if (file === null) return;
      close();
      rmSync(partial, { force: true });
    },
  };
}
