import { createHash } from "node:crypto";
import type { Email } from "../domain/email.js";

/** ART's three rules, in the order in which they are asked. */
export const ART_RULES = ["long_body", "many_recipients", "repeat"] as const;

export type ArtRule = (typeof ART_RULES)[number];

const MAX_BODY = 5_000;
const MAX_RECIPIENTS = 30;

/**
 * The import filter of OpenPipe's ART: no body over 5,000 characters, no more than 30 recipients (to, cc
 * and bcc, each address once), and of mails alike in subject, body and sender the first one read.
 * Returns the rule that drops a mail, or null. Remembers what it has passed.
 */
export function artFilter(): (email: Email) => ArtRule | null {
  const passed = new Set<string>();
  return (email) => {
    if (email.body.length > MAX_BODY) return "long_body";
    if (new Set([...email.to, ...email.cc, ...email.bcc]).size > MAX_RECIPIENTS) return "many_recipients";
    const key = createHash("sha256")
      .update(JSON.stringify([email.subject, email.body, email.sender]))
      .digest("base64");
    if (passed.has(key)) return "repeat";
    passed.add(key);
    return null;
  };
}
