// Reads tool calls from replies: arguments, ids and names that every provider accepts again.
import { z } from "zod";
import {
  isJsonObject,
  isShallow,
  type JsonObject,
  jsonObjectSchema,
  jsonValueSchema,
  parseJsonOrNull,
} from "../platform/json.js";
import type { Message, ToolCall } from "./model.js";

/**
 * Reads the arguments of a call, which are text in OpenAI's formats and objects in the others. Empty text and null mean
 * no arguments.
 */
export function readArguments(raw: unknown): Pick<ToolCall, "arguments" | "invalid"> {
  if (raw === undefined || raw === null || (typeof raw === "string" && NO_ARGUMENTS.test(raw)))
    return { arguments: {} };
  if (!isShallow(raw)) return { arguments: {}, invalid: "[nested too deeply]" };
  const decoded = typeof raw === "string" ? parseJsonOrNull(raw) : raw;
  // Some servers encode the text twice.
  const value = jsonValueSchema.safeParse(typeof decoded === "string" ? parseJsonOrNull(decoded) : decoded).data;
  if (isJsonObject(value)) return { arguments: value };
  return { arguments: {}, invalid: typeof raw === "string" ? raw : (JSON.stringify(raw) ?? String(raw)) };
}

const NO_ARGUMENTS = /^\s*(?:null\s*)?$/;

/**
 * Gives each call of a reply a unique ID, because some servers send none or count from zero in every reply. Generated
 * IDs depend only on the conversation, so a replay generates the same ones. They consist of nine letters and digits,
 * which Mistral requires.
 */
export function withUniqueIds<Call extends { readonly id: string }>(
  calls: readonly Call[],
  earlier: readonly Message[],
): Call[] {
  if (calls.length === 0) return [];
  const usedIds = new Set<string>();
  for (const message of earlier) {
    if (message.role === "assistant") for (const { id } of message.toolCalls) usedIds.add(id);
  }
  let next = usedIds.size + 1;
  return calls.map((call) => {
    let unique = call.id;
    while (unique === "" || usedIds.has(unique)) unique = `call${String(next++).padStart(5, "0")}`;
    usedIds.add(unique);
    return { ...call, id: unique };
  });
}

export interface ReceivedCall {
  readonly id: string;
  readonly name: string;
  /** In the form of the provider. */
  readonly arguments?: unknown;
}

/** Converts the calls of a reply after the messages in `earlier`. */
export function toToolCalls(received: readonly ReceivedCall[], earlier: readonly Message[]): ToolCall[] {
  return withUniqueIds(received, earlier).map(({ id, name, arguments: raw }) => ({
    id,
    // Servers of gpt-oss leave the tokens after the name in it: `search<|channel|>commentary`.
    name: name.replace(/<\|[\s\S]*/, "").trim(),
    ...readArguments(raw),
  }));
}

/** How an API whose messages are lists of items marks calls and reasoning. `id` is the field with the ID of a call. */
interface ItemFormat {
  readonly provider: string;
  readonly call: string;
  readonly id: string;
  readonly reasoning: readonly string[];
}

/**
 * Returns the items that a message had at its provider, or null if it is from another one. Leaves out removed calls,
 * and reasoning at the end, which a truncated reply contains: providers reject reasoning without the output after it. A
 * message that consists only of reasoning becomes empty and is omitted.
 */
export function itemsToSend(message: Message, { provider, call, id, reasoning }: ItemFormat): JsonObject[] | null {
  if (message.role !== "assistant" || message.providerState?.provider !== provider) return null;
  const callIds = new Set(message.toolCalls.map((one) => one.id));
  const items = z
    .array(jsonObjectSchema)
    .parse(message.providerState.value)
    .filter((item) => item.type !== call || callIds.has(String(item[id])))
    .map((item) => (item.type === call ? { ...item, name: sendableToolName(String(item.name)) } : item));
  return items.slice(0, items.findLastIndex(({ type }) => !reasoning.includes(String(type))) + 1);
}

/** Appends to the last turn if it has the same role, because the roles must alternate. */
export function addTurn<Part>(
  turns: { role: string; content: Part[] }[],
  role: string,
  content: readonly Part[],
): void {
  if (content.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...content);
  else turns.push({ role, content: [...content] });
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
