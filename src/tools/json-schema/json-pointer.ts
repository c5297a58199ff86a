import type { JsonSchema, JsonValue } from "../../domain/json.js";

export function isSchemaObject(value: JsonValue | undefined): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a local `$ref` such as `#/$defs/day` points to; undefined where there is nothing. */
export function resolveLocalRef(root: JsonSchema, ref: string): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const segment of ref.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    const key = unescapeSegment(segment);
    const holds: boolean = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    value = holds ? (value as Record<string, JsonValue>)[key] : undefined;
  }
  return value;
}

function unescapeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return segment;
  }
}
