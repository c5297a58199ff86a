import type { JsonValue } from "./json.js";

const REDACTED = "[secret]";

/** Shorter values would match ordinary text. */
const MIN_LENGTH = 4;

/** Each plain and JSON-escaped; longest first, since one may be a prefix of another. */
function formsOf(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH);
  const forms = new Set(long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Replaces secrets in a text. Call it before truncating: part of a secret is not found. */
export function redact(text: string, secrets: readonly string[]): string {
  return formsOf(secrets).reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
}

/** Replaces secrets in a JSON value, including field names. */
export function redactJson<T extends JsonValue>(value: T, secrets: readonly string[]): T {
  const forms = formsOf(secrets);
  if (forms.length === 0) return value;
  const clean = (item: JsonValue): JsonValue => {
    if (typeof item === "string") return forms.reduce((text, secret) => text.replaceAll(secret, REDACTED), item);
    if (Array.isArray(item)) return item.map(clean);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [clean(key) as string, clean(inner)]));
  };
  return clean(value) as T;
}

/** Extra characters to buffer of a text truncated while reading, for `redactEnd` and `redactStart`. */
export function longestSecret(secrets: readonly string[]): number {
  return formsOf(secrets)[0]?.length ?? 0;
}

/** The last `shown` characters of a text whose end was buffered, without a partial secret at its start. */
export function redactEnd(kept: string, isCut: boolean, shown: number, secrets: readonly string[]): string {
  const clean = redact(kept, secrets);
  return (isCut ? clean.slice(longestSecret(secrets)) : clean).slice(-shown);
}

/** A text of which only the start was buffered, without a partial secret at its end. */
export function redactStart(kept: string, isCut: boolean, secrets: readonly string[]): string {
  const clean = redact(kept, secrets);
  return isCut ? clean.slice(0, Math.max(0, clean.length - longestSecret(secrets))) : clean;
}
