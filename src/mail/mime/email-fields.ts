// Reads the header and raw body of an email (RFC 5322), including damaged ones, as other programs do.
import { isAscii, isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { addressParser } from "postal-mime";
import { trimEndOf } from "../../platform/trim-end.js";
import type { AsWritten, Email, HeaderNames } from "../email.js";
import { decodeCharset } from "./charset.js";
import { decodeEncodedWords } from "./encoded-words.js";
import { parseMailDate, withoutComments } from "./mail-date.js";

/** An email has at least one of these headers. */
const IDENTIFYING_HEADERS = ["message-id", "date", "from", "sender", "to", "subject"];

/** Worded as the end of a sentence. */
export const NO_HEADER = "it does not have an email header (Message-ID, Date, From, To or Subject)";

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

interface SplitMessage {
  /** Maps lower-case field names to their unfolded values, in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Buffer;
}

/** The raw fields of an email. `to`, `cc` and `bcc` are comma-separated lists, and `date` is parsed. */
export interface EmailFields {
  readonly messageId: string;
  readonly subject: string;
  readonly from: string;
  readonly to: string;
  readonly cc: string;
  readonly bcc: string;
  readonly date: string | null;
  readonly body: string;
  /** Absent if the format does not have name lists. */
  readonly nameLists?: HeaderNames["lists"];
  readonly senderName?: HeaderNames["senderName"];
  readonly deliveredTo?: Email["deliveredTo"];
  /** Values of In-Reply-To and References. */
  readonly inReplyTo?: string;
  readonly references?: string;
}

/**
 * Returns the parsed header and the raw body of an email, or the reason why the bytes are not an email, worded as the
 * end of a sentence. All values of a repeated address header are used. Of other repeated headers, only the first is
 * used.
 */
export function readMailFields(bytes: Buffer): RawMail | string {
  const { headers, body } = splitMessage(bytes);
  if (!IDENTIFYING_HEADERS.some((name) => headers.has(name))) {
    return bytes.subarray(0, 4096).includes(0) ? "it is binary data, not an email" : NO_HEADER;
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
    date: parseMailDate(first("date")) ?? dateReceived(headers.get("received") ?? []),
    nameLists: NAME_LIST_HEADERS.flatMap((name) => headers.get(name) ?? []),
    senderName: first("x-from"),
    inReplyTo: first("in-reply-to"),
    references: first("references"),
    // The mail server at the top of the header delivered the email last.
    deliveredTo: deliveryAddress([...(headers.get("delivered-to") ?? []), ...(headers.get("x-original-to") ?? [])]),
  };
  return { fields, bodyHeaders, body };
}

/** Returns the date at which the first server received an email. It is at the end of the last field. */
function dateReceived(values: readonly string[]): string | null {
  const value = values.at(-1) ?? "";
  return parseMailDate(value.slice(value.lastIndexOf(";") + 1).trim());
}

/** Returns the first address. ezmlm writes `mailing list dev@lists.example`, which is not one. */
function deliveryAddress(values: readonly string[]): string | undefined {
  if (values.length === 0) return undefined;
  return values.map((value) => value.replace(/^<|>$/g, "").toLowerCase()).find((value) => BARE_ADDRESS.test(value));
}

const LF = 0x0a;
const CR = 0x0d;

const NAME_LIST_HEADERS = ["x-from", "x-to", "x-cc", "x-bcc"];
const READ_X_HEADER = /X-(?:From|To|b?cc|Original-To):/iy;

/** The header fields to read. All others are ignored. */
const READ_HEADERS = new Set([
  ...NAME_LIST_HEADERS,
  "message-id",
  "date",
  "from",
  "sender",
  "to",
  "cc",
  "bcc",
  "subject",
  "in-reply-to",
  "references",
  "delivered-to",
  "x-original-to",
  "received",
  "content-type",
  "content-transfer-encoding",
  "content-disposition",
]);

/**
 * Splits an email into its header fields (RFC 5322 2.2) and its body. Lines can end with CRLF, LF or CR. Unfolding
 * removes the line end and keeps the white space. As in Python's `email`, the header ends at the first blank line, at a
 * line of white space, or before the first line that cannot belong to a header. An mbox `From ` line or a banner can
 * precede the first field.
 */
export function splitMessage(raw: Buffer): SplitMessage {
  return splitPart(raw, true);
}

/**
 * Like `splitMessage`, but for a MIME part, whose header can be empty. Only an email can start with blank lines or a
 * banner.
 */
export function splitPart(raw: Buffer, isMail: boolean): SplitMessage {
  const start = isMail ? startOfHeader(raw) : 0;
  const plain = splitPlain(raw, start);
  if (plain !== null) return plain;
  const { end, bodyStart } = endOfHeader(raw, start);
  return { headers: readFields(withLineFeeds(headerText(raw.subarray(start, end)))), body: raw.subarray(bodyStart) };
}

const BORDER = Buffer.from("\n\n");
const CRLF_BORDER = Buffer.from("\r\n\r\n");

/**
 * Splits an email with a well-formed ASCII header, which is nearly all mail, without checking every byte. Returns null
 * if a line has to be checked more closely.
 */
function splitPlain(raw: Buffer, start: number): SplitMessage | null {
  const border = raw[raw.indexOf(LF, start) - 1] === CR ? CRLF_BORDER : BORDER;
  const end = raw.indexOf(border, start);
  const block = raw.subarray(start, end);
  if (end <= start || !isAscii(block)) return null;
  let text = block.toString("latin1");
  if (border === CRLF_BORDER) text = text.replaceAll("\r\n", "\n");
  if (text.includes("\r")) return null;
  const headers = readPlainFields(text);
  return headers === null ? null : { headers, body: raw.subarray(end + border.length) };
}

/** RFC 5322 2.2, without `<`, which starts lines of HTML. NaN, after the end of a text, is not a name byte. */
function isNameByte(code: number): boolean {
  return code > SPACE && code < 0x7f && code !== COLON && code !== 0x3c;
}

/** Decodes a header. Lines that are not UTF-8 are decoded with the email's charset, otherwise as windows-1252. */
function headerText(block: Buffer): string {
  if (isAscii(block)) return block.toString("latin1");
  if (isUtf8(block)) return block.toString("utf8");
  const text = block.toString("latin1");
  const charset = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(text)?.[1] ?? "";
  const decode = (line: string) => {
    const bytes = Buffer.from(line, "latin1");
    return isUtf8(bytes) ? bytes.toString("utf8") : decodeCharset(bytes, /^utf/i.test(charset) ? "" : charset);
  };
  return text.split("\n").map(decode).join("\n");
}

/**
 * Returns the fields to read. A line without a colon continues the list of addresses or the subject before it, because
 * it was badly folded.
 * @param text a header with LF line ends
 */
function readFields(text: string): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  let open: string[] | undefined;
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    end = endOfField(text, start);
    const colon = text.indexOf(":", start);
    const hasColon = colon !== -1 && colon < end;
    if (hasColon && colon > start) open = addField(headers, text, start, colon, end);
    else if (open !== undefined && !hasColon && !/^>?From /.test(text.slice(start, start + 6))) {
      const rest = text.slice(start, end).replaceAll("\n", "").trim();
      open.push(`${open.pop() ?? ""} ${rest}`.trim());
    }
  }
  return headers;
}

