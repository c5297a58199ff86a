import { z } from "zod";
import { type JsonValue, jsonValueSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import {
  chatContentSchema,
  chatUrl,
  type Endpoint,
  failureInReply,
  isOpenaiServer,
  openaiHeaders,
  secretsOf,
} from "../endpoint.js";
import { brokeOff, finishReasonOf } from "../finish-reasons.js";
import { attempt, type Reply } from "../http-attempt.js";
import type { Message, Model, ModelRequest, SentParameters } from "../model.js";
import { isReasoningModel } from "../model-names.js";
import { joinObjects, jsonBytes, jsonHeaders, postJson } from "../provider-http.js";
import { modelNameSchema, responseIdSchema } from "../reply-fields.js";
import { NO_EXTRAS, withExtraBody } from "../request-extras.js";
import { AdaptiveParameters, openaiRules } from "../request-parameters.js";
import { ChatAssembler } from "../streaming/chat-stream.js";
import { type OnDelta, StreamSupport, streamReply } from "../streaming/stream-reply.js";
import { readArguments, sendableToolName, uniqueIds, wellFormed } from "../tool-calls.js";
import { type AdaptedTools, toolAdapter } from "../tool-schemas.js";

type Fields = Record<string, unknown>;

const PROVIDER = "openai-chat";

/**
 * Message fields that servers require to be sent back with the tool results: reasoning, LiteLLM's thinking blocks, and
 * Gemini's thought signatures.
 */
const MESSAGE_STATE_FIELDS = [
  "reasoning_content",
  "reasoning_details",
  "reasoning",
  "thinking_blocks",
  "provider_specific_fields",
  "extra_content",
];

/** The same for tool calls. The state contains these fields per call ID, under `CALL_STATE`. */
const CALL_STATE_FIELDS = ["extra_content", "provider_specific_fields"];
const CALL_STATE = "tool_calls";

/**
 * Creates a model on the chat completions of OpenAI or a compatible server such as vLLM, Ollama, LM Studio or
 * OpenRouter.
 */
export function openaiChatModel(name: string, endpoint: Endpoint): Model {
  const url = chatUrl(endpoint);
  const { timeoutMs, extras = NO_EXTRAS } = endpoint;
  const headers = jsonHeaders(openaiHeaders(endpoint), extras.headers);
  // OpenAI accepts the newer name for all models. Most other servers support only the older one.
  const limit = isReasoningModel(name) || isOpenaiServer(endpoint.baseUrl) ? "max_completion_tokens" : "max_tokens";
  const parameters = new AdaptiveParameters(openaiRules(name, "chat"), limit);
  const bodyOf = bodyWriter(name, parameters);
  const adapt = toolAdapter("openai");
  const toolsOf = toolsWriter();
  const streaming = new StreamSupport();
  return {
    id: `openai/${name}`,
    complete: (request, signal) =>
      parameters.complete(request, (sent) => {
        // Created before the call, so that only the bytes stay in memory while it is running.
        const tools = adapt(request.tools);
        const bytesOf = (body: object) =>
          joinObjects(jsonBytes(withExtraBody(body, extras.body)), toolsOf(tools, sent.toolChoice));
        const plain = bodyOf(request, sent);
        const body = bytesOf(plain);
        const sendPlain = () => postJson(url, headers, body, { signal, timeoutMs });
        const { onDelta } = request;
        const secrets = secretsOf(endpoint);
        const stream = (body: Buffer, onDelta: OnDelta) =>
          streamReply(
            { url, headers, body, signal, timeoutMs, secrets },
            new ChatAssembler(onDelta, MESSAGE_STATE_FIELDS),
          );
        const send = () =>
          onDelta === undefined
            ? sendPlain()
            : streaming.send([
                () => stream(bytesOf({ ...plain, ...STREAMED, stream_options: { include_usage: true } }), onDelta),
                // Some servers reject the option. Most of these report usage anyway.
                () => stream(bytesOf({ ...plain, ...STREAMED }), onDelta),
                sendPlain,
              ]);
        return attempt(endpoint, signal, send, (reply) => ({ sent, ...fromBody(reply, request.messages) }), tools);
      }),
  };
}

const STREAMED = { stream: true };

/** Writes all fields except the tools. */
function bodyWriter(name: string, parameters: AdaptiveParameters) {
  return ({ system, messages }: ModelRequest, { maxTokens, temperature, reasoningEffort = null }: SentParameters) => ({
    model: name,
    messages: toMessages(system, messages),
    // Some gateways stream by default.
    stream: false,
    [parameters.limitName]: maxTokens,
    ...presentProperties({ temperature, reasoning_effort: reasoningEffort }),
  });
}

/** Writes the tool fields once, because all calls in a run share them and they make up a third of most requests. */
function toolsWriter() {
  let last: { tools: AdaptedTools; toolChoice: SentParameters["toolChoice"]; bytes: Buffer } | undefined;
  return (tools: AdaptedTools, toolChoice: SentParameters["toolChoice"]): Buffer => {
    if (last?.tools !== tools || last.toolChoice !== toolChoice) {
      last = { tools, toolChoice, bytes: jsonBytes(toToolFields(tools, toolChoice)) };
    }
    return last.bytes;
  };
}

function toToolFields({ tools }: AdaptedTools, toolChoice: SentParameters["toolChoice"]) {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
    tool_choice: toolChoice,
  };
}

