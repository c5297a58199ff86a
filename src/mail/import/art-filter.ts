// The import filter of OpenPipe's ART, for runs over the same emails as the published figures.
import { hash } from "node:crypto";
import type { Email } from "../email.js";

export type ArtRule = (typeof ART_RULES)[number];

/** The rule that drops this email regardless of all others, or a key that is the same for repeats of an email. */
export type ArtFinding = { readonly drop: ArtRule } | { readonly repeatKey: string };

/** ART's three rules, in the order of application. */
export const ART_RULES = ["long_body", "many_recipients", "repeat"] as const;

const MAX_BODY = 5_000;

const MAX_RECIPIENTS = 30;

/**
 * Applies the import filter of OpenPipe's ART to an email before normalization. The maximum is 5,000 body characters,
 * including white space, and 30 recipients (to, cc and bcc, including repeats). Of several emails with the same
 * subject, body and sender, only the first passes.
 */
export function applyArtRules(email: Email): ArtFinding {
  const { beforeBody = "", behindBody = "", recipients } = email.asWritten ?? {};
  const body = `${beforeBody}${email.body}${behindBody}`;
  // Count code points, like Python.
  if (body.length > MAX_BODY && [...body].length > MAX_BODY) return { drop: "long_body" };
  if ((recipients ?? email.to.length + email.cc.length + email.bcc.length) > MAX_RECIPIENTS) {
    return { drop: "many_recipients" };
  }
  return { repeatKey: hash("sha256", JSON.stringify([email.subject, body, email.sender]), "base64") };
}

/** Returns a function that returns the rule that drops an email, or null. Only the first email with a key passes. */
export function artFilter(): (finding: ArtFinding) => ArtRule | null {
  const passed = new Set<string>();
  return (finding) => {
    if ("drop" in finding) return finding.drop;
    if (passed.has(finding.repeatKey)) return "repeat";
    passed.add(finding.repeatKey);
    return null;
  };
}
