// Speaks OpenAI's Responses API, without storing anything there.
import OpenAI from "openai";
import { z } from "zod";
import type { JsonObject } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, OPENAI_URL, openaiHeaders, urlBelow, withExtraHeaders } from "../endpoint.js";
import type { Message, Model, ModelRequest, SentParameters, ToolCall } from "../model.js";
import { isReasoningModel } from "../model-names.js";
import { providerError } from "../provider-errors.js";
import { AdaptiveParameters, openaiRules } from "../request-parameters.js";
import { itemsToSend, sendableToolName, wellFormed } from "../tool-calls.js";
import type { AdaptedTools } from "../tool-schemas.js";
import { sdkFetch } from "../wire/http-sender.js";
import { callSchema, listSchema, nameSchema, textSchema } from "../wire/reply-fields.js";
import { ResponsesAssembler } from "../wire/responses-stream.js";
import { httpModel } from "./http-model.js";

const PROVIDER = "openai-responses";

const ITEMS = { provider: PROVIDER, call: "function_call", id: "call_id", reasoning: ["reasoning"] };

/** Creates a client with explicit settings, because the SDK would otherwise read ten environment variables. */
export function openaiClient(endpoint: Endpoint): OpenAI {
  return new OpenAI({
    apiKey: endpoint.apiKey,
    adminAPIKey: null,
    baseURL: endpoint.baseUrl ?? OPENAI_URL,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: endpoint.timeoutMs,
    logLevel: "off",
    fetch: sdkFetch(withExtraHeaders(endpoint)),
  });
}

/**
 * Creates a stateless model on OpenAI's Responses API. OpenAI stores nothing, and every request contains the entire
 * conversation.
 */
export function openaiResponsesModel(name: string, endpoint: Endpoint): Model {
  const client = openaiClient(endpoint);
  const url = urlBelow(endpoint.baseUrl ?? OPENAI_URL, "/responses");
  // A custom name, such as a deployment's, does not show whether the model reasons, but the first reply does.
  let reasons = isReasoningModel(name);
  return httpModel({
    id: `openai/${name}`,
    provider: PROVIDER,
    endpoint,
    dialect: "openai",
    parameters: new AdaptiveParameters(openaiRules(name, "responses")),
    url,
    headersOf: () => openaiHeaders(endpoint),
    bodyOf: (request, tools, sent) => toBody(name, request, tools, sent, reasons),
    streamFields: { stream: true },
    assembler: (onDelta) => new ResponsesAssembler(onDelta),
    read(body) {
      const reply = replySchema.parse(body);
      reasons ||= reply.output.some(({ type }) => type === "reasoning");
      return fromReply(reply);
    },
    sdkPost: (body, headers, signal) => client.post(url, { body, headers, signal }),
  });
}

function toBody(
  name: string,
  request: ModelRequest,
  { tools }: AdaptedTools,
  sentParameters: SentParameters,
  reasons: boolean,
) {
  const { system } = request;
  return {
    model: name,
    ...(system === "" ? {} : { instructions: wellFormed(system) }),
    input: request.messages.flatMap(toItems),
    max_output_tokens: sentParameters.maxTokens,
    store: false,
    // Models that do not reason reject this with status 400.
    ...(reasons ? { include: ["reasoning.encrypted_content"] } : {}),
    ...presentProperties({ temperature: sentParameters.temperature }),
    ...(sentParameters.reasoningEffort == null ? {} : { reasoning: { effort: sentParameters.reasoningEffort } }),
    ...(tools.length === 0
      ? {}
      : {
          // In this API, `strict` defaults to true, which would rewrite our schemas.
          tools: tools.map(({ name, description, parameters }) => ({
            type: "function",
            name,
            description,
            parameters,
            strict: false,
          })),
          tool_choice: sentParameters.toolChoice,
        }),
  };
}

function toItems(message: Message): JsonObject[] {
  if (message.role === "tool") {
    return [{ type: "function_call_output", call_id: message.toolCallId, output: wellFormed(message.content) }];
  }
  if (message.role !== "assistant") return [{ role: message.role, content: wellFormed(message.content) }];
  const own = itemsToSend(message, ITEMS);
  if (own !== null) return own;
  const calls = message.toolCalls.map((call) => ({
    type: "function_call",
    call_id: call.id,
    name: sendableToolName(call.name),
    arguments: call.invalid ?? JSON.stringify(call.arguments),
  }));
  const text = message.content === "" ? [] : [{ role: "assistant", content: wellFormed(message.content) }];
  return [...text, ...calls];
}

const replySchema = z
  .object({
    model: nameSchema,
    id: nameSchema,
    status: textSchema,
    incomplete_details: z.object({ reason: textSchema }).catch({ reason: "" }),
    output: listSchema,
    // Some servers send the text only here.
    output_text: textSchema,
  })
  .refine(({ status, output, output_text }) => status !== "" || output.length > 0 || output_text !== "");

const partSchema = z.object({ type: textSchema, text: textSchema, refusal: textSchema });

const outputMessageSchema = z.object({
  content: z.union([
    z.string().transform((text) => [{ type: "output_text", text, refusal: "" }]),
    z.array(partSchema).catch([]),
  ]),
});

function fromReply({ model, id, status, incomplete_details, output, output_text }: z.output<typeof replySchema>) {
  if (status === "failed" || status === "cancelled") {
    throw providerError({ status: 500, message: "the reply failed for an unknown reason" });
  }
  const parts = output
    .filter(({ type }) => type === "message")
    .flatMap((message) => outputMessageSchema.parse(message).content);
  const isRefusal = parts.some(({ type }) => type === "refusal");
  return {
    content: parts.map((part) => part.text || part.refusal).join("") || output_text,
    calls: output.filter(({ type }) => type === "function_call").map((call) => callSchema.parse(call)),
    reason: isRefusal ? "refusal" : incomplete_details.reason || status,
    model,
    responseId: id,
    stateOf: (calls: readonly ToolCall[]) => stateOf(output, calls),
  };
}

/**
 * Reasoning, and messages with a phase, must be sent back unchanged. Reasoning without encrypted content exists only in
 * OpenAI's store, which we do not use, so the API would reject it.
 */
function stateOf(output: readonly JsonObject[], calls: readonly ToolCall[]): JsonObject[] | null {
  const plain = (item: JsonObject) => (item.type === "message" && item.phase == null) || item.type === "function_call";
  if (output.every(plain)) return null;
  const rest = [...calls];
  return output
    .filter((item) => item.type !== "reasoning" || typeof item.encrypted_content === "string")
    .map((item) => (item.type === "function_call" ? { ...item, call_id: rest.shift()?.id ?? "" } : item));
}
