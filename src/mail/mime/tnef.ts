/**
 * Reads TNEF (winmail.dat, [MS-OXTNEF]), in which Outlook and Exchange wrap the text and the attachments of emails. The
 * npm packages for it are unmaintained, or depend on a logger and a command-line library.
 */
import { crc32 } from "node:zlib";
import { decodeCodePage, rtfToText } from "./rtf-text.js";

export interface TnefMail {
  /** The text in its best form, or null if there is none. */
  readonly body: TnefBody | null;
  readonly attachments: readonly TnefAttachment[];
  /** Whether a checksum or a length is wrong, so that text or attachments can be wrong or missing. */
  readonly isDamaged: boolean;
}

interface TnefBody {
  readonly type: "text/plain" | "text/html";
  readonly text: string;
}

interface TnefAttachment {
  /** Empty if unknown. */
  readonly name: string;
  /** Media type, or an empty string if unknown. */
  readonly type: string;
  /** For an attached email, the email as message/rfc822. */
  readonly content: Buffer;
}

interface Message {
  readonly mail: TnefMail;
  readonly header: string;
}

interface FileAttributes {
  readonly title: Buffer | null;
  readonly data: Buffer | null;
  readonly properties: Properties;
}

interface Property {
  readonly type: number;
  readonly value: Buffer;
}

type Properties = ReadonlyMap<number, Property>;

/** Returns the email in TNEF data, or null if the data is not TNEF. */
export function readTnef(data: Buffer): TnefMail | null {
  return readMessage(data, 0)?.mail ?? null;
}

const SIGNATURE = 0x223e9f78;
const HEADER_BYTES = 6;
const ATTRIBUTE_HEADER_BYTES = 9;
/** First byte of an attribute: of the message, or of an attachment. */
const LEVELS = [1, 2];

// Attributes (MS-OXTNEF 2.1.3.1.1, without their types).
const ATT_BODY = 0x800c;
const ATT_ATTACH_DATA = 0x800f;
const ATT_ATTACH_TITLE = 0x8010;
const ATT_ATTACH_RENDERING = 0x9002;
const ATT_PROPERTIES = 0x9003;
const ATT_ATTACHMENT_PROPERTIES = 0x9005;
const ATT_CODE_PAGE = 0x9007;

// Properties (MS-OXPROPS).
const SUBJECT = 0x0037;
const CLIENT_SUBMIT_TIME = 0x0039;
const SENDER_NAME = 0x0c1a;
const SENDER_ADDRESS = 0x0c1f;
const SENDER_SMTP_ADDRESS = 0x5d01;
const DISPLAY_TO = 0x0e04;
const DISPLAY_CC = 0x0e03;
const BODY = 0x1000;
const RTF_COMPRESSED = 0x1009;
const BODY_HTML = 0x1013;
const DISPLAY_NAME = 0x3001;
const ATTACH_DATA = 0x3701;
const ATTACH_FILENAME = 0x3704;
const ATTACH_LONG_FILENAME = 0x3707;
const ATTACH_MIME_TAG = 0x370e;
const INTERNET_CODE_PAGE = 0x3fde;

/** Emails attached to attached emails are listed down to this depth. */
const MAX_DEPTH = 5;

