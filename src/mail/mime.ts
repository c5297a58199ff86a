import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { addressParser, decodeWords } from "postal-mime";
import { trimEndOf } from "../platform/strings.js";
import { monthOf } from "../text/dates-and-numbers.js";
import type { AsWritten, Email } from "./email.js";

// An escaped byte, or a soft line break with trailing white space added in transport.
const ESCAPE = /=(?:([0-9A-Fa-f]{2})|[ \t]*(?:\r\n?|\n|$))/g;

/** RFC 2045 6.7. An `=` that begins no escape is kept. */
export function decodeQuotedPrintable(encoded: Buffer): Buffer {
  if (!encoded.includes(0x3d)) return encoded;
  const decoded = encoded
    .toString("latin1")
    .replace(ESCAPE, (_escape: string, hex?: string) =>
      hex === undefined ? "" : String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(decoded, "latin1");
}

/** A mail has at least one of these. */
const IDENTIFYING_HEADERS = ["message-id", "date", "from", "sender", "to", "subject"];

export interface BodyHeaders {
  readonly contentType: string;
  readonly transferEncoding: string;
  readonly disposition: string;
}

export interface RawMail {
  readonly fields: Omit<EmailFields, "body">;
  readonly bodyHeaders: BodyHeaders;
  readonly body: Buffer;
}

/**
 * The parsed header and the raw body of a mail; the reason, as the end of a sentence, where the bytes are no mail. Of
 * a repeated address header all values count, of any other the first.
 */
export function readMailFields(bytes: Buffer): RawMail | string {
  const { headers, body } = splitMessage(bytes);
  if (!IDENTIFYING_HEADERS.some((name) => headers.has(name))) {
    return bytes.subarray(0, 4096).includes(0)
      ? "it is binary data, not a mail"
      : "it has no mail header (Message-ID, Date, From, To or Subject)";
  }
  const first = (name: string) => headers.get(name)?.find((value) => value !== "") ?? "";
  const all = (name: string) => headers.get(name)?.join(", ") ?? "";
  const bodyHeaders = {
    contentType: first("content-type"),
    transferEncoding: first("content-transfer-encoding"),
    disposition: first("content-disposition"),
  };
  const fields = {
    messageId: first("message-id"),
    subject: first("subject"),
    from: first("from") || first("sender"),
    to: all("to"),
    cc: all("cc"),
    bcc: all("bcc"),
    date: parseMailDate(first("date")),
  };
  return { fields, bodyHeaders, body };
}

const LF = 0x0a;
const CR = 0x0d;

/** All other header fields are ignored. */
const READ_HEADERS = new Set([
  "message-id",
  "date",
  "from",
  "sender",
  "to",
  "cc",
  "bcc",
  "subject",
  "content-type",
  "content-transfer-encoding",
  "content-disposition",
]);

interface SplitMessage {
  /** Lower-case field name to its unfolded values, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Buffer;
}

/**
 * Splits a mail at its first blank line and parses the header fields (RFC 5322 2.2). Lines may end in CRLF, LF or CR.
 * Unfolding removes the line end and keeps the white space. Other lines, such as an mbox `From ` line, are skipped.
 * Bytes that are not UTF-8 become U+FFFD.
 */
export function splitMessage(raw: Buffer): SplitMessage {
  const start = startOfHeader(raw);
  const { end, bodyStart } = endOfHeader(raw, start);
  const block = raw.subarray(start, end);
  const text = isAscii(block) ? block.toString("latin1") : block.toString("utf8");
  return { headers: readFields(text), body: raw.subarray(bodyStart) };
}

function readFields(block: string): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  const text = withLineFeeds(block);
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = endOfField(text, start);
    // Half of the fields of most mail; none of those read begins so.
    if (text[start] === "X") continue;
    const field = text.slice(start, end);
    const colon = field.indexOf(":");
    if (colon <= 0) continue;
    const name = field.slice(0, colon).trimEnd().toLowerCase();
    if (!READ_HEADERS.has(name)) continue;
    const value = field
      .slice(colon + 1)
      .replaceAll("\n", "")
      .trim();
    const values = headers.get(name);
    if (values === undefined) headers.set(name, [value]);
    else values.push(value);
  }
  return headers;
}

/** The line end after a field and its folded lines. */
function endOfField(text: string, start: number): number {
  let end = text.indexOf("\n", start);
  while (end !== -1 && (text[end + 1] === " " || text[end + 1] === "\t")) end = text.indexOf("\n", end + 1);
  return end === -1 ? text.length : end;
}

/** Skips a byte order mark and blank lines before the header. */
function startOfHeader(raw: Buffer): number {
  let start = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0;
  while (raw[start] === LF || raw[start] === CR) start++;
  return start;
}

function endOfHeader(raw: Buffer, start: number): { end: number; bodyStart: number } {
  let lineStart = start;
  for (let i = start; i < raw.length; i++) {
    const byte = raw[i];
    if (byte !== LF && byte !== CR) continue;
    const next = byte === CR && raw[i + 1] === LF ? i + 2 : i + 1;
    if (i === lineStart) return { end: i, bodyStart: next };
    lineStart = next;
    i = next - 1;
  }
  return { end: raw.length, bodyStart: raw.length };
}

