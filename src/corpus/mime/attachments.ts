import { isUtf8 } from "node:buffer";
import type PostalMime from "postal-mime";
import { normalizeSubject, replaceControls } from "./mail-text.js";

/** A part of a mail that is listed after the body. */
export interface Attachment {
  readonly name: string;
  /** `text/csv`. */
  readonly type: string;
  readonly content: Buffer;
  /** Null for binary parts; the source of a forwarded mail. */
  readonly text: string | null;
  readonly isMail: boolean;
  /** The body already contains its text. */
  readonly isInBody: boolean;
}

/** A titled text after the body: a text attachment or a forwarded mail. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/** A node of postal-mime's tree: its list of attachments lacks charsets and the names of inline texts. */
interface Part {
  readonly contentType: {
    readonly parsed: { readonly value: string; readonly params: Params };
    readonly multipart: unknown;
  };
  readonly contentDisposition: { readonly parsed: { readonly value: string; readonly params: Params } };
  readonly content: ArrayBuffer | null;
  readonly childNodes: readonly Part[];
  getTextContent(): string;
}

type Params = Readonly<Record<string, string | undefined>>;

const MAIL_TYPES = new Set(["message/rfc822", "message/global"]);

/** Longer attached texts are cut. */
const MAX_TEXT_CHARS = 1_000_000;

/** Longer names are cut. */
const MAX_NAME_CHARS = 200;

/** Types that programs set for any file: the file name decides. */
const GENERIC_TYPES = new Set(["application/octet-stream", "application/vnd.ms-excel", "binary/octet-stream", ""]);
const TEXT_NAME = /\.(?:txt|text|csv|tsv|log|md|json|jsonl|xml|ya?ml|ics|vcf|patch|diff)$/i;

/** The attachments of a parsed mail, in order: parts that are not in its text, or have a name. */
export function attachmentsOf(mail: PostalMime): Attachment[] {
  const { root } = mail as unknown as { readonly root: Part };
  return [...leavesOf(root)].flatMap((part) => {
    const attachment = attachmentOf(part);
    if (attachment === null || (attachment.isInBody && attachment.name === "")) return [];
    // A mail that is a single text part has no attachment.
    const isWholeMail = part === root && attachment.type.startsWith("text/") && !isAttached(part);
    return isWholeMail ? [] : [attachment];
  });
}

function* leavesOf(part: Part): Generator<Part> {
  if (!part.contentType.multipart) yield part;
  for (const child of part.childNodes) yield* leavesOf(child);
}

function attachmentOf(part: Part): Attachment | null {
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

function isAttached(part: Part): boolean {
  return part.contentDisposition.parsed.value === "attachment";
}

/** Rich text is markup and does not count. */
function isTextType(type: string): boolean {
  if (type.startsWith("text/")) return !/^text\/(?:rtf|richtext)$/.test(type);
  if (type.startsWith("message/")) return !MAIL_TYPES.has(type);
  return /^application\/(?:json|xml|ics|x-ndjson|.*\+json|.*\+xml)$/.test(type);
}

/** Decodes by the charset; without one as UTF-8 if valid, else windows-1252. */
function textOf(part: Part, content: Buffer): string | null {
  const isUtf16 = content.length > 1 && ["fffe", "feff"].includes(content.toString("hex", 0, 2));
  if (isUtf16) return new TextDecoder(content[0] === 0xff ? "utf-16le" : "utf-16be").decode(content);
  if (content.subarray(0, 4_096).includes(0)) return null;
  if (part.contentType.parsed.params.charset) return part.getTextContent();
  return isUtf8(content) ? content.toString("utf8").replace(/^\ufeff/, "") : content.toString("latin1");
}

/** The body, followed by a list of the attachments and by their texts. */
export function withAttachments(
  body: string,
  attachments: readonly Attachment[],
  sections: readonly Section[],
): string {
  if (attachments.length === 0) return body;
  const list = attachments.map(
    ({ name, type, content }) => `- ${name || "(no name)"} (${typeName(type)}, ${sizeOf(content)})`,
  );
  const texts = sections.map(({ title, text }) => `----- ${title} -----\n\n${truncate(text.trim())}`);
  return [body.trimEnd(), `Attachments:\n${list.join("\n")}`, ...texts].filter((part) => part !== "").join("\n\n");
}

function normalizeName(name: string): string {
  return replaceControls(normalizeSubject(name)).slice(0, MAX_NAME_CHARS);
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
