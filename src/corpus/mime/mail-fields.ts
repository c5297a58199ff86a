import type { EmailFields } from "./build-email.js";
import { parseMailDate } from "./mail-date.js";
import { splitMessage } from "./split-message.js";

/** A mail has at least one of these. */
const IDENTIFYING_HEADERS = ["message-id", "date", "from", "sender", "to", "subject"];

export interface BodyHeaders {
  readonly contentType: string;
  readonly transferEncoding: string;
  readonly disposition: string;
}

export interface RawMail {
  readonly fields: Omit<EmailFields, "body">;
  readonly bodyHeaders: BodyHeaders;
  readonly body: Buffer;
}

/**
 * The parsed header and the raw body of a mail; the reason, as the end of a sentence, where the bytes are no mail. Of
 * a repeated address header all values count, of any other the first.
 */
export function readMailFields(bytes: Buffer): RawMail | string {
  const { headers, body } = splitMessage(bytes);
  if (!IDENTIFYING_HEADERS.some((name) => headers.has(name))) {
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
  const fields = {
    messageId: first("message-id"),
    subject: first("subject"),
    from: first("from") || first("sender"),
    to: all("to"),
    cc: all("cc"),
    bcc: all("bcc"),
    date: parseMailDate(first("date")),
  };
  return { fields, bodyHeaders, body };
}
