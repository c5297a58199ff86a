import { z } from "zod";
import { isShallow, type JsonObject, type JsonSchema, type JsonValue, jsonValueSchema } from "../platform/json.js";
import { type Completion, type Message, ModelError, type ToolCall } from "./model.js";
import { toModelError } from "./provider-errors.js";
import type { JsonReply } from "./provider-http.js";
import { type ReportedUsage, reportedUsage } from "./reported-usage.js";

/** A tool's parameters with the `type` and `properties` that Anthropic and OpenAI insist on. */
export function objectSchema(parameters: JsonSchema): JsonSchema {
  return { ...parameters, type: "object", properties: parameters.properties ?? {} };
}

/** Kept as they are: Google's Schema has them under the same name (ai.google.dev/api/caching#Schema). */
const KEPT = [
  "nullable",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "minimum",
  "maximum",
  "pattern",
];

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};

/** Deeper than any tool needs; stops a schema that refers to itself. */
const MAX_DEPTH = 12;

/** More than any tool has; stops one in which each part refers to several others, level by level. */
const MAX_PARTS = 5_000;

interface Root {
  readonly schema: JsonSchema;
  parts: number;
}

/**
 * JSON Schema to the OpenAPI subset of Google's function declarations; null for a tool without parameters, which
 * must not declare any. What the subset cannot say (number enums, other formats) goes into the description.
 */
export function googleSchema(parameters: JsonSchema): JsonSchema | null {
  const schema = convert(parameters, { schema: parameters, parts: 0 }, 0);
  return isJsonObject(schema.properties) && Object.keys(schema.properties).length > 0
    ? { ...schema, type: "object" }
    : null;
}

type Node = { [key: string]: JsonValue };

function convert(given: JsonValue | undefined, root: Root, depth: number): Node {
  const source = resolve(given, root);
  if (depth > MAX_DEPTH || source === null || root.parts++ > MAX_PARTS) return { type: "string" };
  const out: Node = {};
  const notes = typeof source.description === "string" ? [source.description] : [];
  for (const key of KEPT) {
    if (source[key] !== undefined && source[key] !== null) out[key] = source[key];
  }

  const types = asArray(source.type).filter((type): type is string => typeof type === "string");
  const choices = asArray(source.anyOf ?? source.oneOf);
  const options = choices.map((choice) => resolve(choice, root)).filter((choice) => choice?.type !== "null");
  if (types.includes("null") || options.length < choices.length) out.nullable = true;
  const named = types.filter((type) => type !== "null");

  if (options.length > 1 || named.length > 1) {
    const alternatives = options.length > 1 ? options : named.map((type) => ({ ...source, type, description: null }));
    out.anyOf = alternatives.map((choice) => convert(choice, root, depth + 1));
  } else if (options.length === 1) {
    Object.assign(out, convert(options[0], root, depth + 1));
    if (typeof out.description === "string") notes.push(out.description);
  } else {
    convertSingle(source, named[0] ?? guessType(source), out, notes, root, depth);
  }
  if (notes.length > 0) out.description = notes.join(" ");
  return out;
}

function convertSingle(source: JsonSchema, type: string, out: Node, notes: string[], root: Root, depth: number) {
  out.type = type;
  const allowed = source.const === undefined ? source.enum : [source.const];
  if (Array.isArray(allowed)) {
    const values = allowed.filter((value) => value !== null);
    if (values.length < allowed.length) out.nullable = true;
    if (type === "string") out.enum = values.map(String);
    else notes.push(`One of: ${values.join(", ")}.`);
  }
  if (typeof source.format === "string") {
    if (FORMATS[type]?.includes(source.format)) out.format = source.format;
    else notes.push(`Format: ${source.format}.`);
  }
  const step = type === "integer" ? 1 : 0;
  if (typeof source.exclusiveMinimum === "number") out.minimum = source.exclusiveMinimum + step;
  if (typeof source.exclusiveMaximum === "number") out.maximum = source.exclusiveMaximum - step;
  if (type === "array") {
    out.items = convert(Array.isArray(source.items) ? source.items[0] : source.items, root, depth + 1);
  }
  if (type === "object" && isJsonObject(source.properties)) {
    const properties = Object.entries(source.properties).map(([name, schema]) => [
      name,
      convert(schema, root, depth + 1),
    ]);
    out.properties = Object.fromEntries(properties);
    const required = asArray(source.required).filter((name) => properties.some(([known]) => known === name));
    if (required.length > 0) out.required = required;
  }
}

/** Follows `#/$defs/X`, and takes the parts of an `allOf` together; null where there is no schema object. */
function resolve(given: JsonValue | undefined, root: Root, depth = 0): JsonSchema | null {
  let at = given;
  for (let hops = 0; isJsonObject(at) && typeof at.$ref === "string" && hops < MAX_DEPTH; hops++) {
    const { $ref, ...beside } = at;
    let target: JsonValue | undefined = root.schema;
    for (const part of $ref.replace(/^#\//, "").split("/")) target = isJsonObject(target) ? target[part] : undefined;
    at = isJsonObject(target) ? { ...target, ...beside } : undefined;
  }
  if (!isJsonObject(at)) return null;
  if (!Array.isArray(at.allOf) || depth > MAX_DEPTH || root.parts++ > MAX_PARTS) return at;
  const parts = at.allOf.map((part) => resolve(part, root, depth + 1) ?? {});
  const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}), at.properties ?? {});
  const required = [...parts.flatMap((part) => asArray(part.required)), ...asArray(at.required)];
  const merged = Object.assign({}, ...parts, at);
  return Object.keys(properties).length > 0 ? { ...merged, properties, required } : merged;
}

