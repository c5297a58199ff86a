// Repairs arguments that a model wrote in the wrong form, such as a list as a string.
import { type JsonSchema, type JsonValue, parseJsonOrNull } from "../../platform/json.js";
import { isSchemaObject } from "./schema-safety.js";

/**
 * Repairs arguments that do not match their schema if their meaning is unambiguous: an array as JSON text, `null` for
 * an optional parameter, `"5"` for 5, or a single text for an array of texts. Models trained on other tool formats send
 * such arguments, and would repeat them after an error.
 */

interface RepairedArguments {
  readonly value: JsonValue;
  /** One line per repaired parameter, such as `sources: string parsed as array`. Empty if nothing was repaired. */
  readonly repairs: readonly string[];
}

interface Repair {
  /** Repaired value, or undefined if the parameter counts as omitted. */
  readonly value: JsonValue | undefined;
  readonly note: string;
}

/** Repairs only top-level parameters. The caller checks the result against the schema again. */
export function repairArguments(schema: JsonSchema, args: JsonValue): RepairedArguments {
  const { properties, required } = schema;
  if (!isSchemaObject(args) || !isSchemaObject(properties)) return { value: args, repairs: [] };
  const value: Record<string, JsonValue> = {};
  const repairs: string[] = [];
  for (const [name, argument] of Object.entries(args)) {
    const types = typesOf(Object.hasOwn(properties, name) ? properties[name] : undefined);
    const isRequired = Array.isArray(required) && required.includes(name);
    const repair =
      types.length === 0 || types.includes(typeOf(argument)) ? null : repairOf(argument, types, isRequired);
    if (repair === null) {
      value[name] = argument;
    } else {
      repairs.push(`${name}: ${repair.note}`);
      if (repair.value !== undefined) value[name] = repair.value;
    }
  }
  return { value, repairs };
}

function repairOf(value: JsonValue, types: readonly string[], isRequired: boolean): Repair | null {
  if (value === null) {
    if (!isRequired) return { value: undefined, note: "null treated as omitted" };
    return types.includes("array") ? { value: [], note: "null treated as an empty array" } : null;
  }
  if (typeof value !== "string") return null;
  const text = value.trim();
  if (text === "" && !isRequired && !types.includes("array"))
    return { value: undefined, note: "empty string treated as omitted" };
  const parsed = parseLiteral(text);
  const type = typeOf(parsed);
  if (parsed !== null && types.includes(type)) return { value: parsed, note: `string parsed as ${type}` };
  return types.includes("array") ? { value: [value], note: "string wrapped in an array" } : null;
}

/** Parses JSON or its Python notation (`True`, lists of texts in single quotes). Returns null for anything else. */
function parseLiteral(text: string): JsonValue {
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  const json = parseJsonOrNull(text);
  if (json !== null || !PYTHON_LIST.test(text)) return json;
  return [...text.matchAll(PYTHON_TEXT)].map(([, single, double]) =>
    (single ?? double ?? "").replace(/\\(["'\\])/g, "$1"),
  );
}

const PYTHON_TEXT = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/g;
const PYTHON_LIST = new RegExp(`^\\[\\s*(?:(?:${PYTHON_TEXT.source})\\s*(?:,\\s*|(?=\\])))*\\]$`);

/**
 * Returns the types that a parameter accepts. Empty if its schema does not specify any. `number` includes `integer`.
 */
function typesOf(schema: JsonValue | undefined): string[] {
  if (!isSchemaObject(schema)) return [];
  const { type, anyOf, oneOf } = schema;
  const own = (Array.isArray(type) ? type : [type]).filter((name): name is string => typeof name === "string");
  const choices = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  const types = [...own, ...choices.flatMap(typesOf)];
  return types.includes("number") ? [...types, "integer"] : types;
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
