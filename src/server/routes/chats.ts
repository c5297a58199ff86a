// Routes for chats, plain or as an event stream.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Message } from "../../models/model.js";
import { definedProperties } from "../../platform/optional-values.js";
import { utcDay } from "../../text/utc-day.js";
import { ApiError, internalError } from "../app/api-error.js";
import { defineRoute, type LogFields, type Route, type Services } from "../app/route.js";
import { EVENT_STREAM_HEADERS, SseWriter } from "../app/sse-writer.js";
import { type Chat, type ChatRequest, prepareChat } from "../chat/chat-session.js";
import type { AnsweredChat } from "../chat/chat-turn.js";
import { type ChatEvent, chatEventSchema } from "../chat-event.js";

interface SaidMessage {
  readonly role: "system" | "developer" | "user" | "assistant";
  readonly content: string;
}

const TEXT_LIMIT = 200_000;

/** An email address without characters that could break a prompt. The tools report an address without mail. */
export const inboxAddress = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[^\s{}"'`]{1,320}$/, "expected an email address");

export const queryDate = utcDay;

const maxTurns = z.coerce.number().int().min(1).max(1000);

/** Other playgrounds' clients send more keys. */
const chatBody = z.looseObject({
  messages: z
    .array(z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string().max(TEXT_LIMIT) }))
    .min(1)
    .max(1_000)
    .meta({
      description:
        "The last message is the question. System messages are appended to the agent's prompt. With a sessionId, earlier messages are ignored because they are already stored.",
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
        "Values for {{name}} in the prompt. inbox_address binds the agent to a mailbox, query_date hides later email, and max_turns limits the agent's turns.",
    }),
  modelProvider: z.string().max(100).nullish(),
  modelId: z.string().max(500).nullish(),
  repeats: z
    .strictObject({ trace_id: z.string().min(1).max(200), prompt: z.string().max(TEXT_LIMIT).nullish() })
    .nullish()
    .meta({
      description:
        "Repeats the task of a trace with its agent version, settings, model and model server. The answer is scored with the task's gold answer. `prompt` replaces the recorded prompt.",
    }),
});

export function chatRoutes(services: Services): Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/api/agents/:id/playground/chat",
      tag: "playground",
      summary: "Ask an agent and stream its steps as events",
      body: chatBody,
      status: 200,
      response: null,
      events: chatEventSchema,
      async handle({ params, body, requestId, destroyConnection, log }) {
        const { messages, variables, sessionId, modelProvider, modelId, repeats } = body;
        const chat = await prepareChat(services, {
          agentId: params.id,
          ...readConversation(messages),
          sessionId,
          inbox: variables?.inbox_address,
          queryDate: variables?.query_date,
          maxTurns: variables?.max_turns,
          modelProvider,
          modelId,
          repeats: repeats ? { traceId: repeats.trace_id, prompt: repeats.prompt ?? null } : null,
        });
        return eventStreamResponse(services, chat, destroyConnection, (stream) =>
          streamAnswer(services, chat, stream, requestId, log),
        );
      },
    }),
  ];
}

async function streamAnswer(services: Services, chat: Chat, stream: SseWriter, requestId: string, log: LogFields) {
  const messageId = `message_${randomUUID()}`;
  const send = sendInOrder(stream);
  const answerEvents = async () => {
    await send({ type: "message-start", messageId });
    const turn = await chat.answer(send);
    logChat(log, turn.trace);
    return endingEvents(turn, messageId);
  };
  const last = await answerEvents().catch((fault: unknown): ChatEvent[] => {
    services.report(fault, requestId);
    return [{ type: "error", errorText: internalError().message, errorCategory: "internal", retryable: false }];
  });
  for (const event of last) await send(event);
  await stream.send("[DONE]");
}

/** Sends one piece of data after the other, because the agent does not wait until the parts of a reply are sent. */
export function sendInOrder(stream: SseWriter): (data: unknown) => Promise<void> {
  let queue: Promise<void> = Promise.resolve();
  return (data) => {
    queue = queue.then(() => stream.send(data));
    return queue;
  };
}

export function logChat(log: LogFields, trace: { agentId: string; model: string; ending: string; traceId: string }) {
  Object.assign(log, { agent: trace.agentId, model: trace.model, ending: trace.ending, trace_id: trace.traceId });
}

/** Streams the events that `work` sends. Aborts the chat when the client disconnects. */
export function eventStreamResponse(
  services: Services,
  chat: Chat,
  destroyConnection: () => void,
  work: (stream: SseWriter) => Promise<void>,
): Response {
  const stream = new SseWriter(services.stream, (reason) => chat.abandon(reason), destroyConnection);
  void work(stream).finally(() => stream.close());
  return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
}

/** Returns the question, which must be the last message and from the user. System messages become instructions. */
export function readConversation(
  messages: readonly SaidMessage[],
): Pick<ChatRequest, "history" | "question" | "instructions"> {
  const question = messages.at(-1);
  if (question?.role !== "user") throw new ApiError("VALIDATION_ERROR", "The last message must be the user's.");
  const system: string[] = [];
  const history: Message[] = [];
  for (const { role, content } of messages.slice(0, -1)) {
    if (role === "user") history.push({ role, content });
    else if (role === "assistant") history.push({ role, content, toolCalls: [] });
    else system.push(content);
  }
  return { history, question: question.content, instructions: system.length === 0 ? null : system.join("\n\n") };
}

/** The events at the end of a chat. Its trace is saved before `session-info` mentions it. */
function endingEvents({ trace, failure }: AnsweredChat, messageId: string): ChatEvent[] {
  const { sessionId, traceId, actions, repeats } = trace;
  const info: ChatEvent = { type: "session-info", sessionId, traceId, ...definedProperties({ actions, repeats }) };
  return [endEvent({ trace, failure }, messageId), info];
}

function endEvent({ trace, failure }: AnsweredChat, messageId: string): ChatEvent {
  switch (trace.ending) {
    case "answered":
    case "dont_know":
    case "refused":
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

/** Messages for endings without an answer that are not failures. The error's category is the ending. */
export const WITHOUT_ANSWER = {
  out_of_turns: "The agent used all its turns without giving an answer.",
  out_of_budget: "The agent used all its budget without giving an answer.",
  tool_protocol_error: "The agent could not call its tools.",
} as const;
