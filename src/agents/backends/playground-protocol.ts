import { z } from "zod";
import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import { MODEL_ERROR_KINDS, ModelError, type ModelErrorKind } from "../../domain/models/model.js";

const id = z.string();

/** What a playground server sends, each as the `data` of one event; `[DONE]` comes after them. */
const KNOWN = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message-start"), messageId: id.optional() }),
  z.object({ type: z.literal("text-delta"), text: z.string() }),
  z.object({ type: z.literal("tool-call"), toolCallId: id, toolName: z.string() }),
  /** Text of JSON, whole or in pieces; or the arguments themselves. */
  z.object({ type: z.literal("tool-call-args"), toolCallId: id, args: jsonValueSchema }),
  z.object({ type: z.literal("tool-call-end"), toolCallId: id }),
  z.object({ type: z.literal("tool-result"), toolCallId: id, result: jsonValueSchema.optional() }),
  z.object({ type: z.literal("finish"), messageId: id.optional() }),
  z.object({
    type: z.literal("error"),
    errorText: z.string(),
    errorCategory: z.string().nullish(),
    retryable: z.boolean().nullish(),
  }),
  z.object({
    type: z.literal("recoverable-error"),
    error: z.string(),
    errorCode: z.string().nullish(),
    recoverable: z.boolean().nullish(),
  }),
  z.object({ type: z.literal("session-info"), sessionId: id.nullish(), traceId: id.nullish() }),
]);

export type PlaygroundEvent = z.output<typeof KNOWN>;

const TYPES: ReadonlySet<string> = new Set(KNOWN.options.map((option) => option.shape.type.value));

/** Null: an event of an unknown (newer) kind. Throws what the JSON parser or zod throws. */
export function readEvent(data: string): PlaygroundEvent | null {
  const event = z.looseObject({ type: z.string() }).parse(JSON.parse(data));
  return TYPES.has(event.type) ? KNOWN.parse(event) : null;
}

type Failure = Extract<PlaygroundEvent, { type: "error" | "recoverable-error" }>;

/** Other servers' names for our event kinds. */
const KINDS: readonly (readonly [RegExp, ModelErrorKind])[] = [
  [/rate|quota/i, "rate_limit"],
  [/^auth|api.?key/i, "auth"],
  [/time.?out/i, "timeout"],
  [/overload|unavailable/i, "overloaded"],
  [/network|connection/i, "network"],
];

export function failureOf(event: Failure): ModelError {
  const [text, code, retryable] =
    event.type === "error"
      ? [event.errorText, event.errorCategory ?? "", event.retryable ?? false]
      : [event.error, event.errorCode ?? "", event.recoverable ?? false];
  const ours = MODEL_ERROR_KINDS.find((kind) => kind === code);
  const kind = ours ?? KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "server";
  return new ModelError(kind, code === "" ? text : `${text} (${code})`, { retryable });
}

/** A tool result for the scorers: servers send an object or its JSON text. */
export function resultValue(result: JsonValue | undefined): JsonValue {
  if (typeof result !== "string" || !/^\s*[[{]/.test(result)) return result ?? null;
  try {
    return jsonValueSchema.parse(JSON.parse(result));
  } catch {
    return result;
  }
}
