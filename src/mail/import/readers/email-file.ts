// Reads a file that contains one email.
import type { Email, MailForm } from "../../email.js";
import { MAX_MAIL_BYTES, mailOfEmlx, parseEmail, TOO_LARGE } from "../../mime/parse-email.js";
import type { ReadResult } from "./batch-mails.js";
import { isPartialEmlx, withEmlxAttachments } from "./emlx-attachments.js";
import { fileEmail, type MailLocation } from "./filed-email.js";
import { collect, type MailFile } from "./mail-file.js";
import { emlxLineLength } from "./recognize.js";

export async function readEmailFile(file: MailFile, content: AsyncIterable<Buffer>): Promise<ReadResult> {
  const bytes = await collect(content, MAX_MAIL_BYTES);
  if (bytes === null) return { bad: { where: file.where, reason: TOO_LARGE } };
  const { name, place } = file;
  const form = !place.isInMaildir && emlxLineLength(bytes) > 0 ? "emlx" : formOf(name, place.isInMaildir);
  const mail = file.disk !== null && isPartialEmlx(name) ? withEmlxAttachments(mailOfEmlx(bytes), file.disk) : bytes;
  return toResult(await parseEmail(mail), file.where, form, place.ofEmail);
}

/**
 * Like `readEmailFile`, but for a file that starts with a header field, the most common case. It does not need a
 * `MailFile`, and is synchronous if the parser is, which saves 5% of the import time.
 */
export function readPlainEmail(
  bytes: Buffer,
  { where, name, isInMaildir }: { readonly where: string; readonly name: string; readonly isInMaildir: boolean },
  location: () => MailLocation,
): ReadResult | Promise<ReadResult> {
  const email = parseEmail(bytes);
  const form = formOf(name, isInMaildir);
  return email instanceof Promise
    ? email.then((parsed) => toResult(parsed, where, form, location))
    : toResult(email, where, form, location);
}

function toResult(email: Email | string, where: string, form: MailForm, location: () => MailLocation): ReadResult {
  return typeof email === "string" ? { bad: { where, reason: email } } : { email: fileEmail(email, location(), form) };
}

function formOf(name: string, isInMaildir: boolean): MailForm {
  if (isInMaildir) return "maildir";
  if (name.endsWith(".emlx")) return "emlx";
  return /\.[a-z][a-z0-9]*$/i.test(name) ? "eml" : "maildir";
}
