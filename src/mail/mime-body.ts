import { isAscii, isUtf8 } from "node:buffer";
import PostalMime from "postal-mime";
import { calendarText } from "./calendar.js";
import type { Email } from "./email.js";
import {
  type BodyHeaders,
  buildEmail,
  decodeQuotedPrintable,
  normalizeSubject,
  type RawMail,
  readMailFields,
} from "./mime.js";
import { MimeFailed } from "./mime-thread-client.js";

/** Larger mails are skipped: the corpus has none, and a batch of them would fill the memory. */
export const MAX_MAIL_BYTES = 64 * 1024 * 1024;
export const TOO_LARGE = "it is larger than 64 MB";

/**
 * Parses one mail (RFC 5322, MIME). Returns the reason, as the end of a sentence, where the bytes are no mail.
 * Synchronous where possible: for most mails a promise costs more than parsing.
 */
export function parseEmail(raw: Uint8Array): Email | string | Promise<Email | string> {
  if (raw.length === 0) return "it is empty";
  if (raw.length > MAX_MAIL_BYTES) return TOO_LARGE;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const mail = readMailFields(bytes);
  if (typeof mail === "string") return mail;
  const { fields, bodyHeaders, body } = mail;
  const mailWith = (text: string) => buildEmail(fields, text);
  const text = decodeBody(bodyHeaders, body, bytes);
  return typeof text === "string" ? mailWith(text) : text.then(mailWith, unreadable);
}

function unreadable(error: unknown): string {
  if (error instanceof MimeFailed) return error.message;
  throw error;
}

/** A part of a mail that is listed after the body. */
interface Attachment {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer;
  /** Null for binary parts; the source of a forwarded mail. */
  readonly text: string | null;
  readonly isMail: boolean;
  /** The body already contains its text. */
  readonly isInBody: boolean;
}

/** A titled text after the body: a text attachment or a forwarded mail. */
interface MailSection {
  readonly title: string;
  readonly text: string;
}

/** A node of postal-mime's tree: its list of attachments lacks charsets and the names of inline texts. */
interface MimePart {
  readonly contentType: {
    readonly parsed: { readonly value: string; readonly params: Params };
    readonly multipart: unknown;
  };
  readonly contentDisposition: { readonly parsed: { readonly value: string; readonly params: Params } };
  readonly content: ArrayBuffer | null;
  readonly childNodes: readonly MimePart[];
  getTextContent(): string;
}

type Params = Readonly<Record<string, string | undefined>>;

const MAIL_TYPES = new Set(["message/rfc822", "message/global"]);

const CALENDAR_TYPES = new Set(["text/calendar", "application/ics"]);

const isCalendarType = (contentType: string) => /^text\/calendar\b/i.test(contentType);

/** Longer attached texts are cut. */
const MAX_TEXT_CHARS = 1_000_000;

/** Longer names are cut. */
const MAX_NAME_CHARS = 200;

/** Types that programs set for any file: the file name decides. */
const GENERIC_TYPES = new Set(["application/octet-stream", "application/vnd.ms-excel", "binary/octet-stream", ""]);
const TEXT_NAME = /\.(?:txt|text|csv|tsv|log|md|json|jsonl|xml|ya?ml|ics|vcf|patch|diff)$/i;

/** The attachments of a parsed mail, in order: parts that are not in its text, or have a name. */
function attachmentsOf(mail: PostalMime): Attachment[] {
  const { root } = mail as unknown as { readonly root: MimePart };
  return [...leavesOf(root)].flatMap((part) => {
    const attachment = attachmentOf(part);
    if (attachment === null || (attachment.isInBody && attachment.name === "")) return [];
    // A mail that is a single text part has no attachment.
    const isWholeMail = part === root && attachment.type.startsWith("text/") && !isAttached(part);
    return isWholeMail ? [] : [attachment];
  });
}

function* leavesOf(part: MimePart): Generator<MimePart> {
  if (!part.contentType.multipart) yield part;
  for (const child of part.childNodes) yield* leavesOf(child);
}

