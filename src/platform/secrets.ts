// Recognizes secrets by name or format, and redacts them from text, bytes and JSON in every encoding.
import type { JsonValue } from "./json.js";
import { memoize } from "./memoize.js";

const REDACTED = "[secret]";

/** Minimum length of a secret. Shorter values would match ordinary text. */
const MIN_LENGTH = 4;

/** Minimum bytes of an encoded secret. Shorter values in base64 or hex would match other such text. */
const MIN_ENCODED_BYTES = 6;

/** Names of fields with a secret, such as `api_key`. Excludes keys of caches, and the special tokens of tokenizers. */
const SECRET_NAME =
  /(?:(?<!cache[-_]?)key|(?<!(?:bos|cls|end|eos|image|mask|pad|sep|start|stop|unk)[-_]?)token|secret|passw(?:or)?d|passphrase|credentials?|authorization|bearer|cookie)(?:[-_]?(?:id|value))?$/i;

/** Formats of the keys of common providers and services, and of JSON Web Tokens. */
const KEY_FORMAT =
  /\b(?:[spr]k[-_][\w-]{16,}|AIza[\w-]{30,}|A[KS]IA[0-9A-Z]{16}|hf_\w{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xai-\w{20,}|gsk_\w{20,}|nvapi-[\w-]{20,}|pplx-\w{20,}|r8_\w{20,}|tgp_v1_[\w-]{20,}|fw_\w{16,}|xox[abprs]-[\w-]{10,}|ya29\.[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,})|-----BEGIN [A-Z ]*PRIVATE KEY/;

/** Returns whether a field or variable of this name contains a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/** Returns whether a text contains a key in the format of a common service. */
export const containsKey = (text: string): boolean => KEY_FORMAT.test(text);

interface SecretForms {
  /** Forms as they appear in text, longest first, because one can be a prefix of another. */
  readonly whole: readonly string[];
  /** Base64 and hex forms, which programs break into lines and groups. */
  readonly encoded: readonly string[];
}

/** Returns each secret's forms: plain, JSON-escaped, URL-encoded, in base64 and in hex. */
const formsOf = memoize((secrets: readonly string[]): SecretForms => {
  const long = secrets.filter((secret) => secret.length >= MIN_LENGTH);
  const encoded = new Set(long.flatMap(encodedForms));
  const escaped = long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), ...urlForms(secret)]);
  const longestFirst = (forms: Iterable<string>) => [...forms].sort((a, b) => b.length - a.length);
  return { whole: longestFirst(new Set([...escaped, ...encoded])), encoded: longestFirst(encoded) };
});

function urlForms(secret: string): string[] {
  // A lone surrogate has no URL-encoded form.
  const component = encodeURIComponent(secret.toWellFormed());
  const strict = component.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return [component, strict, ...[component, strict].map((form) => form.replaceAll("%2F", "/"))].flatMap((form) => [
    form,
    form.replaceAll("%20", "+"),
    form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  ]);
}

/**
 * Returns the base64 and hex forms. Base64 depends on the number of preceding bytes modulo 3, and its last character
 * also on the next bytes.
 */
function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < MIN_ENCODED_BYTES) return [];
  const aligned = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    return whole.toString("base64").slice(before === 0 ? 0 : before + 1, Math.floor((whole.length * 8) / 6));
  });
  const base64 = [bytes.toString("base64"), ...aligned];
  const hex = bytes.toString("hex");
  return [...base64, ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")), hex, hex.toUpperCase()];
}

/** White space within an encoded text, plain or JSON-escaped. */
const BREAKS = /\s+|\\[nrt]/g;

function redactForms(text: string, { whole, encoded }: SecretForms): string {
  let clean = whole.reduce((rest, form) => rest.replaceAll(form, REDACTED), text);
  if (encoded.length === 0) return clean;
  const flat = clean.replace(BREAKS, "");
  if (flat.length === clean.length) return clean;
  for (const form of encoded) {
    if (!flat.includes(form)) continue;
    const broken = [...form].map((char) => char.replace(/[+/=\-_]/, "\\$&")).join("(?:\\s|\\\\[nrt])*");
    clean = clean.replace(new RegExp(broken, "g"), REDACTED);
  }
  return clean;
}

/**
 * Replaces secrets in a text, including URL-encoded, base64 and hex forms. Call it before truncating, because it does
 * not find part of a secret.
 */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets.length === 0 ? text : redactForms(text, formsOf(secrets));
}

/** Like `redact`, for the bytes of a file as a latin1 string. */
export function redactBytes(bytes: string, secrets: readonly string[]): string {
  const { whole, encoded } = formsOf(secrets);
  return redactForms(bytes, { whole: whole.map((form) => Buffer.from(form).toString("latin1")), encoded });
}

/** Replaces secrets in a JSON value, including property names. */
export function redactJson<T extends JsonValue>(value: T, secrets: readonly string[]): T {
  const forms = formsOf(secrets);
  if (forms.whole.length === 0) return value;
  const clean = (item: JsonValue): JsonValue => {
    if (typeof item === "string") return redactForms(item, forms);
    if (Array.isArray(item)) return item.map(clean);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([key, inner]) => [clean(key) as string, clean(inner)]));
  };
  return clean(value) as T;
}

/** Returns the number of extra characters to buffer of a text truncated while reading, for `redactEnd`. */
export function longestSecret(secrets: readonly string[]): number {
  // Encoded secrets can be broken into lines and groups.
  return 2 * (formsOf(secrets).whole[0]?.length ?? 0);
}

/** Returns the last `maxChars` characters of a text whose end was buffered, without a partial secret at its start. */
export function redactEnd(text: string, isCut: boolean, maxChars: number, secrets: readonly string[]): string {
  const clean = redact(text, secrets);
  return (isCut ? clean.slice(longestSecret(secrets)) : clean).slice(-maxChars);
}