/** Hours from UTC of the zone names of RFC 5322 4.3; any other name means UTC there. */
const NAMED_ZONES: Readonly<Record<string, number>> = {
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
};

/** Longer headers are cut: the pattern takes cubic time on text that is no date. */
const MAX_DATE_CHARS = 128;

// day-of-week, day, month, year, hour:minute[:second], zone; RFC 5322 3.3 with the white space of 4.3.
const MAIL_DATE =
  /^(?:[a-z]+\.?\s*,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{2,4})\s*,?\s+(\d{1,2})\s*:\s*(\d{2})(?:\s*:\s*(\d{2}))?(?:\.\d+)?\s*([+-]\d{4}|[a-z]+)?/i;

const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A Date header (RFC 5322 3.3 and the obsolete forms of 4.3) as `YYYY-MM-DDTHH:MM:SSZ`; null where it cannot be
 * parsed or the day does not exist. Two-digit years are 1950 to 2049, three digits are added to 1900 (RFC 5322 4.3).
 * A missing zone means UTC.
 */
export function parseMailDate(header: string): string | null {
  const match = MAIL_DATE.exec(withoutComments(header).replace(/\s+/g, " ").trim().slice(0, MAX_DATE_CHARS));
  if (match === null) return null;
  const [, day = "", monthName = "", year = "", hour = "", minute = "", second = "0", zone = "Z"] = match;
  const month = monthOf(monthName.toLowerCase());
  return utc(fullYear(year), month, Number(day), Number(hour), Number(minute), Number(second), zone);
}

/** A date of ISO 8601, with or without a time, as `YYYY-MM-DDTHH:MM:SSZ`; UTC where it names no zone. */
export function parseIsoDate(text: string): string | null {
  const match = ISO_DATE.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", zone = "Z"] = match;
  return utc(Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second), zone);
}

/** ISO 8601 UTC to the second; null for an invalid Date and for years that four digits cannot hold. */
export function isoSeconds(date: Date): string | null {
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) return null;
  return `${date.toISOString().slice(0, 19)}Z`;
}

function utc(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  zone: string,
): string | null {
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (month < 1 || month > 12 || date.getUTCDate() !== day || day === 0) return null;
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60) return null;
  date.setUTCHours(hour, minute - offsetMinutes(zone), second);
  return isoSeconds(date);
}

function fullYear(year: string): number {
  const value = Number(year);
  if (year.length === 2) return value < 50 ? 2000 + value : 1900 + value;
  return year.length === 3 ? 1900 + value : value;
}

function offsetMinutes(zone: string): number {
  const match = /^([+-])(\d{2}):?(\d{2})$/.exec(zone);
  if (match === null) return (NAMED_ZONES[zone.toUpperCase()] ?? 0) * 60;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === "-" ? -minutes : minutes;
}

/** Removes comments in parentheses, which may be nested. */
function withoutComments(text: string): string {
  const first = text.indexOf("(");
  if (first === -1) return text;
  // Nearly always one comment at the end: `+0000 (UTC)`.
  if (text.indexOf("(", first + 1) === -1 && text.indexOf(")", first) === text.length - 1) return text.slice(0, first);
  let depth = 0;
  let result = "";
  for (const char of text) {
    if (char === "(") depth++;
    else if (char === ")" && depth > 0) depth--;
    else if (depth === 0) result += char;
  }
  return result;
}

/** A mail's raw fields; `to`, `cc` and `bcc` are comma lists, `date` is parsed. */
export interface EmailFields {
  readonly messageId: string;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly cc: string;
  readonly bcc: string;
  readonly date: string | null;
  readonly body: string;
}

/**
 * Builds an `Email` from the fields and the text of any format, so that the same mail is equal in all of them. Without
 * a Message-ID it gets `<H@missing>`, H being the first 32 hex digits of the SHA-256 of its other fields.
 */
export function buildEmail(fields: Omit<EmailFields, "body">, text: string): Email {
  const { before, body, behind } = splitBody(text);
  const [to, cc, bcc] = [parseAddresses(fields.to), parseAddresses(fields.cc), parseAddresses(fields.bcc)];
  // Spreading objects would take a fifth of the time of reading a corpus.
  const email: Email & { messageId: string; asWritten?: AsWritten } = {
    messageId: normalizeMessageId(fields.messageId),
    subject: normalizeSubject(fields.subject),
    sender: parseAddresses(fields.from)[0] ?? "",
    to: [...new Set(to)],
    cc: [...new Set(cc)],
    bcc: [...new Set(bcc)],
    date: fields.date,
    body,
  };
  if (email.messageId === "") email.messageId = idFromContent(email);
  const recipients = to.length + cc.length + bcc.length;
  const isUnchanged =
    before === "" && behind === "" && recipients === email.to.length + email.cc.length + email.bcc.length;
  if (!isUnchanged) email.asWritten = { beforeBody: before, behindBody: behind, recipients };
  return email;
}

