import { createHash } from "node:crypto";
import type { Email } from "../domain/mail/email.js";

/** ART's three rules in order of application. */
export const ART_RULES = ["long_body", "many_recipients", "repeat"] as const;

export type ArtRule = (typeof ART_RULES)[number];

const MAX_BODY = 5_000;
const MAX_RECIPIENTS = 30;

/**
 * The import filter of OpenPipe's ART, applied to mail before normalization: at most 5,000 characters of body, white
 * space included; at most 30 recipients (to, cc and bcc, repeats included); of mails with equal subject, body and
 * sender only the first. Returns the rule that drops a mail, or null.
 */
export function artFilter(): (email: Email) => ArtRule | null {
  const passed = new Set<string>();
  return (email) => {
    const { beforeBody = "", behindBody = "", recipients } = email.asWritten ?? {};
    const body = `${beforeBody}${email.body}${behindBody}`;
    // Python counts code points.
    if (body.length > MAX_BODY && [...body].length > MAX_BODY) return "long_body";
    if ((recipients ?? email.to.length + email.cc.length + email.bcc.length) > MAX_RECIPIENTS) return "many_recipients";
    const key = createHash("sha256")
      .update(JSON.stringify([email.subject, body, email.sender]))
      .digest("base64");
    if (passed.has(key)) return "repeat";
    passed.add(key);
    return null;
  };
}
