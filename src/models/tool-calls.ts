import { z } from "zod";
import { isJsonObject, isShallow, type JsonValue, jsonValueSchema } from "../platform/json.js";
import { type Endpoint, secretsOf } from "./endpoint.js";
import { type Completion, type Message, ModelError, type ToolCall } from "./model.js";
import { toModelError } from "./provider-errors.js";
import type { JsonReply } from "./provider-http.js";
import { type ReportedUsage, reportedUsage } from "./reported-usage.js";
import type { AdaptedTools } from "./tool-schemas.js";

/** The parts of a completion that depend on the wire format. */
export type Reply = Omit<Completion, "latencyMs" | "retries" | keyof ReportedUsage>;

/** A name is a few words, but a server might send anything. */
const MAX_NAME = 200;

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

/**
 * Makes one attempt. `send` sends the request and returns the parsed reply within its deadline, `read` validates the
 * body, and `tools` are the sent tools. Rejects with the signal's reason, or with a ModelError without keys that
 * includes the usage of a billed reply. Any other error is a bug in this program and is rethrown unchanged.
 */
export async function attempt(
  endpoint: Endpoint,
  signal: AbortSignal,
  send: () => Promise<JsonReply>,
  read: (body: unknown) => Reply,
  tools: Pick<AdaptedTools, "notes" | "restore">,
): Promise<Completion> {
  const startedAt = performance.now();
  let reported: ReportedUsage | null = null;
  try {
    const received = await send();
    const latencyMs = performance.now() - startedAt;
    reported = reportedUsage(received);
    const reply = read(received.body);
    // A refused reply is truncated, so its calls and its text are incomplete.
    const calls = reply.finishReason === "refusal" ? [] : reply.toolCalls;
    const toolCalls = calls.map((call) => ({ ...call, arguments: tools.restore(call.name, call.arguments) }));
    const notes = [...(reported.notes ?? []), ...tools.notes];
    return { latencyMs, retries: [], ...reply, ...reported, toolCalls, ...(notes.length === 0 ? {} : { notes }) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = withBilled(toModelError(error, secretsOf(endpoint)), reported);
    if (failure instanceof ModelError && failure.kind === "refused") {
      return { ...refusedReply(failure.message, performance.now() - startedAt), ...reported };
    }
    throw failure;
  }
}

/** Adds the usage reported by the server to the error of an unusable reply. */
export function withBilled(error: unknown, reply: Pick<Completion, "usage" | "costUsd"> | null): unknown {
  if (!(error instanceof ModelError) || !reply?.usage) return error;
  const { usage, costUsd = null } = reply;
  return error.with({ billed: { usage, costUsd } });
}

/** A refusal can arrive as an HTTP error or as a finish reason. Both result in the same reply. */
function refusedReply(message: string, latencyMs: number): Completion {
  const rawFinishReason = message.slice(0, MAX_NAME);
  return { content: "", toolCalls: [], finishReason: "refusal", rawFinishReason, usage: null, latencyMs, retries: [] };
}

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
    const value = JSON.parse(raw) as JsonValue;
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

/**
 * Replaces half surrogate pairs, which truncated text can contain, because providers reject the entire request for
 * them.
 */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}
