import { describe, expect, test } from "vitest";
import { isOtherModel, otherModels } from "../../src/models/answering-model.js";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { withRetry } from "../../src/models/model-retries.js";
import { noteReplies } from "../../src/models/open-model.js";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import { googleModel } from "../../src/models/providers/google.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { exchange, REQUEST } from "./wire.js";

const request: ModelRequest = { system: "", messages: [], tools: [], toolChoice: "auto", maxTokens: 1 };

const reply: Completion = {
  content: "done",
  toolCalls: [],
  finishReason: "stop",
  rawFinishReason: "stop",
  usage: null,
  latencyMs: 5,
  retries: [],
};

const policy = { attempts: 6, baseMs: 1000, maxMs: 60_000, totalMs: 600_000, random: () => 0.5 };

const busy = (retryAfterMs: number | null = null) =>
  new ModelError("rate_limit", "429 busy", { status: 429, retryable: true, retryAfterMs });

/** A model that throws each of these errors and then answers. */
function failing(...errors: unknown[]): Model & { calls: number } {
  return {
    id: "test/model",
    calls: 0,
    async complete() {
      this.calls++;
      const error = errors.shift();
      if (error) throw error;
      return reply;
    },
  };
}

function sleeper() {
  const waits: number[] = [];
  return { waits, sleep: async (ms: number) => void waits.push(ms) };
}

const never = new AbortController().signal;

describe("withRetry when it gives up", () => {
  test("throws an error immediately if a retry cannot fix it", async () => {
    const error = new ModelError("auth", "401 no", { status: 401, retryable: false });
    const model = failing(error);
    await expect(withRetry(model, policy).complete(request, never)).rejects.toMatchObject({
      kind: "auth",
      retries: [],
    });
    expect(model.calls).toBe(1);
  });

  test("rethrows an unknown exception", async () => {
    const fault = new TypeError("ours");
    await expect(withRetry(failing(fault), policy).complete(request, never)).rejects.toBe(fault);
  });

  test("throws an error that lists all attempts after the last one", async () => {
    const model = failing(...Array.from({ length: 10 }, () => busy()));
    const { sleep } = sleeper();
    const error = await withRetry(model, policy, sleep)
      .complete(request, never)
      .catch((thrown: unknown) => thrown);
    expect(model.calls).toBe(6);
    expect(error).toMatchObject({
      kind: "rate_limit",
      status: 429,
      message: "test/model: 429 busy (after 6 attempts)",
    });
    expect((error as ModelError).retries.map((retry) => retry.attempt)).toEqual([1, 2, 3, 4, 5]);
  });

  test("throws an error if it would have to wait longer than its total limit", async () => {
    const { sleep, waits } = sleeper();
    const model = failing(busy(300_000), busy(700_000));
    const error = await withRetry(model, policy, sleep)
      .complete(request, never)
      .catch((thrown: unknown) => thrown);
    expect(waits).toEqual([300_500]);
    expect(error).toMatchObject({ retryAfterMs: 700_000 });
  });

  test("throws the signal's reason if aborted while waiting", async () => {
    const controller = new AbortController();
    const model = failing(busy(60_000), busy());
    const waiting = withRetry(model, policy).complete(request, controller.signal);
    setImmediate(() => controller.abort(new Error("stop")));
    await expect(waiting).rejects.toThrow("stop");
    expect(model.calls).toBe(1);
  });
});

describe("the waits of withRetry", () => {
  test("do not exist if the first attempt succeeds", async () => {
    const { sleep, waits } = sleeper();
    const got = await withRetry(failing(), policy, sleep).complete(request, never);
    expect(got).toEqual({ ...reply, waitedMs: expect.any(Number) });
    expect(got.waitedMs).toBeLessThan(500);
    expect(waits).toEqual([]);
  });

  test("double each time, with a random variation, up to the maximum", async () => {
    const { sleep, waits } = sleeper();
    const errors = Array.from({ length: 8 }, () => busy());
    const got = await withRetry(failing(...errors), { ...policy, attempts: 9 }, sleep).complete(request, never);
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(got.retries).toEqual(waits.map((waitedMs, i) => ({ attempt: i + 1, reason: "429 busy", waitedMs })));
    expect(got.latencyMs).toBe(5);
  });

  test("follow the server's request, plus a small random time", async () => {
    const { sleep, waits } = sleeper();
    await withRetry(failing(busy(7000), busy(0)), policy, sleep).complete(request, never);
    expect(waits).toEqual([7500, 500]);
  });
});

