import type { z } from "zod";
import { type ChatRequest, type PreparedChat, prepareChat } from "../../app/chat/prepare-chat.js";
import type { Message } from "../../domain/models/conversation.js";
import { lastAnswer, sessionMessages } from "../../store/chats/sessions.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type LogFields, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import type { SseWriter } from "../http/sse-writer.js";
import { eventStreamResponse, logChat, toModelMessages } from "../playground/chat-routes.js";
import { chatFailure } from "./openai-error.js";
import { answerAtOnce } from "./openai-routes.js";
import { answerEvents, failureEvents, openingEvents, responseEventShape } from "./responses-events.js";
import {
  completedResponse,
  type InputItem,
  openResponse,
  type ResponseObject,
  responseBody,
  responseShape,
  sessionIdOf,
} from "./responses-format.js";

/** OpenAI's Responses API, the default of its newer clients. */
export function responsesRoutes(services: Services): Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/v1/responses",
      tag: "OpenAI-compatible",
      summary: "Ask an agent; with stream, its answer comes as events when there is one",
      body: responseBody,
      status: 200,
      response: responseShape,
      events: responseEventShape,
      errors: "openai",
      async handle({ body, requestId, signal, destroyConnection, log }) {
        const chat = await prepareChat(services, toRequest(services, body));
        const openedResponse = openResponse(chat.sessionId, body);
        if (body.stream !== true) return completedResponse(openedResponse, await answerAtOnce(chat, signal, log));
        return eventStreamResponse(services, chat, destroyConnection, (stream) =>
          streamAnswer(services, chat, stream, openedResponse, requestId, log),
        );
      },
    }),
  ];
}

function toRequest({ db }: Services, body: z.output<typeof responseBody>): ChatRequest {
  const messages = body.input.map((item) =>
    "role" in item ? item : { role: "assistant" as const, content: answerOf(item) },
  );
  const question = messages.at(-1);
  if (question?.role !== "user") throw new ApiError("VALIDATION_ERROR", "The last message must be the user's.");
  const systemPrompts = messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(({ content }) => content);
  const instructions = [...(body.instructions ? [body.instructions] : []), ...systemPrompts];
  const conversation = messages.slice(0, -1).flatMap(({ role, content }): Message[] => {
    return role === "user" || role === "assistant" ? toModelMessages({ role, content }) : [];
  });
  const previousId = body.previous_response_id ?? null;
  return {
    agentId: body.model,
    history: previousId === null ? conversation : [...messagesOf(previousId), ...conversation],
    question: question.content,
    instructions: instructions.length === 0 ? null : instructions.join("\n\n"),
    inbox: body.metadata?.inbox_address ?? undefined,
    queryDate: body.metadata?.query_date ?? undefined,
    continuedFrom: previousId === null ? undefined : (sessionIdOf(previousId) ?? undefined),
    maxTurns: undefined,
    modelProvider: undefined,
    modelId: undefined,
  };

  function answerOf({ id }: Extract<InputItem, { id: string }>): string {
    const sessionId = sessionIdOf(id);
    const answer = sessionId === null ? null : lastAnswer(db, sessionId);
    if (answer === null) throw new ApiError("NOT_FOUND", `There is no answer "${id}" here.`);
    return answer;
  }

  function messagesOf(id: string): Message[] {
    const sessionId = sessionIdOf(id);
    const messages = sessionId === null ? [] : sessionMessages(db, sessionId);
    if (messages.length === 0) throw new ApiError("NOT_FOUND", `There is no response "${id}" to go on from.`);
    return messages;
  }
}

async function streamAnswer(
  services: Services,
  chat: PreparedChat,
  stream: SseWriter,
  openedResponse: ResponseObject,
  requestId: string,
  log: LogFields,
): Promise<void> {
  const opening = openingEvents(openedResponse);
  const ending = async () => {
    const answered = await chat.answer({});
    logChat(log, answered.trace);
    const failure = chatFailure(answered);
    if (failure !== null) return failureEvents(opening.length, openedResponse, failure, requestId);
    return answerEvents(opening.length, completedResponse(openedResponse, answered.trace));
  };
  for (const event of opening) await stream.send(event, event.type);
  const last = await ending().catch((fault: unknown) => {
    services.report(fault, requestId);
    const unknown = new ApiError("INTERNAL_ERROR", "The server could not do this; its log says why.");
    return failureEvents(opening.length, openedResponse, unknown, requestId);
  });
  for (const event of last) await stream.send(event, event.type);
}
