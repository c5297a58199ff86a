import type { MailForm } from "../email.js";
import { MAX_MAIL_BYTES, parseEmail, TOO_LARGE } from "../mime-body.js";
import { fileEmail, type ReadResult } from "./batches.js";
import { collect, type MailFile } from "./mail-file.js";
import { emlxLineLength } from "./recognize.js";

/** A file that is one email. */
export async function readEmailFile(file: MailFile, content: AsyncIterable<Buffer>): Promise<ReadResult> {
  const bytes = await collect(content, MAX_MAIL_BYTES);
  return bytes === null ? { bad: { where: file.where, reason: TOO_LARGE } } : readEmailBytes(file, bytes);
}

export async function readEmailBytes(file: MailFile, bytes: Buffer): Promise<ReadResult> {
  const email = await parseEmail(bytes);
  if (typeof email === "string") return { bad: { where: file.where, reason: email } };
  return { email: fileEmail(email, file.place.ofEmail(), emailFormOf(file.name, file.place.isInMaildir, bytes)) };
}

export function emailFormOf(name: string, isInMaildir: boolean, bytes: Buffer): MailForm {
  if (isInMaildir) return "maildir";
  if (name.endsWith(".emlx") || emlxLineLength(bytes) > 0) return "emlx";
  return /\.[a-z][a-z0-9]*$/i.test(name) ? "eml" : "maildir";
}
