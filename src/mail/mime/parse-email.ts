// Parses one email: its fields and the text of its parts and attachments.
import { isAscii } from "node:buffer";
import { compact } from "../../platform/optional-values.js";
import { count, counted } from "../../text/format.js";
import type { Email } from "../email.js";
import { enrichedToText, htmlToText } from "../html-text.js";
import { calendarText } from "./calendar.js";
import { decodeCharset } from "./charset.js";
import {
  type BodyHeaders,
  buildEmail,
  normalizeSubject,
  type RawMail,
  readMailFields,
  withLineFeeds,
} from "./email-fields.js";
import { MimeFailed } from "./mime-decoder.js";
import { fileNameOf, type MimePart, parseMimeTree, TNEF_TYPE } from "./parts.js";
import { decodeTransferEncoding, transferEncodingName } from "./transfer-encoding.js";

/** An email part that is listed after the body. */
interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
  readonly charset: string;
  /** Text of the attachment, or source of a forwarded email, or null for a binary part. */
  readonly text: string | null;
  readonly isMail: boolean;
  /** Whether the body already contains the text. */
  readonly isInBody: boolean;
}

/** A text with a title after the body: a text attachment or a forwarded email. */
interface MailSection {
  readonly title: string;
  readonly text: string;
}

type Decode = (raw: Buffer) => string | Promise<string>;

interface BodyText {
  readonly text: string;
  readonly isHtml: boolean;
  /** True for the text of a TNEF part. Outlook usually sends it as a text part, too. */
  readonly isTnef?: boolean;
}

/** Larger emails are skipped. The corpus does not contain any, and a batch of them would fill the memory. */
export const MAX_MAIL_BYTES = 64 * 1024 * 1024;
export const TOO_LARGE = "it is larger than 64 MB";

/**
 * Parses one email (RFC 5322, MIME). Returns the reason if the bytes are not an email, worded as the end of a sentence.
 * Synchronous if possible: for most emails, a promise takes longer than parsing.
 */
export function parseEmail(raw: Uint8Array): Email | string | Promise<Email | string> {
  if (raw.length === 0) return "it is empty";
  if (raw.length > MAX_MAIL_BYTES) return TOO_LARGE;
  const bytes = mailOfEmlx(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength));
  const mail = readMailFields(bytes);
  if (typeof mail === "string") return mail;
  const { fields, bodyHeaders, body } = mail;
  const mailWith = (text: string) => buildEmail(fields, text);
  const text = decodeBody(bodyHeaders, body, bytes);
  return typeof text === "string" ? mailWith(text) : text.then(mailWith, unreadable);
}

/**
 * Returns the email within Apple Mail's .emlx, which consists of a line with the email's byte count, the email, and a
 * property list. The count is wrong if another program changed the line ends.
 */
export function mailOfEmlx(bytes: Buffer): Buffer {
  // Check for a digit first. Most emails start with a letter, and creating a string for each would be slower.
  if (!((bytes[0] ?? 0) >= 0x30 && (bytes[0] ?? 0) <= 0x39)) return bytes;
  const [line, count] = /^(\d{1,9})[ \t]*\r?\n/.exec(bytes.toString("latin1", 0, 32)) ?? [];
  if (line === undefined) return bytes;
  const rest = bytes.subarray(line.length);
  const list = rest.lastIndexOf("<?xml");
  if (list !== -1 && rest.includes("<plist", list)) return rest.subarray(0, list);
  return rest.subarray(0, Number(count));
}

function unreadable(error: unknown): string {
  if (error instanceof MimeFailed) return error.message;
  throw error;
}

const MAIL_TYPES = new Set(["message/rfc822", "message/global"]);

const CALENDAR_TYPES = new Set(["text/calendar", "application/ics"]);

/** Longer attached texts are truncated. */
const MAX_TEXT_CHARS = 1_000_000;

/** Longer names are truncated. */
const MAX_NAME_CHARS = 200;

