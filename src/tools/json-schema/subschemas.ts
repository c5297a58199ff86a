import type { JsonSchema, JsonValue } from "../../domain/json.js";
import { isSchemaObject } from "./json-pointer.js";

/** Keywords that hold one schema, a list of schemas, or schemas by name. `items` may be either of the first two. */
const SINGLE = [
  "items",
  "additionalItems",
  "additionalProperties",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const LISTS = ["prefixItems", "items"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions"];

/** Those that apply to the same value as the schema they stand in. */
const IN_PLACE_SINGLE = ["not", "if", "then", "else"];
const IN_PLACE_LISTS = ["anyOf", "oneOf", "allOf"];
const IN_PLACE_MAPS = ["dependentSchemas", "dependencies"];

export interface Subschema {
  readonly schema: JsonSchema;
  /** Such as `/properties/query`. */
  readonly path: string;
}

/** The schemas directly inside a schema. */
export function subschemasOf({ schema, path }: Subschema): Subschema[] {
  return [
    ...collect(schema, path, SINGLE, LISTS, MAPS),
    ...collect(schema, path, IN_PLACE_SINGLE, IN_PLACE_LISTS, IN_PLACE_MAPS),
  ];
}

/** The ones among them that check the same value; a `$ref` is not followed. */
export function inPlaceSubschemasOf(schema: JsonSchema): JsonSchema[] {
  return collect(schema, "", IN_PLACE_SINGLE, IN_PLACE_LISTS, IN_PLACE_MAPS).map((sub) => sub.schema);
}

function collect(
  schema: JsonSchema,
  path: string,
  single: readonly string[],
  lists: readonly string[],
  maps: readonly string[],
): Subschema[] {
  const found: Subschema[] = [];
  const add = (value: JsonValue | undefined, at: string) => {
    if (isSchemaObject(value)) found.push({ schema: value, path: `${path}/${at}` });
  };
  for (const key of single) add(schema[key], key);
  for (const key of lists) {
    const list = schema[key];
    if (Array.isArray(list)) for (const [i, item] of list.entries()) add(item as JsonValue, `${key}/${i}`);
  }
  for (const key of maps) {
    const map = schema[key];
    if (isSchemaObject(map)) for (const [name, item] of Object.entries(map)) add(item, `${key}/${name}`);
  }
  return found;
}
