// Fields of replies. A field of another type than documented counts as missing, so that it never invalidates a reply
// that was already paid. Text fields are read without `catch`, because a stream has hundreds of thousands of them, most
// of them missing or null, and an error per field would take a third of the time.
import { z } from "zod";
import { jsonValueSchema } from "../../platform/json.js";

/** A name is a few words, but a server might send anything. */
export const MAX_NAME = 200;

/** The name of a model, or the ID of a reply. Unusable ones are ignored, so that they never invalidate a reply. */
export const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** A field that is read from a value of any type. */
const field = <T>(read: (value: unknown) => T) => z.unknown().optional().transform(read);

/** Text, or an empty string. */
export const textSchema = field((value) => (typeof value === "string" ? value : ""));

/** A finish reason, which is empty if the server sends a null as text. */
export const finishReasonSchema = z.string().transform((reason) => (/^(?:null|none)$/i.test(reason) ? "" : reason));

/** Message text of a chat completion. Some servers send it in parts or as an object, and agents an answer object. */
export const chatContentSchema = field((content) => textIn(content));

function textIn(content: unknown, depth = 0): string {
  if (typeof content === "string" || typeof content === "number") return String(content);
  if (typeof content !== "object" || content === null || depth > 3) return "";
  if (Array.isArray(content)) return content.map((part) => textIn(part, depth + 1)).join("");
  const { type, value, text = value } = content as Record<string, unknown>;
  if (type === undefined && text === undefined && depth === 0 && "answer" in content) return JSON.stringify(content);
  return /think|reason/.test(String(type)) ? "" : textIn(text, depth + 1);
}

/** JSON as text, or as a value that a server did not convert to text, or an empty string. */
export const jsonTextSchema = z
  .union([z.string(), z.record(z.string(), jsonValueSchema).transform((value) => JSON.stringify(value))])
  .catch("");

/** An ID, which some servers send as a number, or an empty string. */
export const idSchema = field((id) => (typeof id === "string" || typeof id === "number" ? String(id) : ""));

/** A position, which some servers send as text, or null. */
export const indexSchema = field((index) =>
  typeof index === "number" || (typeof index === "string" && /^\d+$/.test(index)) ? Number(index) : null,
);

/** A tool call in the terms of Anthropic, OpenAI's Responses API or Gemini. */
export const callSchema = z
  .looseObject({ id: idSchema, call_id: idSchema, name: textSchema })
  .transform(({ id, call_id, name, input, args, arguments: raw = input ?? args }) => ({
    id: call_id || id,
    name,
    arguments: raw,
  }));

/** An object without the values of a type that nobody expects, or an empty object. */
export const fieldsSchema = z.record(z.string(), jsonValueSchema).catch({});

export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects in a list. A server without the list sends the object alone, or an empty one for none. */
export const itemsSchema = field((value) => {
  if (isFields(value)) return Object.keys(value).length === 0 ? [] : [value];
  return Array.isArray(value) ? value.filter(isFields) : [];
});

/** The objects in a list, or none. */
export const listSchema = itemsSchema.pipe(z.array(fieldsSchema));

/** The parts of Gemini's content, which some servers send without the content around them. */
export const partsSchema = field((content) => (Array.isArray(content) ? { parts: content } : content))
  .pipe(z.looseObject({ parts: listSchema }))
  .catch({ parts: [] });

/** Returns the named fields that have a value. */
export function pickFields(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const isSet = (value: unknown) => value !== undefined && value !== null && value !== "";
  return Object.fromEntries(names.filter((name) => isSet(from[name])).map((name) => [name, from[name]]));
}
