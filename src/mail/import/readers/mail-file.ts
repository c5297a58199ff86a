// The file type that all readers receive, and helpers to read a file's stream in pieces.
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { requireRegularFile } from "../../../platform/files.js";
import type { MailLocation } from "./filed-email.js";
import type { MailboxLayout } from "./mailbox-layout.js";
import { isSystemError, unreadable } from "./source-errors.js";

/** A file in a source: on disk, in an archive, or compressed. */
export interface MailFile {
  /** Location, as shown in messages: the path on disk, or `mail.zip entry Inbox`. */
  readonly where: string;
  /** Base name, without the extension of a removed compression layer. */
  readonly name: string;
  /** Path on disk, or null for an archive entry or a decompressed file. */
  readonly disk: string | null;
  /** Size in bytes, of a compressed file before decompression. */
  readonly size: number;
  readonly place: FilePlace;
  /**
   * Returns the progress for messages about damage (` (9 of 10 bytes were read)`), or an empty string if the file is in
   * an archive.
   */
  progress(): string;
  /** Returns the content. In an archive, it can be read only once. */
  chunks(): AsyncIterable<Buffer>;
}

/** A file's place among the mailboxes of the source. */
interface FilePlace {
  /** Returns the location of a file that is a single email. */
  readonly ofEmail: () => MailLocation;
  /** Returns the location of an email in an mbox, counted from 1. */
  readonly ofMboxEmail: (number: number) => MailLocation;
  /** Whether the file is in the `cur` or `new` folder of a Maildir. */
  readonly isInMaildir: boolean;
  /** Whether the file is next to the mailbox files of an account. */
  readonly isMailbox: boolean;
  /** The source with its parent folders, and the path in it. */
  readonly full: string;
}

/** The first bytes of a stream, followed by the rest. */
export interface PeekedFile {
  readonly head: Buffer;
  /** Whether the head is the entire content. */
  readonly isWhole: boolean;
  /** Returns the content from its start. Call only once. */
  chunks(): AsyncIterable<Buffer>;
  /** The error that ended the head early, or null. `chunks` throws it, too. */
  readonly failure: unknown;
  /** Closes the stream if `chunks` was not called. */
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1024;

/** @param onRead receives the number of bytes of every chunk */
export function diskFile(
  path: string,
  size: number,
  where: string,
  place: FilePlace,
  onRead: (bytes: number) => void,
): MailFile {
  let bytesRead = 0;
  async function* chunks() {
    requireRegularFile(path);
    bytesRead = 0;
    try {
      for await (const chunk of createReadStream(path, { highWaterMark: Math.min(CHUNK_BYTES, size + 1) })) {
        bytesRead += chunk.length;
        onRead(chunk.length);
        yield chunk;
      }
    } catch (error) {
      throw isSystemError(error) ? unreadable(path, error) : error;
    }
  }
  const progress = () => ` (${bytesRead} of ${size} bytes were read)`;
  return { where, name: basename(path), disk: path, size, place, progress, chunks };
}

/** Reads at least `length` bytes, or the entire stream if it is shorter. */
export async function peek(stream: AsyncIterable<Buffer>, length: number): Promise<PeekedFile> {
  const iterator = stream[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  let bytes = 0;
  let isWhole = false;
  let failure: { readonly error: unknown } | null = null;
  while (bytes < length && !isWhole && failure === null) {
    try {
      const { done, value } = await iterator.next();
      if (done === true) isWhole = true;
      else {
        first.push(value);
        bytes += value.length;
      }
    } catch (error) {
      // Pass on the data before the damage first.
      failure = { error };
    }
  }
  const head = first.length === 1 ? (first[0] as Buffer) : Buffer.concat(first);
  return {
    head,
    isWhole,
    failure: failure?.error ?? null,
    async *chunks() {
      try {
        if (head.length > 0) yield head;
        if (failure !== null) throw failure.error;
        while (!isWhole) {
          const { done, value } = await iterator.next();
          if (done === true) return;
          yield value;
        }
      } finally {
        await iterator.return?.();
      }
    },
    async close() {
      await iterator.return?.();
    },
  };
}

/** Returns the entire content, or null if it is longer than `limit` bytes. */
export async function collect(chunks: AsyncIterable<Buffer>, limit: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limit) return null;
    parts.push(chunk);
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

/** Joins small chunks. Otherwise, readers that copy unused data would copy it for each chunk. */
export async function* inLargeChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  const join = () => {
    const joined = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    return joined;
  };
  try {
    for await (const chunk of chunks) {
      parts.push(chunk);
      bytes += chunk.length;
      if (bytes >= CHUNK_BYTES) yield join();
    }
  } catch (error) {
    // Pass on the data before the damage first.
    if (bytes > 0) yield join();
    throw error;
  }
  if (bytes > 0) yield join();
}

export function entryFile(
  archive: MailFile,
  path: string,
  size: number,
  layout: MailboxLayout,
  chunks: () => AsyncIterable<Buffer>,
): MailFile {
  return {
    where: `${archive.where} entry ${path}`,
    name: basename(path),
    disk: null,
    size,
    place: placeIn(layout, path),
    progress: () => "",
    chunks,
  };
}

export function isInMaildir(path: string): boolean {
  const folder = path.lastIndexOf("/");
  return folder > 2 && /(?:^|\/)(?:cur|new)$/.test(path.slice(Math.max(0, folder - 4), folder));
}

export function placeIn(layout: MailboxLayout, path: string): FilePlace {
  const isMaildir = isInMaildir(path);
  const ofEmail = () => layout.ofEmail(path);
  return {
    ofEmail,
    // Some programs store single emails with their separator.
    ofMboxEmail: isMaildir ? ofEmail : (number) => layout.ofMboxEmail(path, number),
    isInMaildir: isMaildir,
    isMailbox: !isMaildir && layout.isMailbox(path),
    full: layout.placeOf(path),
  };
}

/** Returns the first bytes of a file, or the entire file if it is shorter. Throws file system errors unchanged. */
export async function readHead(file: string, length: number): Promise<Buffer> {
  requireRegularFile(file);
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
