import type { FinishReason, Usage } from "../../src/models/model.js";
import type { JsonValue } from "../../src/platform/json.js";
import type { WireFormat } from "./wire-request.js";

/** A reply in words of no provider. */
export interface ProviderReply {
  readonly content?: string;
  /** A string instead of an object is sent as it is: malformed arguments. Ids are made where left out. */
  readonly toolCalls?: readonly { readonly id?: string; readonly name: string; readonly arguments: JsonValue }[];
  /** `tool_calls` where there are calls, else `stop`. */
  readonly finishReason?: FinishReason;
  /** 100 in, 20 out where left out; null sends none. */
  readonly usage?: Usage | null;
  /** US dollars that a chat completion reports, as OpenRouter does. Left out: it reports none. */
  readonly costUsd?: number;
  /** The model that the reply names: the one that was asked where left out; null names none. */
  readonly model?: string | null;
  /** Something the provider wants back with the next request, in its own form. */
  readonly reasoning?: string;
}

const DEFAULT_USAGE: Usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 };

/** The reply as the body of a 200 to a request to `asked`. `n` numbers the replies of a server, so that ids differ. */
export function toReplyBody(format: WireFormat, reply: ProviderReply, n: number, asked: string): JsonValue {
  const calls = (reply.toolCalls ?? []).map((call, i) => ({ id: call.id ?? `toolu_${n}_${i + 1}`, ...call }));
  const finish = reply.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop");
  const usage = reply.usage === undefined ? DEFAULT_USAGE : reply.usage;
  const { content = "", reasoning, costUsd, model = asked } = reply;
  const body = BODIES[format]({ content, calls, finish, usage, costUsd, reasoning, n });
  return model === null ? body : { ...body, [format === "google" ? "modelVersion" : "model"]: model };
}

interface Whole {
  readonly content: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: JsonValue }[];
  readonly finish: FinishReason;
  readonly usage: Usage | null;
  readonly costUsd: number | undefined;
  readonly reasoning: string | undefined;
  readonly n: number;
}

const asText = (value: JsonValue) => (typeof value === "string" ? value : JSON.stringify(value));

const BODIES: Record<WireFormat, (whole: Whole) => { [key: string]: JsonValue }> = {
  anthropic: ({ content, calls, finish, usage, reasoning, n }) => ({
    id: `msg_${n}`,
    type: "message",
    role: "assistant",
    content: [
      ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: "", signature: reasoning }]),
      ...(content === "" ? [] : [{ type: "text", text: content }]),
      ...calls.map((call) => ({ type: "tool_use", id: call.id, name: call.name, input: call.arguments })),
    ],
    stop_reason: {
      stop: "end_turn",
      tool_calls: "tool_use",
      length: "max_tokens",
      refusal: "refusal",
      broken_call: "malformed_tool_use",
      other: "error",
    }[finish],
    stop_sequence: null,
    usage: usage && {
      input_tokens: usage.inputTokens - usage.cachedInputTokens - (usage.cacheWriteTokens ?? 0),
      cache_read_input_tokens: usage.cachedInputTokens,
      cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
      cache_creation: {
        ephemeral_5m_input_tokens: (usage.cacheWriteTokens ?? 0) - (usage.cacheWrite1hTokens ?? 0),
        ephemeral_1h_input_tokens: usage.cacheWrite1hTokens ?? 0,
      },
      output_tokens: usage.outputTokens,
    },
  }),

  "openai-chat": ({ content, calls, finish, usage, costUsd, reasoning, n }) => ({
    id: `chatcmpl-${n}`,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: finish === "refusal" || content === "" ? null : content,
          refusal: finish === "refusal" ? content : null,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call) => ({
                  id: call.id,
                  type: "function",
                  function: { name: call.name, arguments: asText(call.arguments) },
                })),
              }),
        },
        finish_reason: finish === "refusal" ? "stop" : finish === "other" ? "error" : finish,
      },
    ],
    usage: usage && {
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.outputTokens,
      prompt_tokens_details: {
        cached_tokens: usage.cachedInputTokens,
        ...(usage.cacheWriteTokens === undefined ? {} : { cache_write_tokens: usage.cacheWriteTokens }),
      },
      ...(costUsd === undefined ? {} : { cost: costUsd }),
    },
  }),

  "openai-responses": ({ content, calls, finish, usage, reasoning, n }) => ({
    id: `resp_${n}`,
    object: "response",
    status: finish === "length" || finish === "other" ? "incomplete" : "completed",
    error: null,
    incomplete_details: finish === "length" ? { reason: "max_output_tokens" } : null,
    output: [
      ...(reasoning === undefined
        ? []
        : [{ id: `rs_${n}`, type: "reasoning", summary: [], encrypted_content: reasoning }]),
      ...(content === ""
        ? []
        : [
            {
              id: `msg_${n}`,
              type: "message",
              role: "assistant",
              status: "completed",
              content: [
                finish === "refusal"
                  ? { type: "refusal", refusal: content }
                  : { type: "output_text", text: content, annotations: [] },
              ],
            },
          ]),
      ...calls.map((call) => ({
        id: `fc_${call.id}`,
        type: "function_call",
        status: "completed",
        call_id: call.id,
        name: call.name,
        arguments: asText(call.arguments),
      })),
    ],
    usage: usage && {
      input_tokens: usage.inputTokens,
      input_tokens_details: {
        cached_tokens: usage.cachedInputTokens,
        ...(usage.cacheWriteTokens === undefined ? {} : { cache_write_tokens: usage.cacheWriteTokens }),
      },
      output_tokens: usage.outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }),

  google: ({ content, calls, finish, usage, reasoning, n }) => ({
    responseId: `resp_${n}`,
    candidates: [
      {
        index: 0,
        content: {
          role: "model",
          parts: [
            ...(content === "" ? [] : [{ text: content }]),
            ...calls.map((call, i) => ({
              functionCall: { name: call.name, args: call.arguments },
              ...(reasoning === undefined || i > 0 ? {} : { thoughtSignature: reasoning }),
            })),
          ],
        },
        finishReason: {
          stop: "STOP",
          tool_calls: "STOP",
          length: "MAX_TOKENS",
          refusal: "SAFETY",
          broken_call: "MALFORMED_FUNCTION_CALL",
          other: "OTHER",
        }[finish],
      },
    ],
    ...(usage === null
      ? {}
      : {
          usageMetadata: {
            promptTokenCount: usage.inputTokens,
            candidatesTokenCount: usage.outputTokens,
            cachedContentTokenCount: usage.cachedInputTokens,
          },
        }),
  }),
};

/** An error in each provider's own words. `message` and `code` stand where its SDK looks for them. */
export function toErrorBody(format: WireFormat, status: number, message: string, code: string): JsonValue {
  if (format === "anthropic") return { type: "error", error: { type: code, message } };
  if (format === "google") return { error: { code: status, message, status: code } };
  return { error: { message, type: code, param: null, code } };
}
