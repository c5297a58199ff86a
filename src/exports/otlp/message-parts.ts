import type { JsonValue } from "../../domain/json.js";
import type { Message } from "../../domain/models/conversation.js";
import type { FinishReason } from "../../domain/models/model.js";

/** A message as the GenAI conventions write it. What a provider keeps in it for itself is left out. */
interface PartsMessage {
  readonly role: Message["role"];
  readonly parts: readonly { readonly type: string; readonly [field: string]: JsonValue }[];
}

/** Theirs are `tool_call` and `content_filter` where ours are `tool_calls` and `refusal`. */
const FINISH_REASON: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  tool_calls: "tool_call",
  length: "length",
  refusal: "content_filter",
  other: "other",
};

export function toParts(message: Message): PartsMessage {
  const { role } = message;
  if (role === "tool") {
    return { role, parts: [{ type: "tool_call_response", id: message.toolCallId, response: message.content }] };
  }
  const said = message.content === "" ? [] : [{ type: "text", content: message.content }];
  if (role !== "assistant") return { role, parts: said };
  const calls = message.toolCalls.map(({ id, name, arguments: given, invalid }) => ({
    type: "tool_call",
    id,
    name,
    // A text where the model wrote none that could be read.
    arguments: invalid ?? given,
  }));
  return { role, parts: [...said, ...calls] };
}

export function toOutputMessage(message: Message, reason: FinishReason): PartsMessage & { finish_reason: string } {
  return { ...toParts(message), finish_reason: FINISH_REASON[reason] };
}

export function toSystemParts(system: string): readonly { readonly type: "text"; readonly content: string }[] {
  return [{ type: "text", content: system }];
}
