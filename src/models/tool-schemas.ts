import { isJsonObject, type JsonSchema, type JsonValue } from "../platform/json.js";
import { definedProperties } from "../platform/optional-values.js";
import type { ModelRequest, ToolSpec } from "./model.js";

/**
 * Converts tool schemas to the form that each provider accepts. Tools can come from anywhere, mostly from MCP servers,
 * and a single rejected schema makes every call by the agent fail. The tool itself validates its arguments against its
 * original schema.
 */

export type SchemaDialect = "anthropic" | "google" | "openai";

interface AdaptedTool extends Pick<ToolSpec, "name" | "description"> {
  /** Null for a tool without parameters at Google, which must not declare any. */
  readonly parameters: JsonSchema | null;
}

export interface AdaptedTools {
  readonly tools: readonly AdaptedTool[];
  /** Notes about changed schemas, one per kind of change. */
  readonly notes: readonly string[];
  /** Restores the tool's own parameter names in a call's arguments. */
  restore(tool: string, args: JsonValue): JsonValue;
}

interface Renamed {
  readonly root: JsonSchema;
  /** Original names by sent name. */
  readonly originals: ReadonlyMap<string, string>;
}

interface Root {
  readonly schema: JsonSchema;
  parts: number;
}

type Node = { [key: string]: JsonValue };

/**
 * Returns a function that converts a request's tools for a provider. It caches the last tools, because all calls of a
 * run share them.
 */
export function toolAdapter(dialect: SchemaDialect): (tools: ModelRequest["tools"]) => AdaptedTools {
  let last: { readonly tools: ModelRequest["tools"]; readonly adapted: AdaptedTools } | undefined;
  return (tools) => {
    if (last?.tools !== tools) last = { tools, adapted: adaptTools(tools, dialect) };
    return last.adapted;
  };
}

const CHANGES = {
  alternatives: "top-level alternatives were merged into one object",
  names: "parameter names were restricted to letters, digits, _, . and -",
} as const;

export function adaptTools(tools: readonly ToolSpec[], dialect: SchemaDialect): AdaptedTools {
  const changed: Record<keyof typeof CHANGES, string[]> = { alternatives: [], names: [] };
  const renamed = new Map<string, Renamed>();
  const adapted = tools.map(({ name, description, parameters }) => {
    const folded = foldAlternatives(withItems(parameters) as JsonSchema);
    if (folded.hint !== null) changed.alternatives.push(name);
    const names = dialect === "openai" ? new Map<string, string>() : acceptedNames(folded.schema);
    const schema = names.size === 0 ? folded.schema : (rename(folded.schema, names) as JsonSchema);
    if (names.size > 0) {
      changed.names.push(name);
      const originals = new Map([...names].map(([original, accepted]) => [accepted, original]));
      renamed.set(name, { root: folded.schema, originals });
    }
    return {
      name,
      description: folded.hint === null ? description : `${description} ${folded.hint}`.trim(),
      parameters: dialect === "google" ? googleSchema(schema) : objectSchema(schema),
    };
  });
  const notes = (Object.keys(CHANGES) as (keyof typeof CHANGES)[])
    .filter((change) => changed[change].length > 0)
    .map((change) => `the schemas of the tools ${changed[change].join(", ")} were adapted: ${CHANGES[change]}.`);
  return {
    tools: adapted,
    notes,
    restore(tool, args) {
      const of = renamed.get(tool);
      return of === undefined ? args : restoreNames(args, [of.root], of);
    },
  };
}

/** Keywords that Anthropic and OpenAI reject at the top level of a tool's schema. */
const REFUSED_AT_TOP = ["allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else"];

/**
 * Folds alternatives at the top level of a schema into one object. The object has the properties of all alternatives,
 * and requires only the properties that all of them require. `hint` explains to the model which properties belong
 * together, or is null if nothing was folded.
 */
