import { describe, expect, it } from "vitest";
import type { Endpoint } from "../../src/models/endpoint.js";
import type { Model } from "../../src/models/model.js";
import { resolveModel } from "../../src/models/open-model.js";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import { googleModel } from "../../src/models/providers/google.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import type { JsonValue } from "../../src/platform/json.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { toReplyBody } from "../providers/wire-reply.js";
import type { WireFormat } from "../providers/wire-request.js";
import { exchange, modelOver, REQUEST } from "./wire.js";

const MODELS: Record<WireFormat, (name: string, endpoint: Endpoint) => Model> = {
  anthropic: anthropicModel,
  "openai-chat": openaiChatModel,
  "openai-responses": openaiResponsesModel,
  google: googleModel,
};

function bodyWith(format: WireFormat, usage: JsonValue): JsonValue {
  const body = toReplyBody(format, { content: "ok" }, 1, "m") as Record<string, JsonValue>;
  return { ...body, [format === "google" ? "usageMetadata" : "usage"]: usage };
}

async function replyTo(format: WireFormat, usage: JsonValue, headers: Readonly<Record<string, string>> = {}) {
  const answer: Answer = { fail: "status", status: 200, body: bodyWith(format, usage), headers };
  const { reply } = await exchange(format, MODELS[format], "m", answer);
  return reply;
}

/** Usage of a chat completion with 100 prompt tokens and 10 completion tokens. */
const chat = (more: Readonly<Record<string, JsonValue>>, completion_tokens = 10): JsonValue => ({
  prompt_tokens: 100,
  completion_tokens,
  ...more,
});
const ZEROS = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 110 };
const cached = (cached_tokens: number) => ({ prompt_tokens_details: { cached_tokens } });
const reasoned = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });
const tokens = (inputTokens: number, outputTokens: number, cachedInputTokens: number, reasoningTokens?: number) => ({
  inputTokens,
  outputTokens,
  cachedInputTokens,
  ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
});

describe("the usage of a reply", () => {
  it.each<[string, JsonValue, object]>([
    [
      "xAI's reasoning in addition to the completion tokens",
      chat({ total_tokens: 10_110, ...reasoned(10_000) }),
      tokens(100, 10_010, 0, 10_000),
    ],
    ["xAI's reasoning if the total is missing", chat(reasoned(10_000)), tokens(100, 10_010, 0, 10_000)],
    [
      "OpenAI's reasoning as part of the completion tokens",
      chat({ total_tokens: 150, ...reasoned(40) }, 50),
      tokens(100, 50, 0, 40),
    ],
    [
      "cached tokens next to the prompt, which the total includes",
      chat({ total_tokens: 9_110, ...cached(9_000) }),
      tokens(9_100, 10, 9_000),
    ],
    [
      "cached tokens and reasoning that the total includes",
      chat({ total_tokens: 410, ...cached(100), ...reasoned(200) }),
      tokens(200, 210, 100, 200),
    ],
    [
      "reasoning that the total includes, and cached tokens that are part of the prompt",
      chat({ total_tokens: 310, ...cached(50), ...reasoned(200) }),
      tokens(100, 210, 50, 200),
    ],
    [
      "more cached tokens than input without a total",
      chat({ cache_read_input_tokens: 9_000 }),
      tokens(9_100, 10, 9_000),
    ],
    [
      "more cached tokens than input if the total contradicts them, for chargeOf to reject",
      chat({ total_tokens: 110, cache_read_input_tokens: 9_000 }),
      tokens(100, 10, 9_000),
    ],
    ["counts as text", { prompt_tokens: "100", completion_tokens: "10", total_tokens: "110" }, tokens(100, 10, 0)],
    [
      "DeepSeek's cached tokens",
      chat({ prompt_cache_hit_tokens: 80, prompt_cache_miss_tokens: 20 }),
      tokens(100, 10, 80),
    ],
    [
      "the counts of one API next to zeros of another",
      { ...ZEROS, input_tokens: 100, output_tokens: 10 },
      tokens(100, 10, 0),
    ],
    ["Moonshot's cached tokens", chat({ cached_tokens: 80 }), tokens(100, 10, 80)],
  ])("includes %s", async (_, usage, expected) => {
    expect((await replyTo("openai-chat", usage)).usage).toEqual(expected);
  });

  it.each<[string, WireFormat, JsonValue, object]>([
    [
      "Anthropic's cache in addition to the input",
      "anthropic",
      {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 70,
        cache_creation_input_tokens: 20,
        cache_creation: { ephemeral_1h_input_tokens: 15 },
      },
      { inputTokens: 100, outputTokens: 5, cachedInputTokens: 70, cacheWriteTokens: 20, cacheWrite1hTokens: 15 },
    ],
    [
      "the Responses API's details",
      "openai-responses",
      {
        input_tokens: 100,
        output_tokens: 50,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens_details: { reasoning_tokens: 30 },
      },
      tokens(100, 50, 60, 30),
    ],
    [
      "Gemini's thoughts in addition to the candidates",
      "google",
      {
        promptTokenCount: 100,
        candidatesTokenCount: 10,
        thoughtsTokenCount: 30,
        cachedContentTokenCount: 50,
        totalTokenCount: 140,
      },
      tokens(100, 40, 50, 30),
    ],
  ])("includes %s", async (_, format, usage, expected) => {
    expect((await replyTo(format, usage)).usage).toEqual(expected);
  });

  const unreadable: readonly [string, JsonValue][] = [
    ["null", null],
    ["{}", {}],
    ["a text", "many"],
    ["null as its input", { prompt_tokens: null, input_tokens: null, promptTokenCount: null, output_tokens: 10 }],
    ["a negative input", { prompt_tokens: -1, input_tokens: -1, promptTokenCount: -1 }],
    ["a fraction as its input", { prompt_tokens: 1.5, input_tokens: 1.5, promptTokenCount: 1.5 }],
  ];
  const formats = Object.keys(MODELS) as WireFormat[];

  it.each(formats.flatMap((format) => unreadable.map(([what, usage]) => [format, what, usage] as const)))(
    "stays unknown over %s if it is %s, but the reply counts",
    async (format, _, usage) => {
      expect(await replyTo(format, usage)).toMatchObject({ content: "ok", usage: null });
    },
  );

  it.each([9e15, 1e300])("stays unknown, with a note, if it is %d tokens", async (tokens) => {
    for (const usage of [
      { prompt_tokens: 100, completion_tokens: tokens },
      { prompt_tokens: 100, completion_tokens: 1, cached_tokens: tokens },
    ]) {
      const reply = await replyTo("openai-chat", usage);
      expect(reply).toMatchObject({ content: "ok", usage: null, notes: [expect.stringContaining("100000000 tokens")] });
    }
  });
});

