// Headers and body fields that the user adds to every request, for gateways, provider pinning and sampling parameters.
// A run records them without secrets. `${VARIABLE}` is expanded only when the model is opened.
import { z } from "zod";
import type { Environment } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, jsonObjectSchema, parseJsonOrNull } from "../platform/json.js";
import { containsKey, isSecretName } from "../platform/secrets.js";
import { wordList } from "../platform/word-list.js";

/** Extras in the form that a run records. */
export const extrasShape = {
  extraHeaders: z
    .record(z.string(), z.string())
    .readonly()
    .exactOptional()
    .describe(
      "Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.",
    ),
  extraBody: jsonObjectSchema
    .exactOptional()
    .describe(
      "Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.",
    ),
};

export interface RequestExtras {
  readonly extraHeaders?: Readonly<Record<string, string>>;
  readonly extraBody?: JsonObject;
}

/** Extras from the command line or the config file, the only place that contains literal secrets. */
export interface GivenExtras {
  readonly header?: Readonly<Record<string, string>> | undefined;
  readonly body?: JsonObject | undefined;
}

/** Extras with expanded variables. Never stored. */
export interface SentExtras {
  /** Headers by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Values that must not appear in an error or a trace. */
  readonly secrets: readonly string[];
  /** For cache keys. */
  readonly recorded: RequestExtras;
}

export const NO_EXTRAS: SentExtras = { headers: {}, body: {}, secrets: [], recorded: {} };

/** Placeholder for a header value that might be a secret. */
const NOT_RECORDED = "[not recorded]";

/** `${NAME}`, or `${ENV:NAME}` as in the configuration of tools. */
const VARIABLE = /\$\{(?:ENV:)?([A-Za-z_][A-Za-z0-9_]*)\}/g;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Visible characters, spaces and tabs, which HTTP allows in a value (RFC 9110, section 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers set by art-e or by HTTP itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  wordList(`
    accept accept-encoding connection content-encoding content-length content-type expect host keep-alive
    proxy-authorization proxy-connection te trailer transfer-encoding upgrade
  `),
);

/** Headers whose values are not secret at any provider or gateway. */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(
  wordList(`
    accept-language anthropic-beta anthropic-version cf-aig-cache-ttl cf-aig-skip-cache helicone-cache-enabled
    http-referer openai-beta openai-organization openai-project referer user-agent x-goog-user-project
    x-ms-region x-openrouter-categories x-openrouter-title x-portkey-provider x-title
  `),
);

/** Headers that contain an API key at some provider. If one of them is set, no other key is needed. */
const KEY_HEADERS = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/** Fields for the conversation and its format, which art-e sets. Google puts some of them in `generationConfig`. */
const OWN_FIELDS: ReadonlySet<string> = new Set(
  wordList(`
    model messages input instructions contents system systemInstruction system_instruction tools tool_choice
    toolConfig tool_config functions function_call stream stream_options background conversation
    previous_response_id include n candidateCount candidate_count
  `),
);

const FIELDS_OF_FLAGS: Readonly<Record<string, string>> = {
  temperature: "temperature",
  max_tokens: "max-tokens",
  max_completion_tokens: "max-tokens",
  max_output_tokens: "max-tokens",
  maxOutputTokens: "max-tokens",
};

/** Random text, credentials after an authentication scheme, and passwords in a URL. Any server's key might match. */
const RANDOM =
  /\b(?:[0-9a-f]{32,}|(?=[A-Za-z]*\d)(?=\w*[a-z])(?=\w*[A-Z])\w{32,})\b|\b(?:Bearer|Basic) \S{8,}|:\/\/[^/\s:@]*:[^/\s@]+@/;

/** Either the parsed flags or a description of the first problem. */
type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** Parses the `NAME=VALUE` arguments of all `--header` flags. */
export function parseHeaders(flagValues: readonly string[]): Parsed<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const text of flagValues) {
    const { name, value } = splitAtEquals(text);
    if (name === null) return wrong(`expected NAME=VALUE, got ${shown(text)}`);
    if (!HEADER_NAME.test(name)) return wrong(`${shown(name)} is not a valid header name`);
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower)) return wrong(`${name} is set by art-e itself`);
    if (Object.keys(headers).some((other) => other.toLowerCase() === lower)) return wrong(`${name} is specified twice`);
    if (!HEADER_VALUE.test(value))
      return wrong(`the value of ${name} contains characters that are invalid in a header`);
    if (hasBrokenVariable(value))
      return wrong(`the value of ${name} contains an invalid variable reference, expected \${VARIABLE}`);
    headers[name] = value.trim();
  }
  return { ok: true, value: headers };
}

