// Parses JSON from outside within a depth limit, and finds JSON objects inside other text.
import { z } from "zod";
import type { JsonObject, JsonValue } from "./json-value.js";

export type { JsonObject, JsonSchema, JsonValue } from "./json-value.js";

/** Returns the value of a JSON text, or null if the text is not JSON. */
export function parseJsonOrNull(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Maximum nesting depth. Deeper JSON would overflow the stack of recursive code. */
export const MAX_JSON_DEPTH = 100;

/** Returns the nesting depth of a JSON text. Counts brackets and braces outside of strings, without recursion. */
export function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === BRACKET || code === BRACE) deepest = Math.max(deepest, ++depth);
    else if (code === BRACKET + 2 || code === BRACE + 2) depth--;
  }
  return deepest;
}

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const BACKSLASH = 0x5c;
// Code points of the opening characters. The closing character's code is 2 higher.
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** Returns whether a value is nested at most MAX_JSON_DEPTH levels deep. */
export function isShallow(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= MAX_JSON_DEPTH; depth++) {
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
    if (level.length === 0) return true;
  }
  return false;
}

/**
 * Returns how many of `left` characters remain after a value as JSON, approximately, or a negative number. Stops at the
 * limit, also for a cycle and for an object that is used so often that its JSON would be endless.
 */
export function charsLeft(value: unknown, left: number): number {
  const open: unknown[] = [value];
  let remaining = left;
  while (open.length > 0 && remaining >= 0) {
    const item = open.pop();
    remaining -= typeof item === "string" ? item.length + 2 : CHARS_PER_VALUE;
    if (typeof item !== "object" || item === null) continue;
    // The number of items is checked first, because listing them takes time, too.
    const items = ArrayBuffer.isView(item) ? item.byteLength : Array.isArray(item) ? item.length : 0;
    if (items * CHARS_PER_VALUE > remaining) return -1;
    if (!Array.isArray(item)) for (const key of Object.keys(item)) remaining -= key.length;
    for (const inner of Array.isArray(item) ? item : Object.values(item)) open.push(inner);
  }
  return remaining;
}

/** Numbers and brackets, with their separators. More than most have, because each takes time to check. */
const CHARS_PER_VALUE = 10;

/** Maximum number of characters to scan, because each brace can require a scan of the rest of the text. */
const MAX_SCANNED = 16_000_000;

/** Returns the outermost JSON objects in a text, in order. Skips everything else. */
export function jsonObjectsIn(text: string): JsonObject[] {
  const objects: JsonObject[] = [];
  let at = text.indexOf("{");
  for (let scanned = 0; at !== -1 && scanned < MAX_SCANNED; ) {
    const end = closingBrace(text, at);
    scanned += (end === -1 ? text.length : end) - at;
    const value =
      end === -1 ? null : (parseJsonOrNull(text.slice(at, end + 1)) ?? parsePythonOrNull(text.slice(at, end + 1)));
    if (isJsonObject(value) && isShallow(value)) objects.push(value);
    at = text.indexOf("{", value === null ? at + 1 : end + 1);
  }
  return objects;
}

/** Parses a Python literal, as some models write it instead of JSON: other quotes, words, line breaks and commas. */
export function parsePythonOrNull(text: string): JsonValue {
  const json = text.replace(PYTHON_TOKEN, (token, double?: string, single?: string) => {
    const body = double ?? single;
    return body === undefined ? (PYTHON_WORDS.get(token) ?? "") : jsonString(body);
  });
  return json === text ? null : parseJsonOrNull(json);
}

/** The end of a string in single quotes. An apostrophe before a letter or a space is part of the string. */
const CLOSING_QUOTE = "'(?=\\s?(?:[,:}\\])]|$))";

/** A string, a word, or a comma before a closing bracket. */
const PYTHON_TOKEN = new RegExp(
  `(?:\\b[bru])?(?:"((?:[^"\\\\]|\\\\.)*)"|'((?:[^'\\\\]|\\\\.|(?!${CLOSING_QUOTE})')*)')|\\b(?:True|False|None)\\b|,(?=\\s*[}\\]])`,
  "gs",
);

const PYTHON_WORDS = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);

/** Escapes what JSON does not allow in a string: quotes, line breaks, and other escapes than its own. */
function jsonString(body: string): string {
  const json = body.replace(/\\(.)|["\p{Cc}]/gsu, (match, escaped?: string) => {
    if (escaped === undefined) return JSON.stringify(match).slice(1, -1);
    if (escaped === "x") return "\\u00";
    return '"\\/bfnrtu'.includes(escaped) ? match : escaped;
  });
  return `"${json}"`;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the index of the brace that closes the one at `start`, ignoring braces in strings, or -1 if it is missing.
 */
function closingBrace(text: string, start: number): number {
  let depth = 0;
  let quote = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quote !== 0) {
      if (code === BACKSLASH) i++;
      else if (code === quote && (code === QUOTE || isClosingQuote(text, i))) quote = 0;
    } else if (code === QUOTE || (code === APOSTROPHE && !isWordCharacter(text.charCodeAt(i - 1)))) quote = code;
    else if (code === BRACE) depth++;
    else if (code === BRACE + 2 && --depth === 0) return i;
  }
  return -1;
}

/** Like `CLOSING_QUOTE`. Nothing after the quote closes it, too. Works on codes, because it runs for every quote. */
function isClosingQuote(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  const code = next <= SPACE ? text.charCodeAt(at + 2) : next;
  return Number.isNaN(code) || CLOSERS.has(code);
}

/** The highest code of the white space that models write. */
const SPACE = 0x20;
const CLOSERS: ReadonlySet<number> = new Set([...",:}])"].map((closer) => closer.charCodeAt(0)));

function isWordCharacter(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x5f;
}

/** Checks the depth before z.json(), which is recursive. */
const shallow = z.unknown().refine(isShallow, {
  abort: true,
  message: `expected JSON, nested at most ${MAX_JSON_DEPTH} levels deep`,
});

export const jsonValueSchema = shallow.pipe(z.json()) as unknown as z.ZodType<JsonValue>;

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema) as z.ZodType<JsonObject>;

/**
 * Returns the first problem with a value: `path.to.field: expected a string`. `whole` is the name of the value itself.
 */
export function firstIssue({ issues: [issue] }: z.ZodError, whole = ""): string {
  const where = issue?.path.join(".") || whole;
  const what = issue?.message ?? "invalid value";
  return where === "" ? what : `${where}: ${what}`;
}
