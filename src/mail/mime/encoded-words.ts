// Decodes encoded-words in headers (RFC 2047).
import { decodeCharset } from "./charset.js";
import { decodeQuotedPrintable } from "./transfer-encoding.js";

// RFC 2047 2, with the language from RFC 2231 5. Spaces in the text and a missing charset are not allowed, but occur.
const WORD = /=\?([^?\s*]*)(?:\*[^?\s]*)?\?([bq])\?([^?]*)\?=/gi;

interface EncodedWord {
  readonly charset: string;
  readonly encoding: string;
  readonly text: string;
}

/**
 * Decodes RFC 2047 encoded-words. White space between two of them is dropped (6.2). Neighbors in the same charset are
 * decoded together, because some senders split words within a multi-byte character.
 */
export function decodeEncodedWords(header: string): string {
  if (!header.includes("=?")) return header;
  let decoded = "";
  let end = 0;
  let words: EncodedWord[] = [];
  const flush = () => {
    decoded += decodeRun(words);
    words = [];
  };
  for (const match of header.matchAll(WORD)) {
    const [encodedWord, charset = "", encoding = "", text = ""] = match;
    const between = header.slice(end, match.index);
    const word = { charset: charset.toLowerCase(), encoding: encoding.toLowerCase(), text };
    const before = words[0];
    const isFirst = before === undefined;
    if (isFirst || between.trim() !== "") {
      flush();
      decoded += between;
    } else if (before.charset !== word.charset || before.encoding !== word.encoding) {
      flush();
    }
    words.push(word);
    end = match.index + encodedWord.length;
  }
  flush();
  return decoded + header.slice(end);
}

/** Decodes neighboring words with the same charset and encoding. */
function decodeRun(words: readonly EncodedWord[]): string {
  const [first] = words;
  if (first === undefined) return "";
  if (first.encoding === "b") {
    const pieces = words.map(({ text }) => Buffer.from(text, "base64"));
    const joined = decodeCharset(Buffer.concat(pieces), first.charset);
    // ISO-2022-JP words might not be joinable, because each word returns to ASCII at its end (RFC 2047 3).
    if (pieces.length === 1 || !joined.includes("\ufffd")) return joined;
    const separate = pieces.map((piece) => decodeCharset(piece, first.charset)).join("");
    return separate.includes("\ufffd") ? joined : separate;
  }
  const text = words.map((word) => word.text.replaceAll("_", " ")).join("");
  // Raw non-ASCII characters are not allowed in a word. They are already decoded.
  return text
    .split(/([^\0-\x7f]+)/)
    .map((piece, i) =>
      i % 2 === 1 ? piece : decodeCharset(decodeQuotedPrintable(Buffer.from(piece, "latin1")), first.charset),
    )
    .join("");
}