function readMessage(data: Buffer, depth: number): Message | null {
  if (data.length < HEADER_BYTES || data.readUInt32LE(0) !== SIGNATURE) return null;
  let codePage = 1252;
  let plain = "";
  let properties: Properties = new Map();
  const files: FileAttributes[] = [];
  let isDamaged = false;
  for (const { id, value, isIntact } of attributesOf(data)) {
    isDamaged ||= !isIntact;
    const file = files.at(-1) ?? { title: null, data: null, properties: new Map() };
    switch (id) {
      case ATT_CODE_PAGE:
        if (value.length >= 4) codePage = value.readUInt32LE(0);
        break;
      case ATT_BODY:
        plain = withoutNul(decodeCodePage(value, codePage));
        break;
      case ATT_PROPERTIES:
        properties = propertiesOf(value);
        break;
      case ATT_ATTACH_RENDERING:
        files.push({ title: null, data: null, properties: new Map() });
        break;
      case ATT_ATTACH_TITLE:
        files.splice(-1, 1, { ...file, title: value });
        break;
      case ATT_ATTACH_DATA:
        files.splice(-1, 1, { ...file, data: value });
        break;
      case ATT_ATTACHMENT_PROPERTIES:
        files.splice(-1, 1, { ...file, properties: propertiesOf(value) });
        break;
    }
  }
  const texts = textsOf(properties, codePage);
  const body = bodyOf(plain, properties, texts);
  const attachments = files.flatMap((file) => attachmentsOf(file, codePage, depth));
  isDamaged ||= !hasIntactRtf(properties);
  return { mail: { body, attachments, isDamaged }, header: headerOf(properties, texts) };
}

/** Whether MS-OXTNEF has an attribute with this number. A checksum does not include the number. */
function isAttribute(id: number): boolean {
  return id <= 0x0009 || (id >= 0x8000 && id <= 0x8013) || id === 0x8020 || (id >= 0x9001 && id <= 0x9007);
}

interface Attribute {
  readonly id: number;
  readonly value: Buffer;
  readonly isIntact: boolean;
}

/**
 * Yields the attributes: level, tag, length, value, and a checksum, which is the sum of the value's bytes. An attribute
 * that ends after the data is the last one. Bytes after the last one that do not begin another are ignored.
 */
function* attributesOf(data: Buffer): Generator<Attribute> {
  let at = HEADER_BYTES;
  while (at + ATTRIBUTE_HEADER_BYTES <= data.length) {
    const id = data.readUInt16LE(at + 1);
    const start = at + ATTRIBUTE_HEADER_BYTES;
    const end = start + data.readUInt32LE(at + 5);
    const value = data.subarray(start, end);
    let sum = 0;
    for (const byte of value) sum = (sum + byte) & 0xffff;
    const isWhole = end + 2 <= data.length && data.readUInt16LE(end) === sum;
    yield { id, value, isIntact: isWhole && isAttribute(id) };
    at = end + 2;
  }
  const isCutOff = at === HEADER_BYTES || LEVELS.includes(data[at] ?? 0);
  if (isCutOff) yield { id: 0, value: Buffer.alloc(0), isIntact: false };
}

const STRING = 0x1e;
const WIDE_STRING = 0x1f;
const OBJECT = 0x0d;
const BINARY = 0x102;
const MULTIPLE = 0x1000;

/** Bytes per value, including padding. All other types start with their length. */
// biome-ignore format: rows of a table
const FIXED_BYTES: Readonly<Record<number, number>> = {
  2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 4, 20: 8, 64: 8, 72: 16,
};
const VARIABLE = new Set([STRING, WIDE_STRING, OBJECT, BINARY]);

const FIRST_NAMED_ID = 0x8000;

/**
 * Reads properties (MS-OXTNEF 2.1.3.4), up to the first damaged one. If a property has several values, only the first
 * is read.
 */
