import { z } from "zod";
import type { Message } from "../../models/model.js";
import { compact } from "../../platform/optional-values.js";
import { lastAnswer, sessionMessages } from "../../traces/chats-store.js";
import { sumUsage } from "../../traces/task-result.js";
import type { ChatTrace } from "../../traces/trace.js";
import { ApiError } from "../app/api-error.js";
import { defineRoute, type LogFields, type Route, type Services } from "../app/route.js";
import { type ChatRequest, type PreparedChat, prepareChat } from "../chat/chat-session.js";
import { eventStreamResponse, readConversation, sendInOrder } from "../routes/chats.js";
import type { SseWriter } from "../sse-writer.js";
import { StreamedContent } from "../streamed-content.js";
import {
  agentDetails,
  agentDetailsShape,
  answerAtOnce,
  answerOrFail,
  answerText,
  bindingMetadata,
  isComplete,
  openaiError,
  streamFailure,
  unsupported,
} from "./chat-completions.js";

/** An event before it is numbered. */
type EventContent = Omit<ResponseEvent, "sequence_number"> & { readonly type: string };

const textPart = z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() });

const refusalPart = z
  .object({ type: z.literal("refusal"), refusal: z.string() })
  .transform(({ refusal }) => ({ text: refusal }));

const content = z.union([
  z.string(),
  z.array(z.union([textPart, refusalPart])).transform((parts) => parts.map(({ text }) => text).join("\n")),
]);

const inputMessage = z.object({
  type: z.literal("message").nullish(),
  role: z.enum(["system", "developer", "user", "assistant"]),
  content,
});

/** A reference to a message of an earlier response. */
const itemReference = z.object({ type: z.literal("item_reference").nullish(), id: z.string().min(1).max(200) });

type InputItem = z.output<typeof inputMessage> | z.output<typeof itemReference>;

const emptyList = z.array(z.unknown()).max(0);

const messageShape = z.strictObject({
  id: z.string(),
  type: z.literal("message"),
  status: z.enum(["in_progress", "completed", "incomplete"]),
  role: z.literal("assistant"),
  content: z.array(
    z.union([
      z.strictObject({
        type: z.literal("output_text"),
        text: z.string(),
        annotations: emptyList,
        logprobs: emptyList,
      }),
      z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
    ]),
  ),
});

type OutputMessage = z.output<typeof messageShape>;

const responseShape = z.strictObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.number().int(),
  status: z.enum(["in_progress", "completed", "incomplete", "failed"]),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.strictObject({ reason: z.literal("max_output_tokens") }).nullable(),
  instructions: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  model: z.string(),
  output: z.array(messageShape),
  parallel_tool_calls: z.literal(false),
  previous_response_id: z.string().nullable(),
  temperature: z.null(),
  text: z.strictObject({ format: z.strictObject({ type: z.literal("text") }) }),
  tool_choice: z.literal("none"),
  tools: emptyList,
  top_p: z.null(),
  usage: z
    .strictObject({
      input_tokens: z.number().int(),
      input_tokens_details: z.strictObject({ cached_tokens: z.number().int() }),
      output_tokens: z.number().int(),
      output_tokens_details: z.strictObject({ reasoning_tokens: z.number().int() }),
      total_tokens: z.number().int(),
    })
    .nullable(),
  art_e: agentDetailsShape.optional(),
});

type ResponseObject = z.output<typeof responseShape>;

/** The events of a streamed response, numbered and named after their type. */
const responseEventShape = z.looseObject({
  type: z.string().regex(/^(response\.|error$)/),
  sequence_number: z.number().int(),
  response: responseShape.optional(),
});

type ResponseEvent = z.output<typeof responseEventShape>;

/**
 * OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses), the default in its newer clients.
 */
export function responsesRoutes(services: Services): Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/v1/responses",
      tag: "OpenAI-compatible",
      summary: "Ask an agent (with stream: the answer as it arrives)",
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
  const instructions = body.instructions ? [{ role: "system" as const, content: body.instructions }] : [];
  const conversation = readConversation([...instructions, ...messages]);
  const previousId = body.previous_response_id ?? null;
  return {
    agentId: body.model,
    ...conversation,
    history: previousId === null ? conversation.history : [...messagesOf(previousId), ...conversation.history],
    inbox: body.metadata?.inbox_address,
    queryDate: body.metadata?.query_date,
    continuedFrom: previousId === null ? undefined : (sessionIdOf(previousId) ?? undefined),
  };

  function answerOf({ id }: Extract<InputItem, { id: string }>): string {
    const sessionId = sessionIdOf(id);
    const answer = sessionId === null ? null : lastAnswer(db, sessionId);
    if (answer === null) throw new ApiError("NOT_FOUND", `Unknown answer "${id}".`);
    return answer;
  }

  function messagesOf(id: string): Message[] {
    const sessionId = sessionIdOf(id);
    const messages = sessionId === null ? [] : sessionMessages(db, sessionId);
    if (messages.length === 0) throw new ApiError("NOT_FOUND", `Unknown response "${id}".`);
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
  const sendData = sendInOrder(stream);
  let count = 0;
  const send = async (event: EventContent) => sendData({ ...event, sequence_number: count++ }, event.type);
  for (const event of openingEvents(openedResponse)) await send(event);
  const content = new StreamedContent();
  let isStarted = false;
  const sendText = async (text: string) => {
    if (text === "") return;
    if (!isStarted) for (const event of textStartEvents(messageIdOf(chat.sessionId))) void send(event);
    isStarted = true;
    await send(textEvent(messageIdOf(chat.sessionId), text));
  };
  try {
    const trace = await answerOrFail(chat, log, (event) => sendText(content.add(event)));
    const response = completedResponse(openedResponse, trace);
    const { text, isRefusal } = answerText(trace);
    if (!isRefusal) await sendText(content.finish(text));
    for (const event of answerEvents(response, isStarted)) await send(event);
  } catch (error) {
    await send(failureEvent(openedResponse, streamFailure(error, services, requestId), requestId));
  }
}

