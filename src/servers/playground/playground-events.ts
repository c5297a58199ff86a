import { z } from "zod";
import type { AgentStep } from "../../agents/loop/loop.js";
import type { AnsweredChat } from "../../app/chat/answer-chat.js";
import type { ToolCall } from "../../domain/models/conversation.js";

const id = z.string();

type Json = z.output<ReturnType<typeof z.json>>;

/** The events of a chat; `args` is a text of JSON, which clients put together and parse. Each is the JSON `data` of one server-sent event; the last data is `[DONE]`. */
export const playgroundEventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message-start"), messageId: id }),
  z.object({ type: z.literal("text-delta"), text: z.string() }),
  z.object({ type: z.literal("tool-call"), toolCallId: id, toolName: z.string() }),
  z.object({ type: z.literal("tool-call-args"), toolCallId: id, args: z.string() }),
  z.object({ type: z.literal("tool-call-end"), toolCallId: id }),
  z.object({ type: z.literal("tool-result"), toolCallId: id, result: z.json() }),
  z.object({ type: z.literal("finish"), messageId: id }),
  z.object({ type: z.literal("error"), errorText: z.string(), errorCategory: z.string(), retryable: z.boolean() }),
  z.object({
    type: z.literal("recoverable-error"),
    messageId: id,
    error: z.string(),
    errorCode: z.string(),
    recoverable: z.boolean(),
  }),
  z.object({ type: z.literal("session-info"), sessionId: id, traceId: id }),
]);

export type PlaygroundEvent = z.output<typeof playgroundEventSchema>;

/**
 * What one step of the loop is told as: all calls of a reply, then their results, so that replies can be told apart. Results that are errors are `{error}`. The answer given by return_final_answer
 * is told as text too, before that call's result: it belongs to the same reply.
 */
export function stepEvents(step: AgentStep): PlaygroundEvent[] {
  switch (step.type) {
    case "reply": {
      const { content } = step.reply;
      const said: PlaygroundEvent[] = content === "" ? [] : [{ type: "text-delta", text: content }];
      return [...said, ...step.calls.flatMap(callEvents)];
    }
    case "result": {
      const { result } = step;
      const value = (result.ok ? result.value : { error: result.error }) as Json;
      const told: PlaygroundEvent = { type: "tool-result", toolCallId: step.call.id, result: value };
      if (!result.ok || result.final === undefined) return [told];
      return [{ type: "text-delta", text: result.final.answer.trim() }, told];
    }
  }
}

function callEvents({ id: toolCallId, name, arguments: args, invalid }: ToolCall): PlaygroundEvent[] {
  return [
    { type: "tool-call", toolCallId, toolName: name },
    { type: "tool-call-args", toolCallId, args: invalid ?? JSON.stringify(args) },
    { type: "tool-call-end", toolCallId },
  ];
}

/** How a chat ended; `session-info` names its trace, which is saved by then. */
export function endingEvents({ trace, failure }: AnsweredChat, messageId: string): PlaygroundEvent[] {
  const info: PlaygroundEvent = { type: "session-info", sessionId: trace.sessionId, traceId: trace.traceId };
  return [endEvent({ trace, failure }, messageId), info];
}

function endEvent({ trace, failure }: AnsweredChat, messageId: string): PlaygroundEvent {
  switch (trace.ending) {
    case "answered":
    case "dont_know":
      return { type: "finish", messageId };
    case "timeout":
    case "interrupted": {
      const errorCode = trace.ending === "timeout" ? "TIMEOUT" : "INTERRUPTED";
      return { type: "recoverable-error", messageId, error: trace.error ?? "", errorCode, recoverable: true };
    }
    case "model_error":
      return {
        type: "error",
        errorText: trace.error ?? "",
        errorCategory: failure?.kind ?? "server",
        retryable: failure?.retryable ?? false,
      };
    default:
      return { type: "error", errorText: WITHOUT_ANSWER[trace.ending], errorCategory: trace.ending, retryable: false };
  }
}

/** Endings that are the agent's own doing: the category is the ending's name. */
export const WITHOUT_ANSWER = {
  out_of_turns: "The agent used all its turns without giving an answer.",
  out_of_budget: "The agent used all its budget without giving an answer.",
  tool_protocol_error: "The agent could not call its tools.",
} as const;
