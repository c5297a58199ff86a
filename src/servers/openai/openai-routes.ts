import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type PreparedChat, prepareChat } from "../../app/chat/prepare-chat.js";
import type { StoredAgent } from "../../domain/agents/agent.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { getAgent, listAgents } from "../../store/registry/agent-rows.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type LogFields, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import type { SseWriter } from "../http/sse-writer.js";
import { eventStreamResponse, logChat, toModelMessages } from "../playground/chat-routes.js";
import { chatFailure, openaiError } from "./openai-error.js";
import {
  type CompletionHead,
  chunkShape,
  completionBody,
  completionShape,
  firstChunk,
  lastChunks,
  toCompletion,
} from "./openai-format.js";

const modelShape = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.number().int(),
  owned_by: z.literal("art-e"),
});

/** OpenAI's Chat Completions API: each agent is a model that searches the mail itself. */
export function openaiRoutes(services: Services): Route[] {
  const tag = "OpenAI-compatible";
  return [
    defineRoute({
      method: "get",
      path: "/v1/models",
      tag,
      summary: "The agents as models",
      status: 200,
      response: z.strictObject({ object: z.literal("list"), data: z.array(modelShape) }),
      errors: "openai",
      handle: () => ({
        object: "list",
        data: listAgents(services.db).map(modelOf),
      }),
    }),
    defineRoute({
      method: "get",
      path: "/v1/models/:id",
      tag,
      summary: "One agent as a model",
      status: 200,
      response: modelShape,
      errors: "openai",
      handle: ({ params }) => modelOf(getAgent(services.db, params.id)),
    }),
    defineRoute({
      method: "post",
      path: "/v1/chat/completions",
      tag,
      summary: "Ask an agent; with stream, its answer comes as chunks when there is one",
      body: completionBody,
      status: 200,
      response: completionShape,
      events: chunkShape,
      errors: "openai",
      async handle({ body, requestId, signal, destroyConnection, log }) {
        const { messages, metadata } = body;
        const conversation = messages.filter((message) => message.role === "user" || message.role === "assistant");
        const question = conversation.at(-1);
        if (question?.role !== "user" || messages.at(-1) !== question) {
          throw new ApiError("VALIDATION_ERROR", "The last message must be the user's.");
        }
        const systemPrompts = messages.flatMap(({ role, content }) =>
          role === "system" || role === "developer" ? [content ?? ""] : [],
        );
        const chat = await prepareChat(services, {
          agentId: body.model,
          history: conversation
            .slice(0, -1)
            .flatMap(({ role, content }) => toModelMessages({ role, content: content ?? "" })),
          question: question.content,
          instructions: systemPrompts.length === 0 ? null : systemPrompts.join("\n\n"),
          inbox: metadata?.inbox_address ?? undefined,
          queryDate: metadata?.query_date ?? undefined,
          maxTurns: undefined,
          modelProvider: undefined,
          modelId: undefined,
        });
        const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: body.model };
        if (body.stream !== true) return toCompletion(head, await answerAtOnce(chat, signal, log));
        const includeUsage = body.stream_options?.include_usage === true;
        return eventStreamResponse(services, chat, destroyConnection, (stream) =>
          streamAnswer(services, chat, stream, head, includeUsage, requestId, log),
        );
      },
    }),
  ];
}

function modelOf({ id, createdAt }: StoredAgent): z.output<typeof modelShape> {
  return { id, object: "model", created: Date.parse(`${createdAt.replace(" ", "T")}Z`) / 1000, owned_by: "art-e" };
}

/** Answers without streaming; throws an ApiError where the chat fails. Aborts it when the client disconnects. */
export async function answerAtOnce(chat: PreparedChat, signal: AbortSignal, log: LogFields): Promise<ChatTrace> {
  const abandon = () => chat.abandon("the client is gone");
  signal.addEventListener("abort", abandon, { once: true });
  if (signal.aborted) abandon();
  try {
    const answered = await chat.answer({});
    logChat(log, answered.trace);
    const failure = chatFailure(answered);
    if (failure !== null) throw failure;
    return answered.trace;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

async function streamAnswer(
  services: Services,
  chat: PreparedChat,
  stream: SseWriter,
  head: CompletionHead,
  includeUsage: boolean,
  requestId: string,
  log: LogFields,
): Promise<void> {
  const failWith = (error: ApiError) => stream.send(openaiError(error, requestId).body);
  try {
    await stream.send(firstChunk(head));
    const answered = await chat.answer({});
    logChat(log, answered.trace);
    const failure = chatFailure(answered);
    if (failure !== null) return await failWith(failure);
    for (const chunk of lastChunks(head, answered.trace, includeUsage)) await stream.send(chunk);
    await stream.send("[DONE]");
  } catch (fault) {
    services.report(fault, requestId);
    await failWith(new ApiError("INTERNAL_ERROR", "The server could not do this; its log says why."));
  }
}
