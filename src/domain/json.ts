import { z } from "zod";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export const jsonValueSchema = z.json() as unknown as z.ZodType<JsonValue>;

export type JsonObject = { readonly [key: string]: JsonValue };

export const jsonObjectSchema = z.record(z.string(), jsonValueSchema) as z.ZodType<JsonObject>;

/** A JSON Schema document as kept in the registry and sent to providers. */
export type JsonSchema = JsonObject;
