import type { JsonValue } from "../platform/json.js";
import type { ChatTrace, ToolCallRecord } from "./trace.js";

/** A tool call as far as the messages describe it: without its times or its kind of error. */
export type EarlierCall = Pick<ToolCallRecord, "id" | "name" | "arguments" | "result" | "error">;

/** Returns the tool calls of earlier chats in the same session. A result that is not JSON remains a string. */
export function earlierCalls({
  messages,
  historyLength = 0,
}: Pick<ChatTrace, "messages"> & Partial<Pick<ChatTrace, "historyLength">>): EarlierCall[] {
  const earlier = messages.slice(1, 1 + historyLength);
  const results = new Map(
    earlier.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message]] : [])),
  );
  return earlier.flatMap((message) => {
    if (message.role !== "assistant") return [];
    return message.toolCalls.flatMap(({ id, name, arguments: args }) => {
      const told = results.get(id);
      if (told === undefined) return [];
      const { content, isError } = told;
      const outcome = isError ? { result: null, error: content } : { result: jsonOrText(content), error: null };
      return [{ id, name, arguments: args, ...outcome }];
    });
  });
}

/** Does not use the JSON module, because its schemas would end up in the playground's script. */
function jsonOrText(content: string): JsonValue {
  try {
    return JSON.parse(content) as JsonValue;
  } catch {
    return content;
  }
}
