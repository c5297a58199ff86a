import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { withRetry } from "../../src/models/model-retries.js";
import {
  AdaptiveRate,
  CallWaits,
  RateLimiter,
  type RateLimiterOptions,
  withRateLimit,
} from "../../src/models/rate-limiter.js";
import { seeded } from "../random.js";
import { load, MINUTE, refusal, SERVERS, SimulatedTime, settled } from "./simulated-time.js";

const never = new AbortController().signal;

setMaxListeners(0, never);

function open(options: Partial<RateLimiterOptions> = {}) {
  const time = new SimulatedTime();
  const throttle = new RateLimiter({ concurrency: "auto", rpm: null, tpm: null, ...options }, time);
  return { time, throttle };
}

/** A call that uses no tokens. */
const through = <T>(throttle: RateLimiter, work: () => Promise<T>, signal = never) =>
  throttle.call(work, () => 0, signal);

/** The maximum number of concurrent callers each make one call after another, half a second after each refusal. */
function keepCalling(time: SimulatedTime, throttle: RateLimiter, request: () => Promise<void>): void {
  const caller = async () => {
    for (;;) {
      await through(throttle, request).catch((error: unknown) => {
        if (!(error instanceof ModelError)) throw error;
        return time.sleep(Math.max(error.retryAfterMs ?? 0, 500));
      });
    }
  };
  let callers = 0;
  throttle.onLimit((limit) => {
    for (; callers < limit; callers++) void caller();
  });
}

const NOTHING = { running: 0, waiting: 0, why: null };
const between = (times: readonly number[], from: number, to: number) => times.filter((at) => at > from && at <= to);

/** The maximum number in any minute. */
function fullestMinute(times: readonly number[]): number {
  let first = 0;
  return times.reduce((most, at, i) => {
    while ((times[first] ?? at) <= at - MINUTE) first++;
    return Math.max(most, i - first + 1);
  }, 0);
}

describe("a server that allows 600 requests per minute", () => {
  const cases = Object.keys(SERVERS).flatMap((name) => [100, 1500].map((latencyMs) => [name, latencyMs] as const));

  const FULLY = "gets all calls that it allows, and rejects almost none (%s, answers in %i ms)";
  it.each(cases.filter(([, latencyMs]) => latencyMs > 100))(FULLY, expectFullUse);
  it.each(cases.filter(([, latencyMs]) => latencyMs <= 100))(FULLY, { tags: ["slow"] }, expectFullUse);

  async function expectFullUse(name: string, latencyMs: number): Promise<void> {
    const { time, throttle } = open();
    const admit = SERVERS[name]?.();
    if (admit === undefined) throw new Error(`unknown server ${name}`);
    const { answered, refused } = load(time, throttle, admit, latencyMs);
    await time.until(3 * MINUTE);
    const inTime = between(answered, MINUTE, 3 * MINUTE).length;
    expect(inTime / (2 * 600)).toBeGreaterThanOrEqual(0.95);
    const late = between(refused, MINUTE, 3 * MINUTE).length;
    expect(late / (late + inTime)).toBeLessThan(0.02);
    expect(throttle.state().refused).toBe(refused.length);
  }
});

describe("a server that queues calls until they time out", () => {
  const timeout = () => new ModelError("timeout", "no complete reply within 5 s", { retryable: true });

  it("gets half as many concurrent calls after each round of timeouts, until no call times out", async () => {
    const { time, throttle } = open();
    // The server answers one call after another, in 600 ms each.
    let freeAt = 0;
    const request = async () => {
      freeAt = Math.max(freeAt, time.now()) + 600;
      const waitMs = freeAt - time.now();
      await time.sleep(Math.min(waitMs, 5_000));
      if (waitMs > 5_000) {
        freeAt -= 600;
        throw timeout();
      }
    };
    const limits: number[] = [];
    throttle.onLimit((limit) => limits.push(limit));
    keepCalling(time, throttle, request);
    await time.until(MINUTE);
    expect(limits.slice(0, 3)).toEqual([20, 10, 5]);
    expect(throttle.state().limit).toBeLessThan(12);
  });

  it("does not lower a fixed concurrency", async () => {
    const { throttle } = open({ concurrency: 7 });
    await expect(through(throttle, () => Promise.reject(timeout()))).rejects.toThrow(ModelError);
    expect(throttle.state().limit).toBe(7);
  });
});

