import type { Email } from "./email.js";

type Shown = Pick<Email, "messageId" | "date" | "sender" | "to" | "cc" | "bcc" | "subject" | "body">;

/** A mail as text: its headers, an empty line, its body. `labelWidth` aligns the values of the headers. */
export function formatMail(mail: Shown, labelWidth = 0): string {
  const header = (label: string, value: string) => `${`${label}:`.padEnd(labelWidth)} ${value}`;
  const list = (label: string, addresses: readonly string[]) =>
    addresses.length === 0 ? [] : [header(label, addresses.join(", "))];
  return [
    header("Message-ID", mail.messageId),
    header("Date", mail.date ?? "unknown"),
    header("From", mail.sender),
    ...list("To", mail.to),
    ...list("Cc", mail.cc),
    ...list("Bcc", mail.bcc),
    header("Subject", mail.subject),
    "",
    mail.body,
  ].join("\n");
}