/** Fields that a badly folded line continues. In other fields, such as Date, the line would damage the value. */
const FOLDED_FIELDS = new Set(["from", "to", "cc", "bcc", "subject"]);

/** Like `readFields`, but returns null if a line is not `Name: value` or the continuation of one. */
function readPlainFields(text: string): Map<string, string[]> | null {
  const headers = new Map<string, string[]>();
  for (let start = 0, end = 0; start < text.length; start = end + 1) {
    let colon = start;
    while (isNameByte(text.charCodeAt(colon))) colon++;
    if (colon === start || colon - start >= MAX_NAME_BYTES || text.charCodeAt(colon) !== COLON) return null;
    end = text.indexOf("\n", colon);
    while (end !== -1 && isFold(text.charCodeAt(end + 1))) {
      let at = end + 2;
      while (isFold(text.charCodeAt(at))) at++;
      // A line of white space can be the end of the header.
      if (at === text.length || text.charCodeAt(at) === LF) return null;
      end = text.indexOf("\n", at);
    }
    if (end === -1) end = text.length;
    addField(headers, text, start, colon, end);
  }
  return headers;
}

const isFold = (code: number) => code === SPACE || code === TAB;

/** Adds a field if it is one of those to read. Returns its values if a badly folded line can continue them. */
function addField(
  headers: Map<string, string[]>,
  text: string,
  start: number,
  colon: number,
  end: number,
): string[] | undefined {
  // Half of the fields of a typical email start with X. Few of these are read.
  if (text.charCodeAt(start) === UPPER_X && !isReadXHeader(text, start)) return undefined;
  // A mailbox program might have quoted `From:` as if it were an mbox separator.
  const name = text
    .slice(text[start] === ">" ? start + 1 : start, colon)
    .trimEnd()
    .toLowerCase();
  if (!READ_HEADERS.has(name)) return undefined;
  const value = text
    .slice(colon + 1, end)
    .replaceAll("\n", "")
    .trim();
  const values = headers.get(name) ?? [];
  if (values.length === 0) headers.set(name, values);
  values.push(value);
  return FOLDED_FIELDS.has(name) ? values : undefined;
}

