import { isAscii } from "node:buffer";
import { withLineFeeds } from "./mail-text.js";

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

export interface SplitMessage {
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