/**
 * Omits empty replies, because several servers reject an empty assistant message. Merges the user messages around them,
 * because other servers reject two in a row.
 */
function toMessages(system: string, messages: readonly Message[]): Record<string, JsonValue>[] {
  const converted: Record<string, JsonValue>[] = system === "" ? [] : [{ role: "system", content: wellFormed(system) }];
  for (const message of messages) {
    if (message.role === "assistant" && message.content.trim() === "" && message.toolCalls.length === 0) continue;
    const last = converted.at(-1);
    if (message.role === "user" && last?.role === "user")
      last.content = `${last.content}\n\n${wellFormed(message.content)}`;
    else converted.push(toMessage(message));
  }
  return converted;
}

function toMessage(message: Message): Record<string, JsonValue> {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.toolCallId, content: wellFormed(message.content) };
  }
  if (message.role !== "assistant") return { role: message.role, content: wellFormed(message.content) };
  const state = message.providerState;
  const { [CALL_STATE]: callState = {}, ...fields } =
    state?.provider === PROVIDER ? stateSchema.parse(state.value) : {};
  if (message.toolCalls.length === 0) return { role: "assistant", content: wellFormed(message.content), ...fields };
  const stateOfCalls = callStateSchema.parse(callState);
  return {
    role: "assistant",
    content: message.content === "" ? null : wellFormed(message.content),
    // Arguments that were not JSON are sent back as an empty object, because some servers parse them again and fail on
    // their own reply.
    tool_calls: message.toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: sendableToolName(call.name), arguments: JSON.stringify(call.arguments) },
      ...stateOfCalls[call.id],
    })),
    ...fields,
  };
}

const stateSchema = z.record(z.string(), jsonValueSchema);
const callStateSchema = z.record(z.string(), stateSchema);

const messageSchema = z.looseObject({
  content: chatContentSchema.nullish(),
  refusal: z.string().nullish(),
  tool_calls: z
    .array(
      z.looseObject({
        id: z.string().nullish(),
        function: z.object({ name: z.string().nullish(), arguments: z.unknown().optional() }),
      }),
    )
    .nullish(),
});

const replySchema = z.object({
  model: modelNameSchema,
  id: responseIdSchema,
  choices: z.tuple(
    [
      z.object({
        message: messageSchema,
        finish_reason: z.string().nullish(),
        // OpenRouter's report of a provider that failed during a reply
        // (https://openrouter.ai/docs/api-reference/errors).
        error: z
          .looseObject({ message: z.string().optional().catch(undefined) })
          .nullish()
          .catch(null),
      }),
    ],
    z.unknown(),
  ),
});

function fromBody(body: unknown, earlier: readonly Message[]): Reply {
  const failure = failureInReply(body);
  if (failure !== null) throw failure;

  const reply = replySchema.parse(body);
  const [{ message, finish_reason, error }] = reply.choices;
  const calls = message.tool_calls ?? [];
  const ids = uniqueIds(
    calls.map((call) => call.id ?? ""),
    earlier,
  );
  const toolCalls = calls.map((call, i) => ({
    id: ids[i] ?? "",
    name: call.function.name ?? "",
    ...readArguments(call.function.arguments),
  }));
  const isRefusal = message.refusal != null && message.refusal !== "";
  const raw = finish_reason ?? "";
  if (error) throw brokeOff(raw, error.message ?? "");
  return {
    content: message.content || (message.refusal ?? ""),
    toolCalls,
    finishReason: isRefusal ? "refusal" : finishReasonOf(raw, toolCalls.length),
    rawFinishReason: raw,
    ...reply.model,
    ...reply.id,
    ...stateOf(message, calls, ids),
  };
}

function stateOf(message: Fields, calls: readonly Fields[], ids: readonly string[]): Pick<Reply, "providerState"> {
  const ofMessage = pickFields(message, MESSAGE_STATE_FIELDS);
  const ofCalls = calls.flatMap((call, i) => {
    const fields = pickFields(call, CALL_STATE_FIELDS);
    return Object.keys(fields).length === 0 ? [] : [[ids[i] ?? "", fields]];
  });
  const all = { ...ofMessage, ...(ofCalls.length === 0 ? {} : { [CALL_STATE]: Object.fromEntries(ofCalls) }) };
  return Object.keys(all).length === 0 ? {} : { providerState: { provider: PROVIDER, value: stateSchema.parse(all) } };
}

function pickFields(from: Fields, names: readonly string[]): Fields {
  const isSet = (value: unknown) => value !== undefined && value !== null && value !== "";
  return Object.fromEntries(names.filter((name) => isSet(from[name])).map((name) => [name, from[name]]));
}
