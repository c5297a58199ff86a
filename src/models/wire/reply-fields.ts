// Fields of replies. A field of another type than documented counts as missing, so that it never invalidates a reply
// that was already paid.
import { z } from "zod";
import { jsonValueSchema } from "../../platform/json.js";

/** A name is a few words, but a server might send anything. */
export const MAX_NAME = 200;

/** Unusable names are ignored, so that they never invalidate a reply. */
const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** Converts a reply's model name to a property of `Reply`, which is absent if the name is missing. */
export const modelNameSchema = nameSchema.transform((model) => (model === undefined ? {} : { model }));

/** Converts a reply's ID to a property of `Reply`, which is absent if the ID is missing. */
export const responseIdSchema = nameSchema.transform((responseId) => (responseId === undefined ? {} : { responseId }));

/** Text, or an empty string. */
export const textSchema = z.string().catch("");

/** A finish reason, which is empty if the server sends a null as text. */
export const finishReasonSchema = z.string().transform((reason) => (/^(?:null|none)$/i.test(reason) ? "" : reason));

/** Message text of a chat completion. Some servers send it in parts, or as an object. */
export const chatContentSchema = z
  .unknown()
  .optional()
  .transform((content) => textIn(content));

function textIn(content: unknown, depth = 0): string {
  if (typeof content === "string" || typeof content === "number") return String(content);
  if (typeof content !== "object" || content === null || depth > 3) return "";
  if (Array.isArray(content)) return content.map((part) => textIn(part, depth + 1)).join("");
  const { type, text, value } = content as Record<string, unknown>;
  return /think|reason/.test(String(type)) ? "" : textIn(text ?? value, depth + 1);
}

/** JSON as text, or as a value that a server did not convert to text, or an empty string. */
export const jsonTextSchema = z
  .union([z.string(), z.record(z.string(), jsonValueSchema).transform((value) => JSON.stringify(value))])
  .catch("");

/** An ID, which some servers send as a number, or an empty string. */
export const idSchema = z.union([z.string(), z.number().transform(String)]).catch("");

/** A position, which some servers send as text, or null. */
export const indexSchema = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
  .nullable()
  .catch(null);

/** An object without the values of a type that nobody expects, or an empty object. */
export const fieldsSchema = z.record(z.string(), jsonValueSchema).catch({});

/** The objects in a list, or none. */
export const listSchema = z.array(fieldsSchema).catch([]);
