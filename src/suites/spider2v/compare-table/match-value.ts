import { RE2JS } from "re2js";
import type { JsonObject, JsonValue } from "../../../domain/json.js";
import { CannotGrade } from "../../evaluation/cannot-grade.js";
import { equalValues, fromJson, isList } from "../../formats/python/values.js";
import type { StyleValue } from "./cell-styles.js";

const FLAGS: Readonly<Record<string, number>> = {
  I: RE2JS.CASE_INSENSITIVE,
  IGNORECASE: RE2JS.CASE_INSENSITIVE,
  M: RE2JS.MULTILINE,
  MULTILINE: RE2JS.MULTILINE,
  S: RE2JS.DOTALL,
  DOTALL: RE2JS.DOTALL,
};

/** A rule {method, ref}: eq, ne, lt, le, gt, ge, approx:N, range.te, re.FLAGS, str_list_eq, str_set_eq. */
export function matchesRule(value: StyleValue, rule: JsonObject): boolean {
  const { method, ref = null } = rule;
  if (typeof method !== "string") throw new Error("a rule names no method");
  if (method.startsWith("re")) return matchesPattern(value, method, ref);
  if (method === "eq" || method === "ne") return isEqual(value, ref) === (method === "eq");
  if (["lt", "le", "gt", "ge"].includes(method)) return isOrdered(method, value, ref);
  if (method.startsWith("approx")) return isClose(value, Number(method.split(":")[1]), Number(ref));
  if (method.startsWith("range.") && isList(ref)) {
    const [left, right] = [`l${method[6]}`, `l${method[7]}`];
    return isOrdered(left, ref[0] ?? null, value) && isOrdered(right, value, ref[1] ?? null);
  }
  if (method === "str_list_eq" || method === "str_set_eq") return matchesList(value, ref, method === "str_set_eq");
  throw new CannotGrade("unsupported", `the method ${method} of a rule is not supported`);
}

function matchesPattern(value: StyleValue, method: string, ref: JsonValue): boolean {
  if (typeof value !== "string" || typeof ref !== "string") throw new Error("a pattern needs a text");
  const flags = method
    .split(".")
    .slice(1)
    .reduce((all, name) => all | (FLAGS[name] ?? 0), 0);
  return RE2JS.compile(ref, flags).matcher(value).find();
}

const isEqual = (value: StyleValue, ref: JsonValue) =>
  value !== null && typeof value === "object" ? false : equalValues(value, fromJson(ref));

function isOrdered(method: string, a: StyleValue | JsonValue, b: StyleValue | JsonValue): boolean {
  const areTexts = typeof a === "string" && typeof b === "string";
  if (!areTexts && (typeof a !== "number" || typeof b !== "number")) throw new Error("values cannot be compared");
  if (method === "lt") return a < b;
  if (method === "le") return a <= b;
  return method === "gt" ? a > b : a >= b;
}

function isClose(value: StyleValue, threshold: number, ref: number): boolean {
  const number =
    typeof value === "number" || typeof value === "boolean" ? Number(value) : Number.parseFloat(String(value));
  return !Number.isNaN(number) && Math.abs(number - ref) <= threshold;
}

function matchesList(value: StyleValue, ref: JsonValue, isSet: boolean): boolean {
  if (typeof value !== "string" || !isList(ref)) throw new Error("a list needs a text");
  const items = value.replace(/^["']{1,1000}/, "").split(",");
  const last = items.length - 1;
  items[last] = trimQuotes(items[last] ?? "");
  const [own, other] = isSet ? [[...new Set(items)].sort(), [...new Set(ref)].sort()] : [items, ref];
  return equalValues(own, fromJson(other as JsonValue));
}

function trimQuotes(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '"' || text[end - 1] === "'")) end--;
  return text.slice(0, end);
}
