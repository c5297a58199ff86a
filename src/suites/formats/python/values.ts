import type { JsonValue } from "../../../domain/json.js";

/** A value as Python's json and yaml modules read it. Integers are bigint, so that they stay exact. */
export type PythonValue = null | boolean | bigint | number | string | readonly PythonValue[] | PythonDict | Date;

/** Keeps the order of the file, also for keys that look like numbers. */
export type PythonDict = ReadonlyMap<PythonValue, PythonValue>;

/** `==`: true equals 1 equals 1.0, NaN equals nothing, the order of keys does not count. */
export function equalValues(a: PythonValue, b: PythonValue): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: compares numbers and big integers by value
  if (isNumeric(a) && isNumeric(b)) return numberOf(a) == numberOf(b);
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

/** Truthiness: empty strings, lists and dicts, zero and None are false. */
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

const isNumeric = (value: PythonValue): value is boolean | bigint | number =>
  typeof value === "boolean" || typeof value === "bigint" || typeof value === "number";

const numberOf = (value: boolean | bigint | number) => (typeof value === "boolean" ? Number(value) : value);

/** A value of a task's file. Whether a whole number was written `1` or `1.0` is lost there, and makes no difference. */
export function fromJson(value: JsonValue): PythonValue {
  if (isList(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, fromJson(item)]));
}
