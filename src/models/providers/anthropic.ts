// Speaks Anthropic's Messages API.
import Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { isJsonObject, type JsonObject, jsonObjectSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, urlBelow, withExtraHeaders } from "../endpoint.js";
import type { Message, Model, ModelRequest, SentParameters, ToolCall } from "../model.js";
import { AdaptiveParameters, anthropicRules } from "../request-parameters.js";
import { addTurn, itemsToSend, sendableToolName, wellFormed } from "../tool-calls.js";
import type { AdaptedTools } from "../tool-schemas.js";
import { AnthropicAssembler } from "../wire/anthropic-stream.js";
import { sdkFetch } from "../wire/http-sender.js";
import { callSchema, nameSchema, textSchema } from "../wire/reply-fields.js";
import { httpModel } from "./http-model.js";

const PROVIDER = "anthropic";

const ANTHROPIC_URL = "https://api.anthropic.com";

/** The last API version with `temperature`. All compatible servers support it. */
const OLDER_VERSION = "2023-06-01";

/** The current API version, which the SDK sends too. */
const VERSION = "2026-10-21";

const BLOCKS = { provider: PROVIDER, call: "tool_use", id: "id", reasoning: ["thinking", "redacted_thinking"] };

const CACHED = { cache_control: { type: "ephemeral" } } as const;

/** Creates a model on the Messages API of Anthropic or a compatible server (`baseUrl`, without `/v1`). */
export function anthropicModel(name: string, endpoint: Endpoint): Model {
  const url = urlBelow(endpoint.baseUrl ?? ANTHROPIC_URL, "/v1/messages", /\/v1$/);
  const client = new Anthropic({
    apiKey: endpoint.apiKey,
    // Without this, the SDK would read the URL from the environment.
    baseURL: new URL(url).origin,
    webhookKey: null,
    maxRetries: 0,
    timeout: endpoint.timeoutMs,
    logLevel: "off",
    openTelemetry: false,
    fetch: sdkFetch(withExtraHeaders(endpoint)),
  });
  return httpModel({
    id: `${PROVIDER}/${name}`,
    provider: PROVIDER,
    endpoint,
    dialect: "anthropic",
    parameters: new AdaptiveParameters(anthropicRules(name)),
    url,
    headersOf: (body) => headersFor(endpoint, "temperature" in body),
    bodyOf: (request, tools, sent) => toBody(name, request, tools, sent),
    streamFields: { stream: true },
    assembler: (onDelta) => new AnthropicAssembler(onDelta),
    read: fromBody,
    sdkPost: (body, headers, signal) => client.post(url, { body, headers, signal }),
  });
}

function headersFor(endpoint: Endpoint, older: boolean): Record<string, string> {
  return {
    authorization: `Bearer ${endpoint.apiKey}`,
    // Most other servers expect the key in the older header.
    ...(endpoint.baseUrl === null ? {} : { "x-api-key": endpoint.apiKey }),
    "anthropic-version": older || endpoint.baseUrl !== null ? OLDER_VERSION : VERSION,
  };
}

function toBody(
  name: string,
  { system, messages }: ModelRequest,
  { tools }: AdaptedTools,
  sentParameters: SentParameters,
) {
  return {
    model: name,
    max_tokens: sentParameters.maxTokens,
    ...presentProperties({ temperature: sentParameters.temperature }),
    ...thinkingFields(sentParameters.reasoningEffort ?? null),
    // Tools precede the system prompt, so this cache mark covers both.
    ...(system.trim() === "" ? {} : { system: [{ type: "text", text: wellFormed(system), ...CACHED }] }),
    messages: toMessages(messages),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map((tool) => ({
            name: tool.name,
            description: tool.description,
            input_schema: tool.parameters,
          })),
          tool_choice: { type: sentParameters.toolChoice === "required" ? "any" : "auto" },
        }),
  };
}

/** See https://platform.claude.com/docs/en/build-with-claude/effort and Anthropic's page on extended thinking. */
function thinkingFields(effort: string | number | null) {
  if (effort === null) return {};
  if (typeof effort === "number") return { thinking: { type: "enabled", budget_tokens: effort } };
  if (effort === "none") return { thinking: { type: "disabled" } };
  return { thinking: { type: "adaptive" }, output_config: { effort } };
}

/** Omits empty text, because the API rejects it. */
function toMessages(messages: readonly Message[]): { role: string; content: JsonObject[] }[] {
  const turns: { role: string; content: JsonObject[] }[] = [];
  for (const message of messages) {
    addTurn(turns, message.role === "assistant" ? "assistant" : "user", toBlocks(message));
  }
  const lastBlock = turns.at(-1)?.content.at(-1);
  if (turns.at(-1)?.role === "user" && lastBlock) Object.assign(lastBlock, CACHED);
  return turns;
}

function toBlocks(message: Message): JsonObject[] {
  if (message.role === "tool") {
    const { toolCallId, content, isError } = message;
    const text = content === "" ? {} : { content: wellFormed(content) };
    return [{ type: "tool_result", tool_use_id: toolCallId, ...text, ...(isError ? { is_error: true } : {}) }];
  }
  if (message.role !== "assistant") return textBlock(message.content);
  const own = itemsToSend(message, BLOCKS);
  if (own !== null) return own;
  const calls = message.toolCalls.map(({ id, name, arguments: input }) => ({
    type: "tool_use",
    id,
    name: sendableToolName(name),
    input,
  }));
  return [...textBlock(message.content), ...calls];
}

function textBlock(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text: wellFormed(text) }];
}

const replySchema = z.object({
  model: nameSchema,
  id: nameSchema,
  content: z.union([
    z.string().transform((text) => [{ type: "text", text }]),
    z.null().transform(() => []),
    z
      .array(jsonObjectSchema)
      .transform((blocks) => blocks.map((block): JsonObject => ({ ...block, type: block.type ?? "text" }))),
  ]),
  stop_reason: textSchema,
});

function fromBody(body: unknown) {
  const { model, id, content, stop_reason } = replySchema.parse(body);
  return {
    content: content
      .filter(({ type }) => type === "text")
      .map(({ text }) => textSchema.parse(text))
      .join(""),
    calls: content.filter(({ type }) => type === "tool_use").map((use) => callSchema.parse(use)),
    reason: stop_reason,
    model,
    responseId: id,
    stateOf: (calls: readonly ToolCall[]) => stateOf(content, calls),
  };
}

/** Keeps thinking unchanged and in place for the next request. Plain replies need no state. */
function stateOf(content: readonly JsonObject[], calls: readonly ToolCall[]): JsonObject[] | null {
  if (content.every((block) => block.type === "text" || block.type === "tool_use")) return null;
  const rest = [...calls];
  return content
    .filter((block) => block.type !== "text" || String(block.text).trim() !== "")
    .map((block) => (block.type === "tool_use" ? { ...sendableUse(block), id: rest.shift()?.id ?? "" } : block));
}

/** The API rejects arguments that are not an object, which a streamed call can have. */
function sendableUse(block: JsonObject): JsonObject {
  return isJsonObject(block.input) ? block : { ...block, input: {} };
}
