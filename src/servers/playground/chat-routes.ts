import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type PreparedChat, prepareChat } from "../../app/chat/prepare-chat.js";
import type { Message } from "../../domain/models/conversation.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type LogFields, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { EVENT_STREAM_HEADERS, SseWriter } from "../http/sse-writer.js";
import type { ChatEvent } from "./page/chat/chat-events.js";
import { activityEvents, chatEventSchema, endingEvents, stepEvents } from "./playground-events.js";

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
