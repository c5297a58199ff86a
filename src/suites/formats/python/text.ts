import { isUtf8 } from "node:buffer";

/** What `str.isspace` and the expression `\s` hold for in Python: not JavaScript's set (NEL and 0x1c-0x1f, no BOM). */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPACES = new RegExp(`[${SPACE}]+`, "g");
const LINE_ENDS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";
const LINE_END = new RegExp(`\\r\\n|[${LINE_ENDS}]`);
const IS_SPACE = new RegExp(`[${SPACE}]`);

/** `str.strip()`. */
export function stripText(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && IS_SPACE.test(text.charAt(start))) start++;
  while (end > start && IS_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** `re.sub(r"\s+", " ", text)`. */
export function collapseSpaces(text: string): string {
  return text.replace(SPACES, " ");
}

/** `str.splitlines()`: also at form feeds, NEL and the Unicode separators; no empty line after a final newline. */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Orders strings by code point, as Python does; JavaScript orders by UTF-16 unit. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return unitOrder(x) - unitOrder(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above the private use area, which has higher units. */
const unitOrder = (unit: number) => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);

/** A file opened in text mode: UTF-8 or an error, a BOM is a character, CRLF and CR become LF. */
export function decodeText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error("the file is not UTF-8");
  return unifyNewlines(bytes.toString("utf8"));
}

/** The same with `errors="ignore"`: bytes that are not UTF-8 are dropped. */
export function decodeTextLeniently(bytes: Buffer): string {
  return unifyNewlines((isUtf8(bytes) ? bytes : dropInvalidBytes(bytes)).toString("utf8"));
}

function unifyNewlines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function dropInvalidBytes(bytes: Buffer): Buffer {
  const valid = Buffer.alloc(bytes.length);
  let length = 0;
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i] ?? 0;
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const sequence = bytes.subarray(i, i + size);
    if (sequence.length === size && isUtf8(sequence)) {
      length += sequence.copy(valid, length);
      i += size;
    } else i++;
  }
  return valid.subarray(0, length);
}
