// Renames parameters whose names Anthropic and Google reject, and restores the names in the arguments of calls.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../platform/json.js";
import { asArray, changeParts, MAX_NESTING, MAX_PARTS, targetOf, unescapePointer } from "./schema-parts.js";

/** Property names that Anthropic and Google accept. */
const ACCEPTED_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Keywords whose schemas apply to the same value as the surrounding schema. */
const IN_PLACE = ["allOf", "anyOf", "oneOf", "if", "then", "else"];

export interface Renamed {
  readonly root: JsonSchema;
  /** Original names by sent name. */
  readonly originals: ReadonlyMap<string, string>;
}

/** Returns the names of all properties in a schema, at any depth. */
function propertyNames(schema: JsonSchema): Set<string> {
  const names = new Set<string>();
  changeParts(schema, (part) => {
    if (isJsonObject(part.properties)) for (const name of Object.keys(part.properties)) names.add(name);
    return part;
  });
  return names;
}

/**
 * Returns a unique accepted name for each rejected property name. Names apply to the entire schema, because parts that
 * describe the same value, such as the branches of an `anyOf`, must use the same name.
 */
export function acceptedNames(schema: JsonSchema): Map<string, string> {
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

/** Renames the properties of a schema, at any depth. */
export function renameProperties(schema: JsonSchema, names: ReadonlyMap<string, string>): JsonValue {
  const renamed = (name: JsonValue) => (typeof name === "string" ? (names.get(name) ?? name) : name);
  const byName = (value: JsonValue, inner = (one: JsonValue) => one) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [renamed(name), inner(one)]))
      : value;
  const list = (value: JsonValue) => (Array.isArray(value) ? value.map(renamed) : value);
  const change: Readonly<Record<string, (value: JsonValue) => JsonValue>> = {
    $ref: (value) => (typeof value === "string" ? renamePointer(value, names) : value),
    properties: (value) => byName(value),
    dependentSchemas: (value) => byName(value),
    required: list,
    dependentRequired: (value) => byName(value, list),
  };
  return changeParts(schema, (part) =>
    Object.fromEntries(Object.entries(part).map(([keyword, value]) => [keyword, change[keyword]?.(value) ?? value])),
  );
}

/** Renames the properties in a pointer such as `#/properties/$filter` (RFC 6901). */
function renamePointer(pointer: string, names: ReadonlyMap<string, string>): string {
  const parts = pointer.split("/");
  return parts
    .map((part, i) => (parts[i - 1] === "properties" ? (names.get(unescapePointer(part)) ?? part) : part))
    .join("/");
}
/**
 * Restores the tool's own parameter names in arguments. Follows `$ref` and alternatives. A key that is not a property
 * at that place in the schema is data and remains unchanged.
 */
export function restoreNames(args: JsonValue, schemas: readonly JsonValue[], renamed: Renamed, depth = 0): JsonValue {
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