describe("the cost of a reply", () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10 };
  it.each<[string, JsonValue, Record<string, string>, number | undefined]>([
    ["DeepInfra", { prompt_tokens: 10, completion_tokens: 5, estimated_cost: 0.01 }, {}, 0.01],
    ["a string at a gateway", { prompt_tokens: 10, completion_tokens: 5, cost: "0.02" }, {}, 0.02],
    ["null if it is an empty string", { prompt_tokens: 10, completion_tokens: 5, cost: "" }, {}, undefined],
    ["OpenRouter's", { ...usage, cost: 0.5 }, {}, 0.5],
    [
      "OpenRouter's fee plus the provider's cost if the user's key is used",
      { ...usage, cost: 0.01, is_byok: true, cost_details: { upstream_inference_cost: 0.2 } },
      {},
      0.21,
    ],
    [
      "OpenRouter's fee if the provider's cost is missing",
      { ...usage, cost: 0.5, is_byok: false, cost_details: { upstream_inference_cost: 0.5 } },
      {},
      0.5,
    ],
    ["Perplexity's", { ...usage, cost: { total_cost: 0.006 } }, {}, 0.006],
    ["xAI's ticks", { ...usage, cost_in_usd_ticks: 37_756_000 }, {}, 0.0037756],
    ["LiteLLM's header", usage, { "x-litellm-response-cost": "2.5e-05" }, 2.5e-5],
    ["LiteLLM's header, even if the usage is missing", null, { "x-litellm-response-cost": "0.25" }, 0.25],
    ["null if LiteLLM sends None", usage, { "x-litellm-response-cost": "None" }, undefined],
    ["null if negative", { ...usage, cost: -1 }, {}, undefined],
    ["null if it is text", { ...usage, cost: "free" }, {}, undefined],
    ["null if it is impossible", { ...usage, cost: 1e30 }, {}, undefined],
  ])("equals %s", async (_, reported, headers, expected) => {
    const { costUsd } = await replyTo("openai-chat", reported, headers);
    if (expected === undefined) expect(costUsd).toBeUndefined();
    else expect(costUsd).toBeCloseTo(expected, 10);
  });

  it.each(Object.keys(MODELS) as WireFormat[])("comes from LiteLLM's header over %s", async (format) => {
    expect((await replyTo(format, {}, { "x-litellm-response-cost": "0.25" })).costUsd).toBe(0.25);
  });
});

it("keeps the usage that the server reports in a refusal with an error of status 200", async () => {
  const body = { error: { code: "content_filter", message: "declined" }, usage: { prompt_tokens: 90, cost: 0.5 } };
  const { reply } = await exchange("openai-chat", openaiChatModel, "m", { fail: "status", status: 200, body });
  expect(reply).toMatchObject({ finishReason: "refusal", usage: { inputTokens: 90 }, costUsd: 0.5 });
});

describe("an incomplete reply", () => {
  const policy = { attempts: 3, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };
  const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 };
  const broken = { content: "The add", finishReason: "other", usage } as const;

  async function complete(answers: readonly Answer[], priceOf = (used: typeof usage) => used.outputTokens / 1_000) {
    const provider = await startFakeProvider(answers);
    const { name, wireApi } = modelOver("openai-chat", "m");
    const connection = { apiKey: "k", baseUrl: provider.baseUrl("openai-chat"), wireApi, timeoutMs: 5_000 };
    const model = await resolveModel(name, connection, policy, null, priceOf);
    return model.complete(REQUEST, new AbortController().signal).finally(() => provider.close());
  }

  it("adds its tokens and cost to the next reply", async () => {
    const reply = await complete([broken, { content: "ok", usage }]);
    expect(reply).toMatchObject({
      content: "ok",
      usage: { inputTokens: 200, outputTokens: 40 },
      retries: [{ attempt: 1, billed: { usage, costUsd: 0.02 } }],
    });
    expect(reply.costUsd).toBeCloseTo(0.04, 10);
  });

  it("costs as much as its server reports", async () => {
    const reply = await complete([
      { ...broken, costUsd: 0.5 },
      { content: "ok", usage, costUsd: 0.25 },
    ]);
    expect(reply.costUsd).toBe(0.75);
  });

  it("adds its cost to the error if the last attempt fails", async () => {
    const error = await complete([broken, broken, broken]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      billed: { usage, costUsd: 0.02 },
      billedInAll: { usage: { inputTokens: 300, outputTokens: 60 }, costUsd: 0.06 },
    });
  });
});
