// Compiles JSON Schemas of tools and formats what is wrong with an argument for the model.
import { Ajv, type ErrorObject, type Format, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { FormatName } from "ajv-formats";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { LRUCache } from "lru-cache";
import { isShallow, type JsonSchema, type JsonValue, MAX_JSON_DEPTH } from "../../platform/json.js";
import {
  COUNT_REF,
  checkSchemaSafety,
  isSchemaObject,
  LinearPattern,
  RefCounter,
  type Subschema,
  uniqueItems,
} from "./schema-safety.js";

type Validation = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly error: string };

export type SchemaValidator = (value: JsonValue) => Validation;

type SchemaDraft = "draft-07" | "2020-12";

/** Compiled schemas, keyed by schema text so that a server's chats share them. */
const compiled = new LRUCache<string, SchemaValidator>({ max: 500 });

const MAX_CHARS = 200_000;

/**
 * Compiles the schema of a tool's arguments. Validated values have the schema's defaults filled in. Throws an Error
 * that describes the problem with the schema or the rule that cannot be checked. `isOwn` marks schemas of built-in
 * tools. They skip the check against the meta-schema, which takes 70 ms to compile.
 */
export function compileArgumentSchema(schema: JsonSchema, isOwn = false): SchemaValidator {
  if (schema.type !== "object") throw new Error('expected a schema with "type": "object"');
  return cached(schema, "the arguments", true, isOwn);
}

/** Compiles the schema of a tool's results. Unknown keywords are ignored, and the value is not changed. */
export function compileResultSchema(schema: JsonSchema): SchemaValidator {
  return cached(schema, "the result", false, false);
}

/**
 * Keywords that ajv recognizes but does not check as JSON Schema defines them, or that only have a meaning in OpenAPI.
 */
const NOT_CHECKED = ["nullable", "contentEncoding", "contentMediaType", "contentSchema", "$vocabulary"];

function cached(schema: JsonSchema, root: string, isStrict: boolean, isOwn: boolean): SchemaValidator {
  if (!isShallow(schema)) throw new Error(`it is nested more than ${MAX_JSON_DEPTH} levels deep`);
  const key = `${root} ${isOwn} ${JSON.stringify(schema)}`;
  if (key.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
  const existing = compiled.get(key);
  if (existing !== undefined) return existing;
  const validator = compile(schema, root, isStrict, isOwn);
  compiled.set(key, validator);
  return validator;
}

function compile(source: JsonSchema, root: string, isStrict: boolean, isOwn: boolean): SchemaValidator {
  // The copy is modified below. `$schema` and `$id` would make ajv search for other documents.
  const { $schema: _, $id: __, ...schema } = structuredClone(source) as Record<string, JsonValue>;
  const subschemas = checkSchemaSafety(schema);
  const draft = draftOf(source, subschemas);
  if (!isOwn) checkAgainstMetaSchema(schema, draft);
  if (isStrict) checkRequired(subschemas);

  const ajv = createAjv(draft, {
    strictTypes: isStrict,
    useDefaults: isStrict,
    allErrors: isStrict,
  });
  const counter = new RefCounter();
  for (const keyword of NOT_CHECKED) ajv.removeKeyword(keyword);
  ajv.removeKeyword("uniqueItems").addKeyword(uniqueItems).addKeyword(counter.keyword);
  for (const subschema of subschemas) prepare(subschema, isStrict, ajv);
  const validate = generate(ajv, schema, subschemas);
  return (value) => {
    counter.reset();
    const data = isStrict ? structuredClone(value) : value;
    try {
      if (validate(data)) return { ok: true, value: data };
    } catch (error) {
      return { ok: false, error: `${root} cannot be checked: ${(error as Error).message}` };
    }
    return { ok: false, error: describeErrors(validate.errors ?? [], root) };
  };
}

function checkAgainstMetaSchema(schema: JsonSchema, draft: SchemaDraft): void {
  const meta = metaValidator(draft);
  if (meta.validateSchema(schema) !== true) throw new Error(describeErrors(meta.errors ?? [], "the schema"));
}

/**
 * Rejects a required property that is not defined anywhere, because it is a typo. ajv's own `strictRequired` expects
 * the definition next to `required`, which would reject `oneOf: [{ required: ["a"] }, { required: ["b"] }]`.
 */
function checkRequired(subschemas: readonly Subschema[]): void {
  const defined = new Set(
    subschemas.flatMap(({ schema: { properties } }) => (isSchemaObject(properties) ? Object.keys(properties) : [])),
  );
  for (const { schema, path } of subschemas) {
    const names = Array.isArray(schema.required) ? schema.required : [];
    const missing = names.find((name) => !defined.has(String(name)));
    if (missing !== undefined) throw new Error(`required property "${missing}" is not defined at "#${path}"`);
  }
}

function prepare({ schema, path }: Subschema, isStrict: boolean, { RULES, formats }: Ajv): void {
  const editable = schema as Record<string, JsonValue>;
  const unknown = Object.keys(schema).filter((key) => !Object.hasOwn(RULES.keywords, key));
  const unchecked = unknown.filter((key) => !key.startsWith("x-"));
  if (isStrict && unchecked.length > 0) {
    throw new Error(`${path === "" ? "the schema" : path} has ${unchecked.join(", ")}, which cannot be checked`);
  }
  for (const key of unknown) delete editable[key];
  if (!Object.hasOwn(formats, String(schema.format))) delete editable.format;
  if (schema.$ref !== undefined) editable[COUNT_REF] = null;
}

/** Runs ajv's code generation. Removes ajv's own option names from error messages. */
function generate(ajv: Ajv, schema: JsonSchema, subschemas: readonly Subschema[]) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof RangeError) throw new Error("its chain of references is too long");
    const message = (error as Error).message.replace(/^strict mode: /, "").replace(/ \(strict\w+\)$/, "");
    throw new Error(withFullPath(message, subschemas));
  }
}

