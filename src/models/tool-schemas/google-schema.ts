// Converts JSON Schema to the subset that Google's function declarations support.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../platform/json.js";
import { wordList } from "../../platform/word-list.js";
import { foldAlternatives } from "./fold-alternatives.js";
import { asArray, MAX_DEPTH, MAX_PARTS, type Root, resolve } from "./schema-parts.js";

type Node = { [key: string]: JsonValue };

/** Keywords per type that have the same name in Google's Schema (ai.google.dev/api/caching#Schema). */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  string: wordList("minLength maxLength pattern"),
  number: wordList("minimum maximum"),
  integer: wordList("minimum maximum"),
  array: wordList("minItems maxItems"),
  object: wordList("minProperties maxProperties"),
};

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/**
 * Converts JSON Schema to the OpenAPI subset of Google's function declarations. Returns null for a tool without
 * parameters, which must not declare any. Anything that the subset does not support (number enums, other formats) is
 * added to the description.
 */
export function googleSchema(parameters: JsonSchema): JsonSchema | null {
  const schema = convert(parameters, { schema: parameters, parts: 0 }, 0);
  return isJsonObject(schema.properties) && Object.keys(schema.properties).length > 0
    ? { ...schema, type: "object" }
    : null;
}

function convert(schema: JsonValue | undefined, root: Root, depth: number): Node {
  const resolved = resolve(schema, root);
  // Alternatives of an object with properties say which of them belong together.
  const isObject = isJsonObject(resolved?.properties) && Object.keys(resolved.properties).length > 0;
  const source = resolved !== null && isObject ? foldAlternatives(resolved, root).schema : resolved;
  if (depth > MAX_DEPTH || source === null || root.parts++ > MAX_PARTS) return { type: "string" };
  const out: Node = {};
  const notes = typeof source.description === "string" ? [source.description] : [];
  const types = asArray(source.type).filter((type): type is string => typeof type === "string");
  const choices = asArray(source.anyOf ?? source.oneOf);
  const options = choices.map((choice) => resolve(choice, root)).filter((choice) => choice?.type !== "null");
  if (source.nullable === true || types.includes("null") || options.length < choices.length) out.nullable = true;
  const nonNullTypes = types.filter((type) => type !== "null");

  if (options.length > 1 || nonNullTypes.length > 1) {
    const alternatives =
      options.length > 1 ? options : nonNullTypes.map((type) => ({ ...source, type, description: null }));
    out.anyOf = alternatives.map((choice) => convert(choice, root, depth + 1));
  } else if (options.length === 1) {
    Object.assign(out, convert(options[0], root, depth + 1));
    if (typeof out.description === "string") notes.push(out.description);
  } else {
    convertSingle(source, nonNullTypes[0] ?? guessType(source), out, notes, root, depth);
  }
  if (notes.length > 0) out.description = notes.join(" ");
  return out;
}

function convertSingle(source: JsonSchema, type: string, out: Node, notes: string[], root: Root, depth: number) {
  out.type = type;
  for (const key of KEPT[type] ?? []) {
    if (source[key] !== undefined) out[key] = source[key];
  }
  const allowed = source.const === undefined ? source.enum : [source.const];
  if (Array.isArray(allowed)) {
    const values = allowed.filter((value) => value !== null);
    if (values.length < allowed.length) out.nullable = true;
    const nonEmpty = values.filter((value) => value !== "");
    if (type === "string" && nonEmpty.length > 0) out.enum = nonEmpty.map(String);
    else if (type !== "string") notes.push(`One of: ${values.join(", ")}.`);
    // Google rejects empty strings in an enum.
    if (nonEmpty.length < values.length) notes.push("An empty string is allowed too.");
  }
  if (typeof source.format === "string") {
    if (FORMATS[type]?.includes(source.format)) out.format = source.format;
    else notes.push(`Format: ${source.format}.`);
  }
  const step = type === "integer" ? 1 : 0;
  if (typeof source.exclusiveMinimum === "number") out.minimum = source.exclusiveMinimum + step;
  if (typeof source.exclusiveMaximum === "number") out.maximum = source.exclusiveMaximum - step;
  if (type === "array") {
    out.items = convert(source.items, root, depth + 1);
  }
  // Google rejects empty properties, but accepts an object without properties.
  if (type === "object" && isJsonObject(source.properties) && Object.keys(source.properties).length > 0) {
    const properties = Object.entries(source.properties).map(([name, schema]) => [
      name,
      convert(schema, root, depth + 1),
    ]);
    out.properties = Object.fromEntries(properties);
    const required = asArray(source.required).filter((name) => properties.some(([property]) => property === name));
    if (required.length > 0) out.required = required;
  }
}

function guessType(source: JsonSchema): string {
  if (source.properties !== undefined) return "object";
  if (source.items !== undefined) return "array";
  const sample = source.const ?? asArray(source.enum).find((value) => value !== null);
  if (typeof sample === "boolean") return "boolean";
  if (typeof sample === "number") return Number.isInteger(sample) ? "integer" : "number";
  return "string";
}
