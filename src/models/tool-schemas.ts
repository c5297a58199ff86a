import { isJsonObject, type JsonSchema, type JsonValue } from "../platform/json.js";
import type { ModelRequest, ToolSpec } from "./model.js";

/**
 * Tool schemas in the form that each provider accepts. Tools come from anywhere (MCP servers above all), and one schema
 * that a provider refuses fails every call of the agent. The tool itself checks its arguments against its own schema.
 */

export type SchemaDialect = "anthropic" | "google" | "openai";

export interface AdaptedTool extends Pick<ToolSpec, "name" | "description"> {
  /** Null for a tool without parameters, of which Google must not hear. */
  readonly parameters: JsonSchema | null;
}

export interface AdaptedTools {
  readonly tools: readonly AdaptedTool[];
  /** One note per kind of change. */
  readonly notes: readonly string[];
  /** The arguments of a call, with the tool's own names for its parameters. */
  restore(tool: string, args: JsonValue): JsonValue;
}

/** The tools of a request in a provider's form. All calls of a run have the same tools, so the last ones are kept. */
export function toolAdapter(dialect: SchemaDialect): (tools: ModelRequest["tools"]) => AdaptedTools {
  let last: { readonly tools: ModelRequest["tools"]; readonly adapted: AdaptedTools } | undefined;
  return (tools) => {
    if (last?.tools !== tools) last = { tools, adapted: adaptTools(tools, dialect) };
    return last.adapted;
  };
}

const CHANGES = {
  alternatives: "alternatives at the top of their schemas became one object",
  names: "parameter names became letters, digits, _, . and -",
} as const;

export function adaptTools(tools: readonly ToolSpec[], dialect: SchemaDialect): AdaptedTools {
  const changed: Record<keyof typeof CHANGES, string[]> = { alternatives: [], names: [] };
  const renamed = new Map<string, JsonSchema>();
  const adapted = tools.map(({ name, description, parameters }) => {
    const folded = foldAlternatives(parameters);
    if (folded.hint !== null) changed.alternatives.push(name);
    const { schema, isRenamed } =
      dialect === "openai" ? { schema: folded.schema, isRenamed: false } : rename(folded.schema);
    if (isRenamed) {
      changed.names.push(name);
      renamed.set(name, folded.schema);
    }
    return {
      name,
      description: folded.hint === null ? description : `${description} ${folded.hint}`.trim(),
      parameters: dialect === "google" ? googleSchema(schema) : objectSchema(schema),
    };
  });
  const notes = (Object.keys(CHANGES) as (keyof typeof CHANGES)[])
    .filter((change) => changed[change].length > 0)
    .map((change) => `the tools ${changed[change].join(", ")} are sent adapted: ${CHANGES[change]}.`);
  return {
    tools: adapted,
    notes,
    restore: (tool, args) => restoreNames(args, renamed.get(tool)),
  };
}

/** Keywords that Anthropic and OpenAI refuse at the top of a tool's schema. */
const REFUSED_AT_TOP = ["allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else"];

/**
 * One object in place of alternatives at the top of a schema: with the properties of all of them, and required what
 * each of them requires. `hint` tells the model which go together; null if nothing was folded.
 */
function foldAlternatives(parameters: JsonSchema): { readonly schema: JsonSchema; readonly hint: string | null } {
  if (parameters.$ref === undefined && !REFUSED_AT_TOP.some((key) => key in parameters)) {
    return { schema: parameters, hint: null };
  }
  const root: Root = { schema: parameters, parts: 0 };
  const whole = resolve(parameters, root) ?? {};
  const options = [whole.anyOf, whole.oneOf].map((given) =>
    asArray(given)
      .map((option) => resolve(option, root))
      .filter((option) => option !== null),
  );
  const properties = mergeProperties([whole, ...options.flat()]);
  const required = [...requiredBy(whole), ...options.flatMap(requiredByAll)].filter((name) =>
    Object.hasOwn(properties, name),
  );
  const sets = options.flat().map((option) => requiredBy(option).join(" and "));
  // What a top-level `$ref` refers to may refer to other definitions.
  const kept = Object.entries({ ...definitionsOf(parameters), ...whole }).filter(
    ([key]) => key !== "$ref" && !REFUSED_AT_TOP.includes(key),
  );
  const schema = { ...Object.fromEntries(kept), properties, ...(required.length === 0 ? {} : { required }) };
  const distinct = [...new Set(sets.filter((set) => set !== ""))];
  return { schema, hint: distinct.length < 2 ? "" : `Give ${distinct.join(", or ")}.` };
}