function foldAlternatives(
  parameters: JsonSchema,
  root: Root = { schema: parameters, parts: 0 },
): { readonly schema: JsonSchema; readonly hint: string | null } {
  if (parameters.$ref === undefined && !REFUSED_AT_TOP.some((key) => key in parameters)) {
    return { schema: parameters, hint: null };
  }
  const whole = resolve(parameters, root) ?? {};
  const options = [whole.anyOf, whole.oneOf].map((alternatives) =>
    asArray(alternatives)
      .map((option) => resolve(option, root))
      .filter((option) => option !== null),
  );
  const properties = mergeProperties([whole, ...options.flat()]);
  const required = [...new Set([...requiredBy(whole), ...options.flatMap(requiredByAll)])].filter((name) =>
    Object.hasOwn(properties, name),
  );
  const sets = options.flat().map((option) => requiredBy(option).join(" and "));
  // The target of a top-level `$ref` might use other definitions.
  const keywords = Object.entries({ ...definitionsOf(parameters), ...whole }).filter(
    ([key]) => key !== "$ref" && !REFUSED_AT_TOP.includes(key),
  );
  const schema = { ...Object.fromEntries(keywords), properties, ...(required.length === 0 ? {} : { required }) };
  const distinct = [...new Set(sets.filter((set) => set !== ""))];
  return { schema, hint: distinct.length < 2 ? "" : `Give ${distinct.join(", or ")}.` };
}

function definitionsOf({ $defs, definitions }: JsonSchema): JsonSchema {
  return definedProperties({ $defs, definitions });
}

function mergeProperties(schemas: readonly JsonSchema[]): Record<string, JsonValue> {
  const merged = new Map<string, JsonValue[]>();
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const alternatives = merged.get(name) ?? [];
      const isNew = alternatives.every((one) => JSON.stringify(one) !== JSON.stringify(schema));
      merged.set(name, isNew ? [...alternatives, schema] : alternatives);
    }
  }
  return Object.fromEntries(
    [...merged].map(([name, [only = true, ...others]]) => [
      name,
      others.length === 0 ? only : { anyOf: [only, ...others] },
    ]),
  );
}

function requiredBy({ required }: JsonSchema): string[] {
  return asArray(required).filter((name): name is string => typeof name === "string");
}

function requiredByAll([first, ...others]: readonly JsonSchema[]): string[] {
  if (first === undefined) return [];
  return requiredBy(first).filter((name) => others.every((other) => requiredBy(other).includes(name)));
}

/** Property names that Anthropic and Google accept. */
const ACCEPTED_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Keywords whose values are data, not schemas. */
const VALUES = new Set(["default", "enum", "const", "examples"]);

/** Keywords whose values are named schemas. */
const SCHEMAS_BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Keywords whose schemas are named after properties. */
const BY_PROPERTY = new Set(["properties", "dependentSchemas"]);

/** Keywords whose schemas apply to the same value as the surrounding schema. */
const IN_PLACE = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

/** Deeper than any tool's schema. Protects the stack. */
const MAX_NESTING = 200;

/** Returns the names of all properties in a schema, at any depth. */
function propertyNames(schema: JsonValue, names = new Set<string>(), depth = 0): Set<string> {
  if (depth > MAX_NESTING || typeof schema !== "object" || schema === null) return names;
  for (const [keyword, value] of Object.entries(schema)) {
    if (VALUES.has(keyword)) continue;
    const inner = SCHEMAS_BY_NAME.has(keyword) && isJsonObject(value) ? Object.values(value) : value;
    if (keyword === "properties" && isJsonObject(value)) for (const name of Object.keys(value)) names.add(name);
    propertyNames(inner as JsonValue, names, depth + 1);
  }
  return names;
}

/**
 * Returns a unique accepted name for each rejected property name. Names apply to the entire schema, because parts that
 * describe the same value, such as the branches of an `anyOf`, must use the same name.
 */
function acceptedNames(schema: JsonSchema): Map<string, string> {
  const all = propertyNames(schema);
  const names = new Map<string, string>();
  const usedNames = new Set([...all].filter((name) => ACCEPTED_NAME.test(name)));
  for (const name of all) {
    if (ACCEPTED_NAME.test(name)) continue;
    const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, "_").slice(0, 60) || "_";
    let accepted = plain;
    for (let number = 2; usedNames.has(accepted); number++) accepted = `${plain}_${number}`;
    usedNames.add(accepted);
    names.set(name, accepted);
  }
  return names;
}