describe("a reply's model name", () => {
  test.each([
    ["openai/gpt-4.1", "gpt-4.1"],
    ["openai/gpt-4.1", "gpt-4.1-2025-04-14"],
    ["openai/gpt-4.1-2025-04-14", "gpt-4.1"],
    ["openai/gpt-4", "gpt-4-0613"],
    ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
    ["anthropic/claude-sonnet-4-0", "claude-sonnet-4-20250514"],
    ["anthropic/claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"],
    ["google/gemini-2.0-flash", "models/gemini-2.0-flash-001"],
    ["google/gemini-flash-latest", "gemini-3.8-flash"],
    ["openai/anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5"],
    ["openai/openai/gpt-5:free", "openai/gpt-5-2025-08-07"],
    ["openai/llama3", "llama3:latest"],
    ["openai/Qwen/Qwen3-8B", "qwen3-8b"],
  ])("matches the requested name or its snapshot (%s, %s)", (asked, named) => {
    expect(isOtherModel(asked, named)).toBe(false);
  });
});

describe("a reply's other model name", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", "claude-sonnet-5-5"],
    ["anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20251231"],
    ["google/gemini-2.5-pro", "gemini-3.8-flash"],
    ["openai/gpt-5", "gpt-5-mini-2025-08-07"],
    ["openai/gpt-5.1", "gpt-5"],
    ["openai/gpt-4.1", "gpt-4.1-mini"],
  ])("does not match the requested name (%s, %s)", (asked, named) => {
    expect(isOtherModel(asked, named)).toBe(true);
  });

  test("may be missing in a replay or script", () => {
    expect(otherModels("replay/file.jsonl", { "gpt-4.1": 2 })).toEqual([]);
    expect(otherModels("command/agent.py", { "gpt-4.1": 2 })).toEqual([]);
    expect(otherModels("openai/gpt-4.1", { "gpt-4.1": 2, "gpt-6-luna": 1 })).toEqual(["gpt-6-luna"]);
    expect(otherModels("openai/gpt-4.1")).toEqual([]);
  });
});

const FORMATS = [
  ["anthropic", anthropicModel],
  ["openai-chat", openaiChatModel],
  ["openai-responses", openaiResponsesModel],
  ["google", googleModel],
] as const;

describe.each(FORMATS)("the model name in a reply in the %s format", (format, make) => {
  const named = async (model: string | null) =>
    (await exchange(format, make, "asked-model", { content: "ok", model })).reply.model;

  test("appears on one line", async () => {
    expect(await named("another-model")).toBe("another-model");
    expect(await named(" two\nlines ")).toBe("two lines");
  });

  test("equals null if missing or invalid", async () => {
    expect(await named(null)).toBeUndefined();
    expect(await named("")).toBeUndefined();
    expect(await named("x".repeat(201))).toBeUndefined();
  });
});

describe.each(FORMATS.filter(([format]) => format.startsWith("openai")))(
  "tokens written to a cache in the %s format",
  (format, make) => {
    test("count separately from the input", async () => {
      const usage = { inputTokens: 100, outputTokens: 5, cachedInputTokens: 20, cacheWriteTokens: 70 };
      const { reply } = await exchange(format, make, "gpt-6.1-sol", { content: "a", usage });
      expect(reply.usage).toEqual(usage);
    });
  },
);

test("reports each model other than the requested one once, and at most twenty", async () => {
  let n = 0;
  const provider = await startFakeProvider(() => {
    n++;
    return { content: "ok", model: n <= 2 ? "one" : n <= 4 ? "claude-x-20260101" : `model-${n}` };
  });
  try {
    const endpoint = { apiKey: "k", baseUrl: provider.baseUrl("anthropic"), timeoutMs: 5_000 };
    const told: string[] = [];
    const model = noteReplies(anthropicModel("claude-x", endpoint), (text) => told.push(text));
    for (let i = 0; i < 60; i++) await model.complete(REQUEST, new AbortController().signal);
    expect(told.slice(0, 3)).toEqual(
      ["one", "model-5", "model-6"].map(
        (named) =>
          `Requested anthropic/claude-x, but replies are from ${named}. The provider might have substituted another model.`,
      ),
    );
    expect(told).toHaveLength(20);
  } finally {
    await provider.close();
  }
});
