// Chooses the reader for a file based on its content, looking inside archives and compressed files.
import { basename } from "node:path";
import { UserError } from "../../../platform/errors.js";
import type { CorpusFormat } from "../../email.js";
import { withAppleEntries } from "./apple-archive.js";
import type { ReadItems, ReadResult } from "./batch-mails.js";
import { type CsvTable, csvNames, findCsvTable, readCsv } from "./csv.js";
import { readEmailFile } from "./email-file.js";
import { gunzip, isGzip } from "./gunzip.js";
import { collect, type MailFile, type PeekedFile, peek, readHead } from "./mail-file.js";
import { readMbox } from "./mbox.js";
import { openParquetBytes, openParquetFile, readParquet } from "./parquet.js";
import { claimsToBeMail, type FileKind, HEAD_BYTES, recognize, SIDE_FILE } from "./recognize.js";
import { BrokenSource, DamagedData, UnpackFailed } from "./source-errors.js";
import { readTar } from "./tar.js";
import { readZip } from "./zip.js";

/** Maximum depth of nested archives. */
const MAX_DEPTH = 4;

/**
 * Maximum size in bytes of a zip or Parquet file within an archive. Such files are held in memory, because their end is
 * read first.
 */
const MAX_HELD_BYTES = 256 * 1024 * 1024;

interface ReadOptions {
  /** Format, or null to detect it. */
  readonly format: Exclude<CorpusFormat, "maildir"> | null;
  /** Number of archives around the file. */
  readonly depth: number;
  /** Receives the number of bytes in Parquet rows, which are not streamed. */
  readonly onRead: (bytes: number) => void;
}

/**
 * Reads the emails in a file based on its content, regardless of its name: an mbox, a single email, a table, an archive
 * of these, or any of them compressed. Yields the reason if the file is something else.
 */
export async function* readMailFile(file: MailFile, options: ReadOptions): ReadItems {
  const content = await openContent(file);
  const kind =
    options.format === null
      ? recognize(content.head, content.isWhole, file.name, file.place.isInMaildir)
      : kindOf(file, options.format, content);
  switch (kind.kind) {
    case "mbox":
      return yield* readMbox(file, content.chunks());
    case "csv":
      return yield* readCsv(file, content.chunks(), kind.table);
    case "email":
      return yield await readEmailFile(file, content.chunks());
    case "gzip":
      return yield* readGzip(file, content, options);
    case "tar":
      return yield* tooDeep(options, file) ?? readEntries(options, (read) => readTar(file, content.chunks(), read));
    case "zip":
    case "parquet":
      return yield* readHeld(file, content, kind.kind, options);
    case "unknown":
      await content.close();
      // A damaged file is not described by its remains.
      if (content.failure !== null) throw content.failure;
      yield unknownFile(file, kind);
  }
}

/** Opens a file. If it is on disk, its head is read separately, because not all formats are streamed. */
async function openContent(file: MailFile): Promise<PeekedFile> {
  if (file.disk === null) return peek(file.chunks(), HEAD_BYTES);
  const head = await readHead(file.disk, HEAD_BYTES);
  return {
    head,
    isWhole: head.length < HEAD_BYTES,
    failure: null,
    chunks: () => file.chunks(),
    close: async () => undefined,
  };
}

/** Like `readMailFile`, but for a file in a folder or an archive. If it is damaged, the rest of it is skipped. */
export function readInnerFile(file: MailFile, options: Omit<ReadOptions, "format">): ReadItems {
  return reportDamage(file, readMailFile(file, { ...options, format: null }));
}

async function* reportDamage(file: MailFile, items: ReadItems): ReadItems {
  try {
    yield* items;
  } catch (error) {
    yield { bad: { where: file.where, reason: reasonOfError(error) } };
  }
}

/** @throws the error if the file is not its cause */
function reasonOfError(error: unknown): string {
  if (error instanceof BrokenSource) return `it ${error.problem}`;
  if (error instanceof DamagedData) return `it is truncated or damaged: ${error.message}`;
  if (error instanceof UserError && !(error instanceof UnpackFailed)) return error.message;
  throw error;
}