/**
 * Gives each array one schema for its items, at any depth. OpenAI rejects arrays without one, and JSON Schema 2020-12,
 * which Anthropic requires, has no lists of schemas for the items of a tuple.
 */
function withItems(schema: JsonValue, depth = 0): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => withItems(item, depth + 1));
  if (!isJsonObject(schema) || depth > MAX_NESTING) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    if (VALUES.has(keyword)) return [keyword, value];
    if (!SCHEMAS_BY_NAME.has(keyword) || !isJsonObject(value)) return [keyword, withItems(value, depth + 1)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withItems(one, depth + 1)]))];
  });
  const { additionalItems: _, ...whole } = Object.fromEntries(entries);
  const { items, prefixItems } = whole;
  if (Array.isArray(items)) return { ...whole, items: items.length === 1 ? (items[0] ?? {}) : { anyOf: items } };
  const isArray = asArray(schema.type).includes("array");
  return isArray && items === undefined && prefixItems === undefined ? { ...whole, items: {} } : whole;
}

/** Renames the properties of a schema, at any depth. */
function rename(schema: JsonValue, names: ReadonlyMap<string, string>, depth = 0): JsonValue {
  const renamed = (name: JsonValue) => (typeof name === "string" ? (names.get(name) ?? name) : name);
  if (Array.isArray(schema)) return schema.map((item) => rename(item, names, depth + 1));
  if (!isJsonObject(schema) || depth > MAX_NESTING) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    if (VALUES.has(keyword)) return [keyword, value];
    if (keyword === "$ref") return [keyword, typeof value === "string" ? renamePointer(value, names) : value];
    if (keyword === "required" && Array.isArray(value)) return [keyword, value.map(renamed)];
    if (keyword === "dependentRequired" && isJsonObject(value)) {
      const lists = Object.entries(value).map(([name, list]) => [
        renamed(name),
        Array.isArray(list) ? list.map(renamed) : list,
      ]);
      return [keyword, Object.fromEntries(lists)];
    }
    if (SCHEMAS_BY_NAME.has(keyword) && isJsonObject(value)) {
      const inner = Object.entries(value).map(([name, one]) => [
        BY_PROPERTY.has(keyword) ? renamed(name) : name,
        rename(one, names, depth + 1),
      ]);
      return [keyword, Object.fromEntries(inner)];
    }
    return [keyword, rename(value, names, depth + 1)];
  });
  return Object.fromEntries(entries);
}

/** Renames the properties in a pointer such as `#/properties/$filter` (RFC 6901). */
function renamePointer(pointer: string, names: ReadonlyMap<string, string>): string {
  const parts = pointer.split("/");
  return parts
    .map((part, i) => (parts[i - 1] === "properties" ? (names.get(unescapePointer(part)) ?? part) : part))
    .join("/");
}

function unescapePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/**
 * Restores the tool's own parameter names in arguments. Follows `$ref` and alternatives. A key that is not a property
 * at that place in the schema is data and remains unchanged.
 */
function restoreNames(args: JsonValue, schemas: readonly JsonValue[], renamed: Renamed, depth = 0): JsonValue {
  if (typeof args !== "object" || args === null || depth > MAX_NESTING) return args;
  const all = schemasInPlace(schemas, renamed.root);
  if (Array.isArray(args)) {
    return args.map((item, i) =>
      restoreNames(
        item,
        all.flatMap(({ items, prefixItems }) => [...asArray(items), ...asArray(asArray(prefixItems)[i])]),
        renamed,
        depth + 1,
      ),
    );
  }
  const entries = Object.entries(args).map(([key, value]) => {
    const original = renamed.originals.get(key);
    const isParameter = original !== undefined && all.some(({ properties }) => hasKey(properties, original));
    const name = isParameter ? original : key;
    const inner = all.flatMap(({ properties, additionalProperties, patternProperties }) => {
      if (hasKey(properties, name)) return [properties[name] ?? null];
      return [
        ...asArray(additionalProperties),
        ...(isJsonObject(patternProperties) ? Object.values(patternProperties) : []),
      ];
    });
    return [name, restoreNames(value, inner, renamed, depth + 1)];
  });
  return Object.fromEntries(entries);
}

