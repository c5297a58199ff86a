/**
 * Parses the parts of a MIME email (RFC 2045, 2046) in one scan over the bytes. Contents are views into the email
 * unless they were decoded, so memory use is only a small multiple of the email's size.
 */
import { decodeCharset } from "./charset.js";
import { splitPart, withLineFeeds } from "./email-fields.js";
import { readSmime } from "./smime.js";
import { readTnef, type TnefMail } from "./tnef.js";
import { decodeTransferEncoding } from "./transfer-encoding.js";

interface HeaderValue {
  /** In lower case, such as `text/plain` or `attachment`. */
  readonly value: string;
  /** Parameter values by lower-case name. */
  readonly params: ReadonlyMap<string, string>;
}

export interface MimePart {
  readonly type: HeaderValue;
  readonly disposition: HeaderValue;
  /** Decoded content. Empty if the part has children. */
  readonly content: Buffer;
  readonly children: readonly MimePart[];
  /** Encryption of the content, which cannot be read, or null if it is not encrypted. */
  readonly encryption: "S/MIME" | "OpenPGP" | null;
}

interface BoundaryLine {
  readonly start: number;
  /** Position after the line end. */
  readonly end: number;
  readonly isClosing: boolean;
}

interface Section {
  readonly number: number;
  readonly isEncoded: boolean;
  readonly content: string;
}

/** Parts nested more deeply are treated as text. Real mail has fewer than 10 levels. */
const MAX_DEPTH = 50;

/** Maximum number of parts. The rest of the text stays one part. Real mail has a few hundred. */
const MAX_PARTS = 10_000;

/** @param raw an email or a part with its header */
export function parseMimeTree(raw: Buffer): MimePart {
  return new TreeParser().parse(raw, 0, "text/plain");
}

class TreeParser {
  private parts = 0;

  parse(raw: Buffer, depth: number, defaultType: string): MimePart {
    this.parts++;
    const { headers, body } = splitPart(raw, depth === 0);
    const first = (name: string) => headers.get(name)?.find((value) => value !== "") ?? "";
    const declared = parseHeaderValue(first("content-type"));
    // A bare word such as `text` is not a valid type. RFC 2045 5.2 treats such a part as plain text.
    const type = declared.value.includes("/") ? declared : { value: defaultType, params: declared.params };
    const disposition = parseHeaderValue(first("content-disposition"));
    const encoding = first("content-transfer-encoding");
    if (!type.value.startsWith("multipart/") || depth === MAX_DEPTH) {
      const isTooDeep = type.value.startsWith("multipart/");
      const leafType = isTooDeep ? { value: "text/plain", params: type.params } : type;
      return this.leaf(leafType, disposition, leafContent(body, encoding), depth);
    }
    const childType = type.value === "multipart/digest" ? "message/rfc822" : "text/plain";
    for (const bytes of new Set([body, decodeTransferEncoding(body, encoding)])) {
      const pieces = this.split(bytes, type.params.get("boundary")?.trimEnd() ?? "");
      if (pieces.length === 0) continue;
      const children = pieces.map((piece) => this.parse(piece, depth + 1, childType));
      return parentPart(type, disposition, children);
    }
    // A multipart without parts is treated as text.
    const content = decodeTransferEncoding(body, encoding);
    const isHtml = /^\s*<(?:!doctype|html|body)\b/i.test(content.toString("latin1", 0, 200));
    const text = { value: isHtml ? "text/html" : "text/plain", params: type.params };
    return leafPart(text, disposition, content);
  }

  /**
   * Returns a part without MIME children. The only child of a signed S/MIME part is the signed entity, and the children
   * of a TNEF part are its text and its attachments.
   */
  private leaf(type: HeaderValue, disposition: HeaderValue, content: Buffer, depth: number): MimePart {
    const smime = depth < MAX_DEPTH && isSmime(type, disposition) ? readSmime(content) : null;
    if (smime?.kind === "readable") {
      return parentPart(type, disposition, [this.parse(smime.entity, depth + 1, "text/plain")]);
    }
    const tnef = isTnef(type, disposition) ? readTnef(content) : null;
    const children = tnef === null ? [] : tnefChildren(tnef);
    if (children.length > 0) {
      return parentPart({ value: TNEF_TYPE, params: type.params }, disposition, children);
    }
    // This part precedes the encrypted data (RFC 3156 4).
    const isOpenPgp = type.value === "application/pgp-encrypted";
    return { ...leafPart(type, disposition, content), encryption: smime ? "S/MIME" : isOpenPgp ? "OpenPGP" : null };
  }