/** Parses the `NAME=JSON` arguments of all `--body` flags. */
export function parseBodyFields(flagValues: readonly string[]): Parsed<JsonObject> {
  const fields: Record<string, JsonValue> = {};
  for (const text of flagValues) {
    const { name, value: json } = splitAtEquals(text);
    if (name === null) return wrong(`expected NAME=JSON, got ${shown(text)}`);
    if (!/^[\w.$-]{1,100}$/.test(name) || name === "__proto__")
      return wrong(`${shown(name)} is not a valid field name`);
    if (Object.hasOwn(fields, name)) return wrong(`${name} is specified twice`);
    const value = isOneVariable(json) ? json : parseJsonOrNull(json);
    if (value === null && json.trim() !== "null") {
      return wrong(`the value of ${name} is not JSON. Put strings in quotes: ${name}="text"`);
    }
    const problem = problemOf(name, value);
    if (problem !== null) return wrong(problem);
    fields[name] = value;
  }
  return { ok: true, value: fields };
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}

function splitAtEquals(text: string): { readonly name: string | null; readonly value: string } {
  const at = text.indexOf("=");
  return at < 1 ? { name: null, value: "" } : { name: text.slice(0, at).trim(), value: text.slice(at + 1) };
}

/** Shows only the start of long input, because it might contain a secret. */
function shown(text: string): string {
  return JSON.stringify(text.length > 24 ? `${text.slice(0, 12)}…` : text);
}

const isOneVariable = (text: string) => /^\$\{(?:ENV:)?[A-Za-z_][A-Za-z0-9_]*\}$/.test(text.trim());

const hasBrokenVariable = (text: string) => text.replace(VARIABLE, "").includes("${");

/** Returns why a field cannot be sent, or null if it can. */
function problemOf(name: string, value: JsonValue): string | null {
  if (OWN_FIELDS.has(name)) return `${name} is set by art-e itself`;
  if (Object.hasOwn(FIELDS_OF_FLAGS, name)) return `${name} has its own setting, --${FIELDS_OF_FLAGS[name]}`;
  if (name === "generationConfig" && isJsonObject(value)) {
    const inner = Object.keys(value).map((key) => problemOf(key, value[key] ?? null));
    const problem = inner.find((one) => one !== null);
    if (problem != null) return `generationConfig.${problem}`;
  }
  return secretIn(name, value);
}

/** Looks for literal secrets by name, also of an object around the value, and by format. */
function secretIn(name: string, value: JsonValue, isSecret = isSecretName(name)): string | null {
  if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const problem = Array.isArray(value)
        ? secretIn(name, inner, isSecret)
        : secretIn(key, inner, isSecret || isSecretName(key));
      if (problem !== null) return problem;
    }
    return null;
  }
  if (value === null || typeof value === "boolean") return null;
  const text = String(value);
  if (hasBrokenVariable(text))
    return `the value of ${name} contains an invalid variable reference, expected \${VARIABLE}`;
  const literal = text.replace(VARIABLE, "");
  return (isSecret && literal === text) || containsKey(literal) || RANDOM.test(literal)
    ? `the value of ${name} looks like a key, and would be recorded with the run. Set it in the environment, and write \${VARIABLE} here`
    : null;
}

/** Returns the extras in the form that a run records. Empty properties are omitted. */
export function recordedExtras({ header = {}, body = {} }: GivenExtras): RequestExtras {
  const recorded = Object.entries(header).map(([name, value]) => [name, isPublic(name, value) ? value : NOT_RECORDED]);
  return presentExtras(Object.fromEntries(recorded), body);
}

/**
 * Returns whether a header value can be recorded. A value that consists only of variables and an authentication scheme
 * does not contain a secret.
 */
function isPublic(name: string, value: string): boolean {
  const literal = value.replace(VARIABLE, "").trim();
  if (literal !== value.trim() && /^(bearer|basic|token|key)?$/i.test(literal)) return true;
  return PUBLIC_HEADERS.has(name.toLowerCase()) && !containsKey(value);
}

/** Returns a stored run's extras, with the current extras taking precedence. */
export function changedExtras(stored: RequestExtras, changes: GivenExtras): RequestExtras {
  const { extraHeaders = {}, extraBody } = recordedExtras(changes);
  const headers = [...Object.entries(stored.extraHeaders ?? {}), ...Object.entries(extraHeaders)];
  // A changed header keeps its place, so that equal extras are equal as JSON.
  const byName = new Map(headers.map((header) => [header[0].toLowerCase(), header]));
  return presentExtras(Object.fromEntries(byName.values()), { ...stored.extraBody, ...extraBody });
}

