// Detects the format of a mail source and opens its reader. The table of mail formats.
import { createReadStream, type Stats, statSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { UserError } from "../../platform/errors.js";
import { statOf } from "../../platform/file-stats.js";
import { CORPUS_FORMATS, type CorpusFormat, type CorpusSource } from "../email.js";
import { batchMails, type ReadItems } from "./readers/batch-mails.js";
import { readFolder, recognizeFile, whyNoMailIn } from "./readers/folder.js";
import { gunzip } from "./readers/gunzip.js";
import { diskFile, isInMaildir, type MailFile, peek, placeIn, readHead } from "./readers/mail-file.js";
import { MailboxLayout, sourceFolders } from "./readers/mailbox-layout.js";
import { openParquetFile, readParquet } from "./readers/parquet.js";
import { readInnerFile, readMailFile, requireTable } from "./readers/read-mail-file.js";
import { type FileKind, HEAD_BYTES, recognize } from "./readers/recognize.js";
import { brokenSource, DamagedData, isSystemError, unreadable } from "./readers/source-errors.js";

const FORMS =
  "a folder of mail, a tar or zip archive, an mbox, one email (.eml, .emlx), CSV (such as Kaggle's emails.csv) and Parquet, gzipped or not";

/**
 * Opens a mail source. If `format` is null, it is detected from the content. Reads only headers and footers.
 * @throws UserError if the path does not exist, no format fits, or the content does not match `format`
 */
export async function openCorpus(path: string, format: CorpusFormat | null): Promise<CorpusSource> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return await openFolder(path, format);
    if (!stats.isFile()) throw unknownFormat(path, "it is neither a file nor a folder");
    return withChangeCheck(path, stats, await openFile(path, stats, format));
  } catch (error) {
    throw isSystemError(error) ? unreadable(path, error) : error;
  }
}

/** Throws at the end if the file changed during reading, because it might have yielded a mix of old and new content. */
function withChangeCheck(path: string, stats: Stats, source: CorpusSource): CorpusSource {
  return {
    ...source,
    async *batches(signal) {
      yield* source.batches(signal);
      const { size, mtimeMs } = await stat(path);
      if (size === stats.size && mtimeMs === stats.mtimeMs) return;
      throw new UserError(
        "source_changed",
        `${path} changed while it was read: it had ${stats.size} bytes and now has ${size}`,
        "Wait until it is complete, then import it again.",
        1,
      );
    },
  };
}

/** Returns a source that calls `read` for each pass. `read` passes the number of bytes that it has read to `onRead`. */
function sourceOf(
  format: CorpusFormat,
  totalBytes: number | null,
  read: (onRead: (bytes: number) => void) => ReadItems,
): CorpusSource {
  return {
    format,
    totalBytes,
    batches(signal) {
      let bytesRead = 0;
      const onRead = (bytes: number) => {
        bytesRead += bytes;
      };
      return batchMails(read(onRead), () => Math.round(bytesRead), signal);
    },
  };
}

/** Opens a folder. Without a format, each file's format is detected from its content. */
async function openFolder(path: string, format: CorpusFormat | null): Promise<CorpusSource> {
  if (format === "parquet" || format === "mbox") {
    const files = await findFiles(path, format);
    if (files.length === 0) throw wrongFormat(path, format, "a folder without such files", null);
    return format === "parquet" ? openParquetFiles(files) : openMboxFiles(files);
  }
  if (format !== null && format !== "maildir") throw wrongFormat(path, format, "a folder", "maildir");
  if (format === null) {
    const reasons = await whyNoMailIn(path);
    if (reasons !== null) throw unknownFormat(path, reasonOfFolder(reasons));
  }
  return sourceOf("maildir", null, (onRead) =>
    readFolder(path, (file) => readInnerFile(file, { depth: 0, onRead: () => undefined }), onRead),
  );
}

/** Number of reasons named in an error. */
const MAX_REASONS = 3;

function reasonOfFolder(reasons: ReadonlyMap<string, number>): string {
  const files = [...reasons.values()].reduce((sum, number) => sum + number, 0);
  if (files === 0) return "it is an empty folder";
  const sorted = [...reasons].sort(([, a], [, b]) => b - a).slice(0, MAX_REASONS);
  return `none of its ${files} files contains mail (${sorted.map(([reason, number]) => `${number}: ${reason}`).join("; ")})`;
}

/**
 * Returns the files of one form in a folder or its `data` subfolder, sorted by name. Follows links, because caches
 * store shards as links.
 */
async function findFiles(folder: string, form: "parquet" | "mbox"): Promise<string[]> {
  for (const path of [folder, join(folder, "data")]) {
    const names = await readdir(path).catch(() => []);
    const files: string[] = [];
    for (const name of names.sort()) {
      const file = join(path, name);
      // A link can be broken.
      if (statOf(file)?.isFile() && (await contentKind(file)).kind === form) files.push(file);
    }
    if (files.length > 0) return files;
  }
  return [];
}

/** Reads all footers first, to detect a truncated shard before reading any mail. */
async function openParquetFiles(paths: readonly string[]): Promise<CorpusSource> {
  const shards = await Promise.all(paths.map((path) => openParquetFile(path)));
  const totalBytes = shards.reduce((sum, { file }) => sum + file.byteLength, 0);
  return sourceOf("parquet", totalBytes, (onRead) => readParquet(shards, onRead));
}