const UPPER_X = 0x58;

function isReadXHeader(text: string, start: number): boolean {
  READ_X_HEADER.lastIndex = start;
  return READ_X_HEADER.test(text);
}

/** Returns the position of the line end after a field and its folded lines. */
function endOfField(text: string, start: number): number {
  let end = text.indexOf("\n", start);
  while (end !== -1 && isFold(text.charCodeAt(end + 1))) end = text.indexOf("\n", end + 1);
  return end === -1 ? text.length : end;
}

/** Skips a byte order mark and blank lines before the header, and the banner at the start of Outlook's header view. */
function startOfHeader(raw: Buffer): number {
  let start = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0;
  while (raw[start] === LF || raw[start] === CR) start++;
  // The second letter is "i" in the banner, but "e" in Message-ID.
  if (raw[start + 1] !== 0x69) return start;
  return raw.toString("latin1", start, start + OUTLOOK_BANNER.length) === OUTLOOK_BANNER
    ? endOfLine(raw, start) + 1
    : start;
}

const OUTLOOK_BANNER = "Microsoft Mail Internet Headers";

function endOfHeader(raw: Buffer, start: number): { end: number; bodyStart: number } {
  let lineStart = start;
  let hasField = false;
  while (lineStart < raw.length) {
    const end = endOfLine(raw, lineStart);
    const next = raw[end] === CR && raw[end + 1] === LF ? end + 2 : end + 1;
    if (isBlankLine(raw, lineStart, end)) {
      if (end === lineStart || !continuesHeader(raw, start, lineStart, next))
        return { end: lineStart, bodyStart: next };
      lineStart = next;
      continue;
    }
    if (!isHeaderLine(raw, lineStart, end, hasField)) {
      const line = raw.toString("latin1", lineStart, Math.min(end, lineStart + 80));
      if (EMACS_BORDER.test(line)) return { end: lineStart, bodyStart: next };
      // Skip mbox separators, including quoted ones, and damaged lines between fields, such as badly folded ones.
      const isDamage = hasField && MAIL_FIELD.test(afterFolds(raw, next));
      const isSeparator = /^>?From /.test(line) || (lineStart === start && SEPARATOR_END.test(line));
      if (!isSeparator && !isDamage) return { end: lineStart, bodyStart: lineStart };
    } else {
      hasField = true;
    }
    lineStart = next;
  }
  return { end: raw.length, bodyStart: raw.length };
}

