import type { Ajv } from "ajv";
import type { JsonSchema, JsonValue } from "../../domain/json.js";
import { isShallow, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import { createAjv, type Draft, draftOf, metaValidator } from "./ajv.js";
import { describeErrors } from "./describe-errors.js";
import { COUNT_REF, RefCounter, uniqueItems } from "./keywords.js";
import { checkSchemaSafety } from "./schema-safety.js";
import type { Subschema } from "./subschemas.js";

export type Validation =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly error: string };

export type SchemaValidator = (value: JsonValue) => Validation;

/** Compiled schemas by their text, so that the chats of a server share them. */
const compiled = new Map<string, SchemaValidator>();
const MAX_COMPILED = 500;

const MAX_CHARS = 200_000;

/**
 * The check of a tool's arguments. Its values have the schema's defaults filled in. Throws an Error that says what is
 * wrong with the schema, or which rule in it could not be checked. `isOwn`: it came with the program, so it need not
 * be checked against the meta-schema, which takes 70 ms to compile.
 */
export function compileArgumentSchema(schema: JsonSchema, isOwn = false): SchemaValidator {
  if (schema.type !== "object") throw new Error('a tool\'s parameters must have "type": "object"');
  return cached(schema, "the arguments", true, isOwn);
}

/** The check of a tool's results: what it does not know is ignored, and the value stays as it is. */
export function compileResultSchema(schema: JsonSchema): SchemaValidator {
  return cached(schema, "the result", false, false);
}

/** Keywords that ajv knows and does not check as JSON Schema has them, or that mean something in OpenAPI only. */
const NOT_CHECKED = ["nullable", "contentEncoding", "contentMediaType", "contentSchema", "$vocabulary"];

function cached(schema: JsonSchema, root: string, isStrict: boolean, isOwn: boolean): SchemaValidator {
  if (!isShallow(schema)) throw new Error(`it is nested more than ${MAX_JSON_DEPTH} levels deep`);
  const key = `${root} ${isOwn} ${JSON.stringify(schema)}`;
  if (key.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const validator = compile(schema, root, isStrict, isOwn);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(key, validator);
  return validator;
}

function compile(source: JsonSchema, root: string, isStrict: boolean, isOwn: boolean): SchemaValidator {
  // The copy may be changed; `$schema` and `$id` would make ajv look for other documents.
  const { $schema: _, $id: __, ...schema } = structuredClone(source) as Record<string, JsonValue>;
  const subschemas = checkSchemaSafety(schema);
  const draft = draftOf(source, subschemas);
  if (!isOwn) checkAgainstMetaSchema(schema, draft);

  const ajv = createAjv(draft, {
    strictTypes: isStrict,
    strictRequired: isStrict,
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

function checkAgainstMetaSchema(schema: JsonSchema, draft: Draft): void {
  const meta = metaValidator(draft);
  if (meta.validateSchema(schema) !== true) throw new Error(describeErrors(meta.errors ?? [], "the schema"));
}

/** Rejects what ajv would not check, and takes out what it must not see. */
function prepare({ schema, path }: Subschema, isStrict: boolean, { RULES, formats }: Ajv): void {
  const editable = schema as Record<string, JsonValue>;
  const unknown = Object.keys(schema).filter((key) => !Object.hasOwn(RULES.keywords, key));
  const unchecked = unknown.filter((key) => !key.startsWith("x-"));
  if (isStrict && unchecked.length > 0) {
    throw new Error(`${path === "" ? "the schema" : path} has ${unchecked.join(", ")}, which cannot be checked`);
  }
  for (const key of unknown) delete editable[key];
  if (!Object.hasOwn(formats, String(schema.format))) delete editable.format;
  if (schema.$ref !== undefined) editable[COUNT_REF] = true;
}

/** Runs ajv's code generation. What it says of its own options is cut from its messages. */
function generate(ajv: Ajv, schema: JsonSchema, subschemas: readonly Subschema[]) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof RangeError) throw new Error("its references form too long a chain");
    const message = (error as Error).message.replace(/^strict mode: /, "").replace(/ \(strict\w+\)$/, "");
    throw new Error(withFullPath(message, subschemas));
  }
}

/** ajv gives a path from the definition it compiles; the user needs the one from the root. */
function withFullPath(message: string, subschemas: readonly Subschema[]): string {
  return message.replace(/ for keyword "(.*)" at "#(.*)"$/, (match, keyword: string, path: string) => {
    const isMeant = (sub: Subschema) =>
      sub.schema.type === undefined && Object.hasOwn(sub.schema, keyword) && sub.path.endsWith(path);
    const found = subschemas.find(isMeant);
    return found === undefined ? match : ` for keyword "${keyword}" at "#${found.path}"`;
  });
}
