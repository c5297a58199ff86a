import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AgentStep } from "../../agents/agent-loop.js";
import type { Message, TaskActivity, ToolCall } from "../../models/model.js";
import { ApiError } from "../api-error.js";
import { type AnsweredChat, type PreparedChat, prepareChat } from "../chat.js";
import type { ChatEvent } from "../chat-event.js";
import { defineRoute, type LogFields, type Route, type Services } from "../route.js";
import { EVENT_STREAM_HEADERS, SseWriter } from "../sse-writer.js";

const TEXT_LIMIT = 200_000;

/** An address without characters that could break a prompt; the tools report an address without mail. */
export const inboxAddress = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[^\s{}"'`]{1,320}$/, "expected an email address");

export const queryDate = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}/, "expected a day, YYYY-MM-DD")
  .transform((date) => date.slice(0, 10))
  .pipe(z.iso.date("expected a day, YYYY-MM-DD"));

const maxTurns = z.coerce.number().int().min(1).max(1000);

const chatBody = z.object({
  messages: z
    .array(z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string().max(TEXT_LIMIT) }))
    .min(1)
    .max(1_000)
    .meta({
      description:
        "The last is the question. System messages are put after the agent's own prompt. With a sessionId, earlier messages are stored already and not read.",
    }),
  sessionId: z.string().min(1).max(200).nullish(),
  variables: z
    .looseObject({
      inbox_address: inboxAddress.nullish(),
      query_date: queryDate.nullish(),
      max_turns: maxTurns.nullish(),
    })
    .nullish()
    .meta({
      description:
        "Fill {{name}} in the prompt. inbox_address binds the agent to that mailbox, query_date hides later mail, max_turns limits its turns.",
    }),
  modelProvider: z.string().max(100).nullish(),
  modelId: z.string().max(500).nullish(),
});

export function chatRoutes(services: Services): Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/api/agents/:id/playground/chat",
      tag: "playground",
      summary: "Ask an agent, and get its steps as events while it works",
      body: chatBody,
      status: 200,
      response: null,
      events: chatEventSchema,
      async handle({ params, body, requestId, destroyConnection, log }) {
        const { messages, variables } = body;
        const question = messages.at(-1);
        const systemPrompts = messages.filter(({ role }) => role === "system").map(({ content }) => content);
        if (question?.role !== "user") throw new ApiError("VALIDATION_ERROR", "The last message must be the user's.");
        const chat = await prepareChat(services, {
          agentId: params.id,
          sessionId: body.sessionId ?? undefined,
          history: messages.slice(0, -1).flatMap(toModelMessages),
          question: question.content,
          instructions: systemPrompts.length === 0 ? null : systemPrompts.join("\n\n"),
          inbox: variables?.inbox_address ?? undefined,
          queryDate: variables?.query_date ?? undefined,
          maxTurns: variables?.max_turns ?? undefined,
          modelProvider: body.modelProvider ?? undefined,
          modelId: body.modelId ?? undefined,
        });
        return eventStreamResponse(services, chat, destroyConnection, (stream) =>
          streamAnswer(services, chat, stream, requestId, log),
        );
      },
    }),
  ];
}

async function streamAnswer(
  services: Services,
  chat: PreparedChat,
  stream: SseWriter,
  requestId: string,
  log: LogFields,
) {
  const messageId = `message_${randomUUID()}`;
  // One after the other: retries are sent while nobody waits for it.
  let sent: Promise<void> = Promise.resolve();
  const send = (events: readonly ChatEvent[]) => {
    for (const event of events) sent = sent.then(() => stream.send(event));
    return sent;
  };
  const answerEvents = async () => {
    await send([{ type: "message-start", messageId }]);
    const answered = await chat.answer({
      onStep: (step) => send(stepEvents(step)),
      onActivity: (activity) => void send(activityEvents(activity)),
    });
    logChat(log, answered.trace);
    return endingEvents(answered, messageId);
  };
  const last = await answerEvents().catch((fault: unknown): ChatEvent[] => {
    services.report(fault, requestId);
    const errorText = "The server could not do this; its log says why.";
    return [{ type: "error", errorText, errorCategory: "internal", retryable: false }];
  });
  await send(last);
  await stream.send("[DONE]");
}

export function logChat(log: LogFields, trace: { agentId: string; model: string; ending: string; traceId: string }) {
  Object.assign(log, { agent: trace.agentId, model: trace.model, ending: trace.ending, trace_id: trace.traceId });
}

/** Streams the events that `work` sends; the chat is aborted when the client disconnects. */
export function eventStreamResponse(
  services: Services,
  chat: PreparedChat,
  destroyConnection: () => void,
  work: (stream: SseWriter) => Promise<void>,
): Response {
  const stream = new SseWriter(services.stream, (reason) => chat.abandon(reason), destroyConnection);
  void work(stream).finally(() => stream.close());
  return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
}

/** A message of the conversation; system messages go into the prompt instead. */
export function toModelMessages({
  role,
  content,
}: {
  role: "system" | "user" | "assistant";
  content: string;
}): Message[] {
  if (role === "system") return [];
  return [role === "user" ? { role, content } : { role, content, toolCalls: [] }];
}

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
function stepEvents(step: AgentStep): ChatEvent[] {
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
function activityEvents(activity: TaskActivity): ChatEvent[] {
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
function endingEvents({ trace, failure }: AnsweredChat, messageId: string): ChatEvent[] {
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
    case "not_runnable":
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
