// The events of a streamed chat, as server, page and `art-e ask` exchange them.
import { z } from "zod";
import type { JsonValue } from "../platform/json.js";
import { mailboxChangesSchema } from "../tasks/mailbox-changes.js";

const id = z.string();

/**
 * The events of a streamed chat. Each event is the JSON `data` of a server-sent event, and the last data is `[DONE]`.
 */
export const chatEventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message-start"), messageId: id }),
  // With `toolCallId`, the text is part of the answer in that call's arguments. `isRefusal` marks a refusal's text,
  // unless it was streamed before the model refused.
  z.object({
    type: z.literal("text-delta"),
    text: z.string(),
    toolCallId: id.optional(),
    isRefusal: z.literal(true).optional(),
  }),
  // The text deltas of this reply or answer so far are wrong. `text` replaces them.
  z.object({ type: z.literal("text-replaced"), text: z.string(), toolCallId: id.optional() }),
  z.object({ type: z.literal("reasoning-delta"), text: z.string() }),
  // A call begins. Its arguments follow when they are complete.
  z.object({ type: z.literal("tool-call"), toolCallId: id, toolName: z.string() }),
  // `args` is JSON text, or the model's output if that is not JSON.
  z.object({ type: z.literal("tool-call-args"), toolCallId: id, args: z.string() }),
  z.object({ type: z.literal("tool-call-end"), toolCallId: id }),
  // An error is `{ error }`.
  z.object({ type: z.literal("tool-result"), toolCallId: id, result: z.json() as z.ZodType<JsonValue> }),
  z.object({ type: z.literal("finish"), messageId: id }),
  z.object({ type: z.literal("error"), errorText: z.string(), errorCategory: z.string(), retryable: z.boolean() }),
  z.object({
    type: z.literal("recoverable-error"),
    messageId: id,
    error: z.string(),
    errorCode: z.string(),
    recoverable: z.boolean(),
  }),
  // `actions` is what the agent has changed in the mailbox since the chat began. `repeats` is the trace that the chat
  // repeats.
  z.object({
    type: z.literal("session-info"),
    sessionId: id,
    traceId: id,
    actions: mailboxChangesSchema.optional(),
    repeats: id.optional(),
  }),
  // Attempt `attempt` at a model call failed. The next one starts after `waitMs`.
  z.object({ type: z.literal("retry"), attempt: z.number().int(), reason: z.string(), waitMs: z.number() }),
]);

export type ChatEvent = z.output<typeof chatEventSchema>;
