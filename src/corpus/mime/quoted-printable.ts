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