/** As `buildEmail` for a row of a table; the reason as a string if the row is empty. */
export function buildEmailFromRow(fields: EmailFields): Email | string {
  const identifyingFields = [fields.messageId, fields.from, fields.subject, fields.body];
  if (identifyingFields.every((field) => field.trim() === ""))
    return "it has neither Message-ID, sender, subject nor body";
  return buildEmail(fields, fields.body);
}

function idFromContent({ subject, sender, to, cc, bcc, date, body }: Email): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([subject, sender, to, cc, bcc, date, body]))
    .digest("hex");
  return `<${digest.slice(0, 32)}@missing>`;
}

/** A bare address; dots may be anywhere (`k..allen@enron.com`). */
const BARE_ADDRESS = /^[^\s\0@<>,;:"'()\\][^\s\0@<>,;:"\\]*@[^\s\0@<>,;:"'()[\]\\]+$/;

/** The parser takes seconds for longer fields; a pattern extracts their addresses. */
const MAX_PARSED_CHARS = 200_000;
const ANY_ADDRESS = /(?<![^\s<>"',;:()[\]\\@])[^\s<>"',;:()[\]\\@]+@[^\s<>"',;:()[\]\\@]+/g;

/**
 * The addresses of a From, To, Cc or Bcc field, in order and lower case, without display names and quotes; groups
 * (RFC 5322 3.4) are expanded. If no entry has an `@`, their texts.
 */
function parseAddresses(field: string): string[] {
  if (field === "") return [];
  const entries = field.split(",").map((entry) => entry.trim());
  if (entries.every((entry) => entry === "" || BARE_ADDRESS.test(entry))) {
    return entries.filter((entry) => entry !== "").map((entry) => entry.toLowerCase());
  }
  if (field.length > MAX_PARSED_CHARS) return field.toLowerCase().match(ANY_ADDRESS) ?? [];
  const texts = addressParser(replaceControls(field), { flatten: true })
    .flatMap(({ address, name }) => splitJoined(address || name))
    .map(normalizeAddress);
  const addresses = texts.filter((text) => text.includes("@"));
  return (addresses.length > 0 ? addresses : texts).filter((text) => text !== "");
}

/** Addresses that one pair of brackets runs together (`<a@example.com, b@example.com>`). */
function splitJoined(text: string): string[] {
  return text.split("@").length > 2 ? text.split(/[\s,;]+/) : [text];
}

/** Removes quotes and stray brackets (`'pat@example.com'`, `a@example.com>`). */
function normalizeAddress(text: string): string {
  const plain = text
    .replace(/\s+/g, " ")
    .replace(/ ?@ ?/g, "@")
    .replaceAll('"', "")
    .replace(/^[<' ]+/, "");
  return trimEndOf(plain, ">' ").trim().toLowerCase();
}

/** Decodes RFC 2047 words and collapses white space, so that a subject is equal in all formats. */
export function normalizeSubject(subject: string): string {
  const decoded = subject.includes("=?") ? decodeWords(subject) : subject;
  const text = replaceControls(decoded);
  return /[^\S ]|\s\s/.test(text) ? text.replace(/\s+/g, " ").trim() : text.trim();
}

/**
 * A body that is equal in all formats: LF line ends, no blank lines at the start, no white space at the end. With it
 * the white space that was removed before and after.
 */
export function splitBody(text: string): { before: string; body: string; behind: string } {
  const lines = replaceControls(withLineFeeds(text));
  const trimmed = lines.trimEnd();
  const body = trimmed.replace(/^(?:[ \t]*\n)+/, "");
  return { before: trimmed.slice(0, trimmed.length - body.length), body, behind: lines.slice(trimmed.length) };
}

/** CRLF and CR as LF. Two plain replacements take a third of the time of one with a pattern. */
export function withLineFeeds(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replaceAll("\r\n", "\n");
  return lines.includes("\r") ? lines.replaceAll("\r", "\n") : lines;
}

/** The first `<...>` of the header without white space; a bare id gets brackets. Empty where there is none. */
export function normalizeMessageId(header: string): string {
  const text = replaceControls(header);
  const id = (/<([^<>]+)>/.exec(text)?.[1] ?? text.replace(/[<>]/g, "")).replace(/\s+/g, "");
  return id === "" ? "" : `<${id}>`;
}

/** windows-1252 at 0x80 to 0x9f; U+FFFD for its five unassigned bytes. */
const WINDOWS_1252 = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ";

/**
 * NUL, which ends a text in SQLite's C functions, becomes U+FFFD. U+0080 to U+009F do not occur in mail: they are
 * windows-1252 that an exporter, or the TextDecoder of some Node releases, decoded as latin1, and are mapped back.
 */
export function replaceControls(text: string): string {
  // Almost all mail is ASCII without NUL, which this tells in a thirtieth of the time of the pattern.
  if (Buffer.byteLength(text) === text.length && !text.includes("\0")) return text;
  return text.replace(/[\0\x80-\x9f]/g, (control) =>
    control === "\0" ? "\ufffd" : (WINDOWS_1252[control.charCodeAt(0) - 0x80] ?? control),
  );
}
