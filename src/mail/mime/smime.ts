/**
 * Reads the content of S/MIME parts (RFC 8551), which are CMS (RFC 5652) in BER. Signatures are not verified, because
 * email is only data here and its sender field is not trusted anyway. Node cannot read CMS, and the libraries that can
 * (pkijs with its five packages, node-forge) are ten times the size of this file because of their cryptography.
 */
import { inflateSync } from "node:zlib";

type SmimeContent =
  /** A signed or compressed MIME entity. */
  { readonly kind: "readable"; readonly entity: Buffer } | { readonly kind: "encrypted" };

interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Position after the element. */
  readonly end: number;
}

const SIGNED_DATA = "2a864886f70d010702";
const ENVELOPED_DATA = "2a864886f70d010703";
const ENCRYPTED_DATA = "2a864886f70d010706";
const COMPRESSED_DATA = "2a864886f70d0109100109";
const AUTH_ENVELOPED_DATA = "2a864886f70d0109100117";

/** Returns the content of an S/MIME part, or null if it is other data, such as a list of certificates. */
export function readSmime(content: Buffer): SmimeContent | null {
  const bytes = binaryOf(content);
  const info = bytes === null ? null : readElement(bytes, 0);
  const [type, explicit] = info?.tag === SEQUENCE ? childrenOf(info.content) : [];
  if (type?.tag !== OBJECT_ID || explicit?.tag !== EXPLICIT_0) return null;
  switch (type.content.toString("hex")) {
    case ENVELOPED_DATA:
    case ENCRYPTED_DATA:
    case AUTH_ENVELOPED_DATA:
      return { kind: "encrypted" };
    case SIGNED_DATA:
      return readable(encapsulated(explicit));
    case COMPRESSED_DATA:
      return readable(inflated(encapsulated(explicit)));
    default:
      return null;
  }
}

const readable = (entity: Buffer | null): SmimeContent | null =>
  entity === null ? null : { kind: "readable", entity };

/**
 * Returns the bytes, or null if the data is not CMS. Some gateways drop the part's transfer encoding but leave the
 * base64.
 */
function binaryOf(content: Buffer): Buffer | null {
  if (content[0] === SEQUENCE) return content;
  const text = content.toString("latin1", 0, 200).trimStart();
  return /^MI[A-Za-z0-9+/\r\n]+$/.test(text) ? Buffer.from(content.toString("latin1"), "base64") : null;
}

/**
 * Returns the content of SignedData or CompressedData, which consist of a version, the algorithms, and the typed
 * content.
 */
function encapsulated({ content }: Element): Buffer | null {
  const data = readElement(content, 0);
  const [, , info] = data?.tag === SEQUENCE ? childrenOf(data.content) : [];
  const [, explicit] = info?.tag === SEQUENCE ? childrenOf(info.content) : [];
  const octets = explicit?.tag === EXPLICIT_0 ? readElement(explicit.content, 0) : null;
  return octets === null ? null : octetsOf(octets, 0);
}

/** Maximum inflated size in bytes. The data is untrusted and must not exceed the size of an email. */
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

function inflated(compressed: Buffer | null): Buffer | null {
  if (compressed === null) return null;
  try {
    return inflateSync(compressed, { maxOutputLength: MAX_INFLATED_BYTES });
  } catch {
    // The part is damaged or too large, so it is listed as an attachment.
    return null;
  }
}

// BER (X.690)

const OBJECT_ID = 0x06;
const OCTET_STRING = 0x04;
const CONSTRUCTED_OCTET_STRING = 0x24;
const SEQUENCE = 0x30;
const EXPLICIT_0 = 0xa0;

/** Maximum nesting depth. Programs that stream their output nest octet strings two or three levels deep. */
const MAX_DEPTH = 20;

/**
 * Returns the element at a position, or null if the bytes are not an element.
 * @param depth number of enclosing elements of indefinite length
 */
function readElement(bytes: Buffer, at: number, depth = 0): Element | null {
  const tag = bytes[at];
  const first = bytes[at + 1];
  // Multi-byte tags do not occur before the content.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return null;
  let start = at + 2;
  if (first === 0x80) return readIndefinite(bytes, tag, start, depth);
  let length = first;
  if (first > 0x80) {
    const count = first - 0x80;
    if (count > 4 || start + count > bytes.length) return null;
    length = bytes.readUIntBE(start, count);
    start += count;
  }
  // If the email is truncated, the part ends where the email ends.
  const end = Math.min(start + length, bytes.length);
  return { tag, content: bytes.subarray(start, end), end };
}

/** Reads an element of indefinite length. Two zero bytes mark its end (X.690 8.1.3.6). */
function readIndefinite(bytes: Buffer, tag: number, start: number, depth: number): Element | null {
  if (depth === MAX_DEPTH) return null;
  let at = start;
  while (at < bytes.length) {
    if (bytes[at] === 0 && bytes[at + 1] === 0) return { tag, content: bytes.subarray(start, at), end: at + 2 };
    const inner = readElement(bytes, at, depth + 1);
    if (inner === null) return null;
    at = inner.end;
  }
  return { tag, content: bytes.subarray(start), end: bytes.length };
}

function childrenOf(content: Buffer): Element[] {
  const children: Element[] = [];
  // The content is among the first three children. Certificates come after it.
  for (let at = 0; at < content.length && children.length < 3; ) {
    const child = readElement(content, at);
    if (child === null) break;
    children.push(child);
    at = child.end;
  }
  return children;
}

/** Returns the bytes of an octet string, or null if the type differs. Long strings are split into pieces. */
function octetsOf({ tag, content }: Element, depth: number): Buffer | null {
  if (tag === OCTET_STRING) return content;
  if (tag !== CONSTRUCTED_OCTET_STRING || depth === MAX_DEPTH) return null;
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; ) {
    const piece = readElement(content, at);
    const octets = piece === null ? null : octetsOf(piece, depth + 1);
    if (piece === null || octets === null) break;
    pieces.push(octets);
    at = piece.end;
  }
  return Buffer.concat(pieces);
}
