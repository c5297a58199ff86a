// Rejects hostile JSON Schemas before ajv compiles them, and matches their patterns in linear time.
import type { FuncKeywordDefinition } from "ajv";
import { RE2JS } from "re2js";
import type { JsonSchema, JsonValue } from "../../platform/json.js";

export interface Subschema {
  readonly schema: JsonSchema;
  /** Path from the root, such as `/properties/query`. */
  readonly path: string;
}

/** ajv compiles about 10,000 subschemas per second. */
const MAX_SUBSCHEMAS = 2_000;

/** Keywords that change the target of a `$ref`, so that the checks here and ajv could disagree. */
const RESOLUTION_KEYWORDS = ["$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/**
 * Returns the subschemas of a schema. Throws if the schema would take too long to compile or to check values against,
 * or if it refers to anything outside itself. ajv generates code from the schema, so every accepted schema must be safe
 * to compile.
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

/** ajv skips a property with this name, so it would not check any rule for it. */
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
  if (path !== "" && Object.hasOwn(schema, "$id")) throw new Error(`${at} has its own $id`);
  const ref = schema.$ref;
  if (ref === undefined) return [];
  const target = typeof ref === "string" && /^#(\/|$)/.test(ref) ? resolveLocalRef(root, ref) : undefined;
  if (typeof target === "boolean") return [];
  if (!isSchemaObject(target)) {
    throw new Error(`the $ref ${JSON.stringify(ref).slice(0, 100)} of ${at} does not refer to this schema (#/...)`);
  }
  return [{ schema: target, path: String(ref).slice(1) }];
}

/** Maximum references followed per checked value. Real schemas follow a few for each object in the value. */
const MAX_REFS_FOLLOWED = 100_000;

/** Added next to every `$ref` in a compiled schema. */
export const COUNT_REF = "x-count-ref";

/**
 * Limits the time that a recursive schema takes. If `properties` and `patternProperties` both refer to the root, the
 * work doubles at every level of the value.
 */
export class RefCounter {
  private followed = 0;

  reset(): void {
    this.followed = 0;
  }

  readonly keyword: FuncKeywordDefinition = {
    keyword: COUNT_REF,
    schema: false,
    errors: false,
    validate: () => {
      this.followed++;
      if (this.followed > MAX_REFS_FOLLOWED) throw new Error("it requires following too many references");
      return true;
    },
  };
}

/** Takes linear time. ajv's own check compares every pair of items unless their type is known to be simple. */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  error: { message: "must not contain duplicate items" },
  validate: (isUnique: boolean, items: readonly JsonValue[]) =>
    !isUnique || new Set(items.map(canonicalJson)).size === items.length,
};

/** Returns equal text for equal values, because object keys are sorted. */
function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_, inner: JsonValue) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return { entries: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) };
  });
}

/** Maximum schemas per checked value. */
const MAX_IN_PLACE = 1_000;

/**
 * Rejects a schema that checks one value against too many subschemas or that recurses forever. A chain of `allOf` with
 * two `$ref`s each doubles at every link.
 */
function checkUnfolding(root: JsonSchema, subschemas: Iterable<Subschema>): void {
  const sizes = new Map<JsonSchema, number>();
  const open = new Set<JsonSchema>();
  const sizeOf = (schema: JsonSchema): number => {
    const cached = sizes.get(schema);
    if (cached !== undefined) return cached;
    if (open.has(schema)) throw new Error("a part of it refers to itself endlessly");
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

/** Keywords that contain one schema, a list of schemas, or schemas by name. `items` can be one schema or a list. */
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

/** Keywords with subschemas that apply to the same value as the schema itself. */
const IN_PLACE_SINGLE = ["not", "if", "then", "else"];
const IN_PLACE_LISTS = ["anyOf", "oneOf", "allOf"];
const IN_PLACE_MAPS = ["dependentSchemas", "dependencies"];

function subschemasOf({ schema, path }: Subschema): Subschema[] {
  return [
    ...collect(schema, path, SINGLE, LISTS, MAPS),
    ...collect(schema, path, IN_PLACE_SINGLE, IN_PLACE_LISTS, IN_PLACE_MAPS),
  ];
}

/** Returns the subschemas that check the same value. Does not follow a `$ref`. */
function inPlaceSubschemasOf(schema: JsonSchema): JsonSchema[] {
  return collect(schema, "", IN_PLACE_SINGLE, IN_PLACE_LISTS, IN_PLACE_MAPS).map((sub) => sub.schema);
}

function collect(
  schema: JsonSchema,
  path: string,
  single: readonly string[],
  lists: readonly string[],
  maps: readonly string[],
): Subschema[] {
  const subschemas: Subschema[] = [];
  const add = (value: JsonValue | undefined, at: string) => {
    if (isSchemaObject(value)) subschemas.push({ schema: value, path: `${path}/${at}` });
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
  return subschemas;
}

/**
 * Maximum instructions per compiled pattern, and maximum instructions times characters per test (at most half a
 * second).
 */
const MAX_INSTRUCTIONS = 1_000;
const MAX_STEPS = 5_000_000;
const MAX_PATTERN_CHARS = 1_000;

/**
 * A JSON Schema `pattern` that matches in linear time. JavaScript's own engine backtracks exponentially on a hostile
 * pattern such as `^(a+)+$`. A text that is too long to test in time does not match.
 */
export class LinearPattern {
  private readonly compiled: RE2JS;

  constructor(readonly source: string) {
    this.compiled = compile(source);
  }

  test(text: string): boolean {
    return text.length * this.compiled.programSize() <= MAX_STEPS && this.compiled.test(text);
  }

  /** ajv uses this text as the cache key of a compiled pattern. */
  toString(): string {
    return `/${this.source}/`;
  }
}

function compile(source: string): RE2JS {
  const invalid = (why: string) => new Error(`the pattern ${source.slice(0, 100)} cannot be checked: ${why}`);
  if (source.length > MAX_PATTERN_CHARS) throw invalid(`it has more than ${MAX_PATTERN_CHARS} characters`);
  // Parsed only to get JavaScript's own message for a syntax error.
  new RegExp(source);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source));
  } catch (error) {
    throw invalid(
      `it uses syntax beyond regular languages, such as lookarounds or backreferences (${(error as Error).message})`,
    );
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw invalid("it has too many repetitions");
  return compiled;
}

export function isSchemaObject(value: JsonValue | undefined): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the target of a local `$ref` such as `#/$defs/day`, or undefined if the target does not exist. */
function resolveLocalRef(root: JsonSchema, ref: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const segment of ref.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    const key = unescapeSegment(segment);
    const holds: boolean = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    value = holds ? (value as Record<string, JsonValue>)[key] : undefined;
  }
  return value;
}

function unescapeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return segment;
  }
}
