import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../src/models/model.js";
import { RateLimiter } from "../../src/models/rate-limiter.js";
import { MINUTE, refusal, SimulatedTime } from "./simulated-time.js";

describe("after whatever came", () => {
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

  it("nothing is left: every call has ended, none waits and no timer runs", async () => {
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
