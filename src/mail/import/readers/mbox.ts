// Reads mbox files as a stream.
import type { BadEmail } from "../../email.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../../mime/parse-email.js";
import type { ReadResult } from "./batch-mails.js";
import { fileEmail } from "./filed-email.js";
import { inLargeChunks, type MailFile } from "./mail-file.js";
import { brokenSource, DamagedData } from "./source-errors.js";

/** Number of header fields after the first line, per kind. All are 0 if something other than a header follows it. */
interface HeaderEvidence {
  readonly known: number;
  readonly stored: number;
  readonly hidden: number;
}

/** The kind of line before a `From ` line: text, a line that can end an email, or a blank line. */
type Before = "text" | "boundary" | "blank";

/** Reads the emails in an mbox (RFC 4155). */
export async function* readMbox(file: MailFile, content: AsyncIterable<Buffer>): AsyncGenerator<ReadResult> {
  const messages = new MboxMessages();
  let number = 0;
  const toResult = async (raw: Buffer | null): Promise<ReadResult> => {
    number++;
    const bad = (reason: string, isSideFile?: true): { bad: BadEmail } => ({
      bad: { where: `${file.where} mail ${number}`, reason, ...(isSideFile && { isSideFile }) },
    });
    if (raw === null) return bad(TOO_LARGE);
    if (FOLDER_DATA.test(raw.toString("latin1", 0, 2_000))) return bad("it is a mail program's internal data", true);
    const email = await parseEmail(raw);
    return typeof email === "string" ? bad(email) : { email: fileEmail(email, file.place.ofMboxEmail(number), "mbox") };
  };
  try {
    for await (const chunk of withLineFeeds(content)) {
      for (const raw of messages.push(chunk)) yield await toResult(raw);
    }
    for (const raw of messages.end()) yield await toResult(raw);
  } catch (error) {
    if (!(error instanceof DamagedData)) throw error;
    // The last email might be incomplete.
    for (const raw of [...messages.end()].slice(0, -1)) yield await toResult(raw);
    throw brokenSource(file.where, `after ${number} complete emails`, error);
  }
}

/** Converts line ends. Mac mail programs before OS X ended lines with CR. */
async function* withLineFeeds(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isMac: boolean | null = null;
  for await (const chunk of inLargeChunks(content)) {
    isMac ??= !chunk.includes(LF) && chunk.includes(CR);
    yield isMac ? Buffer.from(chunk.toString("latin1").replaceAll("\r", "\n"), "latin1") : chunk;
  }
}

/** The first record in mailboxes of UW IMAP and Pine. */
const FOLDER_DATA = /^Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA/m;

const LF = 0x0a;
const CR = 0x0d;

/** Number of bytes to check, for a separator and the header after it. */
const JUDGED_BYTES = 8 * 1024;