/** The end of an mbox separator whose start is missing. */
const SEPARATOR_END = /\d{1,2}:\d{2}(?::\d{2})?(?: [A-Z]{1,5}| [+-]\d{4})? \d{4}\s*$/;

/** Header fields that practically never occur at the start of a line of prose. */
const MAIL_FIELD =
  /^(Message-ID|Date|From|Sender|To|Cc|Bcc|Subject|Received|MIME-Version|Content-[\w-]+|X-[\w-]+|References|In-Reply-To|Reply-To|Return-Path)[ \t]*:/i;

/**
 * Whether a line of white space is within the header (allowed in folded fields, RFC 5322 4.2) and not at its end. It is
 * if the next line is a field that the header does not contain yet. A quoted email in the body repeats the fields.
 */
function continuesHeader(raw: Buffer, start: number, lineStart: number, next: number): boolean {
  const name = MAIL_FIELD.exec(afterFolds(raw, next))?.[1];
  if (name === undefined) return false;
  return !new RegExp(`^${name}[ \\t]*:`, "im").test(raw.toString("latin1", start, lineStart));
}

/** Maximum number of skipped lines after a damaged line. */
const MAX_SKIPPED_LINES = 10;

/** Longer lines are not read to their end. */
const MAX_ADDRESS_LINE_CHARS = 320;

/**
 * Returns the start of the first line, from `at` on, that is neither a folded line nor an address whose fold is
 * missing.
 */
function afterFolds(raw: Buffer, at: number): string {
  let start = at;
  for (let count = 0; count < MAX_SKIPPED_LINES; count++) {
    const end = endOfLine(raw, start);
    const line = raw.toString("latin1", start, Math.min(end, start + MAX_ADDRESS_LINE_CHARS));
    if (!/^[ \t]|^[^\s:@]+@[^\s:@]+[,;]?$/.test(line)) break;
    start = raw[end] === CR && raw[end + 1] === LF ? end + 2 : end + 1;
  }
  return raw.toString("latin1", start, start + 40);
}

/** Emacs puts this line between the header and the body of a draft. */
const EMACS_BORDER = /^--text follows this line--\s*$/;

function endOfLine(raw: Buffer, start: number): number {
  let end = start;
  while (end < raw.length && raw[end] !== LF && raw[end] !== CR) end++;
  return end;
}

const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;

function isBlankLine(raw: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (raw[i] !== SPACE && raw[i] !== TAB) return false;
  return true;
}

/** Longer field names do not occur. RFC 5322 2.1.1 limits the entire line to 998 characters. */
const MAX_NAME_BYTES = 100;

/**
 * Whether a line is a field or part of a folded field. A field name is printable ASCII without spaces (RFC 5322 2.2).
 * Some programs put spaces before the colon or within the name (`Message ID:`).
 */
function isHeaderLine(raw: Buffer, start: number, end: number, hasField: boolean): boolean {
  if (raw[start] === SPACE || raw[start] === TAB) return hasField;
  const limit = Math.min(end, start + MAX_NAME_BYTES);
  for (let i = start; i < limit; i++) {
    const byte = raw[i] ?? 0;
    if (byte === COLON) return i > start;
    // Exclude `<`, as in HTML, and white space, because words before a colon are prose.
    if (byte <= SPACE || byte === 0x7f || byte === 0x3c)
      return isColonNext(raw, i, limit) || isSpacedName(raw, start, limit);
  }
  return false;
}

function isColonNext(raw: Buffer, at: number, limit: number): boolean {
  let i = at;
  while (i < limit && (raw[i] === SPACE || raw[i] === TAB)) i++;
  return i > at && raw[i] === COLON;
}

