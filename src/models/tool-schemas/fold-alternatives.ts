// Folds alternatives at the top level of a schema into one object, because most providers reject them there.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../platform/json.js";
import { definedProperties } from "../../platform/optional-values.js";
import { asArray, type Root, resolve } from "./schema-parts.js";

/** Keywords that Anthropic and OpenAI reject at the top level of a tool's schema. */
const REFUSED_AT_TOP = ["allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else"];

/**
 * Folds alternatives at the top level of a schema into one object. The object has the properties of all alternatives,
 * and requires only the properties that all of them require. `hint` explains to the model which properties belong
 * together, or is null if nothing was folded.
 */
export function foldAlternatives(
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
  const { $defs, definitions } = parameters;
  const keywords = Object.entries({ ...definedProperties({ $defs, definitions }), ...whole }).filter(
    ([key]) => key !== "$ref" && !REFUSED_AT_TOP.includes(key),
  );
  const schema = { ...Object.fromEntries(keywords), properties, ...(required.length === 0 ? {} : { required }) };
  const distinct = [...new Set(sets.filter((set) => set !== ""))];
  return { schema, hint: distinct.length < 2 ? "" : `Give ${distinct.join(", or ")}.` };
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
