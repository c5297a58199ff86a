import { distance } from "fastest-levenshtein";
import { UserError } from "./errors.js";
import type { JsonValue } from "./json.js";

/**
 * Replaces control characters and bidi marks, which could steer a terminal or reverse a line, by visible symbols
 * (U+2400 and up) or U+FFFD.
 */
export function stripControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]/gu, (control) =>
    control.charCodeAt(0) < 0x20 ? String.fromCharCode(0x2400 + control.charCodeAt(0)) : "\ufffd",
  );
}

/**
 * Splits a command line into words: white space separates them, quotes keep them together, nothing is expanded.
 * The library string-argv does the same, but accepts a quote that is not closed.
 */
export function splitShellWords(line: string, flag: string): string[] {
  if (!/^(?:[^"']|"[^"]*"|'[^']*')*$/.test(line)) {
    throw new UserError("flag_invalid", `${flag}: a quote is not closed.`, "Close it, or leave it out.");
  }
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return words.map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""),
  );
}

/** How many letters may be wrong: a third of the word, and one of a short one. */
const wrongLetters = (name: string) => Math.max(1, Math.floor(name.length / 3));

/** The known names that a mistyped one was probably meant as, most like it first; at most three. */
export function nearestNames(mistyped: string, known: Iterable<string>): string[] {
  const word = mistyped.toLowerCase();
  const limit = wrongLetters(word);
  return [...known]
    .map((name) => ({ name, wrong: wrongIn(word, name.toLowerCase()) }))
    .filter(({ wrong }) => wrong <= limit)
    .sort((a, b) => a.wrong - b.wrong)
    .slice(0, 3)
    .map(({ name }) => name);
}

function wrongIn(word: string, name: string): number {
  if (word.length >= 2 && name.startsWith(word)) return 0;
  // Letters in another order count as one mistake, not as two.
  return sorted(word) === sorted(name) ? 1 : distance(word, name);
}

function sorted(word: string): string {
  return [...word].sort().join("");
}

/** `Did you mean --limit? `, with a space after it; nothing where no name is near. */
export function didYouMean(mistyped: string, known: Iterable<string>): string {
  const near = nearestNames(mistyped, known);
  return near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;
}

/** An option's name as the user types it: `maxTaskCost` becomes `--max-task-cost`. */
export function flagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * The text without any of `characters` at its end. `/[...]+$/` would take quadratic time where many stand before the
 * end.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}

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