  /** Returns the pieces between the boundary lines, or an empty list if the boundary does not occur. */
  private split(body: Buffer, declared: string): Buffer[] {
    const boundary = declared !== "" && hasBoundary(body, declared) ? declared : guessBoundary(body);
    if (boundary === null) return [];
    const pieces: Buffer[] = [];
    let start = -1;
    const add = (end: number) => {
      const piece = start === -1 ? null : body.subarray(start, Math.max(start, beforeLineEnd(body, end)));
      if (piece !== null && piece.length > 0) pieces.push(piece);
    };
    for (const line of boundaryLines(body, boundary)) {
      if (this.parts + pieces.length >= MAX_PARTS) break;
      add(line.start);
      start = line.isClosing ? -1 : line.end;
    }
    add(body.length);
    return pieces;
  }
}

function leafPart(type: HeaderValue, disposition: HeaderValue, content: Buffer): MimePart {
  return { type, disposition, content, children: [], encryption: null };
}

function parentPart(type: HeaderValue, disposition: HeaderValue, children: readonly MimePart[]): MimePart {
  return { type, disposition, content: Buffer.alloc(0), children, encryption: null };
}

/** Returns the file name of a part, or an empty string. */
export function fileNameOf(type: HeaderValue, disposition: HeaderValue): string {
  return disposition.params.get("filename") ?? type.params.get("name") ?? "";
}

const SMIME_TYPES = new Set(["application/pkcs7-mime", "application/x-pkcs7-mime"]);

function isSmime(type: HeaderValue, disposition: HeaderValue): boolean {
  const isGeneric = type.value === "application/octet-stream";
  return SMIME_TYPES.has(type.value) || (isGeneric && /\.p7[mz]$/i.test(fileNameOf(type, disposition)));
}

/** The type given to a part that has children and was read from TNEF, however it was labeled. */
export const TNEF_TYPE = "application/ms-tnef";

const TNEF_TYPES = new Set([TNEF_TYPE, "application/vnd.ms-tnef"]);

function isTnef(type: HeaderValue, disposition: HeaderValue): boolean {
  return TNEF_TYPES.has(type.value) || /^winmail\.dat$/i.test(fileNameOf(type, disposition));
}

/** Stands in the text of an email for what a damaged part lost. The import counts the emails with it. */
export const DAMAGED_PART = "[The part in Outlook's format is damaged: text can be wrong or missing.]";

function tnefChildren({ body, attachments, isDamaged }: TnefMail): MimePart[] {
  const inline = (type: string, text: string) =>
    leafPart(headerValue(type, { charset: "utf-8" }), headerValue("inline", {}), Buffer.from(text));
  const text = body === null ? [] : [inline(body.type, body.text)];
  if (isDamaged) text.push(inline("text/plain", DAMAGED_PART));
  return [
    ...text,
    ...attachments.map(({ name, type, content }) =>
      leafPart(
        headerValue(type.toLowerCase() || "application/octet-stream", {}),
        headerValue("attachment", name === "" ? {} : { filename: name }),
        content,
      ),
    ),
  ];
}

const headerValue = (value: string, params: Readonly<Record<string, string>>): HeaderValue => ({
  value,
  params: new Map(Object.entries(params)),
});

/** Returns the decoded content. Text gets LF line ends, so that an email is equal in all formats. */
function leafContent(body: Buffer, encoding: string): Buffer {
  const decoded = decodeTransferEncoding(body, encoding);
  const isText = decoded === body && body.includes(CR) && !body.subarray(0, 4096).includes(0);
  return isText ? Buffer.from(withLineFeeds(body.toString("latin1")), "latin1") : decoded;
}

const LF = 0x0a;
const CR = 0x0d;

/** Finds boundary lines (RFC 2046 5.1.1): `--`, the boundary, `--` at the close, and white space added in transport. */
function* boundaryLines(body: Buffer, boundary: string): Generator<BoundaryLine> {
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  // Continue at the next line, so that the search takes linear time even in an email full of dashes.
  const nextLine = lineFinder(body);
  for (let at = body.indexOf(delimiter); at !== -1; at = body.indexOf(delimiter, at)) {
    const isLineStart = at === 0 || body[at - 1] === LF || body[at - 1] === CR;
    let after = at + delimiter.length;
    if (!isLineStart) {
      at = nextLine(after);
      continue;
    }
    const isClosing = body[after] === 0x2d && body[after + 1] === 0x2d;
    if (isClosing) after += 2;
    while (body[after] === 0x20 || body[after] === 0x09) after++;
    if (after < body.length && body[after] !== LF && body[after] !== CR) {
      at = nextLine(after);
      continue;
    }
    const end = after + (body[after] === CR && body[after + 1] === LF ? 2 : 1);
    yield { start: at, end: Math.min(end, body.length), isClosing };
    at = Math.min(end, body.length);
  }
}

