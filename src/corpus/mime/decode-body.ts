import { isAscii, isUtf8 } from "node:buffer";
import PostalMime from "postal-mime";
import { type Attachment, attachmentsOf, type Section, withAttachments } from "./attachments.js";
import { buildEmail } from "./build-email.js";
import { type BodyHeaders, type RawMail, readMailFields } from "./mail-fields.js";
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

/** A mail forwarded in a mail forwarded in a mail ...: deeper ones are listed, not read. */
const MAX_FORWARD_DEPTH = 5;

/**
 * The text of a mail. A single text part in a Western charset (every mail of the Enron corpus) is decoded here; multipart, HTML,
 * base64, flowed text and all other charsets are left to postal-mime. A mail without readable text gives an empty
 * one; attachments and forwarded mails stand behind it; a structure that postal-mime refuses gives the body as it stands.
 */
export function decodeBody(headers: BodyHeaders, body: Buffer, raw: Buffer): string | Promise<string> {
  return decodePlain(headers, body) ?? libraryDecoder(body, raw);
}

/** The text where it is one that needs no library, else null. */
function decodePlain(headers: BodyHeaders, body: Buffer): string | null {
  const encoding = /[\w-]+/.exec(headers.transferEncoding)?.[0]?.toLowerCase() ?? "";
  const charset = westernCharset(headers.contentType);
  const isAttached = /^attachment\b/i.test(headers.disposition);
  if (charset === null || encoding === "base64" || isAttached) return null;
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

type Decode = (body: Buffer, raw: Buffer) => Promise<string>;

let libraryDecoder: Decode = decodeWithLibrary;

/** Where `decodeWithLibrary` is called from now on: it may take any time, and an import gives it a thread with a time limit. */
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
  // The whole mail is text of some other type.
  if (only === undefined || others.length > 0) return "";
  const isBody = only.mimeType.startsWith("text/") && only.disposition !== "attachment";
  return isBody && typeof only.content !== "string" ? new TextDecoder().decode(only.content) : "";
}

/** Null where there is no text to show, or it stands in the body. */
async function sectionOf({ name, type, content, text, isMail, isInBody }: Attachment, depth: number) {
  if (isMail && depth === MAX_FORWARD_DEPTH) return null;
  const forwarded = isMail ? readMailFields(content) : "it is no mail";
  if (typeof forwarded !== "string") return forwardedSection(forwarded, content, depth + 1);
  if (text === null || isInBody) return null;
  return { title: `Attachment: ${name || type}`, text: type === "text/html" ? await htmlToText(text) : text };
}

async function forwardedSection({ fields, bodyHeaders, body }: RawMail, raw: Buffer, depth: number): Promise<Section> {
  const text = decodePlain(bodyHeaders, body) ?? (await decodeWithLibrary(body, raw, depth));
  const mail = buildEmail({ ...fields, body: text });
  const header = [
    `From: ${mail.sender}`,
    `To: ${mail.to.join(", ")}`,
    ...(mail.cc.length > 0 ? [`Cc: ${mail.cc.join(", ")}`] : []),
    ...(mail.date === null ? [] : [`Date: ${mail.date}`]),
    `Subject: ${mail.subject}`,
  ];
  return { title: `Forwarded mail: ${mail.subject || "(no subject)"}`, text: `${header.join("\n")}\n\n${mail.body}` };
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