/** Whether the name contains spaces, like `Message ID:`. Allows at most three capitalized words. */
function isSpacedName(raw: Buffer, start: number, limit: number): boolean {
  return /^[A-Z][\w-]*(?: [A-Z][\w-]*){1,2}[ \t]*:/.test(raw.toString("latin1", start, limit));
}

/** Display names, and the address next to each or an empty string. */
interface NamedAddresses {
  readonly names: string[];
  readonly addresses: string[];
}

/**
 * Builds an `Email` from the fields and the text of any format, so that the same email is equal in all formats. If the
 * Message-ID is missing, it is `<H@missing>`, where H is the first 32 hex digits of the SHA-256 of the other fields.
 */
export function buildEmail(fields: Omit<EmailFields, "body">, text: string): Email {
  const { before, body, behind } = splitBody(text);
  const named: NamedAddresses = { names: [], addresses: [] };
  const from = parseAddresses(fields.from, named);
  const to = parseAddresses(fields.to, named);
  const cc = parseAddresses(fields.cc, named);
  const bcc = parseAddresses(fields.bcc, named);
  // Spreading objects would take a fifth of the time needed to read a corpus.
  const email: Email & {
    messageId: string;
    headerNames?: HeaderNames;
    deliveredTo?: string;
    references?: readonly string[];
    asWritten?: AsWritten;
  } = {
    messageId: normalizeMessageId(fields.messageId),
    subject: normalizeSubject(fields.subject),
    sender: from[0] ?? "",
    to: to.length < 2 ? to : [...new Set(to)],
    cc: cc.length < 2 ? cc : [...new Set(cc)],
    bcc: bcc.length < 2 ? bcc : [...new Set(bcc)],
    date: fields.date,
    body,
  };
  if (email.messageId === "") email.messageId = idFromContent(email);
  const lists = fields.nameLists?.filter((list) => list !== "") ?? [];
  if (named.names.length + lists.length > 0) {
    email.headerNames = { ...named, lists, senderName: fields.senderName ?? "" };
  }
  if (fields.deliveredTo !== undefined) email.deliveredTo = fields.deliveredTo;
  const references = referencedIds(fields.inReplyTo ?? "", fields.references ?? "");
  if (references.length > 0) email.references = references;
  const recipients = to.length + cc.length + bcc.length;
  const isUnchanged =
    before === "" && behind === "" && recipients === email.to.length + email.cc.length + email.bcc.length;
  if (!isUnchanged) email.asWritten = { beforeBody: before, behindBody: behind, recipients };
  return email;
}

/** Like `buildEmail`, but for a table row. Returns the reason as a string if the row is empty. */
export function buildEmailFromRow(fields: EmailFields): Email | string {
  const identifyingFields = [fields.messageId, fields.from, fields.subject, fields.body];
  if (identifyingFields.every((field) => field.trim() === ""))
    return "it has neither Message-ID, sender, subject nor body";
  return buildEmail(fields, fields.body);
}

function idFromContent({ subject, sender, to, cc, bcc, date, body }: Email): string {
  const digest = hash("sha256", JSON.stringify([subject, sender, to, cc, bcc, date, body]));
  return `<${digest.slice(0, 32)}@missing>`;
}

