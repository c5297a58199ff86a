import { describe, expect, test } from "vitest";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { withRetry } from "../../src/models/retry.js";

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

/** A model that fails with each of these and then answers. */
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

describe("withRetry gives up", () => {
  test("at once on an error no retry mends", async () => {
    const error = new ModelError("auth", "401 no", { status: 401, retryable: false });
    const model = failing(error);
    await expect(withRetry(model, policy).complete(request, never)).rejects.toMatchObject({
      kind: "auth",
      retries: [],
    });
    expect(model.calls).toBe(1);
  });

  test("on a throw that is no model error, as it is", async () => {
    const fault = new TypeError("ours");
    await expect(withRetry(failing(fault), policy).complete(request, never)).rejects.toBe(fault);
  });

  test("after the last attempt, with all of them in the error", async () => {
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

  test("rather than wait longer than it may in all", async () => {
    const { sleep, waits } = sleeper();
    const model = failing(busy(300_000), busy(700_000));
    const error = await withRetry(model, policy, sleep)
      .complete(request, never)
      .catch((thrown: unknown) => thrown);
    expect(waits).toEqual([300_500]);
    expect(error).toMatchObject({ retryAfterMs: 700_000 });
  });

  test("when aborted while waiting, with the signal's reason", async () => {
    const controller = new AbortController();
    const model = failing(busy(60_000), busy());
    const waiting = withRetry(model, policy).complete(request, controller.signal);
    setImmediate(() => controller.abort(new Error("stop")));
    await expect(waiting).rejects.toThrow("stop");
    expect(model.calls).toBe(1);
  });
});

describe("withRetry waits", () => {
  test("not at all when the first attempt answers", async () => {
    const { sleep, waits } = sleeper();
    const got = await withRetry(failing(), policy, sleep).complete(request, never);
    expect(got).toEqual({ ...reply, waitedMs: expect.any(Number) });
    expect(got.waitedMs).toBeLessThan(500);
    expect(waits).toEqual([]);
  });

  test("twice as long every time, by a random part, up to the most", async () => {
    const { sleep, waits } = sleeper();
    const errors = Array.from({ length: 8 }, () => busy());
    const got = await withRetry(failing(...errors), { ...policy, attempts: 9 }, sleep).complete(request, never);
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(got.retries).toEqual(waits.map((waitedMs, i) => ({ attempt: i + 1, reason: "429 busy", waitedMs })));
    expect(got.latencyMs).toBe(5);
  });

  test("as long as the server asks, and a little apart from the others", async () => {
    const { sleep, waits } = sleeper();
    await withRetry(failing(busy(7000), busy(0)), policy, sleep).complete(request, never);
    expect(waits).toEqual([7500, 500]);
  });
});