/** Replaces ajv's path, which starts at the compiled definition, with the path from the root. */
function withFullPath(message: string, subschemas: readonly Subschema[]): string {
  return message.replace(/ for keyword "(.*)" at "#(.*)"$/, (match, keyword: string, path: string) => {
    const isMeant = (sub: Subschema) =>
      sub.schema.type === undefined && Object.hasOwn(sub.schema, keyword) && sub.path.endsWith(path);
    const subschema = subschemas.find(isMeant);
    return subschema === undefined ? match : ` for keyword "${keyword}" at "#${subschema.path}"`;
  });
}

const MAX_ERRORS = 20;
const MAX_VALUE_CHARS = 80;
const MAX_NAMES = 50;

/**
 * Formats ajv's errors as one line with the location, the expected value and the received value. `root` is the name of
 * the top-level value.
 */
function describeErrors(errors: readonly ErrorObject[], root: string): string {
  const lines = errors.slice(0, MAX_ERRORS).map((error) => describe(error, root));
  return [...new Set(lines)].join("; ");
}

function describe(error: ErrorObject, root: string): string {
  const path = error.instancePath.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  const memberPath = (name: string) => (path === "" ? name : `${path}.${name}`);
  const { properties } = error.parentSchema ?? {};
  switch (error.keyword) {
    case "required": {
      const name = String(error.params.missingProperty);
      const property = isSchemaObject(properties) ? properties[name] : undefined;
      const type =
        isSchemaObject(property) && property.type !== undefined ? `: must be ${listOf([property.type])}` : "";
      return `${memberPath(name)} is missing${type}`;
    }
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = error.params.additionalProperty ?? error.params.unevaluatedProperty;
      const propertyNames = isSchemaObject(properties) ? Object.keys(properties) : [];
      const hint = propertyNames.length === 0 ? "" : ` (known: ${propertyNames.slice(0, MAX_NAMES).join(", ")})`;
      return `${path === "" ? root : path} must not have "${clip(String(name))}"${hint}`;
    }
    case "enum":
      return `${path || root} must be one of ${listOf(error.params.allowedValues)}${received(error.data)}`;
    case "const":
      return `${path || root} must be ${listOf([error.params.allowedValue])}${received(error.data)}`;
    default:
      return `${path || root} ${error.message}${received(error.data)}`;
  }
}

function listOf(values: readonly unknown[]): string {
  const examples = values.flat().slice(0, MAX_NAMES);
  return examples.map((value) => clip(JSON.stringify(value) ?? "")).join(", ");
}

function received(value: unknown): string {
  if (Array.isArray(value)) return ", received a list";
  if (typeof value === "object" && value !== null) return ", received an object";
  return `, received ${clip(JSON.stringify(value))}`;
}

function clip(text: string): string {
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}

/**
 * Returns 2020-12 unless the schema specifies an older draft or uses a list as `items`, which 2020-12 does not allow.
 */
function draftOf(root: JsonSchema, subschemas: readonly Subschema[]): SchemaDraft {
  if (/draft-0\d/.test(String(root.$schema))) return "draft-07";
  return subschemas.some(({ schema }) => Array.isArray(schema.items)) ? "draft-07" : "2020-12";
}

const FORMATS: readonly FormatName[] = [
  "date",
  "time",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uri-reference",
  "uuid",
];

/** Longer texts never match a format, because some of the regular expressions take quadratic time. */
const MAX_FORMAT_CHARS = 10_000;

const linearRegExp = Object.assign((pattern: string) => new LinearPattern(pattern), { code: "LinearPattern" });

const OPTIONS: Options = {
  meta: false,
  // The caller checks for unknown keywords. ajv would also reject formats and defaults that it merely ignores.
  strictSchema: false,
  strictTuples: false,
  allowUnionTypes: true,
  ownProperties: true,
  // An inlined reference would lose its defaults inside anyOf.
  inlineRefs: false,
  verbose: true,
  logger: false,
  multipleOfPrecision: 10,
  code: { regExp: linearRegExp },
};

/** Creates a new instance for each schema, because an ajv instance never releases its compiled schemas. */
function createAjv(draft: SchemaDraft, options: Options): Ajv {
  const checks = FORMATS.map((name) => [name, withMaxLength(fullFormats[name])] as const);
  return new (ajvClass(draft))({ ...OPTIONS, formats: Object.fromEntries(checks), ...options });
}

function withMaxLength(format: Format): (text: string) => boolean {
  const test = typeof format === "object" && "validate" in format ? format.validate : format;
  const matches = typeof test === "function" ? test : (text: string) => (test as RegExp).test(text);
  return (text) => text.length <= MAX_FORMAT_CHARS && (matches as (text: string) => boolean)(text);
}

const metaValidators = new Map<SchemaDraft, Ajv>();

/** Returns the instance that checks schemas against their draft's meta-schema, which is compiled only once. */
function metaValidator(draft: SchemaDraft): Ajv {
  const cached = metaValidators.get(draft);
  if (cached !== undefined) return cached;
  const ajv = new (ajvClass(draft))({ validateFormats: false, verbose: true, allErrors: true, logger: false });
  metaValidators.set(draft, ajv);
  return ajv;
}

function ajvClass(draft: SchemaDraft): typeof Ajv {
  return draft === "draft-07" ? Ajv : (Ajv2020 as unknown as typeof Ajv);
}
