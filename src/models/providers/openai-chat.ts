// Speaks chat completions, of OpenAI and of compatible servers.
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonObjectSchema } from "../../platform/json.js";
import { memoize } from "../../platform/memoize.js";
import { presentProperties } from "../../platform/optional-values.js";
import { chatUrl, type Endpoint, isOpenaiServer, openaiHeaders } from "../endpoint.js";
import { brokeOff } from "../finish-reasons.js";
import type { Reply } from "../http-attempt.js";
import type { Message, Model, SentParameters, ToolCall } from "../model.js";
import { isReasoningModel } from "../model-names.js";
import { sentenceIn } from "../provider-errors.js";
import { AdaptiveParameters, openaiRules } from "../request-parameters.js";
import { sendableToolName, wellFormed } from "../tool-calls.js";
import type { AdaptedTools } from "../tool-schemas.js";
import { ChatAssembler, choiceSchema, NO_MESSAGE } from "../wire/chat-stream.js";
import { joinObjects, jsonBytes } from "../wire/http-sender.js";
import type { RequestBody } from "../wire/omissions.js";
import { itemsSchema, nameSchema, pickFields, textSchema } from "../wire/reply-fields.js";
import { httpModel, toReply } from "./http-model.js";

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
  // OpenAI accepts the newer name for all models. Most other servers support only the older one.
  const limit = isReasoningModel(name) || isOpenaiServer(endpoint.baseUrl) ? "max_completion_tokens" : "max_tokens";
  const parameters = new AdaptiveParameters(openaiRules(name, "chat"), limit);
  return httpModel({
    id: `openai/${name}`,
    provider: PROVIDER,
    endpoint,
    dialect: "openai",
    parameters,
    url,
    headersOf: () => openaiHeaders(endpoint),
    bodyOf: ({ system, messages }, tools, { maxTokens, temperature, reasoningEffort = null, toolChoice }) => ({
      model: name,
      messages: toMessages(system, messages),
      // Some gateways stream by default.
      stream: false,
      [parameters.limitName]: maxTokens,
      ...presentProperties({ temperature, reasoning_effort: reasoningEffort }),
      ...toToolFields(tools, toolChoice),
    }),
    streamFields: { stream: true, stream_options: { include_usage: true } },
    bytesOf: toBytes,
    assembler: (onDelta) => new ChatAssembler(onDelta, MESSAGE_STATE_FIELDS),
    read: readReply,
  });
}

function toToolFields(adapted: AdaptedTools, toolChoice: SentParameters["toolChoice"]) {
  return adapted.tools.length === 0 ? {} : { tools: toolsOf(adapted), tool_choice: toolChoice };
}

const toolsOf = memoize(({ tools }: AdaptedTools) =>
  tools.map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } })),
);

/** Writes the tools once, because they make up a third of most requests. */
function toBytes({ tools, ...others }: RequestBody): Buffer {
  const bytes = jsonBytes(others);
  return Array.isArray(tools) ? joinObjects(bytes, toolBytes(tools)) : bytes;
}

const toolBytes = memoize((tools: readonly unknown[]) => jsonBytes({ tools }));

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
    state?.provider === PROVIDER ? jsonObjectSchema.parse(state.value) : {};
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

const callStateSchema = z.record(z.string(), jsonObjectSchema);

const replySchema = z.object({
  model: nameSchema,
  id: nameSchema,
  choices: itemsSchema.transform(([choice]) => choice).pipe(choiceSchema),
});

/** Reads the body of a chat completion. */
export function readChatReply(body: unknown): Reply {
  return toReply(PROVIDER, readReply(body), []);
}

function readReply(body: unknown) {
  const { model, id, choices: choice } = replySchema.parse(body);
  const {
    text,
    delta = { ...NO_MESSAGE, content: textSchema.parse(text) },
    message = delta,
    finish_reason,
    error,
  } = choice;
  const reason = finish_reason ?? "";
  if (error != null) throw brokeOff(reason, sentenceIn(error) ?? "");
  return {
    content: message.content || message.refusal,
    calls: message.tool_calls.map((call) => ({ id: call.id, ...call.function })),
    reason,
    isRefusal: message.refusal !== "",
    model,
    responseId: id,
    stateOf: (calls: readonly ToolCall[]) => stateOf(message, message.tool_calls, calls),
  };
}

function stateOf(message: Fields, calls: readonly Fields[], toolCalls: readonly ToolCall[]): JsonObject | null {
  const ofMessage = pickFields(message, MESSAGE_STATE_FIELDS);
  const ofCalls = calls.flatMap((call, i) => {
    const fields = pickFields(call, CALL_STATE_FIELDS);
    return Object.keys(fields).length === 0 ? [] : [[toolCalls[i]?.id ?? "", fields]];
  });
  const all = { ...ofMessage, ...(ofCalls.length === 0 ? {} : { [CALL_STATE]: Object.fromEntries(ofCalls) }) };
  return Object.keys(all).length === 0 ? null : jsonObjectSchema.parse(all);
}