/** Types that programs use for any file. The file name determines the real type. */
const GENERIC_TYPES = new Set(["application/octet-stream", "application/vnd.ms-excel", "binary/octet-stream", ""]);
const TEXT_NAME = /\.(?:txt|text|csv|tsv|log|md|json|jsonl|xml|ya?ml|ics|vcf|patch|diff)$/i;

/** Returns the attachments of an email, in order. These are the parts that are not in its text or that have a name. */
function attachmentsOf(root: MimePart): Attachment[] {
  return [...leavesOf(root)].flatMap((part) => {
    const attachment = attachmentOf(part);
    if (attachment.isInBody && attachment.name === "") return [];
    // An email that consists of a single text part does not have attachments.
    const isWholeMail = part === root && attachment.type.startsWith("text/") && !isAttached(part);
    return isWholeMail ? [] : [attachment];
  });
}

function* leavesOf(part: MimePart): Generator<MimePart> {
  if (part.children.length === 0) yield part;
  const isAlternative = part.type.value === "multipart/alternative";
  for (const child of part.children) if (!isAlternative || !isUnchosen(child)) yield* leavesOf(child);
}

/** Whether a part of an alternative is another form of the text, such as AMP, Markdown or the text for a watch. */
function isUnchosen(part: MimePart): boolean {
  const { name, type } = attachmentOf(part);
  return (
    part.children.length === 0 &&
    type.startsWith("text/") &&
    name === "" &&
    !isAttached(part) &&
    !CALENDAR_TYPES.has(type)
  );
}

function attachmentOf(part: MimePart): Attachment {
  const { type, disposition, content } = part;
  const name = normalizeSubject(fileNameOf(type, disposition)).slice(0, MAX_NAME_CHARS);
  const isMail = MAIL_TYPES.has(type.value) || (GENERIC_TYPES.has(type.value) && /\.eml$/i.test(name));
  const isText = isMail || isTextType(type.value) || (GENERIC_TYPES.has(type.value) && TEXT_NAME.test(name));
  const isInBody = isBodyText(part);
  const charset = type.params.get("charset") ?? "";
  const text = isText && !isInBody ? decodedText(content, charset) : null;
  return { name, type: type.value, content, charset, text, isMail, isInBody };
}

const BODY_TYPES = new Set(["text/plain", "text/html", "text/enriched", "text/richtext"]);

function isBodyText(part: MimePart): boolean {
  return BODY_TYPES.has(part.type.value) && !isAttached(part);
}

function isAttached(part: MimePart): boolean {
  return part.disposition.value === "attachment";
}

/** Whether a type is readable text. Rich text and style sheets are markup, so they are not readable text. */
function isTextType(type: string): boolean {
  if (type.startsWith("text/")) return !/^text\/(?:rtf|richtext|css)$/.test(type);
  if (type.startsWith("message/")) return !MAIL_TYPES.has(type);
  return /^application\/(?:json|xml|ics|x-ndjson|.*\+json|.*\+xml)$/.test(type);
}

/** Returns the decoded text, or null if the data is binary. */
function decodedText(content: Buffer, charset: string): string | null {
  const isUtf16 = content.length > 1 && ["fffe", "feff"].includes(content.toString("hex", 0, 2));
  const isWide = isUtf16 || /^utf-?(?:16|32)/i.test(charset);
  if (!isWide && content.subarray(0, 4_096).includes(0)) return null;
  return decodeCharset(content, charset);
}

/** Appends a list of the attachments and their texts to the body. */
function withAttachments(body: string, attachments: readonly Attachment[], sections: readonly MailSection[]): string {
  if (attachments.length === 0) return body;
  const list = attachments.map(
    ({ name, type, content }) => `- ${name || "(no name)"} (${typeName(type)}, ${counted(content.length, "byte")})`,
  );
  const texts = sections.map(({ title, text }) => `----- ${title} -----\n\n${truncate(text.trim())}`);
  return [body.trimEnd(), `Attachments:\n${list.join("\n")}`, ...texts].filter((part) => part !== "").join("\n\n");
}

/** Returns a displayable type, because a damaged type can contain anything. */
function typeName(type: string): string {
  return /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(type) ? type : "unknown type";
}

