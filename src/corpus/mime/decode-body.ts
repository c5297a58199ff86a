import { isAscii, isUtf8 } from "node:buffer";
import PostalMime from "postal-mime";
import { type Attachment, attachmentsOf, type Section, withAttachments } from "./attachments.js";
import { buildEmail } from "./build-email.js";
import { type BodyHeaders, type RawMail, readMailFields } from "./mail-fields.js";
import { decodeQuotedPrintable } from "./quoted-printable.js";

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
export function decodeBody(headers: BodyHeaders, body: Buffer, raw: Buffer): string | Promise<string> {
  return decodePlain(headers, body) ?? libraryDecoder(body, raw);
}

/** Null where the library is needed. */
function decodePlain(headers: BodyHeaders, body: Buffer): string | null {
  const encoding = /[\w-]+/.exec(headers.transferEncoding)?.[0]?.toLowerCase() ?? "";
  const charset = westernCharset(headers.contentType);
  const isAttached = /^attachment\b/i.test(headers.disposition);
  if (charset === null || encoding === "base64" || isAttached) return null;
  return decodeWestern(encoding === "quoted-printable" ? decodeQuotedPrintable(body) : body, charset);
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
 * latin1 text is practically never valid multi-byte UTF-8. Otherwise latin1; `mail-text.ts` maps the windows-1252
 * characters.
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
    const sections: Section[] = [];
    for (const attachment of attachments) {
      const section = await sectionOf(attachment, depth);
      if (section !== null) sections.push(section);
    }
    return withAttachments(await textOf(mail), attachments, sections);
  } catch {
    return decodeWestern(body, "");
  }
}

async function textOf(mail: Awaited<ReturnType<PostalMime["parse"]>>): Promise<string> {
  if (mail.text !== undefined) return mail.text;
  if (mail.html !== undefined) return htmlToText(mail.html);
  const [only, ...others] = mail.attachments;
  // The mail is a single text part of another type.
  if (only === undefined || others.length > 0) return "";
  const isBody = only.mimeType.startsWith("text/") && only.disposition !== "attachment";
  return isBody && typeof only.content !== "string" ? new TextDecoder().decode(only.content) : "";
}

/** Null without a text, or where the body contains it. */
async function sectionOf({ name, type, content, text, isMail, isInBody }: Attachment, depth: number) {
  if (isMail && depth === MAX_FORWARD_DEPTH) return null;
  const forwarded = isMail ? readMailFields(content) : "it is no mail";
  if (typeof forwarded !== "string") return forwardedSection(forwarded, content, depth + 1);
  if (text === null || isInBody) return null;
  return { title: `Attachment: ${name || type}`, text: type === "text/html" ? await htmlToText(text) : text };
}

async function forwardedSection({ fields, bodyHeaders, body }: RawMail, raw: Buffer, depth: number): Promise<Section> {
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
