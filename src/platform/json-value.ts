/** A value that JSON can express. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export type JsonObject = { readonly [key: string]: JsonValue };

/** A JSON Schema document as stored in the registry and sent to providers. */
export type JsonSchema = JsonObject;
