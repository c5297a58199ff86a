import type { JsonSchema } from "../../domain/json.js";
import { isSchemaObject, resolveLocalRef } from "./json-pointer.js";
import { LinearPattern } from "./linear-pattern.js";
import { checkUnfolding } from "./schema-unfolding.js";
import { type Subschema, subschemasOf } from "./subschemas.js";

/** ajv compiles some 10,000 subschemas a second. */
const MAX_SUBSCHEMAS = 2_000;

/** They would change what a `$ref` means, so that the checks here and ajv could disagree. */
const RESOLUTION_KEYWORDS = ["$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/**
 * Rejects a schema that would take too long to compile or to check against, or that refers out of itself; returns its
 * subschemas. ajv generates code from it, so whatever passes here must be safe to compile.
 */
export function checkSchemaSafety(root: JsonSchema): readonly Subschema[] {
  const subschemas = new Map<JsonSchema, Subschema>();
  const pending: Subschema[] = [{ schema: root, path: "" }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (subschemas.has(next.schema)) continue;
    subschemas.set(next.schema, next);
    if (subschemas.size > MAX_SUBSCHEMAS) throw new Error(`it has more than ${MAX_SUBSCHEMAS} subschemas`);
    checkPatterns(next.schema);
    checkProtoName(next);
    pending.push(...subschemasOf(next), ...refTarget(root, next));
  }
  checkUnfolding(root, subschemas.values());
  return [...subschemas.values()];
}

function checkPatterns({ pattern, patternProperties }: JsonSchema): void {
  if (typeof pattern === "string") new LinearPattern(pattern);
  if (isSchemaObject(patternProperties)) for (const name of Object.keys(patternProperties)) new LinearPattern(name);
}

/** ajv skips a property of this name, so a rule for it would not be checked. */
function checkProtoName({ schema, path }: Subschema): void {
  const { properties, required } = schema;
  const isProperty = isSchemaObject(properties) && Object.hasOwn(properties, "__proto__");
  if (isProperty || (Array.isArray(required) && required.includes("__proto__"))) {
    throw new Error(`${path === "" ? "the schema" : path} has a property named __proto__, which cannot be checked`);
  }
}

function refTarget(root: JsonSchema, { schema, path }: Subschema): Subschema[] {
  const at = path === "" ? "the schema" : path;
  const changesRefs = RESOLUTION_KEYWORDS.find((key) => Object.hasOwn(schema, key));
  if (changesRefs !== undefined) throw new Error(`${at} has ${changesRefs}, which cannot be checked`);
  if (path !== "" && Object.hasOwn(schema, "$id")) throw new Error(`${at} has an $id of its own`);
  const ref = schema.$ref;
  if (ref === undefined) return [];
  const target = typeof ref === "string" && /^#(\/|$)/.test(ref) ? resolveLocalRef(root, ref) : undefined;
  if (typeof target === "boolean") return [];
  if (!isSchemaObject(target)) {
    throw new Error(`the $ref ${JSON.stringify(ref).slice(0, 100)} of ${at} is not in this schema (#/...)`);
  }
  return [{ schema: target, path: String(ref).slice(1) }];
}
