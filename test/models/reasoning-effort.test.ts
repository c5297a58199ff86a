import { afterEach, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../src/models/model.js";
import { noteReplies, resolveModel } from "../../src/models/open-model.js";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../src/models/reasoning-effort.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import type { WireFormat } from "../providers/wire-request.js";
import { modelOver, REQUEST } from "./wire.js";

type Body = Readonly<Record<string, unknown>>;

const never = new AbortController().signal;
const policy = { attempts: 1, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };

let provider: FakeProvider;
afterEach(() => provider.close());

/** A model at a server that refuses a request with the message that `refusal` returns for its body. */
async function modelAt(format: WireFormat, name: string, refusal: (body: Body) => string | null = () => null) {
  provider = await startFakeProvider((): Answer => {
    const message = refusal(provider.requests.at(-1)?.body as Body);
    if (message === null) return { content: "ok" };
    return { fail: "status", status: 400, body: { error: { message, type: "invalid_request_error" } } };
  });
  const { name: model, wireApi } = modelOver(format, name);
  const notes: string[] = [];
  const baseUrl = provider.baseUrl(format);
  const opened = await resolveModel(model, { apiKey: "k", baseUrl, wireApi, timeoutMs: 5_000 }, policy);
  const noted = noteReplies(opened, (text) => notes.push(text));
  const bodies = () => provider.requests.map(({ body }) => body as Body);
  return {
    notes,
    bodies,
    ask: (reasoningEffort: ReasoningEffort, changes: Partial<ModelRequest> = {}) =>
      noted.complete({ ...REQUEST, reasoningEffort, ...changes }, never),
  };
}

describe("a reasoning effort", () => {
  it("stays out of requests by default", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "gpt-5.1");
    const reply = await ask("low", { reasoningEffort: undefined });
    expect(bodies()[0]).not.toHaveProperty("reasoning_effort");
    expect(reply.sent).not.toHaveProperty("reasoningEffort");
  });

  it.each(REASONING_EFFORTS)("reaches the server unchanged over OpenAI's formats (%s)", async (effort) => {
    const chat = await modelAt("openai-chat", "gpt-5.1");
    const reply = await chat.ask(effort);
    expect(chat.bodies()[0]).toMatchObject({ reasoning_effort: effort });
    expect(reply.sent).toMatchObject({ reasoningEffort: effort });
    await provider.close();
    const responses = await modelAt("openai-responses", "gpt-5.1");
    await responses.ask(effort);
    expect(responses.bodies()[0]).toMatchObject({ reasoning: { effort } });
  });

  it.each<[WireFormat, string, ReasoningEffort, object]>([
    ["anthropic", "claude-opus-4-7", "xhigh", { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } }],
    ["anthropic", "claude-sonnet-4-6", "low", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["anthropic", "claude-opus-5", "minimal", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["anthropic", "claude-sonnet-5-5", "none", { thinking: { type: "disabled" } }],
    ["anthropic", "claude-fable-5", "none", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["anthropic", "claude-haiku-4-5", "medium", { thinking: { type: "enabled", budget_tokens: 8_192 } }],
    ["anthropic", "claude-sonnet-4-20250514", "high", { thinking: { type: "enabled", budget_tokens: 24_576 } }],
    ["anthropic", "claude-opus-4-5", "none", { thinking: { type: "disabled" } }],
    ["google", "gemini-3.8-flash", "minimal", { thinkingConfig: { thinkingLevel: "minimal" } }],
    ["google", "gemini-3-pro", "max", { thinkingConfig: { thinkingLevel: "high" } }],
    ["google", "gemini-3-pro", "none", { thinkingConfig: { thinkingLevel: "minimal" } }],
    ["google", "gemini-2.5-flash", "none", { thinkingConfig: { thinkingBudget: 0 } }],
    ["google", "gemini-2.5-pro", "low", { thinkingConfig: { thinkingBudget: 1_024 } }],
  ])("takes the model's format over %s, for %s, at the level %s", async (format, name, effort, expected) => {
    const { ask, bodies } = await modelAt(format, name);
    await ask(effort);
    const [body] = bodies();
    expect(format === "google" ? body?.generationConfig : body).toMatchObject(expected);
  });

  it.each<[WireFormat, string]>([
    ["anthropic", "claude-3-5-haiku-20241022"],
    ["google", "gemini-2.0-flash"],
  ])("stays out of the request for a %s model that does not reason, and the reply says so", async (format, name) => {
    const { ask, bodies } = await modelAt(format, name);
    const { sent } = await ask("high");
    expect(JSON.stringify(bodies())).not.toMatch(/thinking|effort/i);
    expect(sent?.reasoningEffort).toBeNull();
    expect(sent?.adjusted).toContainEqual({
      parameter: "reasoningEffort",
      asked: "high",
      sent: null,
      reason: `${name} does not support reasoning`,
    });
  });

  it("leaves room for the reasoning in addition to the reply, above Anthropic's budget", async () => {
    const { ask, bodies } = await modelAt("anthropic", "claude-haiku-4-5");
    await ask("high");
    await ask("max", { maxTokens: 32_000 });
    await ask("low", { reasoningTokens: 5_000 });
    await ask("low", { reasoningTokens: 0 });
    expect(bodies().map(({ max_tokens, thinking }) => [max_tokens, thinking])).toEqual([
      [512 + 24_576, { type: "enabled", budget_tokens: 24_576 }],
      // The API does not accept a smaller budget.
      [32_000 + 1_024, { type: "enabled", budget_tokens: 1_024 }],
      [512 + 5_000, { type: "enabled", budget_tokens: 5_000 }],
      [512 + 1_024, { type: "enabled", budget_tokens: 1_024 }],
    ]);
  });

  it("removes temperature and forced tool calls while Claude thinks", async () => {
    const { ask, bodies } = await modelAt("anthropic", "claude-sonnet-4-6");
    const { sent } = await ask("high");
    expect(bodies()[0]).toMatchObject({ tool_choice: { type: "auto" } });
    expect(bodies()[0]).not.toHaveProperty("temperature");
    expect(sent?.adjusted?.map(({ parameter }) => parameter).sort()).toEqual([
      "maxTokens",
      "temperature",
      "toolChoice",
    ]);
    await ask("none");
    expect(bodies()[1]).toMatchObject({ tool_choice: { type: "any" }, temperature: 0 });
  });
});

describe("a server that rejects a reasoning effort", () => {
  it.each<[string, ReasoningEffort, string]>([
    [
      "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'. (reasoning.effort)",
      "minimal",
      "low",
    ],
    [
      "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
      "xhigh",
      "high",
    ],
    ["Invalid reasoning_effort: minimal. Valid values are: high, low, medium, none", "minimal", "low"],
    ["reasoning_effort must be one of ['low', 'high', 'max']", "medium", "low"],
    [
      "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
      "none",
      "minimal",
    ],
  ])("receives the nearest level that it lists (%s)", async (message, asked, sent) => {
    const { ask, bodies, notes } = await modelAt("openai-chat", "m", (body) =>
      body.reasoning_effort === asked ? message : null,
    );
    const reply = await ask(asked);
    await ask(asked);
    expect(bodies().map(({ reasoning_effort }) => reasoning_effort)).toEqual([asked, sent, sent]);
    expect(reply.sent).toMatchObject({ reasoningEffort: sent });
    expect(reply.sent?.adjusted).toContainEqual(expect.objectContaining({ parameter: "reasoningEffort", asked, sent }));
    expect(notes).toEqual([expect.stringContaining("reasoning effort")]);
  });

  it.each([
    ["openai-chat", "Unrecognized request argument supplied: reasoning_effort"],
    ["openai-chat", "reasoning_effort: Extra inputs are not permitted"],
    ["openai-responses", "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
  ] as const)("receives no effort over %s (%s)", async (format, message) => {
    const { ask, bodies, notes } = await modelAt(format, "m", (body) =>
      body.reasoning_effort === undefined && body.reasoning === undefined ? null : message,
    );
    const { sent } = await ask("high");
    expect(bodies()).toHaveLength(2);
    expect(sent?.reasoningEffort).toBeNull();
    expect(notes).toEqual([expect.stringContaining("not sent")]);
  });

  it("receives a budget if it does not support adaptive thinking, and a level if it does not support budgets", async () => {
    const older = await modelAt("anthropic", "claude-sonnet-9", (body) =>
      JSON.stringify(body.thinking ?? "").includes("adaptive")
        ? "adaptive thinking is not supported on this model"
        : null,
    );
    await expect(older.ask("low")).resolves.toMatchObject({ sent: { reasoningEffort: null } });
    await provider.close();
    const newer = await modelAt("anthropic", "my-deployment", (body) =>
      JSON.stringify(body.thinking ?? "").includes("enabled")
        ? '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort".'
        : null,
    );
    await newer.ask("high");
    expect(newer.bodies()[1]).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } });
  });

  it("receives the nearest budget in its range", async () => {
    const { ask, bodies } = await modelAt("google", "gemini-2.5-pro", (body) => {
      const config = body.generationConfig as { thinkingConfig: { thinkingBudget: number } };
      return config.thinkingConfig.thinkingBudget < 128
        ? "The thinking budget 0 is invalid. Please choose a value between 128 and 32768."
        : null;
    });
    await ask("none");
    expect(bodies()[1]?.generationConfig).toMatchObject({ thinkingConfig: { thinkingBudget: 128 } });
  });

  it("receives no more efforts if it contradicts itself", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "m", ({ reasoning_effort }) =>
      reasoning_effort === "low"
        ? "reasoning_effort: supported values are 'high'"
        : "reasoning_effort: supported values are 'low'",
    );
    await expect(ask("medium")).rejects.toMatchObject({ kind: "bad_request" });
    expect(bodies().length).toBeLessThan(15);
  });

  it("still receives the effort if it rejects another parameter because of the reasoning", async () => {
    const { ask, bodies } = await modelAt("openai-chat", "deepseek-v4", ({ tool_choice }) =>
      tool_choice === "required" ? "Thinking mode does not support this tool_choice" : null,
    );
    await ask("high");
    expect(bodies()[1]).toMatchObject({ tool_choice: "auto", reasoning_effort: "high" });
  });
});
