import { createReadStream, type Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../platform/errors.js";
import { CORPUS_FORMATS, type CorpusFormat, type CorpusSource } from "./email.js";
import { parseEmail } from "./mime-body.js";
import { gunzip, isGzip, isSystemError, readHead, unreadable } from "./readers/batches.js";
import {
  findColumns,
  isKaggleHeader,
  isMailTable,
  openKaggleCsv,
  openParsedCsv,
  readCsvHeader,
} from "./readers/csv.js";
import { openMaildir, walk } from "./readers/maildir.js";
import { isMboxStart, openEml, openMbox } from "./readers/mbox.js";
import { openParquet } from "./readers/parquet.js";
import { openTarball } from "./readers/tar.js";

const OPENERS: Readonly<Record<CorpusFormat, (path: string, files: readonly string[]) => Promise<CorpusSource>>> = {
  maildir: openMaildir,
  tar: openTarball,
  "kaggle-csv": openKaggleCsv,
  "parsed-csv": openParsedCsv,
  parquet: (_path, files) => openParquet(files),
  mbox: (_path, files) => openMbox(files),
  eml: openEml,
};

const FORMS =
  "a maildir folder, a tar archive (gzipped or not), Kaggle's emails.csv, a parsed CSV, Parquet, an mbox (gzipped or not) or one mail (.eml)";

/**
 * Opens a source of mail; a null `format` is detected by content. Reads headers and footers only.
 * @throws UserError where the path does not exist, no format fits, or the content does not match `format`
 */
export async function openCorpus(path: string, format: CorpusFormat | null): Promise<CorpusSource> {
  try {
    const stats = await stat(path);
    if (!stats.isFile() && !stats.isDirectory()) throw unknownFormat(path, "neither a file nor a folder");
    // By content: file names do not matter.
    const known = stats.isDirectory() ? await detectFolder(path) : await detectFile(path);
    if (format !== null) checkFormat(path, stats.isDirectory(), format, known);
    const chosen = format ?? known.format;
    if (chosen === null) throw unknownFormat(path, known.instead);
    const source = await OPENERS[chosen](path, known.files);
    return stats.isFile() ? withChangeCheck(path, stats, source) : source;
  } catch (error) {
    throw isSystemError(error) ? unreadable(path, error) : error;
  }
}

/** Throws at the end if the file changed while it was read, as it may have yielded old and new content. */
function withChangeCheck(path: string, opened: Stats, source: CorpusSource): CorpusSource {
  return {
    ...source,
    async *batches(signal) {
      yield* source.batches(signal);
      const { size, mtimeMs } = await stat(path);
      if (size === opened.size && mtimeMs === opened.mtimeMs) return;
      throw new UserError(
        "source_changed",
        `${path} changed while it was read: it had ${opened.size} bytes and has ${size}`,
        "Wait until it is written, then import it again.",
        1,
      );
    },
  };
}

/** Accepts a named format that the content may have, such as a tar too old for the `ustar` mark. */
function checkFormat(path: string, isFolder: boolean, format: CorpusFormat, known: DetectedFormat): void {
  if (format === known.format) return;
  const bothCsv = format.endsWith("-csv") && known.format?.endsWith("-csv");
  const possible = isFolder ? format === "maildir" : format !== "maildir" && (known.format === null || bothCsv);
  if (possible) return;
  const found = known.format ?? known.instead ?? (isFolder ? "a folder" : "a file");
  throw new UserError(
    "wrong_format",
    `${path} cannot be read as ${format}: it is ${found}`,
    known.format === null
      ? `Name a source that holds ${FORMS}.`
      : `Leave --format out, or give --format ${known.format}.`,
  );
}

function unknownFormat(path: string, instead: string | null): UserError {
  return new UserError(
    "unknown_format",
    `${path} is not mail in a form that can be read${instead === null ? "" : `: it is ${instead}`}`,
    `Known are ${FORMS}. If it is one of these, name it: --format ${CORPUS_FORMATS.join("|")}.`,
  );
}

/** `format` is null where none fits; `files` are the files to read, one or those of a folder. */
interface DetectedFormat {
  readonly format: CorpusFormat | null;
  readonly files: readonly string[];
  /** What an unknown source is, if known. */
  readonly instead: string | null;
}

/** Enough for an mbox separator and the header after it. */
const HEAD_BYTES = 16 * 1024;

async function detectFile(path: string): Promise<DetectedFormat> {
  const head = await readHead(path, HEAD_BYTES);
  const detected = (format: CorpusFormat | null, instead: string | null = null) => ({ format, files: [path], instead });
  if (head.length === 0) return detected(null, "an empty file");
  if (isParquet(head)) return detected("parquet");
  if (isGzip(head)) {
    const unzipped = await readUnzippedHead(path);
    if (isTar(unzipped)) return detected("tar");
    if (isMboxStart(unzipped)) return detected("mbox");
    return detected(null, "a gzip file that holds neither a tar archive nor an mbox");
  }
  if (isTar(head)) return detected("tar");
  if (head.subarray(0, 4).toString("latin1") === "PK\x03\x04") return detected(null, "a zip file: unzip it first");
  if (isMboxStart(head)) return detected("mbox");
  const names = await readCsvHeader(path);
  if (names !== null && isKaggleHeader(names)) return detected("kaggle-csv");
  if (names !== null && isMailTable(findColumns(names))) return detected("parsed-csv");
  return detected((await isMail(path)) ? "eml" : null);
}

async function isMail(file: string): Promise<boolean> {
  return typeof (await parseEmail(await readHead(file, 64 * 1024))) !== "string";
}

/** Files tried before a folder counts as unknown. */
const FILES_TRIED = 50;

async function detectFolder(path: string): Promise<DetectedFormat> {
  const tables = (await findTableFiles(path)) ?? (await findTableFiles(join(path, "data")));
  if (tables !== null) return tables;
  let tried = 0;
  for await (const { file, refused } of walk(path, "")) {
    if (tried++ === FILES_TRIED) break;
    if (refused === null && (await isMail(file))) {
      return { format: "maildir", files: [path], instead: null };
    }
  }
  return { format: null, files: [path], instead: tried === 0 ? "an empty folder" : null };
}

/** The Parquet, else the mbox files directly in a folder, by name. Follows links, as caches store shards as links. */
async function findTableFiles(folder: string): Promise<DetectedFormat | null> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  const parquet: string[] = [];
  const mbox: string[] = [];
  for (const [i, name] of names.sort().entries()) {
    if (i >= FILES_TRIED && parquet.length + mbox.length === 0) return null;
    const file = join(folder, name);
    if (!(await isFile(file))) continue;
    const head = await readHead(file, HEAD_BYTES);
    if (isParquet(head)) parquet.push(file);
    else if (isMboxStart(head) || (isGzip(head) && isMboxStart(await readUnzippedHead(file)))) mbox.push(file);
  }
  if (parquet.length > 0) return { format: "parquet", files: parquet, instead: null };
  return mbox.length > 0 ? { format: "mbox", files: mbox, instead: null } : null;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    // A broken link.
    return false;
  }
}

function isParquet(head: Buffer): boolean {
  return head.subarray(0, 4).toString("latin1") === "PAR1";
}

/** POSIX and GNU tar both write `ustar` at byte 257. */
function isTar(head: Buffer): boolean {
  return head.subarray(257, 262).toString("latin1") === "ustar";
}

async function readUnzippedHead(path: string): Promise<Buffer> {
  try {
    for await (const chunk of gunzip(createReadStream(path))) return chunk;
  } catch {
    // Not gzip, or cut off in the first block.
  }
  return Buffer.alloc(0);
}
