import type { Email } from "../../domain/mail/email.js";
import { buildEmail } from "./build-email.js";
import { decodeBody } from "./decode-body.js";
import { readMailFields } from "./mail-fields.js";
import { MimeFailed } from "./mime-worker-client.js";

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
