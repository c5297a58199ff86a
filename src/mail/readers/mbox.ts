import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { CorpusSource } from "../email.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../mime-body.js";
import {
  batchMails,
  brokenSource,
  fileEmail,
  gunzip,
  isGzip,
  isSystemError,
  type ReadResult,
  readHead,
  unreadable,
} from "./batches.js";

/**
 * One or more mbox files (RFC 4155), gzipped or not. Mails have no path; the owner is the file name without
 * extensions. Progress counts bytes on disk.
 */
export async function openMbox(paths: readonly string[]): Promise<CorpusSource> {
  let totalBytes = 0;
  for (const path of paths) totalBytes += (await stat(path)).size;
  return {
    format: "mbox",
    totalBytes,
    batches(signal) {
      const progress = { bytes: 0 };
      return batchMails(readFiles(paths, progress), () => progress.bytes, signal);
    },
  };
}

async function* readFiles(paths: readonly string[], progress: { bytes: number }): AsyncGenerator<ReadResult> {
  for (const path of paths) yield* readMboxFile(path, progress);
}

async function* readMboxFile(path: string, progress: { bytes: number }): AsyncGenerator<ReadResult> {
  const name = basename(path);
  const isZipped = isGzip(await readHead(path, 2));
  const plain = isZipped ? basename(path, ".gz") : name;
  const owner = basename(plain, extname(plain));
  const messages = new MboxMessages();
  let number = 0;
  const found = async (raw: Buffer | null): Promise<ReadResult> => {
    number++;
    const email = raw === null ? TOO_LARGE : await parseEmail(raw);
    if (typeof email === "string") return { bad: { where: `${name} mail ${number}`, reason: email } };
    return { email: fileEmail(email, { path: "", owner }, null) };
  };
  try {
    const bytes = readBytes(path, progress);
    for await (const chunk of isZipped ? gunzip(bytes) : bytes) {
      for (const raw of messages.push(chunk)) yield await found(raw);
    }
    for (const raw of messages.end()) yield await found(raw);
  } catch (error) {
    if (isSystemError(error)) throw unreadable(path, error);
    throw isZipped ? brokenSource(name, `after ${number} whole mails`, error) : error;
  }
}

async function* readBytes(path: string, progress: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    progress.bytes += chunk.length;
    yield chunk;
  }
}

/** A single mail in a file, as mail programs save it. It has no owner. */
export async function openEml(path: string): Promise<CorpusSource> {
  const { size } = await stat(path);
  return {
    format: "eml",
    totalBytes: size,
    batches: (signal) => batchMails(readMail(path, size), () => size, signal),
  };
}

async function* readMail(path: string, size: number): AsyncGenerator<ReadResult> {
  const name = basename(path);
  const email = size > MAX_MAIL_BYTES ? TOO_LARGE : await parseEmail(await readFile(path));
  if (typeof email === "string") yield { bad: { where: name, reason: email } };
  else yield { email: { ...email, path: "", owner: null, inbox: null } };
}

const LF = 0x0a;
const CR = 0x0d;

/** Longer lines are no separators. */
const MAX_SEPARATOR_BYTES = 1024;

// `From`, an address, an asctime date, and a zone before or after the year (RFC 4155, appendix A).
const SEPARATOR =
  /^From \S.*? (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d{1,2}:\d{2}(?::\d{2})?(?: +\S+){0,2}? +\d{4}(?!\d)/;

export function isMboxSeparator(line: Buffer): boolean {
  const end = line.indexOf(LF);
  const text = line.subarray(0, end === -1 ? MAX_SEPARATOR_BYTES : Math.min(end, MAX_SEPARATOR_BYTES));
  return SEPARATOR.test(text.toString("latin1"));
}

/**
 * A streaming mbox splitter. A separator counts only at the start of the file or after a blank line, so a sentence
 * that begins with "From " stays in its mail. Unquotes `>From ` (mboxo and mboxrd). Yields null for an oversized
 * mail.
 */
class MboxMessages {
  /** The current mail from its separator on. */
  private rest: Buffer = Buffer.alloc(0);
  private searched = 0;
  private tooLarge = false;

  *push(chunk: Buffer): Generator<Buffer | null> {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    let start = 0;
    let from = this.searched;
    for (;;) {
      const at = bytes.indexOf("\nFrom ", from);
      if (at === -1) {
        // The chunk may end within the search string.
        from = Math.max(start, bytes.length - 6);
        break;
      }
      const line = bytes.subarray(at + 1, at + 1 + MAX_SEPARATOR_BYTES);
      if (line.length < MAX_SEPARATOR_BYTES && !line.includes(LF)) {
        from = at;
        break;
      }
      if (isAfterBlankLine(bytes, at) && isMboxSeparator(line)) {
        yield this.take(bytes.subarray(start, at + 1));
        start = at + 1;
      }
      from = at + 1;
    }
    this.keep(bytes.subarray(start), from - start);
  }

  *end(): Generator<Buffer | null> {
    const bytes = this.rest;
    this.rest = Buffer.alloc(0);
    if (this.tooLarge || bytes.toString("latin1").trim() !== "") yield this.take(bytes);
  }

  private take(bytes: Buffer): Buffer | null {
    const wasTooLarge = this.tooLarge;
    this.tooLarge = false;
    return wasTooLarge ? null : unquote(withoutSeparator(bytes));
  }

  /** Of an oversized mail only the end is kept, where the next separator may begin. */
  private keep(bytes: Buffer, searched: number): void {
    if (bytes.length > MAX_MAIL_BYTES) this.tooLarge = true;
    const dropped = this.tooLarge ? Math.max(0, searched - 2) : 0;
    this.rest = bytes.subarray(dropped);
    this.searched = searched - dropped;
  }
}

/** @param at the LF before `From ` */
function isAfterBlankLine(bytes: Buffer, at: number): boolean {
  return bytes[at - 1] === LF || (bytes[at - 1] === CR && bytes[at - 2] === LF);
}

function withoutSeparator(bytes: Buffer): Buffer {
  if (bytes.subarray(0, 5).toString("latin1") !== "From ") return bytes;
  const end = bytes.indexOf(LF);
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(end + 1);
}

function unquote(bytes: Buffer): Buffer {
  if (!bytes.includes(">From ")) return bytes;
  return Buffer.from(bytes.toString("latin1").replace(/^>(>*From )/gm, "$1"), "latin1");
}
