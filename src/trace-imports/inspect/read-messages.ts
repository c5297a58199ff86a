import type { Message } from "../../domain/models/conversation.js";
import { textOfContent } from "../text-of-content.js";
import type { LogMessage } from "./log-schema.js";

/** Our messages of Inspect's. */
export function toMessages(messages: readonly LogMessage[]): Message[] {
  return messages.map((message): Message => {
    const content = textOfContent(message.content);
    if (message.role === "tool") {
      const { tool_call_id, function: name, error } = message;
      return { role: "tool", toolCallId: tool_call_id ?? "", name: name ?? "", content, isError: error != null };
    }
    if (message.role !== "assistant") return { role: message.role, content };
    const toolCalls = (message.tool_calls ?? []).map(({ id, function: name, arguments: given, parse_error }) => ({
      ...{ id, name, arguments: given },
      ...(parse_error == null ? {} : { invalid: parse_error }),
    }));
    return { role: "assistant", content, toolCalls };
  });
}

const ATTACHMENT = /^attachment:\/\/([0-9a-f]{32})$/;

/** The same JSON with long texts in the places from which they were moved to the sample's attachments. */
export function withAttachments(value: unknown, attachments: Readonly<Record<string, string>>): unknown {
  if (typeof value === "string") {
    const id = ATTACHMENT.exec(value)?.[1];
    return id !== undefined && Object.hasOwn(attachments, id) ? attachments[id] : value;
  }
  if (Array.isArray(value)) return value.map((item) => withAttachments(item, attachments));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withAttachments(item, attachments)]));
}
