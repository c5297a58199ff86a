import type { Email } from "../domain/email.js";
import { emailOf } from "./email-fields.js";
import { splitMail } from "./header-block.js";
import { parseMailDate } from "./mail-date.js";
import { decodeBody, type ParseForwarded } from "./mime.js";
import { MimeFailed } from "./mime-thread.js";

/** A larger mail is bad: nothing in the corpus comes near it, and a batch of such would fill the memory. */
export const MAX_MAIL_BYTES = 64 * 1024 * 1024;
export const TOO_LARGE = "it is larger than 64 MB";

/** A mail forwarded in a mail forwarded in a mail ...: deeper ones are listed, not read. */
const DEEPEST_FORWARD = 5;

/** At least one of these must be there for bytes to be a mail. */
const PROOFS = ["message-id", "date", "from", "sender", "to", "subject"];

/**
 * Parses one mail (RFC 5322, MIME). Gives the reason, as the end of a sentence, where the bytes are no mail; never
 * throws. At once where it can, since waiting costs more than parsing most mails does. X- headers are ignored; of a repeated address header all values count, of any other the first.
 */
export function parseEmail(raw: Uint8Array, depth = 0): Email | string | Promise<Email | string> {
  if (raw.length === 0) return "it is empty";
  if (raw.length > MAX_MAIL_BYTES) return TOO_LARGE;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const { headers, body } = splitMail(bytes);
  if (!PROOFS.some((name) => headers.has(name))) {
    return bytes.subarray(0, 4096).includes(0)
      ? "it is binary data, not a mail"
      : "it has no mail header (Message-ID, Date, From, To or Subject)";
  }
  const first = (name: string) => headers.get(name)?.find((value) => value !== "") ?? "";
  const all = (name: string) => headers.get(name)?.join(", ") ?? "";
  const bodyHeaders = {
    contentType: first("content-type"),
    transferEncoding: first("content-transfer-encoding"),
    disposition: first("content-disposition"),
  };
  const mailWith = (text: string) =>
    emailOf({
      messageId: first("message-id"),
      subject: first("subject"),
      from: first("from") || first("sender"),
      to: all("to"),
      cc: all("cc"),
      bcc: all("bcc"),
      date: parseMailDate(first("date")),
      body: text,
    });
  const text = decodeBody(bodyHeaders, body, bytes, forwardedIn(depth));
  return typeof text === "string" ? mailWith(text) : text.then(mailWith, unreadable);
}

/** Parses what is forwarded in a mail of this depth. */
export function forwardedIn(depth: number): ParseForwarded {
  return (inner) => (depth < DEEPEST_FORWARD ? parseEmail(inner, depth + 1) : null);
}

function unreadable(error: unknown): string {
  if (error instanceof MimeFailed) return error.message;
  throw error;
}
