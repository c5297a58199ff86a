import Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { isJsonObject, type JsonValue, jsonValueSchema } from "../../platform/json.js";
import { presentProperties } from "../../platform/optional-values.js";
import { type Endpoint, urlBelow, withExtraHeaders } from "../endpoint.js";
import { finishReasonOf } from "../finish-reasons.js";
import { attempt, type Reply } from "../http-attempt.js";
import type { Message, Model, ModelRequest, SentParameters } from "../model.js";
import { NO_EXTRAS, withExtraBody } from "../request-extras.js";
import { AdaptiveParameters, anthropicRules } from "../request-parameters.js";
import { readArguments, sendableToolName, uniqueIds, wellFormed } from "../tool-calls.js";
import { type AdaptedTools, toolAdapter } from "../tool-schemas.js";
import { AnthropicAssembler } from "../wire/anthropic-stream.js";
import { jsonHeaders, sdkFetch } from "../wire/http-sender.js";
import type { RequestBody } from "../wire/omissions.js";
import { idSchema, modelNameSchema, responseIdSchema, textSchema } from "../wire/reply-fields.js";
import { StreamSupport, sdkSend } from "../wire/stream-reply.js";

type AnthropicBlock = { [key: string]: JsonValue };

const PROVIDER = "anthropic";

const ANTHROPIC_URL = "https://api.anthropic.com";

/** The last API version with `temperature`. All compatible servers support it. */
const OLDER_VERSION = "2023-06-01";

/** The API version of Anthropic's SDK, which does not send the streamed requests. */
const SDK_VERSION = "2026-10-21";

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
  const { extras = NO_EXTRAS } = endpoint;
  const adapt = toolAdapter("anthropic");
  const parameters = new AdaptiveParameters(anthropicRules(name));
  const streaming = new StreamSupport();
  return {
    id: `${PROVIDER}/${name}`,
    complete(request, signal) {
      const { onDelta } = request;
      const tools = adapt(request.tools);
      return parameters.complete(
        request,
        (sentParameters): RequestBody => withExtraBody(toBody(name, request, tools, sentParameters), extras.body),
        (sentParameters, body) => {
          const headers = headersFor(endpoint, "temperature" in body);
          const send = sdkSend(
            {
              endpoint,
              url,
              body,
              signal,
              post: (within) => client.post(url, { body, headers, signal: within }),
              streamHeaders: withExtraHeaders(endpoint)(jsonHeaders({ "anthropic-version": SDK_VERSION, ...headers })),
            },
            streaming,
            onDelta === undefined ? null : () => new AnthropicAssembler(onDelta),
          );
          const read = (reply: unknown) => ({ ...fromBody(reply, request.messages), sent: sentParameters });
          return attempt(endpoint, signal, send, read, tools);
        },
      );
    },
  };
}

function headersFor(endpoint: Endpoint, older: boolean): Record<string, string> {
  return {
    authorization: `Bearer ${endpoint.apiKey}`,
    // Most other servers expect the key in the older header.
    ...(endpoint.baseUrl === null ? {} : { "x-api-key": endpoint.apiKey }),
    ...(older || endpoint.baseUrl !== null ? { "anthropic-version": OLDER_VERSION } : {}),
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

/**
 * Merges consecutive messages of the same role, because turns must alternate. Omits empty text, because the API rejects
 * it.
 */
function toMessages(messages: readonly Message[]): { role: string; content: AnthropicBlock[] }[] {
  const turns: { role: string; content: AnthropicBlock[] }[] = [];
  for (const message of messages) {
    const content = toBlocks(message);
    if (content.length === 0) continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  const lastBlock = turns.at(-1)?.content.at(-1);
  if (turns.at(-1)?.role === "user" && lastBlock) Object.assign(lastBlock, CACHED);
  return turns;
}

function toBlocks(message: Message): AnthropicBlock[] {
  if (message.role === "tool") {
    const { toolCallId, content, isError } = message;
    const result: AnthropicBlock = { type: "tool_result", tool_use_id: toolCallId };
    if (content !== "") result.content = wellFormed(content);
    if (isError) result.is_error = true;
    return [result];
  }
  if (message.role !== "assistant") return textBlock(message.content);
  if (message.providerState?.provider === PROVIDER) {
    const callIds = new Set(message.toolCalls.map((call) => call.id));
    const blocks = stateSchema.parse(message.providerState.value);
    return withoutTrailingThinking(
      blocks
        .filter((block) => block.type !== "tool_use" || callIds.has(String(block.id)))
        .map((block) => (block.type === "tool_use" ? { ...block, name: sendableToolName(String(block.name)) } : block)),
    );
  }
  const calls = message.toolCalls.map(({ id, name, arguments: input }) => ({
    type: "tool_use",
    id,
    name: sendableToolName(name),
    input,
  }));
  return [...textBlock(message.content), ...calls];
}

/**
 * Strips thinking from the end of a message, because the API rejects it there. Such a reply was truncated, or ended
 * before any other output. If it contains only thinking, the entire message is omitted.
 */
function withoutTrailingThinking(blocks: AnthropicBlock[]): AnthropicBlock[] {
  const end = blocks.findLastIndex(({ type }) => type !== "thinking" && type !== "redacted_thinking");
  return blocks.slice(0, end + 1);
}

function textBlock(text: string): AnthropicBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text: wellFormed(text) }];
}

const stateSchema = z.array(z.record(z.string(), jsonValueSchema));

const replySchema = z.object({
  model: modelNameSchema,
  id: responseIdSchema,
  content: z.union([z.string().transform((text) => [{ type: "text", text }]), stateSchema]),
  stop_reason: textSchema,
});

const toolUseSchema = z.object({ id: idSchema, name: textSchema, input: z.unknown() });

function fromBody(body: unknown, earlier: readonly Message[]): Reply {
  const reply = replySchema.parse(body);
  const uses = reply.content.filter((block) => block.type === "tool_use").map((block) => toolUseSchema.parse(block));
  const ids = uniqueIds(
    uses.map((use) => use.id),
    earlier,
  );
  const toolCalls = uses.map((use, i) => ({ id: ids[i] ?? use.id, name: use.name, ...readArguments(use.input) }));
  const content = reply.content
    .filter((block) => block.type === "text")
    .map((block) => textSchema.parse(block.text))
    .join("");
  const raw = reply.stop_reason;
  return {
    content,
    toolCalls,
    finishReason: finishReasonOf(raw, toolCalls.length),
    rawFinishReason: raw,
    ...reply.model,
    ...reply.id,
    ...stateOf(reply.content, ids),
  };
}

/** Keeps thinking unchanged and in place for the next request. Plain replies need no state. */
function stateOf(content: readonly AnthropicBlock[], ids: readonly string[]): Pick<Reply, "providerState"> {
  if (content.every((block) => block.type === "text" || block.type === "tool_use")) return {};
  const rest = [...ids];
  const value = content
    .filter((block) => block.type !== "text" || String(block.text).trim() !== "")
    .map((block) => (block.type === "tool_use" ? { ...sendableUse(block), id: rest.shift() ?? "" } : block));
  return { providerState: { provider: PROVIDER, value } };
}

/** The API rejects arguments that are not an object, which a streamed call can have. */
function sendableUse(block: AnthropicBlock): AnthropicBlock {
  return isJsonObject(block.input) ? block : { ...block, input: {} };
}
