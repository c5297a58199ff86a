import { z } from "zod";
import { isShallow, MAX_JSON_DEPTH } from "./json-depth.js";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Checked before z.json(), which is recursive. */
const shallow = z.unknown().refine(isShallow, {
  abort: true,
  message: `expected JSON, nested at most ${MAX_JSON_DEPTH} levels deep`,
});

export const jsonValueSchema = shallow.pipe(z.json()) as unknown as z.ZodType<JsonValue>;

export type JsonObject = { readonly [key: string]: JsonValue };

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema) as z.ZodType<JsonObject>;

/** A JSON Schema document as stored in the registry and sent to providers. */
export type JsonSchema = JsonObject;
