import type { JsonObject, JsonValue } from "../domain/json.js";
import type { Message, ToolCall } from "../domain/models/conversation.js";
import type { ToolSpec } from "../domain/models/model.js";
import { isJsonObject } from "../models/providers/tool-calls.js";
import { objectSchema } from "../models/providers/tool-schema.js";
import { toWellFormedJson } from "./well-formed-json.js";

/** How the arguments of a call stand in it. */
export type ArgumentsForm = "text" | "object";

/** A message of a chat completion, without what only its provider reads. */
export function openaiMessage(message: Message, form: ArgumentsForm): JsonObject {
  if (message.role === "tool") return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  if (message.toolCalls.length === 0) return { role: "assistant", content: message.content };
  return {
    role: "assistant",
    content: message.content === "" ? null : message.content,
    tool_calls: message.toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: form === "text" ? argumentsText(call) : argumentsObject(call) },
    })),
  };
}

export function openaiTool({ name, description, parameters }: ToolSpec): JsonObject {
  return { type: "function", function: { name, description, parameters: objectSchema(parameters) } };
}

export function argumentsObject({ arguments: value }: ToolCall): JsonObject {
  return isJsonObject(value) ? value : value === null ? {} : { value };
}

/** Arguments that were no JSON become `{}`: templates parse the text. */
function argumentsText(call: ToolCall): JsonValue {
  return toWellFormedJson(argumentsObject(call));
}
