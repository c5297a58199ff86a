import { z } from "zod";
import { type JsonValue, jsonValueSchema } from "../json.js";

/**
 * A call the model asks for. `invalid` holds the raw text where the provider sent arguments that are
 * not a JSON object; `arguments` is then `{}` and the call is answered with an error, never made.
 */
export const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonValueSchema,
  invalid: z.string().optional(),
});

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly invalid?: string | undefined;
}

/**
 * What a provider wants back untouched in the next request (Anthropic thinking blocks, Gemini thought
 * signatures, OpenAI reasoning items). Only the provider that wrote it reads `value`.
 */
export const providerStateSchema = z.object({ provider: z.string(), value: jsonValueSchema });

export type ProviderState = z.output<typeof providerStateSchema>;

/** Provider-neutral messages; the system prompt travels beside them. */
export const messageSchema = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({ role: z.literal("user"), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    toolCalls: z.array(toolCallSchema),
    providerState: providerStateSchema.optional(),
  }),
  z.object({
    role: z.literal("tool"),
    toolCallId: z.string(),
    name: z.string(),
    content: z.string(),
    isError: z.boolean(),
  }),
]);

export type Message = z.output<typeof messageSchema>;
export type ToolMessage = Extract<Message, { role: "tool" }>;
