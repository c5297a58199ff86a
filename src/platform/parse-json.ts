import type { JsonValue } from "../domain/json.js";

/** The value of a JSON text; null where the text is not JSON. */
export function parseJsonOrNull(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
