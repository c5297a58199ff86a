/**
 * Decodes mail bytes with the charset labels that occur in real mail, including aliases, unknown names and wrong names.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { TextDecoder } from "node:util";
import iconv from "iconv-lite";

/** Labels that are unknown to the WHATWG Encoding Standard and to iconv-lite. */
const ALIASES: Readonly<Record<string, string>> = {
  latin9: "iso-8859-15",
  "latin-9": "iso-8859-15",
  "iso-2022-kr": "iso-2022-kr",
  "x-utf-7": "utf-7",
  "unicode-1-1-utf-7": "utf-7",
  "utf-8mb4": "utf-8",
};

/**
 * Labels that do not name a charset. Mail does not use x-user-defined in its WHATWG meaning (private-use characters).
 */
const NO_CHARSET = /^(?:|x-user-defined|unknown.*|x-unknown|default|none|binary|8bit|7bit|us-ascii|ascii|ansi_x3.*)$/;

/** Labels of windows-1252 and of the charsets that mail programs confuse with it. */
const WESTERN = /^(?:iso[-_]?8859-1|latin-?1|l1|cp-?1252|windows-1252|x-ansi)$/;

/** Encodings in which ordinary text can also be valid UTF-8, so a declared label always takes precedence. */
const LABEL_WINS = /^(?:gb|big5|shift_jis|euc-|iso-2022|hz|utf-|ibm866|cp866|koi8)/;

/**
 * Decodes with a charset label, which can be missing, quoted, or wrong. A byte order mark overrides the label.
 * Multi-byte UTF-8 overrides a single-byte label: a latin1 email exported to UTF-8 keeps its label, and single-byte
 * text is practically never valid multi-byte UTF-8. If the label is unknown, the text is decoded as UTF-8 if valid,
 * otherwise as windows-1252 (via latin1, whose control characters `replaceControls` maps).
 */
export function decodeCharset(bytes: Buffer, label: string): string {
  const name = charsetName(label);
  if (isAscii(bytes) && !/^(?:utf-?(?:7|16|32)|iso-2022|hz)/.test(name)) return bytes.toString("latin1");
  const textByMark = decodeMarked(bytes);
  if (textByMark !== null) return textByMark;
  if (name === "utf-8" || name === "utf8") return bytes.toString("utf8");
  if (isUtf8(bytes) && (!LABEL_WINS.test(name) || isEastAsianUtf8(bytes, name))) return bytes.toString("utf8");
  if (NO_CHARSET.test(name) || WESTERN.test(name)) return bytes.toString("latin1");
  if (name === "iso-2022-kr") return decodeIso2022Kr(bytes);
  const decoder = textDecoder(name);
  if (decoder !== null) return decoder.decode(bytes);
  if (iconv.encodingExists(name)) return iconv.decode(bytes, name);
  return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString("latin1");
}

const EAST_ASIAN = /^(?:gb|big5|shift_jis|euc-)/;

/**
 * Whether valid UTF-8 was labeled with a two-byte charset. The chance that three three-byte characters are valid in
 * both is about one in 100,000.
 */
function isEastAsianUtf8(bytes: Buffer, name: string): boolean {
  if (!EAST_ASIAN.test(name)) return false;
  let triples = 0;
  let beyondAscii = 0;
  for (const byte of bytes) {
    if (byte >= 0x80) beyondAscii++;
    if (byte >= 0xe0 && byte <= 0xef) triples++;
  }
  return triples >= 3 && triples * 3 >= beyondAscii * 0.8;
}

/** Decodes UTF-8 or UTF-16 with a byte order mark, which is removed. Returns null if the mark is missing. */
function decodeMarked(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return bytes.toString("utf8", 3);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return null;
}

function charsetName(label: string): string {
  const name = label
    .trim()
    .toLowerCase()
    .replace(/^["']+|["']+$/g, "")
    .replace(/^charset=["']?/, "")
    // RFC 2231 5: a language after the charset.
    .replace(/\*[a-z-]*$/, "")
    .replaceAll("_", label.toLowerCase().startsWith("utf") ? "-" : "_");
  return ALIASES[name] ?? name.replace(/^(?:cp|ibm)-/, "cp").replace(/^x-(?=cp|ibm|iso|utf|windows)/, "");
}

const decoders = new Map<string, TextDecoder | null>();

/** Returns the decoder for a label, or null if the WHATWG Encoding Standard does not define the label. */
function textDecoder(name: string): TextDecoder | null {
  const cached = decoders.get(name);
  if (cached !== undefined) return cached;
  let decoder: TextDecoder | null = null;
  try {
    decoder = new TextDecoder(name);
  } catch {
    // The email contains an unknown label. iconv-lite might support it.
  }
  // Limited, because a hostile email can contain any number of labels.
  if (decoders.size < 200) decoders.set(name, decoder);
  return decoder;
}

const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;

/** Decodes ISO-2022-KR (RFC 1557): seven-bit KS X 1001 between SO and SI, which is EUC-KR without the high bits. */
function decodeIso2022Kr(bytes: Buffer): string {
  const plain: number[] = [];
  let isShifted = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (bytes.toString("latin1", i, i + 4) === "\x1b$)C") i += 3;
    else if (byte === SHIFT_OUT || byte === SHIFT_IN) isShifted = byte === SHIFT_OUT;
    else plain.push(isShifted && byte > 0x20 ? byte | 0x80 : byte);
  }
  return new TextDecoder("euc-kr").decode(Uint8Array.from(plain));
}
