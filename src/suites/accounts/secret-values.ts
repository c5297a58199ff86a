import type { JsonValue } from "../../domain/json.js";

/** Names that everybody has: hiding them would hide paths, and no secret. */
const PUBLIC: ReadonlySet<string> = new Set(["admin", "home", "root", "user", "true", "false", "none", "null"]);

/** Base64 writes three bytes as four characters; of fewer groups than this a text could be anything. */
const FEWEST_GROUPS = 2;

/** Texts and numbers of a JSON value, at any depth. */
export function textsOf(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => textsOf(item as JsonValue));
}

/** Secrets as programs print them: plain, line by line, in base64 and in addresses. */
export function secretForms(values: readonly string[]): string[] {
  const secrets = values.filter((value) => !PUBLIC.has(value.toLowerCase()));
  return [...new Set(secrets.flatMap((secret) => [secret, ...linesOf(secret), ...base64Of(secret), inUrl(secret)]))];
}

/** Such as those of a private key. */
function linesOf(secret: string): string[] {
  return secret.includes("\n") ? secret.split("\n").filter((line) => line.length >= 16) : [];
}

/** Whole, and its beginning, which is the same where more text follows. */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const groups = Math.floor(bytes.length / 3);
  const begin = groups < FEWEST_GROUPS ? [] : [bytes.subarray(0, 3 * groups).toString("base64")];
  return [bytes.toString("base64"), ...begin];
}

function inUrl(secret: string): string {
  // A half of a character has no form in an address.
  return encodeURIComponent(secret.toWellFormed());
}