/** Request and response of OpenAI's Responses API. */

const refused = (why: string) => z.null(why).optional();

/** Sampling settings are accepted and ignored, because the agent has its own. */
const responseBody = z.looseObject({
  model: z.string().min(1).meta({ description: "Agent id" }),
  input: z
    .union([
      z.string().transform((text): InputItem[] => [{ role: "user", content: text }]),
      z
        .array(z.union([inputMessage, itemReference]))
        .min(1)
        .max(1_000),
    ])
    .meta({ description: "The last message is the question. System messages are appended to the agent's prompt." }),
  instructions: z.string().nullish(),
  previous_response_id: z
    .string()
    .max(200)
    .nullish()
    .meta({ description: "Response to continue, with the same mailbox and date" }),
  stream: z.boolean().nullish(),
  metadata: bindingMetadata,
  tools: unsupported.tools,
  tool_choice: unsupported.tool_choice,
  text: z.looseObject({ format: unsupported.textOnly }).nullish(),
  top_logprobs: unsupported.top_logprobs,
  background: z.literal(false, "background responses are not supported").nullish(),
  conversation: refused("conversations are not supported: use previous_response_id"),
  prompt: refused("stored prompts are not supported"),
});

/** The ids of a response and its message are derived from its session id. */
const responseIdOf = (sessionId: string) => sessionId.replace(/^session_/, "resp_");
const messageIdOf = (sessionId: string) => sessionId.replace(/^session_/, "msg_");

/** Returns null for an id that this server did not create. */
function sessionIdOf(id: string): string | null {
  return /^(resp|msg)_/.test(id) ? id.replace(/^(resp|msg)_/, "session_") : null;
}

/** The response before the answer is complete. */
function openResponse(sessionId: string, body: z.output<typeof responseBody>): ResponseObject {
  const metadata = Object.entries(body.metadata ?? {}).filter(([, value]) => typeof value === "string");
  return {
    id: responseIdOf(sessionId),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: Object.fromEntries(metadata) as Record<string, string>,
    model: body.model,
    output: [],
    parallel_tool_calls: false,
    previous_response_id: body.previous_response_id ?? null,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "none",
    tools: [],
    top_p: null,
    usage: null,
  };
}

/** The response with its answer. */
function completedResponse(open: ResponseObject, trace: ChatTrace): ResponseObject & { output: [OutputMessage] } {
  const { text, isRefusal } = answerText(trace);
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens = 0 } = sumUsage(trace.turns);
  const status = isComplete(trace) ? "completed" : "incomplete";
  const part: OutputMessage["content"][number] = isRefusal
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
  return {
    ...open,
    status,
    incomplete_details: status === "completed" ? null : { reason: "max_output_tokens" },
    output: [{ id: messageIdOf(trace.sessionId), type: "message", status, role: "assistant", content: [part] }],
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
    art_e: agentDetails(trace),
  };
}

/** The events before the answer. */
function openingEvents(response: ResponseObject): EventContent[] {
  return [
    { type: "response.created", response },
    { type: "response.in_progress", response },
  ];
}

const EMPTY_TEXT = { type: "output_text", text: "", annotations: [], logprobs: [] };

const positionOf = (id: string, part = 0) => ({ item_id: id, output_index: 0, content_index: part });

/** The events before the first text. */
function textStartEvents(id: string): EventContent[] {
  return [itemStart(id), { type: "response.content_part.added", ...positionOf(id), part: EMPTY_TEXT }];
}

function itemStart(id: string): EventContent {
  const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
  return { type: "response.output_item.added", output_index: 0, item };
}

function textEvent(id: string, delta: string): EventContent {
  return { type: "response.output_text.delta", ...positionOf(id), delta, logprobs: [] };
}

/**
 * The events after the text. They contain the answer alone, without streamed text before tool calls.
 *
 * @param isStarted whether text was streamed
 */
function answerEvents(response: ResponseObject & { output: [OutputMessage] }, isStarted: boolean): EventContent[] {
  const [item] = response.output;
  const [part] = item.content;
  // A refusal is a part of its own after streamed text.
  const position = positionOf(item.id, part?.type === "refusal" && isStarted ? 1 : 0);
  const contentEvents: EventContent[] =
    part?.type === "refusal"
      ? compact([
          !isStarted && itemStart(item.id),
          { type: "response.content_part.added", ...position, part: { type: "refusal", refusal: "" } },
          { type: "response.refusal.delta", ...position, delta: part.refusal },
          { type: "response.refusal.done", ...position, refusal: part.refusal },
        ])
      : [
          ...(isStarted ? [] : textStartEvents(item.id)),
          { type: "response.output_text.done", ...position, text: part?.text ?? "", logprobs: [] },
        ];
  return [
    ...contentEvents,
    { type: "response.content_part.done", ...position, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: `response.${response.status}`, response },
  ];
}

/** The event of a failed response. */
function failureEvent(open: ResponseObject, failure: ApiError, requestId: string): EventContent {
  const { code, message } = openaiError(failure, requestId).body.error;
  return { type: "response.failed", response: { ...open, status: "failed", error: { code, message } } };
}
