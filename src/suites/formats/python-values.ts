// Python's values, YAML and string functions, for suite functions that were written in Python.
import { isUtf8 } from "node:buffer";
import { parseDocument, type ScalarTag, type Tags } from "yaml";
import { type JsonValue, MAX_JSON_DEPTH } from "../../platform/json.js";

/** A value of Python's json and yaml modules. Integers are bigint, so that they stay exact. */
export type PythonValue = null | boolean | bigint | number | string | readonly PythonValue[] | PythonDict | Date;

/** Keeps the file's order, even for keys that look like numbers. */
export type PythonDict = ReadonlyMap<PythonValue, PythonValue>;

const BOOLEAN = "tag:yaml.org,2002:bool";
const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const EXPONENT_WITHOUT_POINT = /^[-+]?[0-9][0-9_]*[eE]/;

/** PyYAML does not read `y` and `n` as booleans. */
const booleans: ScalarTag[] = [
  { tag: BOOLEAN, default: true, test: TRUE, identify: (value) => value === true, resolve: () => true },
  { tag: BOOLEAN, default: true, test: FALSE, identify: (value) => value === false, resolve: () => false },
];

/** PyYAML reads `1e3` as a string. */
const plainExponent: ScalarTag = {
  tag: "tag:yaml.org,2002:str",
  default: true,
  test: EXPONENT_WITHOUT_POINT,
  resolve: (text) => text,
};

/** `yaml.safe_load`: YAML 1.1 with one document. Of duplicate keys, the last one is used. */
export function parseYaml(text: string): PythonValue {
  const document = parseDocument(text, {
    version: "1.1",
    intAsBigInt: true,
    uniqueKeys: false,
    customTags: (tags): Tags => [
      ...booleans,
      plainExponent,
      ...tags.filter((tag) => typeof tag !== "object" || tag.tag !== BOOLEAN),
    ],
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  return document.toJS({ mapAsMap: true, maxAliasCount: 1000 });
}

/**
 * Python's white space (`str.isspace` and `\s`), which differs from JavaScript's: it includes NEL and 0x1c-0x1f, but
 * not the BOM.
 */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const SPACES = new RegExp(`[${SPACE}]+`, "g");
const LINE_ENDS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";
const LINE_END = new RegExp(`\\r\\n|[${LINE_ENDS}]`);
const IS_SPACE = new RegExp(`[${SPACE}]`);

/** `str.strip()`. */
export function stripText(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && IS_SPACE.test(text.charAt(start))) start++;
  while (end > start && IS_SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** `re.sub(r"\s+", " ", text)`. */
export function collapseSpaces(text: string): string {
  return text.replace(SPACES, " ");
}

/**
 * `str.splitlines()`: also splits at form feeds, NEL and the Unicode separators. A final newline adds no empty line.
 */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** `round(value)`. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

/** Orders strings by code point, like Python. JavaScript orders by UTF-16 unit. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return unitOrder(x) - unitOrder(y);
  }
  return a.length - b.length;
}

/** Surrogates represent code points above the private use area, although the units of that area are higher. */
const unitOrder = (unit: number) => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);

/**
 * Decodes a file in text mode: throws unless it is UTF-8, keeps a BOM as a character, and converts CRLF and CR to LF.
 */
export function decodeText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error("the file is not UTF-8");
  return unifyNewlines(bytes.toString("utf8"));
}

/** Like `decodeText` with `errors="ignore"`: drops bytes that are not UTF-8. */
export function decodeTextLeniently(bytes: Buffer): string {
  return unifyNewlines((isUtf8(bytes) ? bytes : dropInvalidBytes(bytes)).toString("utf8"));
}

function unifyNewlines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

function dropInvalidBytes(bytes: Buffer): Buffer {
  const valid = Buffer.alloc(bytes.length);
  let length = 0;
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i] ?? 0;
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const sequence = bytes.subarray(i, i + size);
    if (sequence.length === size && isUtf8(sequence)) {
      length += sequence.copy(valid, length);
      i += size;
    } else i++;
  }
  return valid.subarray(0, length);
}

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const BLANK = /[ \t\n\r]*/y;
const CONSTANTS: readonly (readonly [string, PythonValue])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
];

/**
 * `json.loads`. Unlike JSON.parse it keeps the order of keys and integers of any size, and reads NaN and Infinity. Of
 * duplicate keys, the last one is used.
 */
export function parsePythonJson(text: string): PythonValue {
  return new PythonJsonReader(text).readDocument();
}

class PythonJsonReader {
  private at = 0;

