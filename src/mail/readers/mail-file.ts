import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { requireRegularFile } from "../../platform/files.js";
import { isSystemError, type MailLocation, unreadable } from "./batches.js";
import type { MailboxLayout } from "./mailbox-layout.js";

/** A file of a source, wherever it is stored: on disk, in an archive, or compressed. */
export interface MailFile {
  /** For messages: the path on disk, or `mail.zip entry Inbox`. */
  readonly where: string;
  /** Base name, without the extension of a removed compression. */
  readonly name: string;
  /** The path on disk, or null for an archive entry and a decompressed file. */
  readonly disk: string | null;
  /** Bytes, or null if unknown. */
  readonly size: number | null;
  readonly place: FilePlace;
  /** For messages about damage: ` (9 of 10 bytes were read)`, or empty if the file is in an archive. */
  progress(): string;
  /** The content, which can be read once only if the file is in an archive. */
  chunks(): AsyncIterable<Buffer>;
}

/** Whose mail a file contains. */
export interface FilePlace {
  /** The location of a file that is one email. */
  readonly ofEmail: () => MailLocation;
  /** The location of an email of an mbox, counted from 1. */
  readonly ofMboxEmail: (number: number) => MailLocation;
  /** Whether the file is in the `cur` or `new` of a Maildir. */
  readonly isInMaildir: boolean;
  /** Whether it is next to the mailbox files of an account. */
  readonly isMailbox: boolean;
}

const CHUNK_BYTES = 1024 * 1024;

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

/** The first bytes of a stream, and all of it. */
export interface PeekedFile {
  readonly head: Buffer;
  /** Whether the head is the entire content. */
  readonly isWhole: boolean;
  /** The content from its start. Call once. */
  chunks(): AsyncIterable<Buffer>;
  /** Closes the stream if `chunks` was not called. */
  close(): Promise<void>;
}

/** Reads at least `length` bytes if there are as many. */
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
      // What comes before the damage is read first.
      failure = { error };
    }
  }
  const head = first.length === 1 ? (first[0] as Buffer) : Buffer.concat(first);
  return {
    head,
    isWhole,
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

/** The entire content, or null if it is longer than `limit`. */
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

/** Joins small chunks: readers that copy what they have not used up would copy it for each. */
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
    // What comes before the damage is read first.
    if (bytes > 0) yield join();
    throw error;
  }
  if (bytes > 0) yield join();
}

/** A file of an archive. */
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
    place: placeIn(layout, path, path),
    progress: () => "",
    chunks,
  };
}

export function isInMaildir(path: string): boolean {
  const folder = path.lastIndexOf("/");
  return folder > 2 && /(?:^|\/)(?:cur|new)$/.test(path.slice(Math.max(0, folder - 4), folder));
}

/** @param plainPath the path from which the owner is read if the file is not in the folder of an account */
export function placeIn(layout: MailboxLayout, path: string, plainPath: string): FilePlace {
  const isMaildir = isInMaildir(path);
  const ofEmail = () => layout.ofEmail(path, plainPath);
  return {
    ofEmail,
    // Some programs store emails with their separator.
    ofMboxEmail: isMaildir ? ofEmail : (number) => layout.ofMboxEmail(path, plainPath, number),
    isInMaildir: isMaildir,
    isMailbox: layout.isMailbox(path),
  };
}
