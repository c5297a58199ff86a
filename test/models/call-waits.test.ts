import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Model, ModelRequest } from "../../src/models/model.js";
import { CallWaits, RateLimiter, type RateLimiterOptions, withRateLimit } from "../../src/models/rate-limiter.js";
import { withRetry } from "../../src/models/retry.js";

const REQUEST: ModelRequest = { system: "", messages: [], tools: [], toolChoice: "auto", maxTokens: 10 };

const slow: Model = {
  id: "acme/slow",
  async complete() {
    await delay(30);
    const said = { content: "yes", toolCalls: [], finishReason: "stop", rawFinishReason: "stop" } as const;
    return { ...said, usage: null, latencyMs: 30, retries: [] };
  },
};

it.each<[string, Partial<RateLimiterOptions>, string]>([
  ["a slot", { concurrency: 1 }, "slot"],
  ["a limit of requests", { rpm: 1_200 }, "throttled"],
])("a call that waits for %s says so in its reply", async (_, options, kind) => {
  const limiter = new RateLimiter({ concurrency: 8, rpm: null, tpm: null, ...options });
  const model = withRetry(withRateLimit(slow, limiter));
  const { signal } = new AbortController();
  const replies = await Promise.all([1, 2, 3].map(() => model.complete(REQUEST, signal)));
  expect(replies.map(({ waits = [] }) => waits.map((wait) => wait.kind))).toEqual([[], [kind], [kind]]);
});

it("tells a slot, throttling, failed attempts and pauses apart, and leaves the last attempt out", () => {
  let now = 1_000;
  const waits = new CallWaits(() => now);
  const after = (ms: number, progress: Parameters<CallWaits["add"]>[0]) => {
    now += ms;
    waits.add(progress);
  };
  after(0, { type: "queued" });
  after(50, { type: "calling", waitedFor: "concurrency" });
  after(300, { type: "retry", retry: { attempt: 1, reason: "503", waitedMs: 200 } });
  after(200, { type: "queued" });
  after(70, { type: "calling", waitedFor: "server" });
  after(20, { type: "retry", retry: { attempt: 2, reason: "429", waitedMs: 10 } });
  after(10, { type: "queued" });
  after(0.2, { type: "calling", waitedFor: null });
  now += 900;
  expect(waits.toField().waits).toEqual([
    { kind: "slot", durationMs: 50 },
    { kind: "failed_attempt", durationMs: 300 },
    { kind: "pause", durationMs: 200 },
    { kind: "throttled", durationMs: 70 },
    { kind: "failed_attempt", durationMs: 20 },
    { kind: "pause", durationMs: 10 },
  ]);
});