function attachmentOf(part: MimePart): Attachment | null {
  const { value: type, params } = part.contentType.parsed;
  if (part.content === null) return null;
  const content = Buffer.from(part.content);
  const name = normalizeName(part.contentDisposition.parsed.params.filename ?? params.name ?? "");
  const isMail = MAIL_TYPES.has(type) || (GENERIC_TYPES.has(type) && /\.eml$/i.test(name));
  const isText = isMail || isTextType(type) || (GENERIC_TYPES.has(type) && TEXT_NAME.test(name));
  const isInBody = (type === "text/plain" || type === "text/html") && !isAttached(part);
  const text = isText && !isInBody ? textOf(part, content) : null;
  return { name, type, content, text, isMail, isInBody };
}

function isAttached(part: MimePart): boolean {
  return part.contentDisposition.parsed.value === "attachment";
}

/** Rich text is markup and does not count. */
function isTextType(type: string): boolean {
  if (type.startsWith("text/")) return !/^text\/(?:rtf|richtext)$/.test(type);
  if (type.startsWith("message/")) return !MAIL_TYPES.has(type);
  return /^application\/(?:json|xml|ics|x-ndjson|.*\+json|.*\+xml)$/.test(type);
}

/** Decodes by the charset; without one as UTF-8 if valid, else windows-1252. */
function textOf(part: MimePart, content: Buffer): string | null {
  const isUtf16 = content.length > 1 && ["fffe", "feff"].includes(content.toString("hex", 0, 2));
  if (isUtf16) return new TextDecoder(content[0] === 0xff ? "utf-16le" : "utf-16be").decode(content);
  if (content.subarray(0, 4_096).includes(0)) return null;
  if (part.contentType.parsed.params.charset) return part.getTextContent();
  return isUtf8(content) ? content.toString("utf8").replace(/^\ufeff/, "") : content.toString("latin1");
}

/** The body, followed by a list of the attachments and by their texts. */
function withAttachments(body: string, attachments: readonly Attachment[], sections: readonly MailSection[]): string {
  if (attachments.length === 0) return body;
  const list = attachments.map(
    ({ name, type, content }) => `- ${name || "(no name)"} (${typeName(type)}, ${sizeOf(content)})`,
  );
  const texts = sections.map(({ title, text }) => `----- ${title} -----\n\n${truncate(text.trim())}`);
  return [body.trimEnd(), `Attachments:\n${list.join("\n")}`, ...texts].filter((part) => part !== "").join("\n\n");
}

function normalizeName(name: string): string {
  return normalizeSubject(name).slice(0, MAX_NAME_CHARS);
}

/** A damaged type may hold anything. */
function typeName(type: string): string {
  return /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(type) ? type : "unknown type";
}

function sizeOf({ length }: Buffer): string {
  return length === 1 ? "1 byte" : `${length.toLocaleString("en-US")} bytes`;
}

function truncate(text: string): string {
  if (text.length <= MAX_TEXT_CHARS) return text;
  return `${text.slice(0, MAX_TEXT_CHARS)}\n[cut here: ${(text.length - MAX_TEXT_CHARS).toLocaleString("en-US")} more characters]`;
}

/** Charsets decoded as UTF-8 if valid, else as windows-1252 (a superset of latin1 and ASCII). */
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

/** Nested forwarded mails beyond this depth are listed, not decoded. */
const MAX_FORWARD_DEPTH = 5;

/**
 * The text of a mail, followed by its attachments and forwarded mails. A single text part in a Western charset (every
 * mail of the Enron corpus) is decoded here; postal-mime does multipart, HTML, base64, flowed text and other
 * charsets. Empty where there is no readable text; the raw body where postal-mime fails.
 */
function decodeBody(headers: BodyHeaders, body: Buffer, raw: Buffer): string | Promise<string> {
  return decodePlain(headers, body) ?? libraryDecoder(body, raw);
}

/** Null where the library is needed. */
function decodePlain(headers: BodyHeaders, body: Buffer): string | null {
  const encoding = /[\w-]+/.exec(headers.transferEncoding)?.[0]?.toLowerCase() ?? "";
  const charset = westernCharset(headers.contentType);
  const isAttached = /^attachment\b/i.test(headers.disposition);
  if (charset === null || encoding === "base64" || isAttached) return null;
  const text = decodeWestern(encoding === "quoted-printable" ? decodeQuotedPrintable(body) : body, charset);
  return isCalendarType(headers.contentType) ? calendarText(text) : text;
}

