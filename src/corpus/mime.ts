import { isAscii, isUtf8 } from "node:buffer";
import PostalMime from "postal-mime";
import type { Email } from "../domain/email.js";
import { type Attachment, attachmentsOf, type Section, withAttachments } from "./attachments.js";
import { tidySubject } from "./mail-text.js";
import { decodeQuotedPrintable } from "./quoted-printable.js";

/** Labels whose text is UTF-8 or, where it is not valid UTF-8, windows-1252 (the superset of latin1 and ASCII). */
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

export interface BodyHeaders {
  readonly contentType: string;
  readonly transferEncoding: string;
  readonly disposition: string;
}

/** Parses a forwarded mail; the reason where it is none, null where it is not to be read. */
export type ParseForwarded = (raw: Buffer) => Email | string | null | Promise<Email | string>;

/**
 * The text of a mail. A single text part in a Western charset (every mail of the Enron corpus) is decoded here; multipart, HTML,
 * base64, flowed text and all other charsets are left to postal-mime. A mail without readable text gives an empty
 * one; attachments and forwarded mails stand behind it; a structure that postal-mime refuses gives the body as it stands.
 */
export function decodeBody(
  headers: BodyHeaders,
  body: Buffer,
  raw: Buffer,
  parseForwarded: ParseForwarded,
): string | Promise<string> {
  const encoding = /[\w-]+/.exec(headers.transferEncoding)?.[0]?.toLowerCase() ?? "";
  const charset = westernCharset(headers.contentType);
  const isAttached = /^attachment\b/i.test(headers.disposition);
  if (charset === null || encoding === "base64" || isAttached) return decodeApart(body, raw, parseForwarded);
  return decodeWestern(encoding === "quoted-printable" ? decodeQuotedPrintable(body) : body, charset);
}

/** The charset where the content is plain text that `decodeWestern` can read, else null. */
function westernCharset(contentType: string): string | null {
  const type = (/^[^;\s]*/.exec(contentType)?.[0] ?? "").toLowerCase();
  // A bare word such as `text` is no type; RFC 2045 5.2 reads such mail as plain text.
  if (type === "text/html" || (type.includes("/") && !type.startsWith("text/"))) return null;
  if (/format\s*=\s*"?flowed/i.test(contentType)) return null;
  const charset = (/charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? "").toLowerCase();
  return WESTERN.has(charset) ? charset : null;
}

/**
 * Valid UTF-8 is read as such whatever the label says: text exported from a latin1 mail into a UTF-8 file (CSV) keeps
 * its old label, and latin1 text that happens to be valid multi-byte UTF-8 does not occur by chance. Else latin1; what
 * windows-1252 has over it is put right for all texts alike, in `mail-text.ts`.
 */
function decodeWestern(bytes: Buffer, charset: string): string {
  if (isAscii(bytes)) return bytes.toString("latin1");
  if (isUtf8(bytes) || charset.startsWith("utf")) return bytes.toString("utf8");
  return bytes.toString("latin1");
}

type Decode = (body: Buffer, raw: Buffer, parseForwarded: ParseForwarded) => Promise<string>;

let decodeApart: Decode = decodeWithLibrary;

/** Where `decodeWithLibrary` is called from now on: it may take any time, and an import gives it a thread with a time limit. */
export function decodeElsewhere(decode: Decode): void {
  decodeApart = decode;
}

export async function decodeWithLibrary(body: Buffer, raw: Buffer, parseForwarded: ParseForwarded): Promise<string> {
  const library = new PostalMime({ forceRfc822Attachments: true });
  try {
    const mail = await library.parse(raw);
    const attachments = attachmentsOf(library);
    const sections = await Promise.all(attachments.map((one) => sectionOf(one, parseForwarded)));
    return withAttachments(
      await textOf(mail),
      attachments,
      sections.filter((section) => section !== null),
    );
  } catch {
    return decodeWestern(body, "");
  }
}

async function textOf(mail: Awaited<ReturnType<PostalMime["parse"]>>): Promise<string> {
  if (mail.text !== undefined) return mail.text;
  if (mail.html !== undefined) return htmlToText(mail.html);
  const [only, ...others] = mail.attachments;
  // The whole mail is text of some other type.
  if (only === undefined || others.length > 0 || only.disposition === "attachment") return "";
  if (!only.mimeType.startsWith("text/") || typeof only.content === "string") return "";
  return new TextDecoder().decode(only.content);
}

/** Null where there is no text to show, or it stands in the body. */
async function sectionOf(attachment: Attachment, parseForwarded: ParseForwarded): Promise<Section | null> {
  const { name, type, text, isInBody } = attachment;
  if (attachment.isMail) {
    const mail = await parseForwarded(attachment.content);
    if (mail === null) return null;
    if (typeof mail !== "string") return forwardedSection(mail);
  }
  if (text === null || isInBody) return null;
  return { title: `Attachment: ${name || type}`, text: type === "text/html" ? await htmlToText(text) : text };
}

function forwardedSection({ subject, sender, to, cc, date, body }: Email): Section {
  const header = [
    `From: ${sender}`,
    `To: ${to.join(", ")}`,
    ...(cc.length > 0 ? [`Cc: ${cc.join(", ")}`] : []),
    ...(date === null ? [] : [`Date: ${date}`]),
    `Subject: ${subject}`,
  ];
  return {
    title: `Forwarded mail: ${tidySubject(subject) || "(no subject)"}`,
    text: `${header.join("\n")}\n\n${body}`,
  };
}

/** postal-mime turns HTML into text where a mail mixes both kinds, so it is given one that does. */
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
