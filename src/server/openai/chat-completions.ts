// OpenAI's Chat Completions API, in which each agent is a model that searches the mail itself.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { StoredAgent } from "../../agents/agent.js";
import { getAgent, listAgents } from "../../agents/registry-store.js";
import type { ModelErrorKind } from "../../models/model.js";
import { compact } from "../../platform/optional-values.js";
import { sumUsage } from "../../traces/task-result.js";
import type { ChatTrace } from "../../traces/trace.js";
import { ApiError, type ErrorCode, internalError } from "../app/api-error.js";
import { defineRoute, type LogFields, type Route, type Services } from "../app/route.js";
import type { SseWriter } from "../app/sse-writer.js";
import { AppendOnlyText } from "../append-only-text.js";
import { type Chat, prepareChat } from "../chat/chat-session.js";
import type { AnsweredChat } from "../chat/chat-turn.js";
import type { OnChatEvent } from "../chat/stream-events.js";
import { isoTime } from "../response-shapes.js";
import {
  eventStreamResponse,
  inboxAddress,
  logChat,
  queryDate,
  readConversation,
  sendInOrder,
  WITHOUT_ANSWER,
} from "../routes/chats.js";

/** The text of the answer, or of the model's refusal. */
interface AnswerText {
  readonly text: string;
  readonly isRefusal: boolean;
}

interface CompletionHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

const modelShape = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.number().int(),
  owned_by: z.literal("art-e"),
});

/** The `art_e` field, an extension of OpenAI's APIs. */
const agentDetailsShape = z.strictObject({
  trace_id: z.string(),
  ending: z.string(),
  sources: z.array(z.string()),
});

const usageShape = z.strictObject({
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_tokens: z.number().int(),
  prompt_tokens_details: z.strictObject({ cached_tokens: z.number().int() }),
});

const chunkShape = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      delta: z.strictObject({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        reasoning_content: z.string().optional(),
        refusal: z.string().optional(),
      }),
      finish_reason: z.enum(["stop", "length"]).nullable(),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape.nullable().optional(),
  art_e: agentDetailsShape
    .extend({ answer: z.string().nullable().meta({ description: "The answer without the text before tool calls" }) })
    .optional(),
});

type Chunk = z.output<typeof chunkShape>;

/**
 * OpenAI's Chat Completions API (https://platform.openai.com/docs/api-reference/chat). Each agent is a model that
 * searches the mail itself.
 */