// `From`, an address, and an asctime date, with a zone before or after the year (RFC 4155, appendix A).
const ASCTIME_SEPARATOR =
  /^From \S.*? (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d{1,2}:\d{2}(?::\d{2})?(?: +\S+){0,2}? +\d{4}(?!\d)/;

// Thunderbird's `From -`, Takeout's `From 184...@xxx`, only `From`, or an address with a date in any other format.
const OTHER_SEPARATOR = /^From (?:\s*$|-\s*$|\S+\s*$|\S+ .*\d)/;

/** git writes this date into all patches, and emails often quote patches in full. */
const GIT_SEPARATOR = /^From [0-9a-f]{40} Mon Sep 17 00:00:00 2001/;

/** Header fields that also occur in prose, for example above a quoted email. */
const SHOWN_FIELD = /^>?(?:to|cc|bcc|subject|sender|organization|importance|priority)[ \t]*:/i;

/** Fields at the start of a stored email's header. */
const STORED_FIELD =
  /^>?(?:from|date|message-id|received|return-path|delivered-to|mime-version|content-[\w-]+|status|x-[\w-]+|authentication-results|dkim-signature|domainkey-signature|arc-[\w-]+|references|in-reply-to|reply-to|list-[\w-]+|envelope-to|errors-to|precedence|lines|xref|path)[ \t]*:/i;

/** Stored fields that never occur in a quoted header. */
const HIDDEN_FIELD =
  /^>?(?:message-id|received|return-path|delivered-to|mime-version|content-[\w-]+|status|x-[\w-]+|dkim-signature|references|in-reply-to)[ \t]*:/i;

const FIELD_LINE = /^(?:[!-9;-~]+[ \t]*:|[ \t]+\S|>?From )/;

/** Whether a file starts with an mbox separator, after any byte order mark and blank lines. */
export function isMboxStart(head: Buffer): boolean {
  const text = head
    .toString("latin1", 0, JUDGED_BYTES)
    .replace(/^\xef\xbb\xbf/, "")
    .replace(/^\s+/, "");
  return text.startsWith("From ") && isSeparator(text, "blank");
}

/**
 * Whether a file that starts with something else, such as the rest of an email, contains a separator after a blank
 * line. Excludes separators in an attachment or a quotation.
 */
export function hasSeparator(head: Buffer): boolean {
  for (let at = head.indexOf("\nFrom "); at !== -1; at = head.indexOf("\nFrom ", at + 1)) {
    const text = head.toString("latin1", at + 1, at + 1 + JUDGED_BYTES);
    const { stored, hidden } = headerAfter(text);
    if (stored < 2 || hidden < 1 || !isSeparator(text, lineBefore(head, at, 0))) continue;
    const [, boundary = ""] =
      /^content-type:[^\n]*(?:\n[ \t][^\n]*)*?boundary="?([^"\s;]+)/im.exec(head.toString("latin1", 0, at)) ?? [];
    return boundary === "" || head.subarray(0, at).includes(`--${boundary}--`);
  }
  return false;
}

function firstLine(text: string): string {
  return /^[^\r\n]*/.exec(text)?.[0] ?? "";
}

const NO_HEADER: HeaderEvidence = { known: 0, stored: 0, hidden: 0 };

function headerAfter(text: string): HeaderEvidence {
  let [fields, stored, hidden] = [0, 0, 0];
  for (const line of text.split(/\r\n|[\r\n]/).slice(1)) {
    if (line.trim() === "") break;
    // A long header may contain a damaged line. The last line might be truncated.
    if (!FIELD_LINE.test(line)) return stored > 2 ? { known: fields, stored, hidden } : NO_HEADER;
    const isStored = STORED_FIELD.test(line);
    if (isStored) stored++;
    if (isStored || SHOWN_FIELD.test(line)) fields++;
    if (HIDDEN_FIELD.test(line)) hidden++;
  }
  return { known: fields, stored, hidden };
}

/**
 * Whether a `From ` line is a separator, based on its format (not defined in RFC 4155), the line before it, and the
 * header after it. A sentence that starts with "From " is not followed by a header. If it introduces a quoted email,
 * the quoted header does not contain the fields that mail programs hide.
 * @param text the line and the text after it
 */
function isSeparator(text: string, before: Before): boolean {
  const line = firstLine(text);
  const { known, stored, hidden } = headerAfter(text);
  if (ASCTIME_SEPARATOR.test(line)) return before === "blank" ? known > 0 : stored >= 2;
  if (OTHER_SEPARATOR.test(line)) return stored >= (before === "text" ? 3 : 2);
  return before === "blank" && stored >= 3 && hidden >= 2;
}

/** A streaming mbox splitter. Unquotes `>From ` (mboxo and mboxrd). Yields null for an oversized email. */
export class MboxMessages {
  /** The current email, including its separator. */
  private rest: Buffer = Buffer.alloc(0);
  private searched = 0;
  private tooLarge = false;
  /** Whether the emails in this file are git patches, or null before the first separator. */
  private hasGitSeparators: boolean | null = null;

