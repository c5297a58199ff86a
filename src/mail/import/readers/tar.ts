// Reads tar archives as a stream, without unpacking them.
import { basename } from "node:path";
import { pipeline } from "node:stream";
import { extract, type Header } from "tar-stream";
import { UserError } from "../../../platform/errors.js";
import { isAppleEntry } from "./apple-archive.js";
import type { ReadItems } from "./batch-mails.js";
import { readPlainEmail } from "./email-file.js";
import { collect, entryFile, isInMaildir, type MailFile } from "./mail-file.js";
import { archiveFolders, MailboxLayout } from "./mailbox-layout.js";
import { isPlainEmail } from "./recognize.js";
import { brokenSource } from "./source-errors.js";

type TarEntry = ReturnType<typeof extract> extends AsyncIterable<infer T> ? T : never;

/**
 * Reads the files of a tar archive as a stream, without unpacking to disk. Entries that are not regular files, or whose
 * path leads out of the archive, are reported as bad.
 * @param readEntry reads a file with any content
 */
export async function* readTar(
  file: MailFile,
  content: AsyncIterable<Buffer>,
  readEntry: (entry: MailFile) => ReadItems,
): ReadItems {
  const archive = extract();
  const bytes = new TarBytes(content);
  const layout = new MailboxLayout(archiveFolders(file.place.full), "stream");
  let entries = 0;
  // Every pipeline error also rejects the iteration.
  pipeline(bytes.chunks(), archive, () => {});
  try {
    for await (const entry of archive) {
      yield* readEntryOf(entry, file, layout, readEntry);
      entries++;
    }
    bytes.checkEnd();
  } catch (error) {
    const cause = bytes.failure ?? error;
    if (cause instanceof UserError) throw cause;
    throw brokenSource(file.where, `after ${entries} complete entries${file.progress()}`, cause);
  }
}

/** Larger entries are streamed. */
const SMALL_BYTES = 4 * 1024 * 1024;

/** Reads the entry to its end, because otherwise the archive does not continue. */
async function* readEntryOf(
  entry: TarEntry,
  archive: MailFile,
  layout: MailboxLayout,
  readEntry: (entry: MailFile) => ReadItems,
): ReadItems {
  const { name, type, size = 0 } = entry.header;
  if (type === "directory") {
    // POSIX permits a size without content, and the entry's stream would never end.
    entry.resume();
    return;
  }
  const content = new EntryContent(entry);
  const refusal = refusalOf(entry.header);
  if (refusal !== null) {
    await content.drain();
    yield { bad: { where: `${archive.where} entry ${name}`, reason: refusal } };
    return;
  }
  const path = name
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");
  layout.addFoldersOf(path);
  const bytes = size > SMALL_BYTES ? null : await collect(content, SMALL_BYTES);
  if (bytes === null) {
    layout.addFile(path);
    yield* readEntry(entryFile(archive, path, size, layout, () => content));
    await content.drain();
    return;
  }
  const about = { where: `${archive.where} entry ${name}`, name: basename(path), isInMaildir: isInMaildir(path) };
  if (!isAppleEntry(path) && isPlainEmail(bytes, about.name, about.isInMaildir)) {
    const result = readPlainEmail(bytes, about, () => layout.ofEmail(path));
    yield result instanceof Promise ? await result : result;
    return;
  }
  layout.addFile(path);
  const chunks = async function* () {
    yield bytes;
  };
  yield* readEntry(entryFile(archive, path, size, layout, chunks));
}

/** The bytes of an entry. Unlike with a stream, stopping early does not end the archive. */
class EntryContent implements AsyncIterable<Buffer> {
  private readonly iterator: AsyncIterator<Buffer>;
  private readonly name: string;
  private readonly size: number;
  private length = 0;

  constructor(entry: TarEntry) {
    this.iterator = (entry as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.name = entry.header.name;
    this.size = entry.header.size ?? 0;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return { next: () => this.next() };
  }

  /** Throws if the archive ends within the entry, because tar-stream might end the last entry without an error. */
  private async next(): Promise<IteratorResult<Buffer>> {
    const result = await this.iterator.next();
    if (result.done !== true) this.length += result.value.length;
    else if (this.length < this.size) throw new Error(`entry ${this.name} is incomplete`);
    return result;
  }

  async drain(): Promise<void> {
    while ((await this.next()).done !== true);
  }
}

function refusalOf({ name, type }: Header): string | null {
  if (type === "symlink" || type === "link") return "it is a link, which is not followed";
  if (type !== "file" && type !== "contiguous-file") return "it is not a regular file";
  return pathRefusal(name);
}

/** Returns the reason to reject a path in an archive, or null if the path stays within the archive. */
export function pathRefusal(path: string): string | null {
  if (/^(?:[/\\]|[a-z]:)/i.test(path)) return "its path is absolute";
  return path.split(/[/\\]/).includes("..") ? "its path leads out of the archive" : null;
}

const BLOCK = 512;

/** The decompressed bytes of a tar archive, and the error that ended reading, if any. */
class TarBytes {
  failure: unknown = null;
  private tail: Buffer = Buffer.alloc(0);

  constructor(private readonly content: AsyncIterable<Buffer>) {}

  /** Ends at an error instead of throwing, so that the entries before it are read. The error is stored in `failure`. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.content) {
        this.tail = Buffer.concat([this.tail, chunk.subarray(-BLOCK)]).subarray(-BLOCK);
        yield chunk;
      }
    } catch (error) {
      this.failure = error;
    }
  }

  /** Throws if the archive is truncated. If it was cut off between two entries, the final zero blocks are missing. */
  checkEnd(): void {
    if (this.failure !== null) throw this.failure;
    if (this.tail.length < BLOCK || this.tail.some((byte) => byte !== 0))
      throw new Error("the end-of-archive marker is missing");
  }
}
