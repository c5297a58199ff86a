import { expect, test } from "vitest";
import { priceOf } from "../../src/models/prices.js";

const million = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 0 };
const day = new Date("2025-11-01");

test.each(["openai/no-such-model", "openai/meta-llama/Llama-3", "nobody/gpt-4.1", "gpt-4.1"])(
  "%s has no price",
  (id) => {
    expect(priceOf(id, million)).toBeNull();
  },
);

test.each(["offline/baseline", "replay/runs/one.jsonl"])("%s is free", (id) => {
  expect(priceOf(id, million)).toBe(0);
});

test("input, output and cached input have their own prices", () => {
  const small = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 0 };
  const price = (changes: object) => priceOf("anthropic/claude-sonnet-4-5", { ...small, ...changes }, day) ?? 0;
  expect(price({})).toBeCloseTo(0.003, 10);
  expect(price({ outputTokens: 1000 })).toBeCloseTo(0.018, 10);
  expect(price({ cachedInputTokens: 1000 })).toBeCloseTo(0.0003, 10);
});

test("each provider's models are found", () => {
  for (const id of ["openai/gpt-4.1", "openai/o4-mini", "google/gemini-2.5-pro", "anthropic/claude-haiku-4-5"]) {
    expect(priceOf(id, million), id).toBeGreaterThan(0);
  }
});

test("more cached than there was, as some servers count, is priced as all of it", () => {
  const odd = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 2000 };
  expect(priceOf("anthropic/claude-sonnet-4-5", odd, day)).toBeCloseTo(0.0003, 10);
});
