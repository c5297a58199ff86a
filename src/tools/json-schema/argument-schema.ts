import { z } from "zod";
import type { JsonSchema, JsonValue } from "../../domain/json.js";
import { isShallow, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import { withLinearPatterns } from "./linear-pattern.js";
import { checkUnfolding } from "./schema-unfolding.js";

/** Keywords that zod's reading of JSON Schema drops silently where no `type` stands beside them. */
const NEED_TYPE = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
  "items",
  "prefixItems",
  "contains",
  "minContains",
  "maxContains",
  "properties",
  "patternProperties",
  "propertyNames",
  "minProperties",
  "maxProperties",
  "required",
  "additionalProperties",
]);

/** The other keywords that are kept, and those that only describe. One that is in neither set would fall away. */
const OTHERS = new Set(
  `type enum const default anyOf oneOf allOf $ref $defs definitions
  title description examples deprecated readOnly writeOnly $schema $id $comment`.split(/\s+/),
);

/** Dropped silently where the array's `items` are not said. */
const NEED_ITEMS = ["minItems", "maxItems", "uniqueItems"];

/** Keywords that hold a schema, a list of them or a map of them. */
const ONE = ["items", "additionalProperties", "contains", "propertyNames"];
const LIST = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const MAP = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * A tool's JSON Schema as a zod type that checks all of it: bounds, enums, defaults, additionalProperties.
 * Throws an Error saying what cannot be kept, rather than let a rule fall away.
 */
export function toArgumentSchema(schema: JsonSchema): z.ZodType<JsonValue> {
  if (schema.type !== "object") throw new Error('a tool\'s parameters must have "type": "object"');
  if (!isShallow(schema)) throw new Error(`it is nested more than ${MAX_JSON_DEPTH} levels deep`);
  checkNothingLost(schema, "");
  checkUnfolding(schema);
  const convert = () => z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  return withLinearPatterns(schema, convert) as z.ZodType<JsonValue>;
}

function checkNothingLost(schema: JsonValue | undefined, path: string): void {
  if (!isSchema(schema)) return;
  const at = path === "" ? "the schema" : path;
  const keys = Object.keys(schema);
  const unknown = keys.filter((key) => !NEED_TYPE.has(key) && !OTHERS.has(key) && !key.startsWith("x-"));
  if (unknown.length > 0) throw new Error(`${at} has ${unknown.join(", ")}, which cannot be checked`);
  const typed = keys.filter((key) => NEED_TYPE.has(key));
  if (schema.type === undefined && typed.length > 0) {
    throw new Error(`${at} has ${typed.join(", ")} but no "type"`);
  }
  const bound = keys.find((key) => /^(min|max|multipleOf)/.test(key) && typeof schema[key] !== "number");
  if (bound !== undefined) throw new Error(`${at} has a ${bound} that is not a number`);
  const listed = schema.enum !== undefined || schema.const !== undefined;
  if (listed && typed.length > 0) throw new Error(`${at} has ${typed.join(", ")} beside its enum or const`);
  const counted = NEED_ITEMS.filter((key) => schema[key] !== undefined);
  if (counted.length > 0 && schema.items === undefined && schema.prefixItems === undefined) {
    throw new Error(`${at} has ${counted.join(", ")} but no "items"`);
  }
  const properties = isSchema(schema.properties) ? Object.keys(schema.properties) : [];
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (!properties.includes(String(name)))
      throw new Error(`${at} requires "${name}", which is not among its properties`);
  }
  for (const key of ONE) checkNothingLost(schema[key], `${path}/${key}`);
  for (const key of LIST) {
    const list = schema[key];
    if (Array.isArray(list))
      list.forEach((item: JsonValue, i) => {
        checkNothingLost(item, `${path}/${key}/${i}`);
      });
  }
  for (const key of MAP) {
    const map = schema[key];
    if (isSchema(map)) for (const [name, item] of Object.entries(map)) checkNothingLost(item, `${path}/${key}/${name}`);
  }
}

function isSchema(value: JsonValue | undefined): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
