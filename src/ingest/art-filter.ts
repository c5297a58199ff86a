import { hash } from "node:crypto";
import type { Email } from "../domain/mail/email.js";

/** ART's three rules in order of application. */
export const ART_RULES = ["long_body", "many_recipients", "repeat"] as const;

export type ArtRule = (typeof ART_RULES)[number];

/** The rule that drops a mail whatever else there is; else a key, equal for repeats of one mail. */
export type ArtFinding = { readonly drop: ArtRule } | { readonly repeatKey: string };

const MAX_BODY = 5_000;
const MAX_RECIPIENTS = 30;

/**
 * The import filter of OpenPipe's ART, applied to mail before normalization: at most 5,000 characters of body, white
 * space included; at most 30 recipients (to, cc and bcc, repeats included); of mails with equal subject, body and
 * sender only the first.
 */
export function applyArtRules(email: Email): ArtFinding {
  const { beforeBody = "", behindBody = "", recipients } = email.asWritten ?? {};
  const body = `${beforeBody}${email.body}${behindBody}`;
  // Python counts code points.
  if (body.length > MAX_BODY && [...body].length > MAX_BODY) return { drop: "long_body" };
  if ((recipients ?? email.to.length + email.cc.length + email.bcc.length) > MAX_RECIPIENTS) {
    return { drop: "many_recipients" };
  }
  return { repeatKey: hash("sha256", JSON.stringify([email.subject, body, email.sender]), "base64") };
}

/** Returns the rule that drops a mail, or null; of mails with one key the first passes. */
export function artFilter(): (finding: ArtFinding) => ArtRule | null {
  const passed = new Set<string>();
  return (finding) => {
    if ("drop" in finding) return finding.drop;
    if (passed.has(finding.repeatKey)) return "repeat";
    passed.add(finding.repeatKey);
    return null;
  };
}
