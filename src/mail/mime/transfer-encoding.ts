/** Decodes Content-Transfer-Encodings (RFC 2045 6), including mislabeled content. */

// An escaped byte, or a soft line break with trailing white space added in transport.
const ESCAPE = /=(?:([0-9A-Fa-f]{2})|[ \t]*(?:\r\n?|\n|$))/g;

/** Decodes quoted-printable (RFC 2045 6.7). An `=` that is not part of an escape is kept. */
export function decodeQuotedPrintable(encoded: Buffer): Buffer {
  if (!encoded.includes(0x3d)) return encoded;
  const decoded = encoded
    .toString("latin1")
    .replace(ESCAPE, (_escape: string, hex?: string) =>
      hex === undefined ? "" : String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return Buffer.from(decoded, "latin1");
}

/** Returns the encoding's name from a header value, which can contain comments and semicolons. */
export function transferEncodingName(header: string): string {
  return (/[\w-]+/.exec(header.replace(/\([^()]*\)/g, " "))?.[0] ?? "").toLowerCase();
}

/**
 * Decodes content with the encoding from a header value. Content that is not in this encoding is returned unchanged.
 */
export function decodeTransferEncoding(encoded: Buffer, header: string): Buffer {
  switch (transferEncodingName(header)) {
    case "base64":
      return decodeBase64(encoded);
    case "quoted-printable":
      return decodeQuotedPrintable(encoded);
    case "uuencode":
    case "x-uuencode":
    case "uue":
    case "x-uue":
      return decodeUuencode(encoded);
    default:
      return encoded;
  }
}

/**
 * Decodes base64 (RFC 2045 6.8). Mailing lists append a plain footer to base64, and some programs label plain text as
 * base64. Text after the encoded lines is kept, and content without encoded lines is returned unchanged.
 */
function decodeBase64(encoded: Buffer): Buffer {
  const text = encoded.toString("latin1");
  if (isUrlSafe(text)) return Buffer.from(text, "base64url");
  let end = 0;
  let start = 0;
  while (start < text.length) {
    let next = text.indexOf("\n", start);
    if (next === -1) next = text.length;
    const line = text.slice(start, text[next - 1] === "\r" ? next - 1 : next);
    if (/[^A-Za-z0-9+/=]/.test(line.trim())) break;
    if (line.trim() !== "") end = next;
    start = next + 1;
  }
  const run = text.slice(0, end);
  const rest = text.slice(end);
  const digits = run.replace(/[^A-Za-z0-9+/]/g, "").length;
  // A single word of plain text also looks like base64, but its length is rarely valid.
  if (digits === 0 || (digits % 4 === 1 && !run.includes("="))) return encoded;
  const decoded = Buffer.concat(run.split(/=+/).map((piece) => Buffer.from(piece, "base64")));
  return rest.trim() === "" ? decoded : Buffer.concat([decoded, Buffer.from(rest, "latin1")]);
}

/** Whether a text is base64 with the alphabet for URLs (RFC 4648 5), not words with hyphens or a line of them. */
function isUrlSafe(text: string): boolean {
  return (
    /[-_]/.test(text) &&
    text.length >= 20 &&
    /^(?:[\w-]+=*\s*)$|^(?:[\w-]{20,}=*\r?\n)+[\w-]*=*\s*$/.test(text) &&
    !/[-_]{3}/.test(text)
  );
}

/** Decodes the first file between `begin` and `end`. */
function decodeUuencode(encoded: Buffer): Buffer {
  const lines = encoded.toString("latin1").split(/\r?\n/);
  const begin = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line));
  if (begin === -1) return encoded;
  const decoded: Buffer[] = [];
  for (const line of lines.slice(begin + 1)) {
    if (line.trimEnd() === "end") break;
    decoded.push(uuLine(line));
  }
  return Buffer.concat(decoded);
}

/**
 * Decodes a line. The first character encodes the number of bytes, and every four further characters encode three
 * bytes.
 */
function uuLine(line: string): Buffer {
  const valueAt = (i: number) => ((line.charCodeAt(i) || 0x20) - 0x20) & 0x3f;
  const bytes = Buffer.alloc(valueAt(0));
  for (let i = 0; i < bytes.length; i++) {
    const at = 1 + Math.floor(i / 3) * 4 + (i % 3);
    bytes[i] = ((valueAt(at) << (2 + 2 * (i % 3))) | (valueAt(at + 1) >> (4 - 2 * (i % 3)))) & 0xff;
  }
  return bytes;
}
