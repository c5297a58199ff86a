import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SharedLimits } from "../../src/queue/protocol/shared-limits.js";
import {
  addCall,
  addTask,
  beginSpending,
  getReachedLimit,
  readSpending,
  setReachedLimit,
} from "../../src/queue/protocol/shared-state.js";
import { NO_LIMITS } from "../../src/traces/run-settings.js";
import { needs } from "../machine-requirements.js";
import { type RedisServer, startRedis } from "./redis-server.js";

const never = new AbortController().signal;

describe("SharedLimits", needs("redis"), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.close());

  const limits = (runId: string, rpm: number | null, tpm: number | null = null, account = runId) =>
    new SharedLimits(redis.client, { runId, account, rpm, tpm, onFault: expect.unreachable });

  /** Number of 20 calls that start before the others have to wait. */
  async function beginning(workers: readonly SharedLimits[]): Promise<number> {
    const stop = new AbortController();
    let begun = 0;
    const calls = Array.from({ length: 20 }, (_, i) =>
      workers[i % workers.length]?.enter(stop.signal).then(
        () => begun++,
        () => undefined,
      ),
    );
    await expect.poll(() => workers.every((worker) => worker.state().why !== null)).toBe(true);
    const before = begun;
    stop.abort();
    await Promise.all(calls);
    return before;
  }

  it("start as many requests for all workers together as for one worker", async () => {
    // 100 per minute are 5 in 3 seconds.
    expect(await beginning([limits("run_1", 100), limits("run_1", 100)])).toBe(5);
    expect(await beginning([limits("run_2", 100)])).toBe(5);
  });

  it("limit the tokens of all workers together, and report the reason for waiting", async () => {
    const [a, b] = [limits("run_3", null, 1_000), limits("run_3", null, 1_000)];
    await a.enter(never);
    await a.spend(999);
    await b.enter(never);
    await b.spend(500);
    const stop = new AbortController();
    const waiting = a.enter(stop.signal).catch(() => "stopped");
    await expect.poll(() => a.state()).toEqual({ waiting: 1, why: "tokens" });
    stop.abort();
    expect(await waiting).toBe("stopped");
  });

  it("pause all workers that share an account, and no others, if its server rejects one", async () => {
    const [a, b, other] = [
      limits("run_4", null),
      limits("run_5", null, null, "run_4"),
      limits("run_4", null, null, "x"),
    ];
    await a.pause(30_000);
    const stop = new AbortController();
    const waiting = b.enter(stop.signal).catch(() => "stopped");
    await expect.poll(() => b.state()).toEqual({ waiting: 1, why: "server" });
    await other.enter(never);
    stop.abort();
    expect(await waiting).toBe("stopped");
  });

  it("keep the longer of two pauses", async () => {
    const a = limits("run_6", null);
    await a.pause(30_000);
    await a.pause(1_000);
    expect(await redis.client.pttl("art-e:pause:run_6")).toBeGreaterThan(20_000);
  });

  it("count the spending of all workers, and continue from earlier spending", async () => {
    const run = "run_7";
    const maxCost = { ...NO_LIMITS, maxCostUsd: 2 };
    await beginSpending(redis.client, run, { costUsd: 1.5, tokens: 100 }, maxCost);
    for (const isFailed of [true, false]) {
      await addCall(redis.client, run, { costUsd: 0.25, tokens: 10 });
      await addTask(redis.client, run, isFailed);
    }
    expect(await readSpending(redis.client, run)).toEqual({
      spending: { costUsd: 2, tokens: 120, finished: 2, failed: 1 },
      limits: maxCost,
    });
    expect(await getReachedLimit(redis.client, run)).toBeNull();
    await setReachedLimit(redis.client, run, { flag: "--max-cost", why: "it is" });
    expect(await getReachedLimit(redis.client, run)).toEqual({ flag: "--max-cost", why: "it is" });
    // A resumed run knows less than Redis if results were not collected, and failures start from zero.
    await beginSpending(redis.client, run, { costUsd: 1.75, tokens: 110 }, NO_LIMITS);
    expect(await getReachedLimit(redis.client, run)).toBeNull();
    await addTask(redis.client, run, false);
    const again = await readSpending(redis.client, run);
    expect(again.spending).toEqual({ costUsd: 2, tokens: 120, finished: 1, failed: 0 });
  });
});