function definitionsOf({ $defs, definitions }: JsonSchema): JsonSchema {
  return { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
}

function mergeProperties(schemas: readonly JsonSchema[]): Record<string, JsonValue> {
  const merged = new Map<string, JsonValue[]>();
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = merged.get(name) ?? [];
      const isNew = known.every((one) => JSON.stringify(one) !== JSON.stringify(schema));
      merged.set(name, isNew ? [...known, schema] : known);
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

/** Names of properties that Anthropic and Google accept. */
const ACCEPTED_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** The same schema with acceptable names of properties, at any depth. */
function rename(schema: JsonSchema, depth = 0): { readonly schema: JsonSchema; readonly isRenamed: boolean } {
  const names = acceptedNames(isJsonObject(schema.properties) ? schema.properties : {});
  let isRenamed = [...names].some(([name, accepted]) => name !== accepted);
  const visit = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isJsonObject(value) || depth > MAX_DEPTH) return value;
    const inner = rename(value, depth + 1);
    isRenamed ||= inner.isRenamed;
    return inner.schema;
  };
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (key !== "properties" || !isJsonObject(value)) return [key, VALUES.has(key) ? value : visit(value)];
    return [
      key,
      Object.fromEntries(Object.entries(value).map(([name, inner]) => [names.get(name) ?? name, visit(inner)])),
    ];
  });
  const required = Array.isArray(schema.required)
    ? { required: schema.required.map((name) => names.get(String(name)) ?? name) }
    : {};
  return { schema: { ...Object.fromEntries(entries), ...required }, isRenamed };
}

/** Keywords whose values are data, not schemas. */
const VALUES = new Set(["default", "enum", "const", "examples"]);

/** An acceptable name for each property, unlike all others. */
function acceptedNames(properties: JsonSchema): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(Object.keys(properties).filter((name) => ACCEPTED_NAME.test(name)));
  for (const name of Object.keys(properties)) {
    if (ACCEPTED_NAME.test(name)) {
      names.set(name, name);
      continue;
    }
    const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, "_").slice(0, 60) || "_";
    let accepted = plain;
    for (let number = 2; taken.has(accepted); number++) accepted = `${plain}_${number}`;
    taken.add(accepted);
    names.set(name, accepted);
  }
  return names;
}

/** Arguments with the names of `schema`, which were sent as `acceptedNames`. */
function restoreNames(args: JsonValue, schema: JsonValue | undefined): JsonValue {
  if (!isJsonObject(schema)) return args;
  if (Array.isArray(args)) return args.map((item) => restoreNames(item, schema.items));
  if (!isJsonObject(args) || !isJsonObject(schema.properties)) return args;
  const { properties } = schema;
  const original = new Map([...acceptedNames(properties)].map(([name, accepted]) => [accepted, name]));
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const name = original.get(key) ?? key;
      return [name, restoreNames(value, properties[name])];
    }),
  );
}

/** A tool's parameters with the `type` and `properties` that Anthropic and OpenAI require. */
export function objectSchema(parameters: JsonSchema): JsonSchema {
  return { ...parameters, type: "object", properties: parameters.properties ?? {} };
}

/** Kept as they are: Google's Schema has them under the same name (ai.google.dev/api/caching#Schema). */
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

/** Deeper than any tool needs; stops a schema that refers to itself. */
const MAX_DEPTH = 12;

/** More than any tool has; stops one in which each part refers to several others, level by level. */
const MAX_PARTS = 5_000;

interface Root {
  readonly schema: JsonSchema;
  parts: number;
}

/**
 * JSON Schema to the OpenAPI subset of Google's function declarations; null for a tool without parameters, which
 * must not declare any. What the subset cannot say (number enums, other formats) goes into the description.
 */
export function googleSchema(parameters: JsonSchema): JsonSchema | null {
  const schema = convert(parameters, { schema: parameters, parts: 0 }, 0);
  return isJsonObject(schema.properties) && Object.keys(schema.properties).length > 0
    ? { ...schema, type: "object" }
    : null;
}

type Node = { [key: string]: JsonValue };

function convert(given: JsonValue | undefined, root: Root, depth: number): Node {
  const source = resolve(given, root);
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
  const named = types.filter((type) => type !== "null");

  if (options.length > 1 || named.length > 1) {
    const alternatives = options.length > 1 ? options : named.map((type) => ({ ...source, type, description: null }));
    out.anyOf = alternatives.map((choice) => convert(choice, root, depth + 1));
  } else if (options.length === 1) {
    Object.assign(out, convert(options[0], root, depth + 1));
    if (typeof out.description === "string") notes.push(out.description);
  } else {
    convertSingle(source, named[0] ?? guessType(source), out, notes, root, depth);
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
    const named = values.filter((value) => value !== "");
    if (type === "string" && named.length > 0) out.enum = named.map(String);
    else if (type !== "string") notes.push(`One of: ${values.join(", ")}.`);
    // Refused in an enum.
    if (named.length < values.length) notes.push("An empty string is allowed too.");
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
  // Empty properties are refused; an object without them is not.
  if (type === "object" && isJsonObject(source.properties) && Object.keys(source.properties).length > 0) {
    const properties = Object.entries(source.properties).map(([name, schema]) => [
      name,
      convert(schema, root, depth + 1),
    ]);
    out.properties = Object.fromEntries(properties);
    const required = asArray(source.required).filter((name) => properties.some(([known]) => known === name));
    if (required.length > 0) out.required = required;
  }
}

/** Follows `#/$defs/X`, and takes the parts of an `allOf` together; null where there is no schema object. */
function resolve(given: JsonValue | undefined, root: Root, depth = 0): JsonSchema | null {
  let at = given;
  for (let hops = 0; isJsonObject(at) && typeof at.$ref === "string" && hops < MAX_DEPTH; hops++) {
    const { $ref, ...beside } = at;
    let target: JsonValue | undefined = root.schema;
    for (const part of $ref.replace(/^#\//, "").split("/")) target = isJsonObject(target) ? target[part] : undefined;
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
