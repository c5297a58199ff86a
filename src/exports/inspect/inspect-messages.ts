import type { JsonObject } from "../../domain/json.js";
import type { Message, ToolMessage } from "../../domain/models/conversation.js";
import type { ToolCallRecord } from "../../domain/runs/trace.js";
import { argumentsObject } from "../openai-messages.js";
import type { ExportedTrace } from "../trace-format.js";

/** The messages of a trace as Inspect's ChatMessage, earlier chats included. */
export function inspectMessages(trace: ExportedTrace): JsonObject[] {
  const records = new Map(trace.toolCalls.map((record) => [record.id, record]));
  return trace.messages.map((message, i) => {
    const id = `${trace.traceId}_${i}`;
    if (message.role === "tool") return toolMessage(id, message, records.get(message.toolCallId));
    if (message.role !== "assistant") return { id, role: message.role, content: message.content, source: "input" };
    const calls = message.toolCalls.map((call) => ({
      id: call.id,
      function: call.name,
      arguments: argumentsObject(call),
      type: "function",
      ...(call.invalid === undefined ? {} : { parse_error: call.invalid }),
    }));
    return {
      ...{ id, role: "assistant", content: message.content, source: "generate", model: trace.model },
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
  });
}

function toolMessage(id: string, message: ToolMessage, record: ToolCallRecord | undefined): JsonObject {
  return {
    ...{ id, role: "tool", content: message.content, function: message.name },
    ...(message.toolCallId === "" ? {} : { tool_call_id: message.toolCallId }),
    ...(message.isError ? { error: toolError(message.content, record) } : {}),
  };
}

/** In the types that Inspect knows: calls that could not be read are its `parsing`. */
export function toolError(message: string, record: Pick<ToolCallRecord, "errorKind"> | undefined): JsonObject {
  const isParsing = record?.errorKind === "unparsable_call" || record?.errorKind === "bad_arguments";
  return { type: isParsing ? "parsing" : "unknown", message };
}

/** Where the replies stand among the messages. */
export function replyIndexes(messages: readonly Message[]): number[] {
  return messages.flatMap((message, i) => (message.role === "assistant" ? [i] : []));
}