function hasKey(object: JsonValue | undefined, key: string): object is JsonSchema {
  return isJsonObject(object) && Object.hasOwn(object, key);
}

/**
 * Returns all schemas that describe one value: the `schemas` themselves, their `$ref` targets, and their alternatives.
 */
function schemasInPlace(schemas: readonly JsonValue[], root: JsonSchema): JsonSchema[] {
  const parts = new Set<JsonSchema>();
  const open = [...schemas];
  while (open.length > 0 && parts.size < MAX_PARTS) {
    const schema = open.pop();
    if (!isJsonObject(schema) || parts.has(schema)) continue;
    parts.add(schema);
    if (typeof schema.$ref === "string") open.push(targetOf(schema.$ref, root) ?? null);
    for (const keyword of IN_PLACE) open.push(...asArray(schema[keyword]));
    if (isJsonObject(schema.dependentSchemas)) open.push(...Object.values(schema.dependentSchemas));
  }
  return [...parts];
}

/** Returns the target of a `$ref` within the same schema. */
function targetOf(pointer: string, root: JsonSchema): JsonValue | undefined {
  let target: JsonValue | undefined = root;
  for (const part of pointer.replace(/^#\/?/, "").split("/")) {
    if (part === "") continue;
    const key = unescapePointer(part);
    target = Array.isArray(target) ? target[Number(key)] : isJsonObject(target) ? target[key] : undefined;
  }
  return target;
}

/** Adds the `type` and `properties` that Anthropic and OpenAI require. */
export function objectSchema(parameters: JsonSchema): JsonSchema {
  return { ...parameters, type: "object", properties: parameters.properties ?? {} };
}

/** Keywords with the same name in Google's Schema (ai.google.dev/api/caching#Schema). */
const KEPT = [
  "nullable",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "minimum",
  "maximum",
  "pattern",
];

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** Deeper than any tool needs. Stops recursive schemas. */
const MAX_DEPTH = 12;

/** More parts than any tool's schema has. Stops schemas in which each part refers to several others, level by level. */
const MAX_PARTS = 5_000;

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
  for (const key of KEPT) {
    if (source[key] !== undefined && source[key] !== null) out[key] = source[key];
  }

  const types = asArray(source.type).filter((type): type is string => typeof type === "string");
  const choices = asArray(source.anyOf ?? source.oneOf);
  const options = choices.map((choice) => resolve(choice, root)).filter((choice) => choice?.type !== "null");
  if (types.includes("null") || options.length < choices.length) out.nullable = true;
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
    out.items = convert(Array.isArray(source.items) ? source.items[0] : source.items, root, depth + 1);
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

/** Follows `#/$defs/X` and merges the parts of an `allOf`. Returns null if the result is not a schema object. */
function resolve(schema: JsonValue | undefined, root: Root, depth = 0): JsonSchema | null {
  let at = schema;
  for (let hops = 0; isJsonObject(at) && typeof at.$ref === "string" && hops < MAX_DEPTH; hops++) {
    const { $ref, ...beside } = at;
    const target = targetOf($ref, root.schema);
    at = isJsonObject(target) ? { ...target, ...beside } : undefined;
  }
  if (!isJsonObject(at)) return null;
  if (!Array.isArray(at.allOf) || depth > MAX_DEPTH || root.parts++ > MAX_PARTS) return at;
  const parts = at.allOf.map((part) => resolve(part, root, depth + 1) ?? {});
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}), at.properties ?? {});
  const required = [...parts.flatMap((part) => asArray(part.required)), ...asArray(at.required)];
  const merged = Object.assign({}, ...parts, at);
  return Object.keys(properties).length > 0 ? { ...merged, properties, required } : merged;
}

function asArray(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function guessType(source: JsonSchema): string {
  if (source.properties !== undefined) return "object";
  if (source.items !== undefined) return "array";
  const sample = source.const ?? asArray(source.enum).find((value) => value !== null);
  if (typeof sample === "boolean") return "boolean";
  if (typeof sample === "number") return Number.isInteger(sample) ? "integer" : "number";
  return "string";
}
