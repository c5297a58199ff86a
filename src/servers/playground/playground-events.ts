import { z } from "zod";
import type { AgentStep } from "../../agents/loop/agent-loop.js";
import type { AnsweredChat } from "../../app/chat/answer-chat.js";
import type { ToolCall } from "../../domain/models/conversation.js";
import type { TaskActivity } from "../../domain/runs/task-activity.js";
import type { ChatEvent } from "./page/chat/chat-events.js";

const id = z.string();

/** For the OpenAPI document; the page and this server share the type. */
export const chatEventSchema: z.ZodType<ChatEvent> = z.discriminatedUnion("type", [
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
  z.object({ type: z.literal("retry"), attempt: z.number().int(), reason: z.string(), waitMs: z.number() }),
]);

/**
 * The events of one step of the agent loop: all calls of a reply, then their results, so that a client can tell one
 * reply from the next. The answer of return_final_answer is sent as text before that call's result, as part of the same
 * reply.
 */
export function stepEvents(step: AgentStep): ChatEvent[] {
  switch (step.type) {
    case "reply": {
      const { content } = step.reply;
      const text: ChatEvent[] = content === "" ? [] : [{ type: "text-delta", text: content }];
      return [...text, ...step.calls.flatMap(callEvents)];
    }
    case "result": {
      const { result } = step;
      const value = result.ok ? result.value : { error: result.error };
      const event: ChatEvent = { type: "tool-result", toolCallId: step.call.id, result: value };
      if (!result.ok || result.final === undefined) return [event];
      return [{ type: "text-delta", text: result.final.answer.trim() }, event];
    }
  }
}

/** A model call that failed and is made again. */
export function activityEvents(activity: TaskActivity): ChatEvent[] {
  if (activity.type !== "retry") return [];
  const { attempt, reason, waitedMs } = activity.retry;
  return [{ type: "retry", attempt, reason, waitMs: waitedMs }];
}

function callEvents({ id: toolCallId, name, arguments: args, invalid }: ToolCall): ChatEvent[] {
  return [
    { type: "tool-call", toolCallId, toolName: name },
    { type: "tool-call-args", toolCallId, args: invalid ?? JSON.stringify(args) },
    { type: "tool-call-end", toolCallId },
  ];
}

/** The events of a chat's end; its trace is saved before `session-info` names it. */
export function endingEvents({ trace, failure }: AnsweredChat, messageId: string): ChatEvent[] {
  const info: ChatEvent = { type: "session-info", sessionId: trace.sessionId, traceId: trace.traceId };
  return [endEvent({ trace, failure }, messageId), info];
}

function endEvent({ trace, failure }: AnsweredChat, messageId: string): ChatEvent {
  switch (trace.ending) {
    case "answered":
    case "dont_know":
      return { type: "finish", messageId };
    case "timeout":
    case "not_started":
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

/** Messages for endings without an answer that are not failures; the error's category is the ending. */
export const WITHOUT_ANSWER = {
  out_of_turns: "The agent used all its turns without giving an answer.",
  out_of_budget: "The agent used all its budget without giving an answer.",
  tool_protocol_error: "The agent could not call its tools.",
} as const;