function propertiesOf(data: Buffer): Properties {
  const properties = new Map<number, Property>();
  const padded = (length: number) => (length + 3) & ~3;
  try {
    let at = 4;
    for (let remaining = data.readUInt32LE(0); remaining > 0; remaining--) {
      const type = data.readUInt16LE(at);
      const id = data.readUInt16LE(at + 2);
      at += 4;
      if (id >= FIRST_NAMED_ID) {
        // A GUID, and a number or a name.
        const isNamed = data.readUInt32LE(at + 16) === 1;
        at += 24 + (isNamed ? padded(data.readUInt32LE(at + 20)) : 0);
      }
      const base = type & ~MULTIPLE;
      const fixed = FIXED_BYTES[base];
      if (fixed === undefined && !VARIABLE.has(base)) break;
      const isCounted = fixed === undefined || base !== type;
      const count = isCounted ? data.readUInt32LE(at) : 1;
      if (isCounted) at += 4;
      for (let i = 0; i < count; i++) {
        const length = fixed ?? data.readUInt32LE(at);
        if (fixed === undefined) at += 4;
        if (i === 0) properties.set(id, { type: base, value: data.subarray(at, at + length) });
        at += padded(length);
        if (at > data.length) return properties;
      }
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return properties;
}

/** Returns a function that reads a text property. It returns an empty string if the property is missing. */
function textsOf(properties: Properties, codePage: number): (id: number) => string {
  return (id) => {
    const property = properties.get(id);
    if (property?.type === WIDE_STRING) return withoutNul(property.value.toString("utf16le"));
    return property?.type === STRING ? withoutNul(decodeCodePage(property.value, codePage)) : "";
  };
}

function withoutNul(text: string): string {
  const end = text.indexOf("\0");
  return end === -1 ? text : text.slice(0, end);
}

/** Returns the plain text, otherwise the HTML, otherwise the text of the RTF. */
function bodyOf(plain: string, properties: Properties, textOf: (id: number) => string): TnefBody | null {
  const isText = (text: string) => text.trim() !== "";
  for (const text of [textOf(BODY), plain]) if (isText(text)) return { type: "text/plain", text };
  const htmlBytes = properties.get(BODY_HTML);
  const html = htmlBytes?.type === BINARY ? decodeCodePage(htmlBytes.value, internetCodePage(properties)) : "";
  for (const text of [textOf(BODY_HTML), html]) if (isText(text)) return { type: "text/html", text };
  const rtf = uncompressedRtf(properties.get(RTF_COMPRESSED)?.value ?? Buffer.alloc(0));
  const text = rtf === null ? "" : rtfToText(rtf);
  return isText(text) ? { type: "text/plain", text } : null;
}

function internetCodePage(properties: Properties): number {
  const value = properties.get(INTERNET_CODE_PAGE)?.value;
  return value?.length === 4 ? value.readUInt32LE(0) : 65001;
}

/** Returns an attachment. An attached email is followed by its own attachments. */
function attachmentsOf({ title, data, properties }: FileAttributes, codePage: number, depth: number): TnefAttachment[] {
  const textOf = textsOf(properties, codePage);
  const names = [textOf(ATTACH_LONG_FILENAME), textOf(ATTACH_FILENAME)];
  const titleText = title === null ? "" : withoutNul(decodeCodePage(title, codePage));
  const name = [...names, titleText, textOf(DISPLAY_NAME)].find((text) => text !== "") ?? "";
  const property = properties.get(ATTACH_DATA);
  // An object starts with the 16 bytes of its interface id.
  const object = property?.type === OBJECT ? property.value.subarray(16) : null;
  const content = object ?? property?.value ?? data ?? Buffer.alloc(0);
  const message = object !== null && depth < MAX_DEPTH ? readMessage(object, depth + 1) : null;
  if (message === null) return [{ name, type: textOf(ATTACH_MIME_TAG), content }];
  return [{ name, type: "message/rfc822", content: asRfc822(message) }, ...message.mail.attachments];
}

function headerOf(properties: Properties, textOf: (id: number) => string): string {
  const address = [SENDER_SMTP_ADDRESS, SENDER_ADDRESS].map(textOf).find((text) => text.includes("@"));
  const name = textOf(SENDER_NAME);
  const submitTime = properties.get(CLIENT_SUBMIT_TIME)?.value;
  const fields = [
    ["From", address === undefined ? name : `"${name.replace(/["\\]/g, "")}" <${address}>`],
    ["To", textOf(DISPLAY_TO)],
    ["Cc", textOf(DISPLAY_CC)],
    ["Date", submitTime?.length === 8 ? dateOfFileTime(submitTime.readBigUInt64LE(0)) : ""],
    ["Subject", textOf(SUBJECT)],
  ];
  return fields.map(([field, value = ""]) => `${field}: ${value.replace(/[\r\n]+/g, " ")}\n`).join("");
}

function asRfc822({ header, mail }: Message): Buffer {
  return Buffer.from(
    `${header}Content-Type: ${mail.body?.type ?? "text/plain"}; charset=utf-8\n\n${mail.body?.text ?? ""}`,
  );
}

/** Returns an RFC 5322 date for a number of 100 nanoseconds since 1601. */
function dateOfFileTime(ticks: bigint): string {
  const date = new Date(Number(ticks / 10_000n) - 11_644_473_600_000);
  return Number.isNaN(date.getTime()) ? "" : date.toUTCString();
}

// Compressed RTF (MS-OXRTFCP)

const COMPRESSED = 0x75465a4c;
const UNCOMPRESSED = 0x414c454d;
const RTF_HEADER_BYTES = 16;

/** Initial content of the dictionary (MS-OXRTFCP 2.1.2.1). */
const DICTIONARY = Buffer.from(
  "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor " +
    "MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par " +
    "\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx",
  "latin1",
);
const DICTIONARY_BYTES = 4096;

/** Longer RTF is truncated. */
const MAX_RTF_BYTES = 16 * 1024 * 1024;

function uncompressedRtf(data: Buffer): Buffer | null {
  if (data.length < RTF_HEADER_BYTES) return null;
  const kind = data.readUInt32LE(8);
  const input = data.subarray(RTF_HEADER_BYTES);
  if (kind === UNCOMPRESSED) return input.subarray(0, data.readUInt32LE(4));
  return kind === COMPRESSED ? decompressed(input, Math.min(data.readUInt32LE(4), MAX_RTF_BYTES)) : null;
}

/** Whether the email has no compressed RTF, or one with the right length and CRC (MS-OXRTFCP 2.1.3.1.1 and 3.1.3.2). */
function hasIntactRtf(properties: Properties): boolean {
  const data = properties.get(RTF_COMPRESSED)?.value;
  if (data === undefined || data.length < RTF_HEADER_BYTES || data.readUInt32LE(8) !== COMPRESSED) return true;
  const input = data.subarray(RTF_HEADER_BYTES, data.readUInt32LE(0) + 4);
  // This CRC does not invert its first and last value, unlike that of zlib.
  return ~crc32(input, 0xffffffff) >>> 0 === data.readUInt32LE(12);
}

/** Expands runs of eight tokens. Each is a byte, or a position (12 bits) and length (4 bits) in the dictionary. */
function decompressed(input: Buffer, rawBytes: number): Buffer {
  const dictionary = Buffer.alloc(DICTIONARY_BYTES);
  DICTIONARY.copy(dictionary);
  let write = DICTIONARY.length;
  // A reference of two bytes adds at most 17.
  const output = Buffer.alloc(Math.min(rawBytes, input.length * 9));
  let length = 0;
  const add = (byte: number) => {
    dictionary[write] = byte;
    write = (write + 1) % DICTIONARY_BYTES;
    output[length++] = byte;
  };
  let at = 0;
  while (at < input.length && length < output.length) {
    let flags = input[at++] ?? 0;
    for (let i = 0; i < 8 && at < input.length; i++, flags >>= 1) {
      if ((flags & 1) === 0) {
        add(input[at++] ?? 0);
        continue;
      }
      const reference = ((input[at] ?? 0) << 8) | (input[at + 1] ?? 0);
      at += 2;
      const position = reference >> 4;
      // The end of the data refers to the position at which the next byte would be written.
      if (position === write) return output.subarray(0, length);
      for (let k = 0; k < (reference & 0xf) + 2; k++) add(dictionary[(position + k) % DICTIONARY_BYTES] ?? 0);
    }
  }
  return output.subarray(0, length);
}