function truncate(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}\n[cut here: ${count(text.length - MAX_TEXT_CHARS)} more characters]`;
}

/** Charsets that are decoded as UTF-8 if valid, otherwise as windows-1252 (a superset of latin1 and ASCII). */
const WESTERN = new Set([
  "",
  "us-ascii",
  "ascii",
  "ansi_x3.4-1968",
  "iso-8859-1",
  "iso_8859-1",
  "latin1",
  "windows-1252",
  "cp1252",
  "utf-8",
  "utf8",
]);

/** Forwarded emails nested more deeply are listed, but not decoded. */
const MAX_FORWARD_DEPTH = 5;

/**
 * Returns the text of an email, followed by its attachments and forwarded emails, or an empty string if it does not
 * contain readable text. A single text part in a Western charset (every email of the Enron corpus) is decoded here.
 * `partsDecoder` handles multipart, HTML, base64, flowed text and other charsets.
 */
function decodeBody(headers: BodyHeaders, body: Buffer, raw: Buffer): string | Promise<string> {
  return decodePlain(headers, body) ?? partsDecoder(raw);
}

/** Returns the text, or null if the email is not plain text in a Western charset. */
function decodePlain(headers: BodyHeaders, body: Buffer): string | null {
  const encoding = transferEncodingName(headers.transferEncoding);
  const charset = westernCharset(headers.contentType);
  const isAttached = /^attachment\b/i.test(headers.disposition);
  if (charset === null || !PLAIN_ENCODINGS.has(encoding) || isAttached) return null;
  const bytes = encoding === "quoted-printable" ? decodeTransferEncoding(body, encoding) : body;
  const text = isAscii(bytes) ? bytes.toString("latin1") : decodeCharset(bytes, charset);
  return isMarkedUp(text) ? null : text;
}

/** Whether plain text contains a form that is decoded like a part: Eudora's tags or inline OpenPGP. */
function isMarkedUp(text: string): boolean {
  return EUDORA_TAG.test(text) || text.includes(PGP_START);
}

const EUDORA_TAG = /^\s*<x-(?:html|flowed|rich)>/i;
const PGP_START = "-----BEGIN PGP MESSAGE-----";
const PGP_MESSAGE = /^-----BEGIN PGP MESSAGE-----$[\s\S]*?^-----END PGP MESSAGE-----/gm;

/** Decodes the HTML that Eudora marks in plain text, and says so if inline text is encrypted. */
function withoutMarks(text: string): string {
  if (!isMarkedUp(text)) return text;
  const plain = EUDORA_TAG.test(text)
    ? text
        .replace(/<x-html>([\s\S]*?)(?:<\/x-html>|(?![\s\S]))/gi, (_, html: string) => htmlToText(html))
        .replace(/<x-rich>([\s\S]*?)(?:<\/x-rich>|(?![\s\S]))/gi, (_, enriched: string) => enrichedToText(enriched))
        .replace(/<\/?x-flowed>\n?/gi, "")
    : text;
  return plain.replace(PGP_MESSAGE, encryptedNote("OpenPGP"));
}

function encryptedNote(encryption: string): string {
  return `[Encrypted with ${encryption}: the text cannot be read.]`;
}

const PLAIN_ENCODINGS = new Set(["", "7bit", "8bit", "binary", "quoted-printable"]);

/** Returns the charset of plain text that is decoded without a MIME parser, or null. */
function westernCharset(contentType: string): string | null {
  const type = (/^[^;\s]*/.exec(contentType)?.[0] ?? "").toLowerCase();
  // A bare word such as `text` is not a valid type. RFC 2045 5.2 treats such an email as plain text.
  const isConverted = (BODY_TYPES.has(type) && type !== "text/plain") || CALENDAR_TYPES.has(type);
  if (isConverted || (type.includes("/") && !type.startsWith("text/"))) return null;
  if (/format\s*=\s*"?flowed/i.test(contentType)) return null;
  const charset = (/charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? "").toLowerCase();
  return WESTERN.has(charset) ? charset : null;
}

let partsDecoder: Decode = (raw) => decodeParts(raw);

/** Replaces the direct call to `decodeParts`. An import runs it on a thread with a time limit. */
export function setPartsDecoder(decode: Decode): void {
  partsDecoder = decode;
}

/**
 * Returns the text of any email with its attachments.
 * @param depth number of forwarded emails that this one is nested in
 */
export function decodeParts(raw: Buffer, depth = 0): string {
  const root = parseMimeTree(raw);
  const attachments = attachmentsOf(root);
  const sections = attachments.flatMap((attachment) => sectionOf(attachment, depth) ?? []);
  return withAttachments(bodyTextOf(root, root).text, attachments, sections);
}

const NO_TEXT: BodyText = { text: "", isHtml: false };

/** Returns the text of the parts that a mail program shows as the body. */
function bodyTextOf(part: MimePart, root: MimePart): BodyText {
  if (part.encryption !== null) {
    return { text: encryptedNote(part.encryption), isHtml: false };
  }
  if (part.children.length === 0) return leafTextOf(part, root);
  const texts = part.children.map((child) => bodyTextOf(child, root)).filter(({ text }) => !isBlank(text));
  if (part.type.value === "multipart/alternative") return preferredOf(texts);
  return {
    text: withoutTnefCopies(texts)
      .map(({ text }) => text.trimEnd())
      .join("\n\n"),
    isHtml: texts.some(({ isHtml }) => isHtml),
    isTnef: part.type.value === TNEF_TYPE,
  };
}

/** Drops the text of a TNEF part, unless the other texts are much shorter, like the footer of a mailing list. */
function withoutTnefCopies(texts: readonly BodyText[]): BodyText[] {
  const otherChars = texts.reduce((sum, { text, isTnef }) => sum + (isTnef ? 0 : text.length), 0);
  return texts.filter(({ text, isTnef }) => !isTnef || text.length > 2 * otherChars);
}

/** Returns the plain text, unless it only states that the mail program cannot show the HTML. */
function preferredOf(texts: readonly BodyText[]): BodyText {
  const plain = texts.find(({ isHtml }) => !isHtml);
  const html = texts.findLast(({ isHtml }) => isHtml);
  if (plain === undefined || html === undefined) return plain ?? html ?? NO_TEXT;
  return isStub(plain.text, html.text) || isBeginning(plain.text, html.text) ? html : plain;
}

/** Whether the plain text is only the beginning of the HTML, which is at least twice as long. */
function isBeginning(plain: string, html: string): boolean {
  if (html.length < 2 * plain.length) return false;
  const words = (text: string) => text.replace(/\s+/g, " ").trim();
  return words(html.slice(0, 3 * plain.length)).startsWith(words(plain).replace(ELLIPSIS, ""));
}

/** How mail programs mark a truncated text. */
const ELLIPSIS = /\s*(?:\.{2,}|…|[[(](?:\.{2,}|…)[\])])$/;

const MAX_STUB_CHARS = 400;
/** A placeholder text this short only has to mention HTML. */
const MAX_BARE_STUB_CHARS = 40;

function isStub(plain: string, html: string): boolean {
  if (plain.length > MAX_STUB_CHARS || html.length <= plain.length / 2 || html.includes(plain.trim())) return false;
  return VIEWER.test(plain) && (plain.length <= MAX_BARE_STUB_CHARS || CANNOT_SHOW.test(plain));
}

const VIEWER = /\b(?:html|browser|(?:e-?)?mail (?:program|client|reader|software))\b/i;

/** Words of a placeholder text. An ordinary text about HTML does not contain them. */
const CANNOT_SHOW =
  /\b(?:not|cannot|can['’]t|unable|instead|view\w*|read|see|display\w*|render\w*|support\w*|capable|compatible|compliant|enabled?|requires?|switch)\b|n['’]t\b/i;

/** Whether a text consists of white space, no-break spaces and zero-width characters. */
function isBlank(text: string): boolean {
  return !/[^\s\u00ad\u200b-\u200f\u2060\ufeff]/.test(text);
}

function leafTextOf(part: MimePart, root: MimePart): BodyText {
  const { type, content } = part;
  const charset = type.params.get("charset") ?? "";
  if (CALENDAR_TYPES.has(type.value) && part === root && !isAttached(part)) {
    return { text: calendarText(content, charset), isHtml: false };
  }
  if (type.value === "text/html" && !isAttached(part)) {
    return { text: htmlToText(decodeCharset(content, charset || metaCharset(content))), isHtml: true };
  }
  if (!isBodyText(part) && !(part === root && type.value.startsWith("text/") && !isAttached(part))) return NO_TEXT;
  const text = decodeCharset(content, charset);
  if (type.value === "text/enriched" || type.value === "text/richtext") {
    return { text: enrichedToText(text), isHtml: false };
  }
  const isFlowed = type.params.get("format")?.toLowerCase() === "flowed";
  const plain = isFlowed ? unflowed(text, type.params.get("delsp")?.toLowerCase() === "yes") : text;
  return { text: withoutMarks(plain), isHtml: false };
}

/**
 * Number of bytes to search for the charset declaration. HTML 13.2.3.2 limits the search to 1,024 bytes, but mail
 * programs put style sheets before it.
 */
const META_BYTES = 8 * 1024;

function metaCharset(html: Buffer): string {
  return /<meta\b[^>]*\bcharset\s*=\s*["']?\s*([\w.:-]+)/i.exec(html.toString("latin1", 0, META_BYTES))?.[1] ?? "";
}

/**
 * Joins the lines of `format=flowed` text (RFC 3676 4). A line that ends in a space continues on the next line with the
 * same quote depth.
 */
function unflowed(text: string, deleteSpace: boolean): string {
  const paragraphs: string[] = [];
  let open: { readonly depth: number } | null = null;
  for (const line of withLineFeeds(text).split("\n")) {
    const depth = /^>*/.exec(line)?.[0].length ?? 0;
    const content = line.slice(depth).replace(/^ /, "");
    const isSignature = content === "-- ";
    if (open !== null && open.depth === depth && !isSignature) {
      paragraphs.push(`${paragraphs.pop() ?? ""}${content}`);
    } else {
      paragraphs.push(depth === 0 ? content : `${">".repeat(depth)} ${content}`);
    }
    open = content.endsWith(" ") && !isSignature ? { depth } : null;
    if (open !== null && deleteSpace) paragraphs.push((paragraphs.pop() ?? "").slice(0, -1));
  }
  return paragraphs.join("\n");
}

/** Returns the section of an attachment, or null if it does not have a text or the body contains it. */
function sectionOf(
  { name, type, content, charset, text, isMail, isInBody }: Attachment,
  depth: number,
): MailSection | null {
  if (isMail && depth === MAX_FORWARD_DEPTH) return null;
  const forwarded = isMail ? readMailFields(content) : "it is not an email";
  if (typeof forwarded !== "string") return forwardedSection(forwarded, content, depth + 1);
  if (text === null || isInBody) return null;
  const isCalendar = CALENDAR_TYPES.has(type) || (GENERIC_TYPES.has(type) && /\.ics$/i.test(name));
  const plainText = type === "text/html" ? htmlToText(text) : isCalendar ? calendarText(content, charset) : text;
  return { title: `Attachment: ${name || type}`, text: plainText };
}

function forwardedSection({ fields, bodyHeaders, body }: RawMail, raw: Buffer, depth: number): MailSection {
  const text = decodePlain(bodyHeaders, body) ?? decodeParts(raw, depth);
  const mail = buildEmail(fields, text);
  const header = compact([
    `From: ${mail.sender}`,
    `To: ${mail.to.join(", ")}`,
    mail.cc.length > 0 && `Cc: ${mail.cc.join(", ")}`,
    mail.date !== null && `Date: ${mail.date}`,
    `Subject: ${mail.subject}`,
  ]);
  return { title: `Forwarded mail: ${mail.subject || "(no subject)"}`, text: `${header.join("\n")}\n\n${mail.body}` };
}