/** The charset of plain text that `decodeWestern` can decode, else null. */
function westernCharset(contentType: string): string | null {
  const type = (/^[^;\s]*/.exec(contentType)?.[0] ?? "").toLowerCase();
  // A bare word such as `text` is no type; RFC 2045 5.2 reads such mail as plain text.
  if (type === "text/html" || (type.includes("/") && !type.startsWith("text/"))) return null;
  if (/format\s*=\s*"?flowed/i.test(contentType)) return null;
  const charset = (/charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? "").toLowerCase();
  return WESTERN.has(charset) ? charset : null;
}

/**
 * Valid UTF-8 is decoded as such whatever the label: a latin1 mail exported to a UTF-8 CSV keeps its label, and
 * latin1 text is practically never valid multi-byte UTF-8. Otherwise latin1; `replaceControls` maps the
 * windows-1252 characters.
 */
function decodeWestern(bytes: Buffer, charset: string): string {
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (isUtf8(bytes) || charset.startsWith("utf")) return bytes.toString("utf8");
  return bytes.toString("latin1");
}

type Decode = (body: Buffer, raw: Buffer) => Promise<string>;

let libraryDecoder: Decode = decodeWithLibrary;

/** Replaces the direct call of `decodeWithLibrary`: an import runs it on a thread with a time limit. */
export function setLibraryDecoder(decode: Decode): void {
  libraryDecoder = decode;
}

export async function decodeWithLibrary(body: Buffer, raw: Buffer, depth = 0): Promise<string> {
  const library = new PostalMime({ forceRfc822Attachments: true });
  try {
    const mail = await library.parse(raw);
    const attachments = attachmentsOf(library);
    const sections: MailSection[] = [];
    for (const attachment of attachments) {
      const section = await sectionOf(attachment, depth);
      if (section !== null) sections.push(section);
    }
    return withAttachments(await decodedText(mail), attachments, sections);
  } catch {
    return decodeWestern(body, "");
  }
}

async function decodedText(mail: Awaited<ReturnType<PostalMime["parse"]>>): Promise<string> {
  if (mail.text !== undefined) return mail.text;
  if (mail.html !== undefined) return htmlToText(mail.html);
  const [only, ...others] = mail.attachments;
  // The mail is a single text part of another type.
  if (only === undefined || others.length > 0) return "";
  const isBody = only.mimeType.startsWith("text/") && only.disposition !== "attachment";
  const text = isBody && typeof only.content !== "string" ? new TextDecoder().decode(only.content) : "";
  return CALENDAR_TYPES.has(only.mimeType) ? calendarText(text) : text;
}

/** Null without a text, or where the body contains it. */
async function sectionOf({ name, type, content, text, isMail, isInBody }: Attachment, depth: number) {
  if (isMail && depth === MAX_FORWARD_DEPTH) return null;
  const forwarded = isMail ? readMailFields(content) : "it is no mail";
  if (typeof forwarded !== "string") return forwardedSection(forwarded, content, depth + 1);
  if (text === null || isInBody) return null;
  const isCalendar = CALENDAR_TYPES.has(type) || (GENERIC_TYPES.has(type) && /\.ics$/i.test(name));
  const shown = type === "text/html" ? await htmlToText(text) : isCalendar ? calendarText(text) : text;
  return { title: `Attachment: ${name || type}`, text: shown };
}

async function forwardedSection(
  { fields, bodyHeaders, body }: RawMail,
  raw: Buffer,
  depth: number,
): Promise<MailSection> {
  const text = decodePlain(bodyHeaders, body) ?? (await decodeWithLibrary(body, raw, depth));
  const mail = buildEmail(fields, text);
  const header = [
    `From: ${mail.sender}`,
    `To: ${mail.to.join(", ")}`,
    ...(mail.cc.length > 0 ? [`Cc: ${mail.cc.join(", ")}`] : []),
    ...(mail.date === null ? [] : [`Date: ${mail.date}`]),
    `Subject: ${mail.subject}`,
  ];
  return { title: `Forwarded mail: ${mail.subject || "(no subject)"}`, text: `${header.join("\n")}\n\n${mail.body}` };
}

/** postal-mime converts HTML to text only in mails that mix both, so this wraps the HTML in one. */
async function htmlToText(html: string): Promise<string> {
  const mixed = [
    "Content-Type: multipart/mixed; boundary=part",
    "",
    "--part",
    "Content-Type: text/plain",
    "",
    "",
    "--part",
    "Content-Type: text/html; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    Buffer.from(html).toString("base64"),
    "--part--",
  ].join("\r\n");
  return (await PostalMime.parse(mixed)).text ?? "";
}