describe("a wait that the server requests", () => {
  /** Answers 100 requests per second, but refuses the 50th. */
  function refusingOnce(retryAfterMs: number | null) {
    const { time, throttle } = open({ concurrency: 4 });
    let asked = 0;
    const answered: number[] = [];
    const request = async () => {
      const n = ++asked;
      await time.sleep(40);
      if (n === 50) throw refusal(retryAfterMs);
      answered.push(time.now());
    };
    const client = async () => {
      for (;;) await through(throttle, request).catch(() => time.sleep(1000));
    };
    for (let i = 0; i < 4; i++) void client();
    return { time, throttle, answered };
  }

  it("applies to all calls, and lasts no longer than requested", async () => {
    const { time, answered, throttle } = refusingOnce(10_000);
    await time.until(5_000);
    expect(throttle.state()).toMatchObject({ refused: 1, waiting: 4, running: 0, why: "server" });
    const before = answered.length;
    await time.until(10_000);
    expect(answered.length).toBe(before);
    await time.until(12_000);
    expect(answered.length).toBeGreaterThan(before);
  });

  it.each([3_600_000, 1e15])("stops no other call if it takes %i ms", async (retryAfterMs) => {
    const { time, answered } = refusingOnce(retryAfterMs);
    await time.until(2 * MINUTE);
    expect(between(answered, MINUTE, 2 * MINUTE).length).toBeGreaterThan(1000);
  });
});

