import { describe, expect, test } from "vitest";
import { chargeOf, priceAt, withPrices } from "../../src/models/call-cost.js";
import { type Completion, ModelError, type ModelRequest } from "../../src/models/model.js";
import { priceOf, priceOfReply } from "../../src/models/price-lookup.js";
import type { Usage } from "../../src/models/usage.js";

const million = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 0 };
const day = new Date("2025-11-01");

const REPLY = {
  content: "x",
  toolCalls: [],
  finishReason: "stop",
  rawFinishReason: "stop",
  latencyMs: 1,
} as unknown as Completion;

test.each(["openai/no-such-model", "openai/meta-llama/Llama-3", "nobody/gpt-4.1", "gpt-4.1"])(
  "priceOf returns null for %s",
  (id) => {
    expect(priceOf(id, million)).toBeNull();
  },
);

test.each(["offline/baseline", "replay/runs/one.jsonl"])("priceOf returns 0 for %s", (id) => {
  expect(priceOf(id, million)).toBe(0);
});

test("priceOf prices input, output and cached input separately", () => {
  const small = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 0 };
  const price = (changes: object) => priceOf("anthropic/claude-sonnet-4-5", { ...small, ...changes }, day) ?? 0;
  expect(price({})).toBeCloseTo(0.003, 10);
  expect(price({ outputTokens: 1000 })).toBeCloseTo(0.018, 10);
  expect(price({ cachedInputTokens: 1000 })).toBeCloseTo(0.0003, 10);
});

test("priceOf returns prices for each provider's models", () => {
  for (const id of ["openai/gpt-4.1", "openai/o4-mini", "google/gemini-2.5-pro", "anthropic/claude-haiku-4-5"]) {
    expect(priceOf(id, million), id).toBeGreaterThan(0);
  }
});

test("priceOf limits cached tokens to the input tokens, because some servers count more", () => {
  const odd = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 2000 };
  expect(priceOf("anthropic/claude-sonnet-4-5", odd, day)).toBeCloseTo(0.0003, 10);
});

const thousand = { inputTokens: 1000, outputTokens: 0, cachedInputTokens: 0 };

test("priceOf charges 1.25 times plain input for cache writes, and 2 times for one hour", () => {
  const written = { ...thousand, cacheWriteTokens: 1000 };
  const cost = (usage: typeof thousand) => priceOf("anthropic/claude-sonnet-4-6", usage, new Date("2026-11-22"));
  expect(cost(thousand)).toBeCloseTo(0.003, 10);
  expect(cost(written)).toBeCloseTo(0.00375, 10);
  expect(cost({ ...written, cacheWrite1hTokens: 1000 } as typeof thousand)).toBeCloseTo(0.006, 10);
  expect(cost({ ...written, cacheWrite1hTokens: 400 } as typeof thousand)).toBeCloseTo(0.00465, 10);
  // More than the input, as some servers count.
  expect(cost({ ...thousand, cachedInputTokens: 900, cacheWriteTokens: 5000 } as typeof thousand)).toBeCloseTo(
    0.000645,
    10,
  );
});

test("a price that the user sets also applies to cached input and cache writes", () => {
  const price = { input: 2, output: 10, cachedInput: 0.5 };
  const usage = {
    inputTokens: 1000,
    outputTokens: 100,
    cachedInputTokens: 300,
    cacheWriteTokens: 500,
    cacheWrite1hTokens: 100,
  };
  expect(priceAt(price, usage)).toBeCloseTo((200 * 2 + 300 * 0.5 + 400 * 2.5 + 100 * 4 + 100 * 10) / 1e6, 12);
});

