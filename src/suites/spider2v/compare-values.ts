import type { JsonValue } from "../../domain/json.js";
import { compareStrings } from "../formats/python/text.js";
import { equalValues, formatValue, fromJson, isList, isTruthy } from "../formats/python/values.js";
import { type MetricFunction, refuseOptions, requireObject, requireValue } from "./metric-function.js";

/** `check_include_exclude`: substrings of a script's output. Without rules the score is 1, unlike in Flowbook. */
export const checkIncludeExclude: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  const rules = requireObject(expected, "the rule");
  const output = requireValue(result, "the output");
  if (output === null) return 0;
  const contains = (text: JsonValue) => {
    if (typeof output === "string" && typeof text === "string") return output.includes(text);
    if (isList(output)) return isAmong(text, output);
    throw new Error("the output or a rule is no text");
  };
  const [include, exclude] = [listOf(rules.include), listOf(rules.exclude)];
  return Number(include.every(contains) && !exclude.some(contains));
};

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined) return [];
  if (typeof value === "string") return [...value];
  if (isList(value)) return value;
  throw new Error("include and exclude must be lists");
}

/** `exact_match`: Python's `==` with the rule's `expected`; 1 is 1.0, a final newline counts. */
export const exactMatch: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  const value = requireValue(result, "the result");
  return Number(equalValues(fromJson(value), fromJson(requireKey(expected, "expected"))));
};

/** `literal_match`: as text, or as lists of texts; options type, ignore_case, ignore_order. */
export const literalMatch: MetricFunction = (result, expected, options) => {
  const [value, other] = [requireValue(result, "the result"), requireValue(expected, "the expected value")];
  const type = options.type ?? "str";
  const fold = (item: JsonValue) =>
    isTruthy(options.ignore_case) ? formatValue(item).toLowerCase() : formatValue(item);
  if (type === "str") return Number(fold(value) === fold(other));
  if (type !== "list") throw new Error(`literal_match of type ${formatValue(type)} is not known`);
  if (!isList(value) || !isList(other) || value.length !== other.length) return 0;
  const [texts, others] = [value.map(fold), other.map(fold)];
  if (isTruthy(options.ignore_order)) for (const list of [texts, others]) list.sort(compareStrings);
  return Number(texts.every((text, i) => text === others[i]));
};

/** `is_in_list`: the rule's `expected` is among the result's items, or a part of it as text. */
export const isInList: MetricFunction = (result, expected) => {
  return Number(isAmong(requireKey(expected, "expected"), requireValue(result, "the result")));
};

/** `is_not_in_list`: the rule's `exclude` is not. */
export const isNotInList: MetricFunction = (result, expected) => {
  return Number(!isAmong(requireKey(expected, "exclude"), requireValue(result, "the result")));
};

function requireKey(expected: Parameters<MetricFunction>[1], key: string): JsonValue {
  const value = requireObject(expected, "the rule")[key];
  if (value === undefined) throw new Error(`the rule has no ${key}`);
  return value;
}

/** Python's `in`. */
function isAmong(item: JsonValue, container: JsonValue): boolean {
  if (isList(container)) return container.some((other) => equalValues(fromJson(item), fromJson(other)));
  if (typeof container === "string" && typeof item === "string") return container.includes(item);
  throw new Error("the result is no list");
}