describe("an aborted call", () => {
  it("leaves the queue with the reason, and the others continue", async () => {
    const { time, throttle } = open({ concurrency: 1 });
    const controller = new AbortController();
    const done: string[] = [];
    const call = (name: string, signal = never) =>
      through(throttle, () => time.sleep(100).then(() => done.push(name)), signal);
    const first = call("first");
    const left = call("left", controller.signal);
    const last = call("last");
    expect(throttle.state()).toMatchObject({ running: 1, waiting: 2, why: "concurrency" });
    const reason = new Error("Ctrl-C");
    controller.abort(reason);
    await expect(left).rejects.toBe(reason);
    expect(throttle.state()).toMatchObject({ running: 1, waiting: 1 });
    await time.until(1000);
    await Promise.all([first, last]);
    expect(done).toEqual(["first", "last"]);
    expect(throttle.state()).toMatchObject(NOTHING);
  });

  it("never starts if it was aborted before", async () => {
    const { throttle } = open();
    const reason = new Error("Ctrl-C");
    await expect(through(throttle, () => Promise.resolve(1), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(throttle.state()).toMatchObject(NOTHING);
  });

  it("leaves no timer if it was the last waiting call, even if the server requested a wait", async () => {
    const { time, throttle } = open();
    await through(throttle, () => Promise.reject(refusal(30_000))).catch(() => undefined);
    const controller = new AbortController();
    const waiting = through(throttle, () => Promise.resolve(1), controller.signal);
    expect(throttle.state()).toMatchObject({ waiting: 1, why: "server" });
    controller.abort(new Error("Ctrl-C"));
    await expect(waiting).rejects.toThrow("Ctrl-C");
    await settled();
    expect(time.asleep).toBe(0);
    const after = through(throttle, () => Promise.resolve(2));
    await time.until(31_000);
    expect(await after).toBe(2);
  });
});

describe("a limit", () => {
  it.each([6, 60, 600])("allows %i requests per minute, and no more", async (rpm) => {
    const { time, throttle } = open({ rpm });
    const { answered } = load(time, throttle, () => 0, 100);
    await time.until(5 * MINUTE);
    // Half a second of the rate can be used immediately.
    expect(fullestMinute(answered)).toBeLessThanOrEqual(rpm + Math.max(1, rpm / 120));
    expect(between(answered, MINUTE, 5 * MINUTE).length).toBeGreaterThanOrEqual(0.97 * 4 * rpm);
  });

  it.each([500, 3_000])("allows 60,000 tokens per minute, and no more, if each call takes %i", async (tokens) => {
    const { time, throttle } = open({ concurrency: 20, tpm: 60_000 });
    const ended: number[] = [];
    const client = async () => {
      for (;;) {
        await throttle.call(
          () => time.sleep(1000),
          () => tokens,
          never,
        );
        ended.push(time.now());
      }
    };
    for (let i = 0; i < 20; i++) void client();
    await time.until(10 * MINUTE);
    // Ten seconds of the budget can be used immediately, and one call is let in on credit.
    expect(fullestMinute(ended) * tokens).toBeLessThanOrEqual(60_000 + 10_000 + 2 * tokens);
    expect(between(ended, MINUTE, 10 * MINUTE).length * tokens).toBeLessThanOrEqual(9 * 60_000 + 10_000 + tokens);
    expect(between(ended, MINUTE, 10 * MINUTE).length * tokens).toBeGreaterThanOrEqual(0.95 * 9 * 60_000);
  });

  it("lets one call at a time through even if a single call takes more tokens", async () => {
    const { time, throttle } = open({ concurrency: 5, tpm: 600 });
    let ended = 0;
    for (let i = 0; i < 5; i++)
      void throttle
        .call(
          () => time.sleep(10),
          () => 6_000,
          never,
        )
        .then(() => ended++);
    await time.until(60 * MINUTE);
    expect(ended).toBe(5);
  });
});

describe("automatic concurrency", () => {
  const limits = (throttle: RateLimiter) => {
    const seen: number[] = [];
    throttle.onLimit((limit) => seen.push(limit));
    return seen;
  };

  it("starts with 20, and doubles up to 256 while the server rejects no call", async () => {
    const { time, throttle } = open();
    const seen = limits(throttle);
    load(time, throttle, () => 0, 100);
    await time.until(5_000);
    expect([...new Set(seen)]).toEqual([20, 40, 80, 160, 256]);
  });

  it("shrinks by a fifth if the server rejects several calls at the same time, and grows slowly afterwards", async () => {
    const { time, throttle } = open();
    const seen = limits(throttle);
    const overloaded = new ModelError("overloaded", "529", { status: 529, retryable: true });
    const refused = Array.from({ length: 20 }, () =>
      through(throttle, () => time.sleep(100).then(() => Promise.reject(overloaded))).catch(() => undefined),
    );
    await time.until(1000);
    await Promise.all(refused);
    expect(seen).toEqual([20, 16]);
    load(time, throttle, () => 0, 100);
    await time.until(1000 + 100 * 3);
    expect(seen.slice(0, 4)).toEqual([20, 16, 17, 18]);
  });

  it("does not grow if its limit was never reached", async () => {
    const { throttle } = open();
    const seen = limits(throttle);
    for (let i = 0; i < 200; i++) await through(throttle, () => Promise.resolve());
    expect(seen).toEqual([20]);
  });

  it("never falls below one", async () => {
    const { time, throttle } = open();
    for (let i = 0; i < 500; i++) {
      await through(throttle, () => Promise.reject(refusal(null))).catch(() => undefined);
      await time.until((i + 1) * 1000);
    }
    expect(throttle.state().limit).toBe(1);
  });
});

describe("a server that randomly rejects calls", () => {
  /** Answered calls per second in the last of three minutes. Refused calls are repeated after half a second. */
  async function callsPerSecond(refused: number, latencyMs: number, concurrency: number | "auto"): Promise<number> {
    const { time, throttle } = open({ concurrency });
    const random = seeded(3);
    const answered: number[] = [];
    const request = async () => {
      const refuses = random() < refused;
      await time.sleep(refuses ? 20 : latencyMs);
      if (refuses) throw refusal(null);
      answered.push(time.now());
    };
    keepCalling(time, throttle, request);
    await time.until(3 * MINUTE);
    return between(answered, 2 * MINUTE, 3 * MINUTE).length / 60;
  }

  it.each([
    [0.02, 100, 4],
    [0.05, 1_000, 4],
    [0.05, 4_000, 32],
    [0.1, 100, 32],
    [0.2, 100, 4],
  ])(
    "runs at its full rate if it rejects %d of the calls, and answers in %i ms to %i callers",
    async (refused, latencyMs, callers) => {
      // The rate of the callers if nothing else limits them.
      const free = (callers * (1 - refused)) / ((latencyMs * (1 - refused) + (20 + 500) * refused) / 1000);
      expect(await callsPerSecond(refused, latencyMs, callers)).toBeGreaterThan(0.7 * free);
    },
  );

  it.each([
    [0.02, 400],
    [0.05, 1_000],
    [0.1, 100],
  ])(
    "gets more callers if it rejects %d of the calls, answers in %i ms and concurrency is automatic",
    async (refused, latencyMs) => {
      const twenty = (20 * (1 - refused)) / ((latencyMs * (1 - refused) + (20 + 500) * refused) / 1000);
      expect(await callsPerSecond(refused, latencyMs, "auto")).toBeGreaterThan(1.2 * twenty);
    },
  );
});

describe("a server that rejects only the 30th call", () => {
  it.each([null, 1_000])(
    "receives all its capacity within two minutes if it requests a wait of %s ms",
    async (retryAfterMs) => {
      const { time, throttle } = open({ concurrency: 56 });
      let calls = 0;
      const answered: number[] = [];
      const request = async () => {
        const refuses = ++calls === 30;
        await time.sleep(100);
        if (refuses) throw refusal(retryAfterMs);
        answered.push(time.now());
      };
      keepCalling(time, throttle, request);
      await time.until(2 * MINUTE);
      expect(between(answered, 1.5 * MINUTE, 2 * MINUTE).length / 30).toBeGreaterThan(540);
    },
  );
});

describe("a server that has few slots", () => {
  it.each([
    [1, 32],
    [1, "auto"],
    [8, 32],
    [8, "auto"],
  ] as const)(
    "rejects few calls, and serves from at least half of its slots (%i slots, concurrency %s)",
    async (slots, concurrency) => {
      const { time, throttle } = open({ concurrency });
      const random = seeded(3);
      let active = 0;
      const answered: number[] = [];
      const refused: number[] = [];
      const request = async () => {
        if (active >= slots) {
          await time.sleep(20);
          refused.push(time.now());
          throw refusal(null);
        }
        active++;
        await time.sleep(500 + random() * 1_000);
        active--;
        answered.push(time.now());
      };
      keepCalling(time, throttle, request);
      await time.until(5 * MINUTE);
      const served = between(answered, MINUTE, 5 * MINUTE).length;
      expect(served / (4 * 60 * slots)).toBeGreaterThan(0.5);
      expect(between(refused, MINUTE, 5 * MINUTE).length).toBeLessThan(0.5 * served);
    },
  );
});

describe("a limiter after all these calls", () => {
  const outcome = fc.record({
    at: fc.integer({ min: 0, max: 5_000 }),
    lasts: fc.integer({ min: 0, max: 2_000 }),
    abortAfter: fc.option(fc.integer({ min: 0, max: 3_000 })),
    ends: fc.constantFrom("well", "refused", "overloaded", "broken"),
    retryAfterMs: fc.option(fc.constantFrom(0, 1, 1_000, 20_000, 3_600_000, 1e15)),
  });
  const options = fc.record({
    concurrency: fc.oneof(fc.constant("auto" as const), fc.integer({ min: 1, max: 5 })),
    rpm: fc.option(fc.constantFrom(1, 60, 6_000)),
    tpm: fc.option(fc.constantFrom(100, 60_000)),
  });

  it("keeps no call or timer", async () => {
    await fc.assert(
      fc.asyncProperty(options, fc.array(outcome, { maxLength: 30 }), async (given, calls) => {
        const time = new SimulatedTime();
        const throttle = new RateLimiter(given, time);
        let ended = 0;
        for (const { at, lasts, abortAfter, ends, retryAfterMs } of calls) {
          const controller = new AbortController();
          const work = async () => {
            await time.sleep(lasts, controller.signal);
            if (ends === "refused") throw refusal(retryAfterMs);
            if (ends === "overloaded") throw new ModelError("overloaded", "529", { retryable: true, retryAfterMs });
            if (ends === "broken") throw new TypeError("broken");
          };
          const call = async () => {
            await time.sleep(at);
            if (abortAfter !== null) void time.sleep(abortAfter).then(() => controller.abort(new Error("stop")));
            await throttle.call(work, () => 500, controller.signal).catch(() => undefined);
            ended++;
          };
          void call();
        }
        await time.until(6 * 60 * MINUTE);
        expect(ended).toBe(calls.length);
        expect(throttle.state()).toMatchObject({ running: 0, waiting: 0, why: null });
        expect(time.asleep).toBe(0);
        expect(throttle.state().limit).toBeGreaterThanOrEqual(1);
      }),
      { numRuns: 200 },
    );
  });
});

/** Starts requests as soon as allowed, from one moment to another. Each is answered immediately. */
function drive(rate: AdaptiveRate, from: number, to: number): number {
  let begun = 0;
  for (let now = from; now <= to; ) {
    const wait = rate.waitMs(now);
    if (wait > 0) {
      now += Math.ceil(wait);
      continue;
    }
    rate.take(now);
    rate.succeeded(now, now);
    if (++begun > 100_000) break;
  }
  return begun;
}

/** A number of requests per second, regardless of the limiter. */
function busy(rate: AdaptiveRate, seconds: number, perSecond: number): void {
  for (let i = 0; i < seconds * perSecond; i++) {
    rate.take((i * 1000) / perSecond);
    rate.succeeded((i * 1000) / perSecond, (i * 1000) / perSecond);
  }
}

describe("a configured rate", () => {
  it("applies from the first request", () => {
    const rate = new AdaptiveRate(600 / 60_000);
    expect(rate.waitMs(0)).toBe(0);
    rate.take(0);
    expect(rate.waitMs(0)).toBeCloseTo(100, 6);
    expect(rate.waitMs(60)).toBeCloseTo(40, 6);
    expect(rate.waitMs(100)).toBeCloseTo(0, 6);
  });

  it("allows half a second's worth of requests immediately after a rest, and no more", () => {
    const rate = new AdaptiveRate(600 / 60_000);
    rate.waitMs(0);
    rate.take(0);
    expect(drive(rate, 1_000_000, 1_000_000)).toBe(5);
  });

  it("never exceeds its maximum, even if the server rejects no request for long", () => {
    expect(drive(new AdaptiveRate(600 / 60_000), 0, 600_000)).toBeLessThanOrEqual(6_005);
  });
});

describe("an automatic rate", () => {
  it("has no limit until the server rejects a call", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 100);
    expect(rate.waitMs(10_000)).toBe(0);
  });

  it("learns nothing from a rejected call after only a few requests", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 1, 19);
    rate.refused(1_000, 500, 10_000);
    expect(rate.waitMs(1_000)).toBe(0);
  });

  it("learns from the accepted requests until the server's wait is over", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 10);
    rate.refused(10_000, 9_900, 10_000);
    // 100 requests in 20 seconds.
    const begun = drive(rate, 10_000, 19_000);
    expect(begun).toBeGreaterThanOrEqual(43);
    expect(begun).toBeLessThanOrEqual(47);
  });

  it("decreases only once for concurrent requests", () => {
    const once = new AdaptiveRate(null);
    const often = new AdaptiveRate(null);
    for (const rate of [once, often]) {
      busy(rate, 10, 10);
      rate.refused(10_000, 9_900, 10_000);
    }
    for (let i = 0; i < 20; i++) often.refused(10_001 + i, 9_900 + i, 10_000);
    expect(drive(often, 10_100, 19_000)).toBe(drive(once, 10_100, 19_000));
  });

  it("increases again when the server stops rejecting calls", () => {
    const rate = new AdaptiveRate(null);
    busy(rate, 10, 10);
    rate.refused(10_000, 9_900, 10_000);
    const first = drive(rate, 10_000, 19_000);
    drive(rate, 19_001, 200_000);
    expect(drive(rate, 200_001, 209_000)).toBeGreaterThan(2 * first);
  });
});

const REQUEST: ModelRequest = { system: "", messages: [], tools: [], toolChoice: "auto", maxTokens: 10 };

const slow: Model = {
  id: "acme/slow",
  async complete(): Promise<Completion> {
    await delay(30);
    const said = { content: "yes", toolCalls: [], rawFinishReason: "stop", usage: null, latencyMs: 30, retries: [] };
    return { ...said, finishReason: "stop" };
  },
};

it.each<[string, Partial<RateLimiterOptions>, string]>([
  ["a slot", { concurrency: 1 }, "slot"],
  ["a request limit", { rpm: 1_200 }, "throttled"],
])("reports a call's wait for %s in its reply", async (_, options, kind) => {
  const limiter = new RateLimiter({ concurrency: 8, rpm: null, tpm: null, ...options });
  const model = withRetry(withRateLimit(slow, limiter));
  const { signal } = new AbortController();
  const replies = await Promise.all([1, 2, 3].map(() => model.complete(REQUEST, signal)));
  expect(replies.map(({ waits = [] }) => waits.map((wait) => wait.kind))).toEqual([[], [kind], [kind]]);
});

it("reports the waits for a slot, rate limits, failed attempts and pauses separately, excluding the last attempt", () => {
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