function kindOf(file: MailFile, format: NonNullable<ReadOptions["format"]>, { head }: PeekedFile): FileKind {
  if (isGzip(head)) return { kind: "gzip" };
  if (format === "eml") return { kind: "email" };
  if (format !== "kaggle-csv" && format !== "parsed-csv") return { kind: format };
  return { kind: "csv", table: requireTable(file.where, format, head) };
}

/** @throws UserError if the file is not a table of this form */
export function requireTable(where: string, form: CsvTable["form"], head: Buffer): CsvTable {
  const table = findCsvTable(head, head.length < HEAD_BYTES, form);
  if (table !== null) return table;
  const needed =
    form === "kaggle-csv" ? "the columns file and message" : "the columns message_id, from (or sender) and body";
  throw new UserError(
    "source_not_mail",
    `${where} is not a CSV with ${needed}: its columns are ${csvNames(head).join(", ") || "none"}`,
    "Omit --format to detect the format.",
  );
}

async function* readGzip(file: MailFile, content: PeekedFile, options: ReadOptions): ReadItems {
  const { name } = file;
  const inner: MailFile = {
    ...file,
    name: name.replace(/\.tgz$/i, ".tar").replace(/\.gz$/i, ""),
    disk: null,
    chunks: () => gunzip(content.chunks()),
  };
  // A specified format refers to the decompressed content.
  yield* tooDeep(options, file) ?? readMailFile(inner, inArchive(options));
}

function readEntries(
  options: ReadOptions,
  readArchive: (readEntry: (entry: MailFile) => ReadItems) => ReadItems,
): ReadItems {
  return withAppleEntries(readArchive, (entry) => readInnerFile(entry, inArchive(options)), reportDamage);
}

function inArchive(options: ReadOptions): ReadOptions {
  return { ...options, depth: options.depth + 1 };
}

function tooDeep({ depth }: ReadOptions, { where }: MailFile): ReadItems | null {
  if (depth < MAX_DEPTH) return null;
  return (async function* () {
    yield { bad: { where, reason: `it is an archive nested in ${MAX_DEPTH} others, which is not unpacked` } };
  })();
}

/** Reads a file whose end is read first: on disk, or in memory if it is in an archive or compressed. */
async function* readHeld(
  file: MailFile,
  content: PeekedFile,
  kind: "zip" | "parquet",
  options: ReadOptions,
): ReadItems {
  const refusal = kind === "zip" ? tooDeep(options, file) : null;
  if (refusal !== null) return yield* refusal;
  const held = file.disk ?? (await collect(content.chunks(), MAX_HELD_BYTES));
  // The bytes of a file in memory were counted when they were collected.
  const onRead = file.disk === null ? () => undefined : options.onRead;
  if (held === null) {
    const what = kind === "zip" ? "a zip archive" : "a Parquet file";
    yield {
      bad: { where: file.where, reason: `it is ${what} of more than 256 MB within an archive: unpack it first` },
    };
  } else if (kind === "zip") {
    yield* readEntries(options, (read) => readZip(file, held, read, onRead));
  } else {
    const { where, place } = file;
    const isOnDisk = typeof held === "string";
    const shard = isOnDisk ? await openParquetFile(held, where) : await openParquetBytes(where, place.full, held);
    yield* readParquet([shard], onRead);
  }
}

function unknownFile(file: MailFile, kind: Extract<FileKind, { kind: "unknown" }>): ReadResult {
  const { where, name, size, place } = file;
  if (size === 0 && place.isMailbox) return { bad: { where, reason: "it is an empty mailbox", isSideFile: true } };
  if (kind.isSideFile) return { bad: { where, reason: kind.reason, isSideFile: true } };
  if (SIDE_FILE.test(basename(name))) {
    return {
      bad: { where, reason: "it is a file that belongs to a mail program or the system, not mail", isSideFile: true },
    };
  }
  const isSideFile = !claimsToBeMail(basename(name), place.isInMaildir);
  return { bad: { where, reason: kind.reason, ...(isSideFile && { isSideFile }) } };
}