function asArray(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function guessType(source: JsonSchema): string {
  if (source.properties !== undefined) return "object";
  if (source.items !== undefined) return "array";
  const sample = source.const ?? asArray(source.enum).find((value) => value !== null);
  if (typeof sample === "boolean") return "boolean";
  if (typeof sample === "number") return Number.isInteger(sample) ? "integer" : "number";
  return "string";
}

/** The parts of a completion that each wire format reads in its own way. */
export type Reply = Omit<Completion, "latencyMs" | "retries" | keyof ReportedUsage>;

/** A name is a few words; what a server puts there may be anything. */
const MAX_NAME = 200;

/** No reply is refused for a name that cannot be used. */
const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** The model that a reply names, as the field of a `Reply`: none where it names none. */
export const modelNameSchema = nameSchema.transform((model) => (model === undefined ? {} : { model }));

/** A reply's id, as the field of a `Reply`: none where it has none. */
export const responseIdSchema = nameSchema.transform((responseId) => (responseId === undefined ? {} : { responseId }));

/**
 * One attempt: `send` sends the request and returns the parsed reply within its time, `read` checks its body. Rejects
 * with the signal's reason, or with a ModelError that has no key in it. The error of a reply that was billed has its
 * usage. Any other throw is a fault of this program and is passed on unchanged.
 */
export async function attempt(
  apiKey: string,
  signal: AbortSignal,
  send: () => Promise<JsonReply>,
  read: (body: unknown) => Reply,
): Promise<Completion> {
  const startedAt = performance.now();
  let reported: ReportedUsage | null = null;
  try {
    const received = await send();
    const latencyMs = performance.now() - startedAt;
    reported = reportedUsage(received);
    const reply = read(received.body);
    // A refused reply is truncated: neither its calls nor its text are what the model meant to say.
    const calls = reply.finishReason === "refusal" ? { toolCalls: [] } : {};
    return { latencyMs, retries: [], ...reply, ...reported, ...calls };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = withBilled(toModelError(error, apiKey), reported);
    if (failure instanceof ModelError && failure.kind === "refused") {
      return refusedReply(failure.message, performance.now() - startedAt);
    }
    throw failure;
  }
}

/** The error of an unusable reply, with the usage that its server reported. */
export function withBilled(error: unknown, reply: Pick<Completion, "usage" | "costUsd"> | null): unknown {
  if (!(error instanceof ModelError) || !reply?.usage) return error;
  const { usage, costUsd = null } = reply;
  return error.with({ billed: { usage, costUsd } });
}

/** A refusal that arrives as an HTTP error is the same event as one that arrives as a finish reason. */
function refusedReply(message: string, latencyMs: number): Completion {
  const rawFinishReason = message.slice(0, MAX_NAME);
  return { content: "", toolCalls: [], finishReason: "refusal", rawFinishReason, usage: null, latencyMs, retries: [] };
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Arguments in the text form of OpenAI's formats, or the object of the others. No text at all means no arguments. */
export function readArguments(raw: unknown): Pick<ToolCall, "arguments" | "invalid"> {
  if (raw === undefined || raw === null) return { arguments: {} };
  if (typeof raw !== "string") {
    if (!isShallow(raw)) return { arguments: {}, invalid: "[nested too deep]" };
    const value = jsonValueSchema.safeParse(raw);
    return value.success && isJsonObject(value.data)
      ? { arguments: value.data }
      : { arguments: {}, invalid: JSON.stringify(raw) ?? String(raw) };
  }
  if (raw.trim() === "") return { arguments: {} };
  try {
    // Whatever the text, JSON.parse makes nothing but JSON of it: no schema has to look again.
    const value = JSON.parse(raw) as JsonValue;
    return isJsonObject(value) && isShallow(value) ? { arguments: value } : { arguments: {}, invalid: raw };
  } catch {
    return { arguments: {}, invalid: raw };
  }
}

/**
 * The ids of a reply's calls, each made unlike all others in the conversation: some servers send none, or count
 * from zero in every reply. Made ids depend on the conversation only, so that a replay gives the same. They have the
 * nine letters and digits that Mistral insists on.
 */
export function uniqueIds(ids: readonly string[], earlier: readonly Message[]): string[] {
  if (ids.length === 0) return [];
  const usedIds = new Set<string>();
  for (const message of earlier) {
    if (message.role === "assistant") for (const { id } of message.toolCalls) usedIds.add(id);
  }
  let next = usedIds.size + 1;
  return ids.map((id) => {
    let unique = id;
    while (unique === "" || usedIds.has(unique)) unique = `call${String(next++).padStart(5, "0")}`;
    usedIds.add(unique);
    return unique;
  });
}

/**
 * The name of a called tool as every provider accepts it in a request. A model may have made one up, and a provider
 * that returned it refuses it in the history.
 */
export function sendableToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64) || "unnamed_tool";
}

/** Half a surrogate pair, left by a text cut in its middle: providers refuse the whole request for it. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}
