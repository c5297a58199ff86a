import { describe, expect, test } from "vitest";
import { ANSWERING_MODELS, DEFAULT_MODEL, JUDGE_MODELS, parseModelName, successorOf } from "../../src/models/names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { priceOf } from "../../src/models/prices.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { REQUEST } from "./wire.js";

const SUCCESSIONS = [
  ["anthropic/claude-sonnet-4-5", "claude-sonnet-5-5"],
  ["anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-5-5"],
  ["anthropic/claude-sonnet-5", "claude-sonnet-5-5"],
  ["anthropic/claude-3-7-sonnet-latest", "claude-sonnet-5-5"],
  ["anthropic/claude-haiku-4-5", "claude-haiku-5-5"],
  ["anthropic/claude-3-opus-latest", "claude-opus-5-5"],
  ["openai/gpt-4.1", "gpt-6.1-sol"],
  ["openai/gpt-4o-2024-08-06", "gpt-6.1-sol"],
  ["openai/gpt-4.1-mini", "gpt-6-luna"],
  ["openai/gpt-5-mini-2025-08-07", "gpt-6.1-terra"],
  ["openai/o3", "gpt-6.1-sol"],
  ["google/gemini-2.5-pro", "gemini-3.8-flash"],
  ["google/gemini-2.5-flash", "gemini-3.5-flash-lite"],
  ["google/gemini-3.7-flash", "gemini-3.8-flash"],
] as const;

describe("after a model came", () => {
  test.each(SUCCESSIONS)("%s: %s", (id, successor) => {
    const name = parseModelName(id, null);
    expect(successorOf(name)).toBe(successor);
    // Which is the last of its line, and one that can be paid for.
    expect(successorOf({ ...name, name: successor })).toBeNull();
    expect(
      priceOf(`${name.provider}/${successor}`, { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }),
    ).toBeGreaterThan(0);
  });

  test.each([
    "anthropic/claude-sonet-9",
    "anthropic/claude-sonnet-5-7",
    "openai/gpt-7",
    "openai/gpt-4o-transcribe",
    "openai/llama3",
    "google/gemini-9",
  ])("%s: nobody says", (id) => {
    expect(successorOf(parseModelName(id, null))).toBeNull();
  });
});

test("the models taken by default are the last of their lines and have a price", () => {
  const judges = Object.entries(JUDGE_MODELS).map(([provider, name]) => `${provider}/${name}`);
  for (const id of [DEFAULT_MODEL, ...Object.values(ANSWERING_MODELS), ...judges]) {
    expect(successorOf(parseModelName(id, null)), id).toBeNull();
    expect(priceOf(id, { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }), id).toBeGreaterThan(0);
  }
});

test("a model that is not found any more is told with the one after it, other errors are as they were", async () => {
  const provider = await startFakeProvider([
    { fail: "status", status: 404, message: "model: claude-sonnet-4-5" },
    { fail: "status", status: 400, message: "a bad request" },
  ]);
  try {
    const connection = { apiKey: "k", baseUrl: provider.baseUrl("anthropic"), wireApi: null, timeoutMs: 5_000 };
    const model = await resolveModel(parseModelName("claude-sonnet-4-5", null), connection);
    const failing = () => model.complete(REQUEST, new AbortController().signal);
    await expect(failing()).rejects.toThrow(
      "anthropic/claude-sonnet-4-5: 404 model: claude-sonnet-4-5; after claude-sonnet-4-5 came anthropic/claude-sonnet-5-5",
    );
    await expect(failing()).rejects.toThrow(/^anthropic\/claude-sonnet-4-5: 400 a bad request$/);
  } finally {
    await provider.close();
  }
});