export function openaiRoutes(services: Services): Route[] {
  const tag = "OpenAI-compatible";
  return [
    defineRoute({
      method: "get",
      path: "/v1/models",
      tag,
      summary: "List the agents as models",
      status: 200,
      response: z.strictObject({ object: z.literal("list"), data: z.array(modelShape) }),
      handle: () => ({
        object: "list",
        data: listAgents(services.db).map(modelOf),
      }),
    }),
    defineRoute({
      method: "get",
      path: "/v1/models/:id",
      tag,
      summary: "Get an agent as a model",
      status: 200,
      response: modelShape,
      handle: ({ params }) => modelOf(getAgent(services.db, params.id)),
    }),
    defineRoute({
      method: "post",
      path: "/v1/chat/completions",
      tag,
      summary: "Ask an agent (with stream: the answer as it arrives)",
      body: completionBody,
      status: 200,
      response: completionShape,
      events: chunkShape,
      async handle({ body, requestId, signal, destroyConnection, log }) {
        const { messages, metadata } = body;
        const chat = await prepareChat(services, {
          agentId: body.model,
          ...readConversation(messages.map(({ role, content }) => ({ role, content: content ?? "" }))),
          inbox: metadata?.inbox_address,
          queryDate: metadata?.query_date,
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
  return { id, object: "model", created: Date.parse(isoTime(createdAt)) / 1000, owned_by: "art-e" };
}

/** Answers without streaming. Throws an ApiError if the chat fails. Aborts the chat when the client disconnects. */
async function answerAtOnce(chat: Chat, signal: AbortSignal, log: LogFields): Promise<ChatTrace> {
  const abandon = () => chat.abandon("the client disconnected");
  signal.addEventListener("abort", abandon, { once: true });
  if (signal.aborted) abandon();
  try {
    return await answerOrFail(chat, log, null);
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}

/** Returns the trace. Throws an ApiError if the chat fails. The answer is streamed, unless `onEvent` is null. */
async function answerOrFail(chat: Chat, log: LogFields, onEvent: OnChatEvent | null): Promise<ChatTrace> {
  const turn = await chat.answer(onEvent);
  logChat(log, turn.trace);
  const failure = chatFailure(turn);
  if (failure !== null) throw failure;
  return turn.trace;
}

/** Returns the error that ends a started stream without an answer. */
function streamFailure(error: unknown, services: Services, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  services.report(error, requestId);
  return internalError();
}

async function streamAnswer(
  services: Services,
  chat: Chat,
  stream: SseWriter,
  head: CompletionHead,
  includeUsage: boolean,
  requestId: string,
  log: LogFields,
): Promise<void> {
  const send = sendInOrder(stream);
  const content = new AppendOnlyText();
  try {
    await send(chunk(head, { role: "assistant", content: "" }, null));
    const trace = await answerOrFail(chat, log, async (event) => {
      if (event.type === "reasoning-delta") await send(chunk(head, { reasoning_content: event.text }, null));
      const text = content.add(event);
      if (text !== "") await send(chunk(head, { content: text }, null));
    });
    for (const each of lastChunks(head, trace, content, includeUsage)) await send(each);
    await send("[DONE]");
  } catch (error) {
    await send(openaiError(streamFailure(error, services, requestId), requestId).body);
  }
}

/** The details of an ApiError that OpenAI's error format has fields for. */
const detailsSchema = z.object({
  type: z.string().optional(),
  code: z.string().optional(),
  hint: z.string().optional(),
  issues: z.array(z.object({ path: z.string() })).optional(),
});

/** Errors that a retry would not fix. Clients retry 5xx, 408, 409 and 429, so these errors get another status. */
const PERMANENT: Readonly<Partial<Record<ModelErrorKind, readonly [ErrorCode, string]>>> = {
  bad_request: ["VALIDATION_ERROR", "upstream_bad_request"],
  bad_tools: ["VALIDATION_ERROR", "upstream_bad_request"],
  context_overflow: ["VALIDATION_ERROR", "context_length_exceeded"],
  not_found: ["NOT_FOUND", "model_not_found"],
};

/** Converts an error to OpenAI's format, with headers that tell clients whether to retry. */
export function openaiError(error: ApiError, requestId: string) {
  const { type, code, hint, issues } = detailsSchema.safeParse(error.details).data ?? {};
  const { status } = error;
  return {
    body: {
      error: {
        message: hint === undefined ? error.message : `${error.message} ${hint}`,
        type: type ?? typeOf(status),
        param: issues?.[0]?.path || null,
        code: code ?? error.code.toLowerCase(),
        request_id: requestId,
      },
    },
    headers: { ...(status < 500 ? { "x-should-retry": "false" } : {}), ...error.headers },
  };
}

/** Returns null if the chat did not fail, even if the agent found no answer. */
function chatFailure({ trace, failure }: AnsweredChat): ApiError | null {
  const message = trace.error ?? "";
  if (trace.ending === "timeout") {
    return new ApiError("EXTERNAL_API_ERROR", message, { type: "server_error", code: "timeout" }, NO_RETRY);
  }
  if (trace.ending === "interrupted") {
    return new ApiError("EXTERNAL_API_ERROR", message, { type: "server_error", code: "interrupted" });
  }
  if (trace.ending !== "model_error") return null;
  const type = "upstream_error";
  if (failure === null || failure.retryable) {
    const wait = failure?.retryAfterMs ?? null;
    const headers = wait === null ? {} : { "retry-after": String(Math.ceil(wait / 1000)) };
    return new ApiError("EXTERNAL_API_ERROR", message, { type, code: failure?.kind ?? "server" }, headers);
  }
  const [errorCode, code] = PERMANENT[failure.kind] ?? ["UPSTREAM_REFUSED", failure.kind];
  return new ApiError(errorCode, message, { type, code });
}

/** A chat that timed out would time out again. */
const NO_RETRY = { "x-should-retry": "false" };

/** Returns OpenAI's error type for an HTTP status. */
function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

function agentDetails({ traceId, ending, sources }: ChatTrace): z.output<typeof agentDetailsShape> {
  return { trace_id: traceId, ending, sources };
}

export function answerText({ answer, ending, messages }: ChatTrace): AnswerText {
  if (ending === "refused") {
    return { text: messages.at(-1)?.content || "The model refused to answer.", isRefusal: true };
  }
  const fallback = ending in WITHOUT_ANSWER ? WITHOUT_ANSWER[ending as keyof typeof WITHOUT_ANSWER] : "";
  return { text: answer ?? fallback, isRefusal: false };
}

/** Whether the agent answered instead of using up its turns or budget. */
function isComplete({ ending }: ChatTrace): boolean {
  return ending === "answered" || ending === "dont_know";
}

const parts = z
  .array(z.object({ type: z.literal("text"), text: z.string() }))
  .transform((texts) => texts.map(({ text }) => text).join("\n"));

const content = z.union([z.string(), parts]);

/** Binds the agent to a mailbox and a date. */
const bindingMetadata = z
  .looseObject({ inbox_address: inboxAddress.nullish(), query_date: queryDate.nullish() })
  .nullish()
  .meta({
    description:
      "inbox_address binds the agent to a mailbox (without it, the agent can search any mailbox), and query_date hides later email.",
  });

/** Parameters that would change the form of the answer or the agent's tools are refused rather than ignored. */
const OWN_TOOLS = "agents use their own tools and accept no others";
const unsupported = {
  tools: z.array(z.unknown()).max(0, OWN_TOOLS).nullish(),
  tool_choice: z.enum(["none", "auto"], OWN_TOOLS).nullish(),
  textOnly: z.looseObject({ type: z.literal("text", "agents answer in plain text only") }).nullish(),
  top_logprobs: z.literal(0, "log probabilities are not supported").nullish(),
};

/** The supported parameters. Sampling settings are accepted and ignored, because the agent has its own. */
const completionBody = z.looseObject({
  model: z.string().min(1).meta({ description: "Agent id" }),
  messages: z
    .array(
      z.discriminatedUnion("role", [
        z.object({ role: z.literal("system"), content }),
        z.object({ role: z.literal("developer"), content }),
        z.object({ role: z.literal("user"), content }),
        z.object({ role: z.literal("assistant"), content: content.nullish() }),
      ]),
    )
    .min(1)
    .max(1_000)
    .meta({ description: "The last message is the question. System messages are appended to the agent's prompt." }),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  metadata: bindingMetadata,
  n: z.literal(1, "only one answer per request is supported").nullish(),
  tools: unsupported.tools,
  functions: unsupported.tools,
  tool_choice: unsupported.tool_choice,
  function_call: unsupported.tool_choice,
  web_search_options: z.null(OWN_TOOLS).optional(),
  response_format: unsupported.textOnly,
  modalities: z.array(z.literal("text", "agents answer in text only")).nullish(),
  logprobs: z.literal(false, "log probabilities are not supported").nullish(),
  top_logprobs: unsupported.top_logprobs,
});

const completionShape = z.strictObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.literal(0),
      message: z.strictObject({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
      }),
      finish_reason: z.enum(["stop", "length"]),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape,
  art_e: agentDetailsShape,
});

function toCompletion(head: CompletionHead, trace: ChatTrace): z.output<typeof completionShape> {
  const { text, isRefusal } = answerText(trace);
  return {
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: isRefusal ? null : text, refusal: isRefusal ? text : null },
        finish_reason: finishReasonOf(trace),
        logprobs: null,
      },
    ],
    usage: tokensOf(trace),
    art_e: agentDetails(trace),
  };
}

/** The rest of the answer and the finish reason. Usage is included only on request. */
function lastChunks(head: CompletionHead, trace: ChatTrace, content: AppendOnlyText, includeUsage: boolean): Chunk[] {
  const { text, isRefusal } = answerText(trace);
  const rest = isRefusal ? text : content.finish(text);
  return compact([
    rest !== "" && chunk(head, isRefusal ? { refusal: rest } : { content: rest }, null),
    { ...chunk(head, {}, finishReasonOf(trace)), art_e: { ...agentDetails(trace), answer: trace.answer } },
    includeUsage && { ...chunk(head, {}, null), choices: [], usage: tokensOf(trace) },
  ]);
}

function chunk(
  head: CompletionHead,
  delta: Chunk["choices"][number]["delta"],
  finish: "stop" | "length" | null,
): Chunk {
  return {
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
  };
}

function finishReasonOf(trace: ChatTrace): "stop" | "length" {
  return isComplete(trace) ? "stop" : "length";
}

function tokensOf(trace: ChatTrace): z.output<typeof usageShape> {
  const { inputTokens, outputTokens, cachedInputTokens } = sumUsage(trace.turns);
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  };
}
