// The tool calls of earlier chats in a session, read from its messages.
import { withoutDataMarks } from "../models/tool-results.js";
import type { JsonValue } from "../platform/json.js";
import type { ChatTrace, ToolCallRecord } from "./trace.js";

/** The parts of a tool call that messages contain, which exclude its times and the kind of its error. */
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
      const toolResult = results.get(id);
      if (toolResult === undefined) return [];
      const { content, isError } = toolResult;
      const outcome = isError
        ? { result: null, error: withoutDataMarks(content) }
        : { result: jsonOrText(withoutDataMarks(content)), error: null };
      return [{ id, name, arguments: args, ...outcome }];
    });
  });
}

/** Does not import the JSON module, because its schemas would end up in the playground's script. */
function jsonOrText(content: string): JsonValue {
  try {
    return JSON.parse(content) as JsonValue;
  } catch {
    return content;
  }
}
