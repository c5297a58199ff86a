import type { Email } from "../../src/mail/email.js";

export const INBOX = "ann.lee@example.com";

let nextId = 0;
export function mail(changes: Partial<Email> = {}): Email {
  nextId++;
  return {
    messageId: `<${nextId}@x>`,
    subject: "Harbor lease",
    sender: "bo.kim@example.com",
    to: [INBOX],
    cc: [],
    bcc: [],
    date: `2001-05-${String((nextId % 27) + 1).padStart(2, "0")}T10:00:00Z`,
    body: "The quarterly rent for the harbor lease stays at $12,500 as agreed with the port authority last week.",
    ...changes,
  };
}

export const long = (text: string) => `${text} ${"More about the pier, its cranes and the tide tables. ".repeat(5)}`;
