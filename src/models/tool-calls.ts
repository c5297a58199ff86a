import { z } from "zod";
import { isJsonObject, isShallow, type JsonValue, jsonValueSchema } from "../platform/json.js";
import { type Endpoint, secretsOf } from "./endpoint.js";
import { type Completion, type Message, ModelError, type ToolCall } from "./model.js";
import { toModelError } from "./provider-errors.js";
import type { JsonReply } from "./provider-http.js";
import { type ReportedUsage, reportedUsage } from "./reported-usage.js";
import type { AdaptedTools } from "./tool-schemas.js";

/** The parts of a completion that each wire format reads in its own way. */
export type Reply = Omit<Completion, "latencyMs" | "retries" | keyof ReportedUsage>;

/** A name is a few words; what a server puts there may be anything. */
const MAX_NAME = 200;

/** No reply is refused for a name that cannot be used. */
const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** The model that a reply names, as the field of a `Reply`: none where it names none. */
export const modelNameSchema = nameSchema.transform((model) => (model === undefined ? {} : { model }));

/** A reply's id, as the field of a `Reply`: none where it has none. */
export const responseIdSchema = nameSchema.transform((responseId) => (responseId === undefined ? {} : { responseId }));

/**
 * One attempt: `send` sends the request and returns the parsed reply within its time, `read` checks its body. `tools`
 * are those that were sent. Rejects with the signal's reason, or with a ModelError that has no key in it and, if the
 * reply was billed, its usage. Any other throw is a fault of this program and is passed on unchanged.
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
    // A refused reply is truncated: neither its calls nor its text are what the model meant to say.
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

/** The error of an unusable reply, with the usage that its server reported. */
export function withBilled(error: unknown, reply: Pick<Completion, "usage" | "costUsd"> | null): unknown {
  if (!(error instanceof ModelError) || !reply?.usage) return error;
  const { usage, costUsd = null } = reply;
  return error.with({ billed: { usage, costUsd } });
}

/** A refusal that arrives as an HTTP error is the same event as one that arrives as a finish reason. */
function refusedReply(message: string, latencyMs: number): Completion {
  const rawFinishReason = message.slice(0, MAX_NAME);
  return { content: "", toolCalls: [], finishReason: "refusal", rawFinishReason, usage: null, latencyMs, retries: [] };
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
 * from zero in every reply. Made ids depend on the conversation only, so that a replay gives the same. They have the
 * nine letters and digits that Mistral insists on.
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
 * The name of a called tool as every provider accepts it in a request. A model may have made one up, and a provider
 * that returned it refuses it in the history.
 */
export function sendableToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 64) || "unnamed_tool";
}

/** Half a surrogate pair, left by a text cut in its middle: providers refuse the whole request for it. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}
