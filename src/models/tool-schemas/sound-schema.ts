// Repairs schemas that are not JSON Schema. MCP servers in other languages write null or an empty list for absent
// keywords, and others use the types of their language or an older draft. Providers then reject the entire request.
import { isJsonObject, type JsonSchema, type JsonValue } from "../../platform/json.js";
import { wordList } from "../../platform/word-list.js";
import { asArray, changeParts, targetOf } from "./schema-parts.js";

const TYPES = wordList("string number integer boolean object array null");

const isSchema = (value: JsonValue) => isJsonObject(value) || typeof value === "boolean";

/** Keywords by the kind of their value. A keyword with another value is left out. */
const KINDS: readonly (readonly [keywords: readonly string[], isValid: (value: JsonValue) => boolean])[] = [
  [wordList("$ref $schema $id title description pattern format"), (value) => typeof value === "string"],
  [wordList("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"), (value) => typeof value === "number"],
  [
    wordList("minLength maxLength minItems maxItems minProperties maxProperties"),
    (value) => Number.isInteger(value) && Number(value) >= 0,
  ],
  [wordList("properties patternProperties $defs definitions dependentSchemas"), isJsonObject],
  [wordList("additionalProperties not if then else contains propertyNames"), isSchema],
  [["items"], (value) => isSchema(value) || Array.isArray(value)],
  [["required"], Array.isArray],
  [wordList("anyOf oneOf allOf prefixItems enum"), (value) => Array.isArray(value) && value.length > 0],
];

const VALIDITY = new Map(
  KINDS.flatMap(([keywords, isValid]) => keywords.map((keyword) => [keyword, isValid] as const)),
);

/** Returns a schema without keywords whose values no draft of JSON Schema allows. */
export function soundSchema(schema: JsonSchema): JsonSchema {
  return changeParts(schema, (part) => {
    const entries = Object.entries(part).map(([keyword, value]) => [keyword, repaired(keyword, value, part)] as const);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, JsonValue] => {
        const [keyword, value] = entry;
        return value !== undefined && (VALIDITY.get(keyword)?.(value) ?? true);
      }),
    );
  }) as JsonSchema;
}

const CAN_BE_NULL = new Set(["default", "const"]);

/** Returns the value of a keyword in the current draft, or undefined to leave the keyword out. */
function repaired(keyword: string, value: JsonValue, part: JsonSchema): JsonValue | undefined {
  if (value === null && !CAN_BE_NULL.has(keyword)) return undefined;
  switch (keyword) {
    case "type": {
      const types = asArray(value).map((name) => String(name).toLowerCase());
      const known = types.filter((name) => TYPES.includes(name));
      return Array.isArray(value) && known.length > 0 ? known : known[0];
    }
    case "properties":
      return isJsonObject(value) ? propertiesOf(value) : undefined;
    case "anyOf":
    case "oneOf":
    case "allOf":
      return asArray(value).filter(isSchema);
    case "required":
      return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined;
    case "enum":
      return [...new Map(asArray(value).map((choice) => [JSON.stringify(choice), choice])).values()];
    // In draft 4, the exclusive bounds are true or false.
    case "minimum":
      return part.exclusiveMinimum === true ? undefined : value;
    case "maximum":
      return part.exclusiveMaximum === true ? undefined : value;
    case "exclusiveMinimum":
      return value === true ? part.minimum : value;
    case "exclusiveMaximum":
      return value === true ? part.maximum : value;
    default:
      return value;
  }
}

/** A property without a schema can have any value. */
function propertiesOf(properties: JsonSchema): JsonSchema {
  const entries = Object.entries(properties).map(([name, schema]): [string, JsonValue] => [
    name,
    isJsonObject(schema) ? schema : schema === false ? { not: {} } : {},
  ]);
  return Object.fromEntries(entries);
}

/**
 * Repairs a schema for providers: also removes the draft's name and references to nothing, and gives each array one
 * schema for its items. OpenAI rejects arrays without one, even tuples. Anthropic requires JSON Schema 2020-12, where
 * `items` cannot be a list.
 */
export function acceptableSchema(schema: JsonSchema): JsonSchema {
  const sound = soundSchema(schema);
  return changeParts(sound, ({ additionalItems: _, $schema: __, ...part }) => {
    const { $ref, ...others } = part;
    const found = typeof $ref !== "string" || ($ref.startsWith("#") && targetOf($ref, sound) !== undefined);
    const { items, prefixItems } = part;
    const isArray = asArray(part.type).includes("array") || Array.isArray(items);
    const needsItems = isArray && (!isJsonObject(items) || Array.isArray(items));
    return { ...(found ? part : others), ...(needsItems ? { items: anyOf(asArray(prefixItems ?? items)) } : {}) };
  }) as JsonSchema;
}

/** Returns a schema for values that match at least one of the schemas. An empty list accepts everything. */
function anyOf(schemas: readonly JsonValue[]): JsonSchema {
  const options = schemas.filter(isJsonObject);
  return options.length > 1 ? { anyOf: options } : (options[0] ?? {});
}
