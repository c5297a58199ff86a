import type { JsonSchema } from "../../domain/json.js";
import { isSchemaObject, resolveLocalRef } from "./json-pointer.js";
import { inPlaceSubschemasOf, type Subschema } from "./subschemas.js";

/** Schemas that one value may be checked against. */
const MAX_IN_PLACE = 1_000;

/**
 * Rejects a schema that checks one value against very many subschemas, or against one for ever: a chain of `allOf`
 * with two `$ref` each doubles at every link.
 */
export function checkUnfolding(root: JsonSchema, subschemas: Iterable<Subschema>): void {
  const sizes = new Map<JsonSchema, number>();
  const open = new Set<JsonSchema>();
  const sizeOf = (schema: JsonSchema): number => {
    const known = sizes.get(schema);
    if (known !== undefined) return known;
    if (open.has(schema)) throw new Error("a part of it refers to itself without an end");
    open.add(schema);
    let size = 1;
    for (const part of inPlaceSubschemasOf(schema)) size += sizeOf(part);
    const target = typeof schema.$ref === "string" ? resolveLocalRef(root, schema.$ref) : undefined;
    if (isSchemaObject(target)) size += sizeOf(target);
    if (size > MAX_IN_PLACE) throw new Error(`one value would be checked against more than ${MAX_IN_PLACE} schemas`);
    open.delete(schema);
    sizes.set(schema, size);
    return size;
  };
  for (const { schema } of subschemas) sizeOf(schema);
}
