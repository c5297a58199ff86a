import type { JsonSchema, JsonValue } from "../../domain/json.js";

/** Schemas that one value may be held against. */
const MAX_ALTERNATIVES = 1_000;

const LISTS = ["anyOf", "oneOf", "allOf"];

/**
 * Refuses a schema of which one value would be held against very many parts, or against one for ever: each `$ref` in an `allOf`
 * may double what the one before it says.
 */
export function checkUnfolding(root: JsonSchema): void {
  const sizes = new Map<JsonSchema, number>();
  const open = new Set<JsonSchema>();
  const sizeOf = (schema: JsonValue | undefined): number => {
    if (!isSchema(schema)) return 1;
    const known = sizes.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) throw new Error("a part of it refers to itself without an end");
    open.add(schema);
    let size = 1;
    for (const key of LISTS) {
      const list = schema[key];
      if (Array.isArray(list)) for (const part of list as readonly JsonValue[]) size += sizeOf(part);
    }
    if (typeof schema.$ref === "string") size += sizeOf(target(root, schema.$ref));
    if (size > MAX_ALTERNATIVES)
      throw new Error(`one value would be held against more than ${MAX_ALTERNATIVES} schemas`);
    open.delete(schema);
    sizes.set(schema, size);
    return size;
  };
  const waiting: JsonValue[] = [root];
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    if (typeof schema !== "object" || schema === null) continue;
    if (isSchema(schema)) sizeOf(schema);
    for (const part of Object.values(schema)) waiting.push(part);
  }
}

function target(root: JsonSchema, ref: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  const path = ref.replace(/^#\/?/, "");
  for (const part of path === "" ? [] : path.split("/")) at = isSchema(at) ? at[part] : undefined;
  return at;
}

function isSchema(value: JsonValue | undefined): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