/** Returns a function that finds the next line end (LF or CR) from a position. */
function lineFinder(body: Buffer): (from: number) => number {
  const hasLoneCr = /\r(?!\n)/.test(body.toString("latin1"));
  return (from) => {
    let end = body.indexOf(LF, from);
    if (end === -1) end = body.length;
    const cr = hasLoneCr ? body.subarray(from, end).indexOf(CR) : -1;
    return cr === -1 ? end : from + cr;
  };
}

function hasBoundary(body: Buffer, boundary: string): boolean {
  for (const { isClosing } of boundaryLines(body, boundary)) if (!isClosing) return true;
  return false;
}

/** Number of bytes to search for a boundary that differs from the declared one. */
const GUESSED_BYTES = 64 * 1024;

/** Returns the boundary of the first `--...` line that is followed by a Content- field, or null. */
function guessBoundary(body: Buffer): string | null {
  const text = body.toString("latin1", 0, GUESSED_BYTES);
  return (
    /(?:^|[\r\n])--([^\r\n]{1,200}?)[ \t]*\r?\nContent-(?:Type|Transfer-Encoding|Disposition)[ \t]*:/i.exec(
      text,
    )?.[1] ?? null
  );
}

/** Excludes the line end before a boundary, because it belongs to the boundary. */
function beforeLineEnd(body: Buffer, end: number): number {
  if (end === body.length) return end;
  if (body[end - 1] === LF) return body[end - 2] === CR ? end - 2 : end - 1;
  return body[end - 1] === CR ? end - 1 : end;
}

/**
 * Parses a structured header value (RFC 2045 5.1) and its parameters. If a name is repeated, its first value counts.
 * Continuations, charsets and languages (RFC 2231) are decoded.
 */
function parseHeaderValue(header: string): HeaderValue {
  const [value = "", ...rest] = splitSemicolons(header);
  const params = new Map<string, string>();
  const extended = new Map<string, Section[]>();
  for (const text of rest) {
    const equals = text.indexOf("=");
    if (equals === -1) continue;
    const name = text.slice(0, equals).trim().toLowerCase();
    const content = unquoted(text.slice(equals + 1));
    const [, base = "", number, starred] = /^([^*]+)(?:\*(\d{1,9}))?(\*?)$/.exec(name) ?? [];
    if (base === "") continue;
    if (number === undefined && starred === "") {
      if (!params.has(base)) params.set(base, content);
      continue;
    }
    const sections = extended.get(base) ?? [];
    sections.push({ number: Number(number ?? 0), isEncoded: starred === "*", content });
    extended.set(base, sections);
  }
  for (const [name, sections] of extended) params.set(name, joinSections(sections));
  return { value: withoutComment(value).trim().toLowerCase(), params };
}

/** Joins the sections of a parameter (RFC 2231 3 and 4). The first encoded section specifies the charset. */
function joinSections(sections: readonly Section[]): string {
  const ordered = [...sections].sort((a, b) => a.number - b.number);
  const [, charset = "", firstText] =
    /^([^']*)'[^']*'(.*)$/s.exec(ordered[0]?.isEncoded ? ordered[0].content : "") ?? [];
  const bytes = ordered.map(({ isEncoded, content }, i) => {
    const text = i === 0 && firstText !== undefined ? firstText : content;
    return isEncoded ? percentDecoded(text) : Buffer.from(text, "utf8");
  });
  return decodeCharset(Buffer.concat(bytes), charset);
}

function percentDecoded(text: string): Buffer {
  const parts = text.split(/%([0-9a-f]{2})/i);
  return Buffer.concat(parts.map((part, i) => (i % 2 === 1 ? Buffer.from(part, "hex") : Buffer.from(part, "utf8"))));
}

/** Splits at semicolons outside quoted strings. */
function splitSemicolons(header: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let i = 0; i < header.length; i++) {
    const char = header[i];
    if (char === "\\" && isQuoted) i++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === ";" && !isQuoted) {
      pieces.push(header.slice(start, i));
      start = i + 1;
    }
  }
  // An unclosed quote hides the semicolons after it.
  if (isQuoted && start === 0 && !header.slice(0, header.indexOf('"')).includes(";")) return header.split(";");
  pieces.push(header.slice(start));
  return pieces;
}

function unquoted(text: string): string {
  const value = text.trim();
  if (!value.startsWith('"')) return withoutComment(value).trim();
  const [, inside = value.slice(1)] = /^"((?:[^"\\]|\\.)*)"/s.exec(value) ?? [];
  return inside.replace(/\\(.)/gs, "$1");
}

/** Removes a trailing comment, such as the one in `us-ascii (Plain text)`. */
function withoutComment(text: string): string {
  const start = text.trimEnd().endsWith(")") ? text.lastIndexOf("(") : -1;
  return start === -1 ? text : text.slice(0, start);
}
