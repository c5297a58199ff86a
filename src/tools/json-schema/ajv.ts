import { createRequire } from "node:module";
import type { Ajv, Options } from "ajv";
import type { FormatName, FormatsPlugin } from "ajv-formats";
import type { JsonSchema } from "../../domain/json.js";
import { LinearPattern } from "./linear-pattern.js";
import type { Subschema } from "./subschemas.js";

/** Loaded at the first use: ajv takes 60 ms, and its meta-schema as long again. */
const require = createRequire(import.meta.url);

export type Draft = "draft-07" | "2020-12";

/** 2020-12 unless the schema names an older draft, or lists its `items` as 2020-12 no longer allows. */
export function draftOf(root: JsonSchema, subschemas: readonly Subschema[]): Draft {
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

/** Longer texts match no format: some of the expressions take quadratic time. */
const MAX_FORMAT_CHARS = 10_000;

const linearRegExp = Object.assign((pattern: string) => new LinearPattern(pattern), { code: "LinearPattern" });

const OPTIONS: Options = {
  meta: false,
  validateSchema: false,
  // Unknown keywords are looked for by the caller: ajv would also reject formats and defaults that it only ignores.
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

/** A new instance for each schema: ajv keeps what it compiled for as long as it lives. */
export function createAjv(draft: Draft, options: Options): Ajv {
  const formats = require("ajv-formats") as FormatsPlugin;
  const checks = FORMATS.map((name) => [name, withMaxLength(formats.get(name))] as const);
  return new (ajvClass(draft))({ ...OPTIONS, formats: Object.fromEntries(checks), ...options });
}

function withMaxLength(format: ReturnType<FormatsPlugin["get"]>): (text: string) => boolean {
  const test = typeof format === "object" && "validate" in format ? format.validate : format;
  const matches = typeof test === "function" ? test : (text: string) => (test as RegExp).test(text);
  return (text) => text.length <= MAX_FORMAT_CHARS && (matches as (text: string) => boolean)(text);
}

const metaValidators = new Map<Draft, Ajv>();

/** The instance that checks schemas against their draft's own schema, which it compiles once. */
export function metaValidator(draft: Draft): Ajv {
  const known = metaValidators.get(draft);
  if (known !== undefined) return known;
  const ajv = new (ajvClass(draft))({ validateFormats: false, verbose: true, allErrors: true, logger: false });
  metaValidators.set(draft, ajv);
  return ajv;
}

function ajvClass(draft: Draft): typeof Ajv {
  if (draft === "draft-07") return (require("ajv") as typeof import("ajv")).Ajv;
  return (require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js")).Ajv2020 as unknown as typeof Ajv;
}
