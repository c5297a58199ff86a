import { isJsonObject, isShallow, type JsonValue, jsonValueSchema, parseJsonOrNull } from "../platform/json.js";
import type { Message, ToolCall } from "./model.js";

/**
 * Reads the arguments of a call, which are text in OpenAI's formats and objects in the others. Empty text means no
 * arguments.
 */
export function readArguments(raw: unknown): Pick<ToolCall, "arguments" | "invalid"> {
  if (raw === undefined || raw === null) return { arguments: {} };
  if (typeof raw !== "string") {
    if (!isShallow(raw)) return { arguments: {}, invalid: "[nested too deeply]" };
    const value = jsonValueSchema.safeParse(raw);
    return value.success && isJsonObject(value.data)
      ? { arguments: value.data }
      : { arguments: {}, invalid: JSON.stringify(raw) ?? String(raw) };
  }
  if (raw.trim() === "") return { arguments: {} };
  try {
    // JSON.parse only returns valid JSON values, so a schema check is unnecessary.
    const decoded = JSON.parse(raw) as JsonValue;
    // Some servers encode the text twice.
    const value = typeof decoded === "string" ? (parseJsonOrNull(decoded) as JsonValue) : decoded;
    return isJsonObject(value) && isShallow(value) ? { arguments: value } : { arguments: {}, invalid: raw };
  } catch {
    return { arguments: {}, invalid: raw };
  }
}

/**
 * Returns a unique ID for each call of a reply, because some servers send none or count from zero in every reply.
 * Generated IDs depend only on the conversation, so a replay generates the same ones. They consist of nine letters and
 * digits, which Mistral requires.
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
 * Converts a tool name to a form that every provider accepts. Models sometimes make up names, and a provider that
 * returned such a name rejects it in the history.
 */
export function sendableToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64) || "unnamed_tool";
}

/** Replaces lone surrogates, which truncated text can contain and for which providers reject the entire request. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}
