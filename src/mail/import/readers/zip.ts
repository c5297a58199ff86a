// Reads zip archives without unpacking them.
import type { Readable } from "node:stream";
import { type Entry, fromBufferPromise, getFileNameLowLevel, openPromise, type ZipFile } from "yauzl";
import { UserError } from "../../../platform/errors.js";
import { checkedContent, entriesOf } from "../../../platform/zip-checks.js";
import type { ReadItems } from "./batch-mails.js";
import { checkExpansion } from "./gunzip.js";
import { entryFile, type MailFile } from "./mail-file.js";
import { archiveFolders, MailboxLayout } from "./mailbox-layout.js";
import { brokenSource, DamagedData } from "./source-errors.js";
import { pathRefusal } from "./tar.js";

/**
 * Reads the files in a zip archive, without unpacking to disk. Entries that are encrypted or links, or whose path leads
 * out of the archive, are reported as bad.
 * @param zip the path on disk, or the content
 * @param readEntry reads a file with any content
 * @param onRead receives the number of compressed bytes read
 */
export async function* readZip(
  file: MailFile,
  zip: string | Buffer,
  readEntry: (entry: MailFile) => ReadItems,
  onRead: (bytes: number) => void,
): ReadItems {
  const progress = new ZipProgress(onRead);
  try {
    const { layout, document } = await readDirectory(file, zip);
    if (document !== null) {
      yield { bad: { where: file.where, reason: document } };
      return;
    }
    const archive = await open(zip);
    try {
      for await (const entry of entriesOf(archive)) {
        const isFolder = nameOf(entry).endsWith("/") && entry.uncompressedSize === 0;
        if (!isFolder) yield* readEntryOf(archive, entry, file, layout, readEntry, progress);
        progress.endEntry(entry);
      }
    } finally {
      archive.close();
    }
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw brokenSource(file.where, `after ${progress.entries} complete entries`, error);
  }
}

function open(zip: string | Buffer): Promise<ZipFile> {
  // Names are decoded here, because yauzl rejects an entire archive if one name leads out of it.
  const options = { lazyEntries: true, autoClose: false, decodeStrings: false };
  return typeof zip === "string" ? openPromise(zip, options) : fromBufferPromise(zip, options);
}

function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

/** Kinds of files that are zip archives, identified by a name in them. */
const DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ["[Content_Types].xml", "it is an Office document, not mail"],
  ["META-INF/MANIFEST.MF", "it is a Java archive, not mail"],
  ["META-INF/container.xml", "it is an e-book, not mail"],
  ["META-INF/manifest.xml", "it is an OpenDocument file, not mail"],
]);

/** Reads all names first, because they show which folders are accounts. */
async function readDirectory(file: MailFile, zip: string | Buffer) {
  const layout = new MailboxLayout(archiveFolders(file.place.full));
  let document: string | null = null;
  const archive = await open(zip);
  try {
    for await (const entry of archive.eachEntry()) {
      const path = nameOf(entry);
      document ??= DOCUMENTS.get(path) ?? null;
      layout.addFoldersOf(path);
      if (!path.endsWith("/")) layout.addFile(path);
    }
  } finally {
    archive.close();
  }
  return { layout, document };
}

async function* readEntryOf(
  archive: ZipFile,
  entry: Entry,
  file: MailFile,
  layout: MailboxLayout,
  readEntry: (entry: MailFile) => ReadItems,
  progress: ZipProgress,
): ReadItems {
  const path = nameOf(entry);
  const refusal = refusalOf(entry, path);
  if (refusal !== null) {
    yield { bad: { where: `${file.where} entry ${path}`, reason: refusal } };
    return;
  }
  const name = path.replace(/^(?:\.\/)+/, "");
  async function* chunks() {
    let stream: Readable | null = null;
    try {
      stream = await archive.openReadStreamPromise(entry);
      for await (const chunk of checkedContent(stream, entry.crc32)) {
        progress.add(entry, chunk.length);
        checkExpansion(archive.fileSize, progress.expanded);
        yield chunk;
      }
    } catch (error) {
      throw new DamagedData(error);
    } finally {
      stream?.destroy();
    }
  }
  yield* readEntry(entryFile(file, name, entry.uncompressedSize, layout, chunks));
  // Entries of a zip bomb overlap, so the size of the entire archive is checked.
  checkExpansion(archive.fileSize, progress.expanded);
}

const STORED = 0;
const DEFLATED = 8;
/** Type bits of a symbolic link in an entry's Unix mode. */
const LINK = 0o12;

function refusalOf(entry: Entry, path: string): string | null {
  if (entry.isEncrypted()) return "it is encrypted";
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return `its compression method ${entry.compressionMethod} is not supported: unpack it first`;
  }
  if (entry.externalFileAttributes >>> 28 === LINK) return "it is a link, which is not followed";
  if (path.endsWith("/")) return "it is a folder with content";
  return pathRefusal(path);
}

/** Counts the compressed and the expanded bytes read from an archive. */
class ZipProgress {
  entries = 0;
  expanded = 0;
  private ofEntry = 0;

  constructor(private readonly onRead: (bytes: number) => void) {}

  add({ compressedSize, uncompressedSize }: Entry, bytes: number): void {
    this.expanded += bytes;
    const compressed = (bytes * compressedSize) / Math.max(uncompressedSize, 1);
    this.ofEntry += compressed;
    this.onRead(compressed);
  }

  endEntry({ compressedSize }: Entry): void {
    this.entries++;
    this.onRead(Math.max(0, compressedSize - this.ofEntry));
    this.ofEntry = 0;
  }
}