function presentExtras(extraHeaders: Readonly<Record<string, string>>, extraBody: JsonObject): RequestExtras {
  return {
    ...(Object.keys(extraHeaders).length === 0 ? {} : { extraHeaders }),
    ...(Object.keys(extraBody).length === 0 ? {} : { extraBody }),
  };
}

/**
 * Returns the name of a header that other machines cannot send, because only this machine has its literal value.
 * Returns null if there are no such headers.
 */
export function unrecordedHeader({ extraHeaders = {} }: RequestExtras): string | null {
  return Object.keys(extraHeaders).find((name) => extraHeaders[name] === NOT_RECORDED) ?? null;
}

export function variablesOf({ extraHeaders = {}, extraBody = {} }: RequestExtras): string[] {
  const text = JSON.stringify([extraHeaders, extraBody]);
  return [...new Set([...text.matchAll(VARIABLE)].map(([, name = ""]) => name))];
}

/**
 * Returns the extras to send: the recorded extras with the current literal values and expanded variables.
 *
 * @param prefix flag prefix, either `judge-` or empty
 * @throws UserError if a variable is not set, or if a value was neither recorded nor passed now
 */
export function openExtras(
  recorded: RequestExtras,
  { header = {} }: GivenExtras,
  env: Environment,
  prefix: "" | "judge-" = "",
): SentExtras {
  if (recorded.extraHeaders === undefined && recorded.extraBody === undefined) return NO_EXTRAS;
  const secrets = new Set<string>();
  const expand = (text: string, flag: string, name: string) =>
    text.replace(VARIABLE, (_, variable: string) => {
      const value = env[variable]?.trim();
      if (!value) throw variableMissing(`--${prefix}${flag} ${name}`, variable);
      secrets.add(value);
      return value;
    });
  const literals = new Map(Object.entries(header).map(([name, value]) => [name.toLowerCase(), value]));
  const headers = Object.entries(recorded.extraHeaders ?? {}).map(([name, value]) => {
    const lower = name.toLowerCase();
    const usable = value === NOT_RECORDED ? literals.get(lower) : value;
    if (usable === undefined) throw notRecorded(`--${prefix}header`, name);
    if (value === NOT_RECORDED) secrets.add(usable);
    const expanded = expand(usable, "header", name);
    if (!HEADER_VALUE.test(expanded)) throw unusableValue(`--${prefix}header ${name}`);
    return [lower, expanded];
  });
  const body = Object.entries(recorded.extraBody ?? {}).map(([name, value]) => [
    name,
    JSON.parse(JSON.stringify(value), (_, inner) => (typeof inner === "string" ? expand(inner, "body", name) : inner)),
  ]);
  return {
    headers: Object.fromEntries(headers),
    body: Object.fromEntries(body),
    secrets: [...secrets],
    recorded,
  };
}

function variableMissing(flag: string, variable: string): UserError {
  return new UserError(
    "variable_missing",
    `${flag}: the environment variable ${variable} is not set.`,
    "Set it in the environment or in .env.",
  );
}

function notRecorded(flag: string, name: string): UserError {
  return new UserError(
    "header_not_recorded",
    `${flag} ${name}: its value was not recorded with the run, because it might be a secret.`,
    `Pass it again, or as a variable: ${flag} '${name}=\${VARIABLE}'.`,
  );
}

function unusableValue(flag: string): UserError {
  return new UserError(
    "flag_invalid",
    `${flag}: the value of its variable contains characters that are invalid in a header.`,
    "Check the value in the environment.",
  );
}

export function hasOwnKey({ headers }: SentExtras): boolean {
  return KEY_HEADERS.some((name) => headers[name] !== undefined);
}

/** Adds the extra fields to a request's body. Objects are merged, and other values are replaced. */
export function withExtraBody<T extends object>(body: T, extra: JsonObject): T {
  const entries = Object.entries(extra);
  if (entries.length === 0) return body;
  const merged: Record<string, unknown> = Object.fromEntries(Object.entries(body));
  for (const [name, value] of entries) {
    const own = merged[name];
    const isObject = typeof own === "object" && own !== null && !Array.isArray(own);
    merged[name] = isObject && isJsonObject(value) ? withExtraBody(own, value) : value;
  }
  return merged as T;
}