  constructor(private readonly text: string) {}

  readDocument(): PythonValue {
    const value = this.readValue(0);
    this.skipBlanks();
    if (this.at < this.text.length) throw this.failure();
    return value;
  }

  private readValue(depth: number): PythonValue {
    if (depth > MAX_JSON_DEPTH) throw new Error(`JSON nested more than ${MAX_JSON_DEPTH} levels deep is unsupported`);
    this.skipBlanks();
    const next = this.text[this.at];
    if (next === '"') return this.readString();
    if (next === "{") return this.readObject(depth);
    if (next === "[") return this.readArray(depth);
    const constant = CONSTANTS.find(([word]) => this.text.startsWith(word, this.at));
    if (constant !== undefined) {
      this.at += constant[0].length;
      return constant[1];
    }
    NUMBER.lastIndex = this.at;
    const number = NUMBER.exec(this.text);
    if (number === null) throw this.failure();
    this.at = NUMBER.lastIndex;
    return number[1] === undefined && number[2] === undefined ? BigInt(number[0]) : Number(number[0]);
  }

  private readString(): string {
    if (this.text[this.at] !== '"') throw this.failure();
    let end = this.at + 1;
    while (this.text[end] !== '"') {
      if (end >= this.text.length) throw this.failure();
      end += this.text[end] === "\\" ? 2 : 1;
    }
    const string: string = JSON.parse(this.text.slice(this.at, end + 1));
    this.at = end + 1;
    return string;
  }

  private readObject(depth: number): PythonValue {
    const entries = new Map<PythonValue, PythonValue>();
    this.at++;
    if (this.skipMark("}")) return entries;
    do {
      this.skipBlanks();
      const key = this.readString();
      if (!this.skipMark(":")) throw this.failure();
      entries.set(key, this.readValue(depth + 1));
    } while (this.skipMark(","));
    if (!this.skipMark("}")) throw this.failure();
    return entries;
  }

  private readArray(depth: number): PythonValue {
    const items: PythonValue[] = [];
    this.at++;
    if (this.skipMark("]")) return items;
    do items.push(this.readValue(depth + 1));
    while (this.skipMark(","));
    if (!this.skipMark("]")) throw this.failure();
    return items;
  }

  private skipMark(mark: string): boolean {
    this.skipBlanks();
    if (this.text[this.at] !== mark) return false;
    this.at++;
    return true;
  }

  private skipBlanks(): void {
    BLANK.lastIndex = this.at;
    BLANK.test(this.text);
    this.at = BLANK.lastIndex;
  }

  private failure(): Error {
    return new Error(`not JSON at character ${this.at}`);
  }
}

/** `==`: true equals 1 and 1.0, NaN equals nothing, and the order of keys does not matter. */
export function equalValues(a: PythonValue, b: PythonValue): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers, big integers and booleans by value
  if (isNumeric(a) && isNumeric(b)) return a == b;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => equalValues(item, b[i] as PythonValue));
  }
  if (isDict(a) && isDict(b)) {
    if (a.size !== b.size) return false;
    for (const [key, value] of a) {
      const other = b.get(key);
      if (other === undefined || !equalValues(value, other)) return false;
    }
    return true;
  }
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  return a === b;
}

/** Python's truthiness: empty strings, lists and dicts, zero and None are false. */
export function isTruthy(value: PythonValue | JsonValue | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value) || typeof value === "string") return value.length > 0;
  if (isDict(value as PythonValue)) return (value as PythonDict).size > 0;
  if (value instanceof Date) return true;
  return typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value) || Number.isNaN(value);
}

/** `str(value)`. */
export function formatValue(value: JsonValue): string {
  return typeof value === "string" ? value : formatRepr(value);
}

function formatRepr(value: JsonValue): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "number") return String(value).replace(/e([+-])(\d)$/, "e$10$2");
  if (typeof value === "string") return quoteText(value);
  if (isList(value)) return `[${value.map(formatRepr).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, item]) => `${quoteText(key)}: ${formatRepr(item)}`)
    .join(", ")}}`;
}

function quoteText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r");
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

export function isDict(value: PythonValue | undefined): value is PythonDict {
  return value instanceof Map;
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export const isNumeric = (value: unknown): value is boolean | bigint | number =>
  typeof value === "boolean" || typeof value === "bigint" || typeof value === "number";

/**
 * Converts a value from a task's file. It no longer distinguishes `1` from `1.0`, but that difference does not matter.
 */
export function fromJson(value: JsonValue): PythonValue {
  if (isList(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, fromJson(item)]));
}
