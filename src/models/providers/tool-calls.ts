import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import { isShallow } from "../../domain/json-depth.js";
import type { Message, ToolCall } from "../../domain/models/conversation.js";

type JsonObject = { readonly [key: string]: JsonValue };

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
 * from zero in every reply. Made ids depend on the conversation only, so that a replay gives the same.
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
    while (unique === "" || usedIds.has(unique)) unique = `call_${next++}`;
    usedIds.add(unique);
    return unique;
  });
}

/** Half a surrogate pair, left by a text cut in its middle: providers refuse the whole request for it. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}
