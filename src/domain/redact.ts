import type { JsonValue } from "./json.js";

const REDACTED = "[secret]";

/** Shorter ones are found in any text. */
const MIN_LENGTH = 4;

/** As they stand in a text, and as they stand in JSON; the longest first, since one may begin another. */
function formsOf(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH);
  const forms = new Set(long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]));
  return [...forms].sort((a, b) => b.length - a.length);
}

/** The text without the secrets. To be called before anything is cut off: half a secret is not found. */
export function redact(text: string, secrets: readonly string[]): string {
  return formsOf(secrets).reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
}

/** The same of a JSON value, names of its fields included. */
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

/** How much more than is shown has to be kept of a text that is cut while it is read, for `redactEnd` and `redactStart`. */
export function longestSecret(secrets: readonly string[]): number {
  return formsOf(secrets)[0]?.length ?? 0;
}

/** The last `shown` characters of a text of which only the end was kept: what may be half a secret at its start goes. */
export function redactEnd(kept: string, isCut: boolean, shown: number, secrets: readonly string[]): string {
  const clean = redact(kept, secrets);
  return (isCut ? clean.slice(longestSecret(secrets)) : clean).slice(-shown);
}

/** A text of which only the start was kept: what may be half a secret at its end goes. */
export function redactStart(kept: string, isCut: boolean, secrets: readonly string[]): string {
  const clean = redact(kept, secrets);
  return isCut ? clean.slice(0, Math.max(0, clean.length - longestSecret(secrets))) : clean;
}