  push(chunk: Buffer): Generator<Buffer | null> {
    return this.split(this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]), false);
  }

  *end(): Generator<Buffer | null> {
    yield* this.split(this.rest, true);
    const bytes = this.rest;
    this.rest = Buffer.alloc(0);
    if (this.tooLarge || !isBlank(bytes.toString("latin1"))) yield this.take(bytes);
  }

  private *split(bytes: Buffer, isEnd: boolean): Generator<Buffer | null> {
    let start = 0;
    let from = this.searched;
    this.hasGitSeparators ??= GIT_SEPARATOR.test(bytes.toString("latin1", 0, 100).trimStart());
    for (;;) {
      const at = bytes.indexOf("\nFrom ", from);
      if (at === -1) {
        // The chunk might end within the search string.
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
        const isInBody = isInClaimedBody(bytes, start, at + 1, isEnd);
        if (isInBody === null) {
          from = at;
          break;
        }
        if (isInBody) {
          from = at + 1;
          continue;
        }
        const mail = bytes.subarray(start, at + 1);
        // Blank lines before the first separator are not an email.
        if (this.tooLarge || !isBlank(mail.toString("latin1", 0, 100))) yield this.take(mail);
        start = at + 1;
      }
      from = at + 1;
    }
    this.keep(bytes.subarray(start), from - start);
  }

  private take(bytes: Buffer): Buffer | null {
    const wasTooLarge = this.tooLarge;
    this.tooLarge = false;
    return wasTooLarge ? null : unquote(withoutSeparator(withoutMmdfLines(bytes)));
  }

  /** Keeps only the end of an oversized email, because the next separator could start there. */
  private keep(bytes: Buffer, searched: number): void {
    if (bytes.length > MAX_MAIL_BYTES) this.tooLarge = true;
    const dropped = this.tooLarge ? Math.max(0, searched - 200) : 0;
    this.rest = bytes.subarray(dropped);
    this.searched = searched - dropped;
  }
}

/** `Content-Length` is ignored in longer headers. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Whether the `From ` line at `at` is within the body according to the Content-Length of the email at `start`
 * (mboxcl2), or null if more data is needed. Many lengths are wrong, so a length counts only if a separator or the end
 * of the file follows.
 */
function isInClaimedBody(bytes: Buffer, start: number, at: number, isEnd: boolean): boolean | null {
  const header = bytes.toString("latin1", start, Math.min(at, start + MAX_HEADER_BYTES));
  const border = /\n\r?\n/.exec(header);
  if (border === null) return false;
  const length = /^content-length[ \t]*:[ \t]*(\d{1,8})[ \t]*\r?$/im.exec(header.slice(0, border.index + 1))?.[1];
  const end = start + border.index + border[0].length + Number(length);
  if (length === undefined || end <= at || Number(length) > MAX_MAIL_BYTES) return false;
  if (end + JUDGED_BYTES > bytes.length && !isEnd) return null;
  const rest = bytes.toString("latin1", end, end + JUDGED_BYTES);
  const next = rest.trimStart();
  return end <= bytes.length && (next === "" ? end + rest.length === bytes.length : isSeparator(next, "blank"));
}

/** Returns the kind of the line that ends at `at`, an LF. */
function lineBefore(bytes: Buffer, at: number, start: number): Before {
  const previous = bytes.lastIndexOf(LF, at - 1);
  if (at === 0) return "blank";
  const line = bytes.toString("latin1", Math.max(previous + 1, start, at - 200), at);
  if (line.trim() === "") return "blank";
  return line.trimEnd() === MMDF_LINE || /^--.*--\s*$/.test(line) ? "boundary" : "text";
}

/** Whether a text consists of white space, a byte order mark and MMDF's separators. */
function isBlank(text: string): boolean {
  return /^[\s\xef\xbb\xbf]*$/.test(text.replaceAll("\x01", ""));
}

const MMDF_LINE = "\x01\x01\x01\x01";

/** Removes the lines of four Ctrl-A around an email of an MMDF mailbox. */
function withoutMmdfLines(bytes: Buffer): Buffer {
  if (!bytes.includes(MMDF_LINE)) return bytes;
  const lines = bytes.toString("latin1").split("\n");
  return Buffer.from(lines.filter((line) => line.trimEnd() !== MMDF_LINE).join("\n"), "latin1");
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