async function openMboxFiles(paths: readonly string[]): Promise<CorpusSource> {
  const totalBytes = paths.reduce((sum, path) => sum + statSync(path).size, 0);
  return sourceOf("mbox", totalBytes, async function* (onRead) {
    for (const path of paths) yield* readTopFile(topFile(path, statSync(path).size, onRead), "mbox");
  });
}

async function openFile(path: string, { size }: Stats, format: CorpusFormat | null): Promise<CorpusSource> {
  const kind = await contentKind(path);
  const detectedFormat = formatOf(kind);
  if (format !== null) checkFormat(path, format, detectedFormat);
  const sourceFormat = format ?? detectedFormat;
  if (sourceFormat === null) throw unknownFormat(path, kind.kind === "unknown" ? kind.reason : null);
  if (sourceFormat === "parquet" && kind.kind === "parquet") return openParquetFiles([path]);
  const requestedFormat = format === detectedFormat ? null : format;
  if (requestedFormat === "kaggle-csv" || requestedFormat === "parsed-csv")
    requireTable(path, requestedFormat, await readHead(path, HEAD_BYTES));
  return sourceOf(sourceFormat, size, (onRead) => readTopFile(topFile(path, size, onRead), requestedFormat, onRead));
}

/**
 * Returns a file with its place. If the file's folder has a mailbox name (`Inbox`, `Sent`), the folder identifies the
 * owner.
 */
function topFile(path: string, size: number, onRead: (bytes: number) => void): MailFile {
  const name = basename(path);
  const layout = new MailboxLayout(sourceFolders(dirname(path)));
  layout.addFile(name);
  return diskFile(path, size, name, placeIn(layout, name), onRead);
}

async function* readTopFile(
  file: MailFile,
  format: CorpusFormat | null,
  onRead: (bytes: number) => void = () => undefined,
): ReadItems {
  try {
    yield* readMailFile(file, { format: format === "maildir" ? null : format, depth: 0, onRead });
  } catch (error) {
    throw error instanceof DamagedData ? brokenSource(file.where, "", error) : error;
  }
}

/** Maximum number of nested gzip layers. Files with more are not mail. */
const MAX_GZIPS = 2;

/** Returns the kind of a file's content, after decompression if it is a gzip file. */
async function contentKind(path: string): Promise<FileKind> {
  const kind = await recognizeFile(path);
  if (kind.kind !== "gzip") return kind;
  let head: Buffer = Buffer.alloc(0);
  for (let gzips = 1; gzips <= MAX_GZIPS; gzips++) {
    let content: AsyncIterable<Buffer> = createReadStream(path);
    for (let i = 0; i < gzips; i++) content = gunzip(content);
    const peeked = await peek(content, HEAD_BYTES);
    await peeked.close();
    head = peeked.head;
    const inner = recognize(head, peeked.isWhole, basename(path).replace(/\.gz$/i, ""), isInMaildir(path));
    if (inner.kind === "unknown" && peeked.failure !== null) throw brokenSource(path, "at its start", peeked.failure);
    if (inner.kind !== "gzip")
      return inner.kind === "unknown" ? { ...inner, reason: `it is a gzip file, and ${inner.reason}` } : inner;
  }
  return { kind: "unknown", reason: "it is compressed several times", isSideFile: false };
}

function formatOf(kind: FileKind): CorpusFormat | null {
  switch (kind.kind) {
    case "email":
      return "eml";
    case "csv":
      return kind.table.form;
    case "gzip":
    case "unknown":
      return null;
    default:
      return kind.kind;
  }
}

/** Formats without a signature, which a user can know better than the program. */
const TEXT_FORMATS: ReadonlySet<CorpusFormat> = new Set(["mbox", "eml", "kaggle-csv", "parsed-csv"]);

/**
 * Accepts a specified format if the content might have it, for example a tar file that is too old to have the `ustar`
 * mark.
 */
function checkFormat(path: string, format: CorpusFormat, detectedFormat: CorpusFormat | null): void {
  if (format === detectedFormat) return;
  const isText = detectedFormat === null || TEXT_FORMATS.has(detectedFormat);
  if (format !== "maildir" && (detectedFormat === null || (TEXT_FORMATS.has(format) && isText))) return;
  throw wrongFormat(path, format, detectedFormat ?? "a file", detectedFormat);
}

function wrongFormat(path: string, format: CorpusFormat, kind: string, detectedFormat: CorpusFormat | null): UserError {
  return new UserError(
    "source_format_wrong",
    `${path} cannot be read as ${format}: it is ${kind}`,
    detectedFormat === null
      ? `Pass a source that contains ${FORMS}.`
      : `Omit --format, or pass --format ${detectedFormat}.`,
  );
}

/** @param reason why it is not mail, if known */
function unknownFormat(path: string, reason: string | null): UserError {
  return new UserError(
    "source_format_unknown",
    `${path} is not mail in a supported format${reason === null ? "" : `: ${reason}`}`,
    `Supported sources: ${FORMS}. If it is one of these, pass --format ${CORPUS_FORMATS.join("|")}.`,
  );
}
