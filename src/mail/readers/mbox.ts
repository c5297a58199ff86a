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
    const email =
      raw === null
        ? TOO_LARGE
        : FOLDER_DATA.test(raw.toString("latin1", 0, 2_000))
          ? FOLDER_DATA_REASON
          : await parseEmail(raw);
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

/** The first record of the mailboxes of UW IMAP and Pine. */
const FOLDER_DATA = /^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA/m;
const FOLDER_DATA_REASON = "it is internal data of the mail program";

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

/** Bytes of a separator and of the header after it that are judged. */
const JUDGED_BYTES = 8 * 1024;

// `From`, an address, an asctime date, and a zone before or after the year (RFC 4155, appendix A).
const ASCTIME_SEPARATOR =
  /^From \S.*? (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d{1,2}:\d{2}(?::\d{2})?(?: +\S+){0,2}? +\d{4}(?!\d)/;

// Thunderbird's `From -`, Takeout's `From 184...@xxx`, `From` alone, and an address with a date in any other form.
const OTHER_SEPARATOR = /^From (?:\s*$|-\s*$|\S+\s*$|\S+ .*\d)/;

/** git writes this date into all patches, which mail often quotes whole. */
const GIT_SEPARATOR = /^From [0-9a-f]{40} Mon Sep 17 00:00:00 2001/;

/** Fields that begin the header of a stored mail. Fields of prose (`To:`, `Subject:`) do not count alone. */
const STORED_FIELD =
  /^>?(?:from|date|message-id|received|return-path|delivered-to|mime-version|content-type|status|x-status|x-mozilla-[\w-]+|x-gm-[\w-]+|x-gmail-labels|x-uidl?|x-account-key|x-apparently-to|authentication-results|dkim-signature|references|in-reply-to|reply-to|x-mailer|envelope-to|x-original-to)[ \t]*:/i;
const FIELD_LINE = /^(?:[!-9;-~]+[ \t]*:|[ \t]+\S|>?From )/;

/** Whether a file begins with an mbox separator, after a byte order mark and blank lines. */
export function isMboxStart(head: Buffer): boolean {
  const text = head
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "")
    .replace(/^\s+/, "");
  return ASCTIME_SEPARATOR.test(text) || (OTHER_SEPARATOR.test(firstLine(text)) && countStoredFields(text) >= 2);
}

function firstLine(text: string): string {
  return /^[^\r\n]*/.exec(text)?.[0] ?? "";
}

/** Fields of a stored mail in the header after the first line; 0 if something else follows it. */
function countStoredFields(text: string): number {
  const lines = text.split(/\r?\n/).slice(1);
  let count = 0;
  for (const line of lines) {
    if (line.trim() === "") break;
    if (!FIELD_LINE.test(line)) return count > 2 ? count : 0;
    if (STORED_FIELD.test(line)) count++;
  }
  return count;
}

/** What stands before a `From ` line: nothing blank, a line that a mail can end with, or a blank line. */
type Before = "text" | "boundary" | "blank";

/**
 * Judges a `From ` line by its form, the line before it, and the header after it (RFC 4155 leaves the form open). A
 * sentence that begins with "From " is not followed by a header.
 *
 * @param text the line and what follows it
 */
function isSeparator(text: string, before: Before): boolean {
  const line = firstLine(text);
  const isAsctime = ASCTIME_SEPARATOR.test(line);
  if (isAsctime && before === "blank") return true;
  const needed = isAsctime || before !== "text" ? 2 : 3;
  return (isAsctime || OTHER_SEPARATOR.test(line)) && countStoredFields(text) >= needed;
}

/**
 * A streaming mbox splitter. Unquotes `>From ` (mboxo and mboxrd). Yields null for an oversized mail.
 */
export class MboxMessages {
  /** The current mail from its separator on. */
  private rest: Buffer = Buffer.alloc(0);
  private searched = 0;
  private tooLarge = false;
  /** Whether git's patches are the mails of this file. Null before the first separator. */
  private hasGitSeparators: boolean | null = null;

  push(chunk: Buffer): Generator<Buffer | null> {
    return this.split(this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]), false);
  }

  *end(): Generator<Buffer | null> {
    yield* this.split(this.rest, true);
    const bytes = this.rest;
    this.rest = Buffer.alloc(0);
    if (this.tooLarge || bytes.toString("latin1").trim() !== "") yield this.take(bytes);
  }

  private *split(bytes: Buffer, isEnd: boolean): Generator<Buffer | null> {
    let start = 0;
    let from = this.searched;
    this.hasGitSeparators ??= GIT_SEPARATOR.test(bytes.toString("latin1", 0, 100).trimStart());
    for (;;) {
      const at = bytes.indexOf("\nFrom ", from);
      if (at === -1) {
        // The chunk may end within the search string.
        from = Math.max(start, bytes.length - 6);
        break;
      }
      if (!isEnd && at + JUDGED_BYTES > bytes.length) {
        from = at;
        break;
      }
      const text = bytes.toString("latin1", at + 1, at + 1 + JUDGED_BYTES);
      const isPatch = !this.hasGitSeparators && GIT_SEPARATOR.test(text);
      if (!isPatch && isSeparator(text, lineBefore(bytes, at, start))) {
        const mail = bytes.subarray(start, at + 1);
        // Blank lines before the first separator are not a mail.
        if (this.tooLarge || !/^[\s\xef\xbb\xbf]*$/.test(mail.toString("latin1", 0, 100))) yield this.take(mail);
        start = at + 1;
      }
      from = at + 1;
    }
    this.keep(bytes.subarray(start), from - start);
  }

  private take(bytes: Buffer): Buffer | null {
    const wasTooLarge = this.tooLarge;
    this.tooLarge = false;
    return wasTooLarge ? null : unquote(withoutSeparator(bytes));
  }

  /** Keeps only the end of an oversized mail, where the next separator may begin. */
  private keep(bytes: Buffer, searched: number): void {
    if (bytes.length > MAX_MAIL_BYTES) this.tooLarge = true;
    const dropped = this.tooLarge ? Math.max(0, searched - 200) : 0;
    this.rest = bytes.subarray(dropped);
    this.searched = searched - dropped;
  }
}

/** The line that ends at `at`, an LF. */
function lineBefore(bytes: Buffer, at: number, start: number): Before {
  const previous = bytes.lastIndexOf(LF, at - 1);
  if (at === 0) return "blank";
  const line = bytes.toString("latin1", Math.max(previous + 1, start, at - 200), at);
  if (line.trim() === "") return "blank";
  return /^--.*--\s*$/.test(line) ? "boundary" : "text";
}

function withoutSeparator(bytes: Buffer): Buffer {
  const [before = ""] = /^(?:\xef\xbb\xbf)?\s*(?=From )/.exec(bytes.toString("latin1", 0, 200)) ?? [];
  const start = before.length;
  if (bytes.toString("latin1", start, start + 5) !== "From ") return bytes;
  const end = bytes.indexOf(LF, start);
  return end === -1 ? Buffer.alloc(0) : bytes.subarray(end + 1);
}

function unquote(bytes: Buffer): Buffer {
  if (!bytes.includes(">From ")) return bytes;
  return Buffer.from(bytes.toString("latin1").replace(/^>(>*From )/gm, "$1"), "latin1");
}
