import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream";
import { extract, type Header } from "tar-stream";
import type { CorpusSource } from "../email.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../mime-body.js";
import {
  batchMails,
  brokenSource,
  fileEmail,
  gunzip,
  isGzip,
  isSystemError,
  locateMail,
  type ReadResult,
  readHead,
  unreadable,
} from "./batches.js";

/**
 * A tar archive, gzipped or not, read as a stream; nothing is unpacked to disk. Progress counts bytes on disk.
 * Entries that are no plain file, or whose path leads out of the archive, are reported as bad.
 */
export async function openTarball(file: string): Promise<CorpusSource> {
  const { size } = await stat(file);
  const gzipped = isGzip(await readHead(file, 2));
  return {
    format: "tar",
    totalBytes: size,
    batches(signal) {
      const bytes = new TarBytes(file, gzipped);
      return batchMails(readTarball(file, size, bytes), () => bytes.bytesRead, signal);
    },
  };
}

async function* readTarball(file: string, size: number, bytes: TarBytes): AsyncGenerator<ReadResult> {
  const name = basename(file);
  const archive = extract();
  let entries = 0;
  // Every error of the pipeline also rejects the iteration.
  pipeline(bytes.chunks(), archive, () => {});
  try {
    for await (const entry of archive) {
      const found = await readEntry(entry, name);
      entries++;
      if (found !== null) yield found;
    }
    bytes.checkEnd();
  } catch (error) {
    const cause = bytes.failure ?? error;
    if (isSystemError(cause)) throw unreadable(file, cause);
    throw brokenSource(name, `after ${entries} whole entries (${bytes.bytesRead} of ${size} bytes were read)`, cause);
  }
}

type TarEntry = ReturnType<typeof extract> extends AsyncIterable<infer T> ? T : never;

/** Null for a folder. Reads the entry to its end, as the archive continues only then. */
async function readEntry(entry: TarEntry, archive: string): Promise<ReadResult | null> {
  const { header } = entry;
  const refused = header.type === "directory" ? null : refusalOf(header);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of entry as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (refused === null) chunks.push(chunk);
  }
  // tar-stream may end the last entry of a truncated archive without an error.
  if (length < (header.size ?? 0)) throw new Error(`entry ${header.name} is not all there`);
  if (header.type === "directory") return null;
  const email = refused ?? (await parseEmail(Buffer.concat(chunks)));
  if (typeof email === "string") return { bad: { where: `${archive} entry ${header.name}`, reason: email } };
  return { email: fileEmail(email, locateMail(header.name), null) };
}

function refusalOf({ name, type, size }: Header): string | null {
  if (type === "symlink" || type === "link") return "it is a link, which is not followed";
  if (type !== "file" && type !== "contiguous-file") return "it is not a plain file";
  if (/^(?:[/\\]|[a-z]:)/i.test(name)) return "its path is absolute";
  if (name.split(/[/\\]/).includes("..")) return "its path leads out of the archive";
  return size > MAX_MAIL_BYTES ? TOO_LARGE : null;
}

const BLOCK = 512;

/** The decompressed bytes of a tar archive, and how reading them ended. */
class TarBytes {
  bytesRead = 0;
  /** The error that ended the reading, if any. */
  failure: unknown = null;
  private tail: Buffer = Buffer.alloc(0);

  constructor(
    private readonly file: string,
    private readonly gzipped: boolean,
  ) {}

  /** Ends at an error instead of throwing, so that the entries before it are read; see `failure`. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.gzipped ? gunzip(this.raw()) : this.raw()) {
        this.tail = Buffer.concat([this.tail, chunk.subarray(-BLOCK)]).subarray(-BLOCK);
        yield chunk;
      }
    } catch (error) {
      this.failure = error;
    }
  }

  /**
   * Throws where the archive is truncated. The zero blocks at its end are missing if it is cut between two entries.
   */
  checkEnd(): void {
    if (this.failure !== null) throw this.failure;
    if (this.tail.length < BLOCK || this.tail.some((byte) => byte !== 0)) throw new Error("the end mark is missing");
  }

  private async *raw(): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(this.file, { highWaterMark: 128 * 1024 })) {
      this.bytesRead += chunk.length;
      yield chunk;
    }
  }
}
