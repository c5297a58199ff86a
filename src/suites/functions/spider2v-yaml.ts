// Spider2-V's evaluation function for YAML files.
import type { JsonValue } from "../../platform/json.js";
import {
  decodeText,
  equalValues,
  fromJson,
  isDict,
  isList,
  isTruthy,
  type PythonDict,
  type PythonValue,
  parseYaml,
} from "../formats/python-values.js";
import { readCollectedFile } from "../task/suite-files.js";
import { type MetricFunction, requireFile, requireValue } from "./grading-function.js";

/**
 * `check_yaml_file`: every rule [type, path, value] must hold. A step of a path is a key of a mapping, an index of a
 * list, or [key, value] for the first list item with this value. Any error scores 0.
 */
export const checkYamlFile: MetricFunction = async (result, expected) => {
  const rules = requireValue(expected, "the rules");
  if (result === null) return 0;
  const { path } = requireFile(result, "the result");
  try {
    const file = parseYaml(decodeText(await readCollectedFile(path)));
    if (!isList(rules)) return 0;
    return Number(rules.every((rule) => holds(file, rule)));
  } catch {
    return 0;
  }
};

function holds(file: PythonValue, rule: JsonValue): boolean {
  if (!isList(rule) || rule.length !== 3) throw new Error("a rule has three parts");
  const [type, path, expected] = rule.map(fromJson) as [PythonValue, PythonValue, PythonValue];
  let value = file;
  for (const step of iterate(path)) value = isDict(value) ? requireItem(value, step) : selectItem(value, step);
  if (type === "match") return equalValues(value, expected);
  if (type === "in") return contains(expected, value);
  if (type === "contain") return contains(value, expected);
  if (type === "not_null") return isTruthy(value);
  throw new Error("unknown rule type");
}

function requireItem(dict: PythonDict, key: PythonValue): PythonValue {
  for (const [other, value] of dict) if (equalValues(other, key)) return value;
  throw new Error("unknown key");
}

function selectItem(value: PythonValue, step: PythonValue): PythonValue {
  const items = iterate(value);
  const index = toInteger(step);
  if (index !== null) {
    const item = items[index < 0 ? items.length + index : index];
    if (item === undefined) throw new Error("the item does not exist");
    return item;
  }
  const [key, expectedValue, ...more] = iterate(step);
  if (key === undefined || expectedValue === undefined || more.length > 0) throw new Error("no key and value");
  const match = items.find((item) => {
    if (!isDict(item)) throw new Error("an item is not a mapping");
    return equalValues(requireItem(item, key), expectedValue);
  });
  if (match === undefined) throw new Error("the item does not exist");
  return match;
}

/** Returns `int(step)`, or null if Python would raise. */
function toInteger(step: PythonValue): number | null {
  if (typeof step === "number" || typeof step === "bigint" || typeof step === "boolean")
    return Math.trunc(Number(step));
  return typeof step === "string" && /^\s*[+-]?\d+\s*$/.test(step) ? Number(step) : null;
}

function iterate(value: PythonValue): readonly PythonValue[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string") return [...value];
  throw new Error("not a list");
}

/** Python's `item in container`. */
function contains(container: PythonValue, item: PythonValue): boolean {
  if (typeof container === "string") {
    if (typeof item !== "string") throw new Error("a string can only contain strings");
    return container.includes(item);
  }
  const items = isDict(container) ? [...container.keys()] : iterate(container);
  return items.some((other) => equalValues(other, item));
}
