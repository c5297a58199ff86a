// Walks through JSON schemas: references, merged parts, and changes at any depth.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../platform/json.js";

/** A schema with references into itself, and the number of its parts that were read. */
export interface Root {
  readonly schema: JsonSchema;
  parts: number;
}

/** Keywords whose values are data, not schemas. */
const DATA = new Set(["default", "enum", "const", "examples", "required", "dependentRequired"]);

/** Keywords whose values are named schemas. */
const SCHEMAS_BY_NAME = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Deeper than any tool's schema. Protects the stack. */
export const MAX_NESTING = 200;

/** Deeper than any tool needs. Stops recursive schemas. */
export const MAX_DEPTH = 12;

/** More parts than any tool's schema has. Stops schemas in which each part refers to several others, level by level. */
export const MAX_PARTS = 5_000;

/** Copies a schema and replaces each of its parts at any depth, the innermost first. */
export function changeParts(schema: JsonValue, change: (part: JsonSchema) => JsonSchema, depth = 0): JsonValue {
  const inner = (value: JsonValue) => changeParts(value, change, depth + 1);
  if (Array.isArray(schema)) return schema.map(inner);
  if (!isJsonObject(schema) || depth > MAX_NESTING) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
    if (DATA.has(keyword)) return [keyword, value];
    if (!SCHEMAS_BY_NAME.has(keyword) || !isJsonObject(value)) return [keyword, inner(value)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))];
  });
  return change(Object.fromEntries(entries));
}

/** Follows `#/$defs/X` and merges the parts of an `allOf`. Returns null if the result is not a schema object. */
export function resolve(schema: JsonValue | undefined, root: Root, depth = 0): JsonSchema | null {
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

export function asArray(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns the target of a `$ref` within the same schema. */
export function targetOf(pointer: string, root: JsonSchema): JsonValue | undefined {
  let target: JsonValue | undefined = root;
  for (const part of pointer.replace(/^#\/?/, "").split("/")) {
    if (part === "") continue;
    const key = unescapePointer(part);
    target = Array.isArray(target) ? target[Number(key)] : isJsonObject(target) ? target[key] : undefined;
  }
  return target;
}

export function unescapePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}
