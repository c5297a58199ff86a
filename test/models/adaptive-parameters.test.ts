import { afterEach, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../src/models/model.js";
import { noteReplies, resolveModel } from "../../src/models/open-model.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { WIRE_FORMATS, type WireFormat } from "../providers/wire-request.js";
import { modelOver, REQUEST } from "./wire.js";

type Body = Readonly<Record<string, unknown>>;

const never = new AbortController().signal;
const policy = { attempts: 1, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };

let provider: FakeProvider;
afterEach(() => provider.close());

const refuse = (message: string, more: object = {}): Answer => ({
  fail: "status",
  status: 400,
  body: { error: { message, type: "invalid_request_error", ...more } },
});

/** A model at a server that refuses requests depending on their body. `null` means that the request is accepted. */
async function modelAt(format: WireFormat, name: string, refusal: (body: Body) => Answer | null, query = "") {
  provider = await startFakeProvider(() => refusal(provider.requests.at(-1)?.body as Body) ?? { content: "ok" });
  const baseUrl = `${provider.baseUrl(format)}${query}`;
  const { name: model, wireApi } = modelOver(format, name);
  const notes: string[] = [];
  const opened = await resolveModel(model, { apiKey: "k", baseUrl, wireApi, timeoutMs: 5_000 }, policy);
  const noted = noteReplies(opened, (text) => notes.push(text));
  const bodies = () => provider.requests.map(({ body }) => body as Body);
  return {
    notes,
    bodies,
    ask: (changes: Partial<ModelRequest> = {}) => noted.complete({ ...REQUEST, ...changes }, never),
  };
}

const MAX_TOKENS =
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

describe("requests after a rejected parameter", () => {
  it("send the limit in the field that the server requires, with room for reasoning, from then on", async () => {
    const { ask, bodies, notes } = await modelAt("openai-chat", "prod-gpt5", (body) =>
      body.max_tokens === undefined ? null : refuse(MAX_TOKENS, { param: "max_tokens" }),
    );
    const reply = await ask();
    expect(bodies()[1]).toMatchObject({ max_completion_tokens: 512 + 16_384 });
    expect(bodies()[1]).not.toHaveProperty("max_tokens");
    expect(reply.sent?.adjusted?.map(({ parameter }) => parameter)).toEqual(["maxTokens", "maxTokens"]);
    await ask();
    expect(bodies()).toHaveLength(3);
    expect(notes).toEqual([expect.stringContaining("max_completion_tokens")]);
  });

  it("send the older field to a server that does not support the newer one", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "gpt-5", (body) =>
      body.max_completion_tokens === undefined ? null : refuse("max_completion_tokens: Extra inputs are not permitted"),
    );
    await ask();
    expect(bodies()[1]).toMatchObject({ max_tokens: 512 + 16_384 });
  });

  it.each<[WireFormat, string, string, number]>([
    [
      "anthropic",
      "claude-haiku-5",
      "max_tokens: 16896 > 8192, which is the maximum allowed number of output tokens",
      8192,
    ],
    [
      "openai-chat",
      "grok-4",
      "max_tokens is too large: 16896. This model supports at most 16384 completion tokens",
      16_384,
    ],
    ["openai-chat", "deepseek-reasoner", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192],
    [
      "google",
      "gemini-2.5-pro",
      "maxOutputTokens: the supported range is from 1 (inclusive) to 8193 (exclusive)",
      8192,
    ],
    ["openai-chat", "deepseek-r1", "max_tokens is too large, must be between 1 and 8192", 8192],
    ["openai-chat", "nova-r1-reasoning", "The maximum tokens you requested exceeds the model limit of 10000", 10_000],
  ])("lower the limit over %s to %s's maximum", async (format, name, message, most) => {
    const limitIn = (body: Body) => JSON.stringify(body).includes("16896");
    const { ask, bodies, notes } = await modelAt(format, name, (body) => (limitIn(body) ? refuse(message) : null));
    expect((await ask()).sent).toMatchObject({ maxTokens: most });
    expect(bodies()).toHaveLength(2);
    expect(notes).toEqual([expect.stringContaining(String(most))]);
  });

  it.each([
    ["in words", "Unsupported value: 'temperature' does not support 0.5 with this model.", {}],
    ["next to another parameter", "`temperature` and `top_p` cannot both be specified for this model.", {}],
    ["in its param", "Unsupported value", { param: "temperature", code: "unsupported_value" }],
  ])("omit a temperature that the error rejects %s", async (_, message, more) => {
    const { ask, bodies } = await modelAt("openai-chat", "deployment", (body) =>
      body.temperature === undefined ? null : refuse(message, more),
    );
    const { sent } = await ask({ temperature: 0.5 });
    expect(sent).toMatchObject({ temperature: null, adjusted: [{ parameter: "temperature", asked: 0.5, sent: null }] });
    expect(bodies()).toHaveLength(2);
  });

  it("do not force a tool call on a model that thinks", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "deepseek-v4", (body) =>
      body.tool_choice === "required" ? refuse("Thinking mode does not support this tool_choice") : null,
    );
    expect((await ask()).sent).toMatchObject({ toolChoice: "auto", adjusted: [{ parameter: "toolChoice" }] });
    await ask();
    expect(bodies().map((body) => body.tool_choice)).toEqual(["required", "auto", "auto"]);
  });

  it("adapt to several rejections, and concurrent calls use what one of them learned", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "deployment", (body) =>
      body.max_tokens !== undefined
        ? refuse(MAX_TOKENS)
        : body.temperature !== undefined
          ? refuse("temperature is not supported")
          : null,
    );
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(replies.map(({ content }) => content)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    expect(bodies().length).toBeLessThanOrEqual(15);
    await ask();
    expect(bodies().at(-1)).not.toHaveProperty("temperature");
  });

  it.each([
    ["a value out of range", "temperature must be between 0 and 1", "bad_request"],
    ["a parameter that was not sent", "top_p is not supported", "bad_request"],
    ["a full context", "input length and `max_tokens` exceed context limit: 199000 + 512 > 200000", "context_overflow"],
  ])("stop immediately after %s", async (_, message, kind) => {
    const { ask, bodies } = await modelAt("openai-chat", "m", () => refuse(message));
    await expect(ask()).rejects.toMatchObject({ kind });
    expect(bodies()).toHaveLength(1);
  });

  it("stop if the server rejects a value that the server itself requested", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "m", () => refuse(MAX_TOKENS));
    await expect(ask()).rejects.toMatchObject({ kind: "bad_request" });
    expect(bodies()).toHaveLength(2);
  });
});

describe("a base URL with a query", () => {
  it.each(WIRE_FORMATS)("keeps the query after the path over %s", async (format) => {
    const { ask } = await modelAt(format, "m", () => null, "?api-version=2024-10-21");
    // The fake provider recognizes formats from the end of the path.
    await ask().catch(() => undefined);
    expect(provider.requests[0]?.path).toMatch(
      /(completions|responses|messages|generateContent)\?api-version=2024-10-21$/,
    );
  });
});

describe("a base URL with the path of a request", () => {
  it.each([
    ["openai-chat", "/chat/completions", "/v1/chat/completions"],
    ["openai-responses", "/responses/", "/v1/responses"],
    ["anthropic", "/v1/messages", "/v1/messages"],
    ["openai-chat", "/chat/completions?api-version=2024-10-21", "/v1/chat/completions?api-version=2024-10-21"],
  ] as const)("sends requests over %s below the URL without %s, to %s", async (format, end, path) => {
    const { ask } = await modelAt(format, "m", () => null, end);
    await ask().catch(() => undefined);
    expect(provider.requests[0]?.path).toBe(path);
  });
});
