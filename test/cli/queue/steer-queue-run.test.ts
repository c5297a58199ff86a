import { copyFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "./queue-setup.js";

const folder = workFolder({ mail: MAIL });
const { artE, path, start } = folder;

describe("art-e ctl with a queue", needs("redis"), () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  const workers = new Workers(folder, () => redis.url);

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    redis = await startRedis();
  });
  afterEach(async () => {
    await workers.close();
    await provider?.close();
  });
  afterAll(() => redis?.close());

  it("pauses, limits, resumes and cancels a run through Redis", async () => {
    const waiting: (() => void)[] = [];
    provider = await startFakeProvider(async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { content: "an answer" };
    });
    const variables = { ART_E_QUEUE_URL: redis.url, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url };
    workers.start("one", "--concurrency 1", variables);
    const { ended } = start(`run -a email-search --dataset ${QUESTIONS} --quiet -l 5 --cache-dir c`, variables);
    await provider.received(1);
    const ctl = async (line: string) => {
      // Another machine: no database, and another cache folder.
      const { code, stdout, stderr } = await artE(`ctl ${line} --queue ${redis.url} --db none.db --cache-dir d --json`);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    };

    const before = performance.now();
    expect(await ctl("pause run_ --reason night")).toMatchObject({ state: "paused", totalTasks: 5 });
    expect(performance.now() - before).toBeLessThan(1_000);
    // The pause reaches the queue in the same round as the request.
    await ctl("show run_");
    waiting.shift()?.();
    await expect.poll(async () => (await ctl("show run_")).savedTasks, { timeout: 5_000 }).toBe(1);
    expect(provider.requests).toHaveLength(1);

    expect((await ctl("set run_ --max-run-tokens 1000000")).limits).toMatchObject({ maxTokens: 1_000_000 });
    await expect(ctl("set run_ --rpm 5")).rejects.toThrow("the workers of the queue have it");
    await ctl("resume run_");
    await provider.received(2);
    const { changes } = await ctl("cancel run_");
    expect(changes.map((change: string) => change.replace(/^\S+ /, ""))).toEqual([
      "paused: night",
      "set maxTokens to 1000000",
      "resumed",
      "canceled",
    ]);
    for (const release of waiting.splice(0)) release();
    expect((await ended).code).toBe(130);
    await expect(ctl("pause run_")).rejects.toThrow("is on the queue");
  });
});