describe("chargeOf", () => {
  const priceOf = ({ inputTokens, cachedInputTokens, outputTokens }: Usage) =>
    (2 * (inputTokens - cachedInputTokens) + cachedInputTokens + 8 * outputTokens) / 1e6;
  const usage = { inputTokens: 1000, outputTokens: 1000, cachedInputTokens: 0 };
  const known = priceOf(usage);

  test.each([
    ["0, which would switch a cost limit off", 0, known, 1],
    ["almost 0", 1e-9, known, 1],
    ["half of the price, such as a batch discount", known / 2, known / 2, 0],
    ["more than the price", 3 * known, 3 * known, 0],
    ["nothing", undefined, known, 0],
    ["an unknown cost", null, null, 0],
  ])("charges for a reported cost of %s", (_, costUsd, charged, notes) => {
    const charge = chargeOf({ usage, costUsd }, priceOf);
    expect([charge.costUsd, charge.notes.length]).toEqual([charged, notes]);
  });

  test("keeps a reported cost of 0 if the model is free or its price is unknown", () => {
    for (const price of [0, null]) {
      expect(chargeOf({ usage, costUsd: 0 }, () => price)).toEqual({ usage, costUsd: 0, notes: [] });
    }
    expect(chargeOf({ usage: null, costUsd: 0 }, priceOf).costUsd).toBe(0);
  });

  test("counts no input as cached if a server reports more cached tokens than input tokens", () => {
    const charge = chargeOf({ usage: { ...usage, cachedInputTokens: 1001 } }, priceOf);
    expect(charge).toEqual({ usage, costUsd: known, notes: [expect.stringContaining("more cached tokens")] });
    const all = { ...usage, cachedInputTokens: 1000 };
    expect(chargeOf({ usage: all }, priceOf)).toEqual({ usage: all, costUsd: priceOf(all), notes: [] });
  });

  test("does not use tokens and costs far below the estimate, unless the model is free", () => {
    const estimated = { inputTokens: 5_000, outputTokens: 100, cachedInputTokens: 0 };
    const zero = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    const unused = { usage: null, costUsd: null, notes: [expect.stringContaining("estimated input tokens")] };
    expect(chargeOf({ usage: zero }, priceOf, estimated)).toEqual(unused);
    expect(chargeOf({ usage: { ...zero, inputTokens: 49 } }, priceOf, estimated)).toEqual(unused);
    expect(chargeOf({ usage: null, costUsd: 0 }, priceOf, estimated)).toMatchObject({ usage: null, costUsd: null });
    const few = { ...zero, inputTokens: 50, outputTokens: 1 };
    expect(chargeOf({ usage: few }, priceOf, estimated)).toEqual({ usage: few, costUsd: priceOf(few), notes: [] });
    expect(chargeOf({ usage: zero }, () => 0, estimated)).toEqual({ usage: zero, costUsd: 0, notes: [] });
  });

  test("does not use tokens of a server that does not count a long reply, but those of an empty reply", () => {
    const free = { inputTokens: 5_000, outputTokens: 0, cachedInputTokens: 0 };
    expect(chargeOf({ usage: free }, priceOf, { ...free, outputTokens: 400 })).toEqual({
      usage: null,
      costUsd: null,
      notes: [expect.stringContaining("estimated output tokens")],
    });
    expect(chargeOf({ usage: free }, priceOf, { ...free, outputTokens: 99 })).toMatchObject({ usage: free, notes: [] });
  });

  test("decides the cost and the notes of a model's replies and of its billed failures", async () => {
    const billed = { usage, costUsd: 0 };
    const failure = new ModelError("server", "500", { retryable: true }).with({ billed });
    const replies = [async () => ({ ...REPLY, usage, costUsd: 0, notes: ["one"] }), () => Promise.reject(failure)];
    const model = withPrices({ id: "openai/x", complete: () => replies.shift()?.() ?? Promise.reject() }, priceOf);
    const request = {} as ModelRequest;
    const { signal } = new AbortController();
    expect(await model.complete(request, signal)).toMatchObject({
      costUsd: known,
      notes: ["one", expect.stringContaining("known price")],
    });
    await expect(model.complete(request, signal)).rejects.toMatchObject({ billed: { costUsd: known } });
  });
});

describe("our own price table", () => {
  const of = (id: string, usage = thousand, at = "2026-11-22") => priceOf(id, usage, new Date(at));
  const both = { ...thousand, outputTokens: 1000 };

  test.each([
    ["anthropic/claude-haiku-5-5", 0.0006],
    ["anthropic/claude-haiku-5-5-20261007", 0.0006],
    ["anthropic/claude-fable-5-2", 0.048],
    ["openai/gpt-6.1-terra", 0.006],
    ["openai/gpt-6.1-sol-2026-09-29", 0.012],
    ["google/gemini-4-argon", 0.012],
    ["google/gemini-4-carbon", 0.012],
  ])("adds a model that the library does not have (%s)", (id, usd) => {
    expect(of(id, both)).toBeCloseTo(usd, 10);
  });

  test("charges more for the entire prompt if it is longer than the threshold", () => {
    const tokens = (inputTokens: number) => of("anthropic/claude-haiku-5-5", { ...both, inputTokens });
    expect(tokens(100_000)).toBeCloseTo(0.0105, 10);
    expect(tokens(100_001)).toBeCloseTo(0.0525005, 10);
    expect(of("openai/gpt-6.1-terra", { ...both, inputTokens: 272_001 })).toBeCloseTo(0.544002 + 0.0075, 10);
  });

  test("changes prices on the day they change", () => {
    expect(of("google/gemini-4-argon", both, "2026-12-01T00:00:00Z")).toBeCloseTo(0.024, 10);
    const cached = { ...thousand, cachedInputTokens: 1000 };
    expect(of("anthropic/claude-sonnet-5-5", cached, "2026-10-06")).toBeCloseTo(0.0002, 10);
    expect(of("anthropic/claude-sonnet-5-5", cached)).toBeCloseTo(0.0001, 10);
  });

  test("prices an alias like its model", () => {
    expect(of("google/gemini-flash-latest")).toBe(of("google/gemini-3.8-flash"));
  });

  test.each([
    ["openai/openai/gpt-5", "openai/gpt-5"],
    ["openai/openai/gpt-6.1-terra", "openai/gpt-6.1-terra"],
    ["openai/anthropic/claude-sonnet-5.5", "anthropic/claude-sonnet-5-5"],
    ["openai/google/gemini-3.8-flash", "google/gemini-3.8-flash"],
  ])("prices %s like %s, because routers put the vendor before the name", (id, makers) => {
    expect(of(id)).toBeGreaterThan(0);
    expect(of(id)).toBe(of(makers));
  });

  test.each([
    "openai/openai/gpt-oss-20b",
    "openai/openai/gpt-5:free",
    "openai/meta-llama/Llama-3",
    "google/gemini-pro-latest",
    "anthropic/claude-mythos-9",
  ])("has no price for %s", (id) => {
    expect(of(id)).toBeNull();
  });
});

test("prices a reply by the model that it names, and otherwise by the requested one", () => {
  const cost = (answeredBy?: string) => priceOfReply("google/gemini-2.5-pro", answeredBy, million);
  expect(cost("gemini-3.8-flash")).toBe(priceOf("google/gemini-3.8-flash", million));
  expect(cost("something-else")).toBe(priceOf("google/gemini-2.5-pro", million));
  expect(cost()).toBe(priceOf("google/gemini-2.5-pro", million));
  expect(priceOfReply("google/gemini-pro-latest", "gemini-4-argon", million)).toBeGreaterThan(0);
});