/** A bare address. Dots can be anywhere (`k..allen@enron.com`). */
const BARE_ADDRESS = /^[^\s\0@<>,;:"'()\\[](?:[^\s\0@<>,;:"\\(]|(?<=\.)\()*@[^\s\0@<>,;:"'()[\]\\]+$/;

/** The parser takes seconds for longer fields, so their addresses are extracted with a pattern. */
const MAX_PARSED_CHARS = 200_000;
const ANY_ADDRESS = /(?<![^\s<>"',;:()[\]\\@])[^\s<>"',;:()[\]\\@]+@[^\s<>"',;:()[\]\\@]+/g;

/** Placeholder addresses and names that gateways insert if an email does not have recipients. */
const UNDISCLOSED =
  /^"?(?:undisclosed|unlisted|recipient list (?:not|suppressed))[ -]?recipients?\b|^"?recipient list (?:not shown|suppressed)/i;

/**
 * Returns the addresses of a From, To, Cc or Bcc field, in order, in lower case and without quotes. Groups (RFC 5322
 * 3.4) are expanded. If no entry contains an `@`, returns their texts. Adds the entries with a display name to `named`.
 */
function parseAddresses(field: string, named: NamedAddresses): string[] {
  if (field === "") return [];
  const bare = bareAddresses(field);
  if (bare !== null) return bare;
  if (field.length > MAX_PARSED_CHARS) return field.toLowerCase().match(ANY_ADDRESS) ?? [];
  const parsed = addressParser(plainAddressSyntax(replaceControls(field)), { flatten: true });
  const texts = parsed
    .flatMap(({ address, name }) => splitJoined(decodeEncodedWords(address || name)))
    .filter((text) => !UNDISCLOSED.test(text.trim()))
    .map(normalizeAddress)
    // Remove the remains of routes (`@hub.example`) and of empty groups.
    .filter((text) => !/^(?:@|[^\p{L}\p{N}]*$)/u.test(text));
  const addresses = texts.filter((text) => text.includes("@"));
  if (addresses.length === 0) return texts.filter((text) => text !== "");
  for (const { name, address = "" } of parsed) {
    if (name === "" || UNDISCLOSED.test(name)) continue;
    named.names.push(name);
    named.addresses.push(address.includes("@") ? normalizeAddress(decodeEncodedWords(address)) : "");
  }
  if (field.includes("(")) {
    for (const name of namesInComments(field)) {
      named.names.push(name);
      named.addresses.push(addresses.length === 1 ? (addresses[0] as string) : "");
    }
  }
  return addresses;
}

/** Returns the addresses of a list without names, or null if it contains anything else. */
function bareAddresses(field: string): string[] | null {
  const addresses: string[] = [];
  for (const entry of field.split(",")) {
    const text = entry.trim();
    if (text === "") continue;
    if (!BARE_ADDRESS.test(text)) return null;
    addresses.push(text.toLowerCase());
  }
  return addresses;
}

/** Returns the names in comments, the oldest way to write a name (RFC 822 4.1): `bo@plains.example (Bo Kim)`. */
function namesInComments(field: string): string[] {
  const names: string[] = [];
  mapUnquoted(field, (piece) => {
    for (const [, comment = ""] of piece.matchAll(/(?<=@\S+\s+)\(([^()]{1,200})\)/g)) names.push(comment);
    return piece;
  });
  return names.map(decodeEncodedWords);
}

/** Rewrites unsupported syntax for the parser: source routes, comments, white space around dots, Exchange's types. */
function plainAddressSyntax(field: string): string {
  const plain = decodeDisguised(field);
  const text = plain.includes(":") ? withoutRoutes(plain) : plain;
  return mapUnquoted(withMissingCommas(text), (piece) => {
    // RFC 5322 A.5: comments within an address. All other comments name the owner, and the parser drops them.
    const plain = withoutInnerComments(piece);
    return /\s\.|\.\s/.test(plain) ? plain.replace(/(?<=@\s?[\w.-]{1,250})\s*\.\s*(?=\w)/g, ".") : plain;
  });
}

/** Decodes addresses that a page shows: `ann&lt;ann@x.example&gt;`, and `ann (at) x.example` against harvesters. */
function decodeDisguised(field: string): string {
  const text = field.includes("&lt;") ? field.replaceAll("&lt;", "<").replaceAll("&gt;", ">") : field;
  return /[([]at[)\]]/i.test(text) ? text.replace(/(?<=[\w+-])\s?[([]at[)\]]\s?(?=[\w-]+\.)/gi, "@") : text;
}

function withoutRoutes(field: string): string {
  // RFC 5322 4.4: `<@relay.example,@mx.example:mary@sales.example>`.
  const text = field.replace(/<\s*@[^<>:]{1,500}:/g, "<").replace(/(^|,)\s*@[^\s<>:,]{1,250}:(?=[^\s<>:,]+@)/g, "$1 ");
  // Exchange writes `Ben Blake [SMTP:ben@plains.example]`.
  return text.replace(/[[<]\s*(?:smtp|mailto)\s*:\s*([^\s[\]<>]{1,320})\s*[\]>]/gi, "<$1>");
}

/** Private-use characters that replace quoted strings and comments. */
const QUOTED = "\ue000";
const COMMENT = "\ue001";

/**
 * Separates addresses that have only white space or words between them: `a@x b@y`, `A <a@x> B <b@y>`, `a@x (A) b@y`.
 */
function withMissingCommas(field: string): string {
  // Without a second `@`, a quoted string or a comment before the next separator, no comma can be missing.
  if (!/@[^,;"(@]*["(@]/.test(field)) return field;
  const masked = field.replace(/"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)/gs, (quoted) =>
    (quoted.startsWith("(") ? COMMENT : QUOTED).repeat(quoted.length),
  );
  let text = "";
  let start = 0;
  for (const { 0: entry, index } of masked.matchAll(/[^,;]+/g)) {
    for (const end of addressEnds(entry)) {
      text += `${field.slice(start, index + end)},`;
      start = index + end;
    }
  }
  return text + field.slice(start);
}

/** Returns the positions after the addresses in a masked entry, except the last. */
function addressEnds(entry: string): number[] {
  // Addresses before one in brackets are part of its display name.
  if (entry.includes("<")) {
    const last = entry.lastIndexOf("@");
    return [...entry.matchAll(/>/g)].map(({ index }) => index + 1).filter((end) => end <= last);
  }
  const addresses = [...entry.matchAll(/(?<!\S)[^\s<>@]+@[^\s<>@\ue001]+(?:\s*\ue001+|(?!\S))/g)];
  return addresses.slice(0, -1).map(({ 0: address, index }) => index + address.length);
}

/** Applies a function to the text outside quoted strings. */
function mapUnquoted(text: string, map: (piece: string) => string): string {
  if (!text.includes('"')) return map(text);
  return text
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((piece, i) => (i % 2 === 1 ? piece : map(piece)))
    .join("");
}

/** Removes comments if other text remains, as in `pete(his account)@silly.test(his host)`. */
function withoutInnerComments(text: string): string {
  if (!text.includes("(")) return text;
  const plain = withoutComments(text.replace(/\\[()]/g, ""));
  // If the text does not contain an address, a comment such as `(no To-header on input)` is not a recipient either.
  if (!text.includes("@")) return plain.trim() === "" ? text : plain;
  // The Enron mail contains addresses such as `kirk.(e-mail)@example.com`.
  return plain.includes("@") && !plain.includes(".@") ? plain : text;
}

/**
 * Splits several addresses in one pair of brackets (`<a@example.com, b@example.com>`) or after an unclosed one, or
 * removes words after a single address.
 */
function splitJoined(text: string): string[] {
  const [, first] = /^([^\s"@]+@[^\s"@,;]+)\s+[^@]*$/.exec(text) ?? [];
  if (first !== undefined) return [first];
  const isList = text.split("@").length > 2 || /^(?=[^"]*@)[^"]*[,;][^"]*$/.test(text);
  return isList ? text.split(/[\s,;]+/) : [text];
}

/** Removes quotes and stray brackets (`'pat@example.com'`, `a@example.com>`). */
function normalizeAddress(text: string): string {
  const plain = text
    .replace(/\s+/g, " ")
    .replace(/ ?@ ?/g, "@")
    .replaceAll('"', "")
    // A quote that is closed within the local part belongs to it, as in `'.'jan@example.com`.
    .replace(/^(?:[< ]|'(?![^'@]+'[^@]*@))+/, "")
    // The query of a mailto link.
    .replace(/\?(?:subject|body|cc|bcc)=.*$/i, "")
    // Mailman's archives hide addresses from harvesters.
    .replace(/^([\w.+-]+) at ([\w-]+(?:\.[\w-]+)+)$/i, "$1@$2");
  // A point at the end of a domain is its root.
  return trimEndOf(plain, plain.includes("@") ? ">' ." : ">' ")
    .trim()
    .toLowerCase();
}

/** Decodes RFC 2047 words and collapses white space, so that a subject is equal in all formats. */
export function normalizeSubject(subject: string): string {
  const text = replaceControls(decodeEncodedWords(subject));
  return /[^\S ]|\s\s/.test(text) ? text.replace(/\s+/g, " ").trim() : text.trim();
}

/**
 * Returns the body in a form that is equal in all formats: LF line ends, no blank lines at the start, no trailing white
 * space. Also returns the removed white space.
 */
export function splitBody(text: string): { before: string; body: string; behind: string } {
  const lines = replaceControls(withLineFeeds(text));
  const trimmed = lines.trimEnd();
  const body = trimmed.replace(/^(?:[ \t]*\n)+/, "");
  return { before: trimmed.slice(0, trimmed.length - body.length), body, behind: lines.slice(trimmed.length) };
}

/** Converts CRLF and CR to LF. Two plain replacements take a third of the time of a pattern. */
export function withLineFeeds(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replaceAll("\r\n", "\n");
  return lines.includes("\r") ? lines.replaceAll("\r", "\n") : lines;
}

/**
 * Returns the first `<...>` of the header without white space, or an empty string if it does not contain an id. A bare
 * id gets brackets.
 */
export function normalizeMessageId(header: string): string {
  const text = replaceControls(decodeEncodedWords(header));
  const id = (/<([^<>]+)>/.exec(text)?.[1] ?? text.replace(/[<>]/g, "")).replace(/\s+/g, "");
  return id === "" ? "" : `<${id}>`;
}

/** Long threads repeat the Message-IDs of all their emails. The last ones are the closest. */
const MAX_REFERENCES = 50;
const MAX_REFERENCE_CHARS = 1_000;

/**
 * Returns the Message-IDs in two headers (RFC 5322 3.6.4), the closest first: the email that is answered, then the
 * emails before it. In-Reply-To might also contain words and addresses (RFC 822 4.6.2), so its last `<...>` counts.
 */
function referencedIds(inReplyTo: string, references: string): string[] {
  if (inReplyTo === "" && references === "") return [];
  const idsIn = (header: string) =>
    Array.from(header.slice(-MAX_REFERENCES * MAX_REFERENCE_CHARS).matchAll(/<([^<>]{1,1000})>/g), ([id]) =>
      normalizeMessageId(id),
    ).reverse();
  const answered = idsIn(inReplyTo).slice(0, 1);
  return [...new Set([...answered, ...idsIn(references)])].filter((id) => id !== "").slice(0, MAX_REFERENCES);
}

/** windows-1252 characters at 0x80 to 0x9f. The five unassigned bytes become U+FFFD. */
const WINDOWS_1252 = "€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ";

/**
 * Replaces NUL, which ends a text in SQLite's C functions, with U+FFFD. U+0080 to U+009F do not occur in real mail: an
 * exporter, or the TextDecoder of some Node releases, decoded windows-1252 as latin1. They are mapped back.
 */
function replaceControls(text: string): string {
  // Almost all mail is ASCII without NUL. This check takes a thirtieth of the time of the pattern.
  if (Buffer.byteLength(text) === text.length && !text.includes("\0")) return text;
  return text.replace(/[\0\x80-\x9f]/g, (control) =>
    control === "\0" ? "\ufffd" : (WINDOWS_1252[control.charCodeAt(0) - 0x80] ?? control),
  );
}
