import { z } from "zod";
import { type JsonValue, jsonValueSchema } from "../../domain/json.js";
import type { Message } from "../../domain/models/conversation.js";
import { jsonOf } from "./span-attributes.js";
import type { ReadSpan } from "./traces-data-schema.js";

const partSchema = z.looseObject({
  type: z.string(),
  content: z.unknown().optional(),
  id: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  response: z.unknown().optional(),
  result: z.unknown().optional(),
});

type Part = z.output<typeof partSchema>;

const messagesSchema = z.array(
  z.looseObject({ role: z.string(), parts: z.array(partSchema), finish_reason: z.string().optional() }),
);

export type ReadMessages = z.output<typeof messagesSchema>;

export function inputOf({ attributes }: ReadSpan): ReadMessages {
  return jsonOf(attributes, "gen_ai.input.messages", messagesSchema) ?? [];
}

export function outputOf({ attributes }: ReadSpan): ReadMessages {
  return jsonOf(attributes, "gen_ai.output.messages", messagesSchema) ?? [];
}

export function systemOf({ attributes }: ReadSpan): string | undefined {
  const parts = jsonOf(attributes, "gen_ai.system_instructions", z.array(partSchema));
  return parts === undefined ? undefined : textOfParts(parts);
}

/** What stands in the text parts; reasoning, images and files are left out. */
export function textOfParts(parts: readonly Part[]): string {
  return parts
    .flatMap(({ type, content }) => (type === "text" && typeof content === "string" ? [content] : []))
    .join("");
}

/** Our messages of theirs. `toolNames`: by the id of the call; `failed`: ids of the calls that failed. */
export function toMessages(
  messages: ReadMessages,
  toolNames: ReadonlyMap<string, string>,
  failed: ReadonlySet<string>,
): Message[] {
  return messages.flatMap(({ role, parts }): Message[] => {
    if (role === "system" || role === "user") return [{ role, content: textOfParts(parts) }];
    if (role === "assistant") return [{ role, content: textOfParts(parts), toolCalls: parts.flatMap(toToolCall) }];
    return parts.flatMap((part) => {
      if (part.type !== "tool_call_response") return [];
      const toolCallId = part.id ?? "";
      const name = toolNames.get(toolCallId) ?? "";
      const content = asText(part.response ?? part.result);
      return [{ role: "tool" as const, toolCallId, name, content, isError: failed.has(toolCallId) }];
    });
  });
}

function toToolCall({ type, id, name = "", arguments: given }: Part) {
  if (type !== "tool_call") return [];
  // A text where the model wrote none that could be read.
  if (typeof given === "string") return [{ id: id ?? "", name, arguments: {}, invalid: given }];
  const json = jsonValueSchema.safeParse(given ?? {});
  return [{ id: id ?? "", name, arguments: (json.data ?? {}) as JsonValue }];
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
