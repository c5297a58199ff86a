import { copyFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { REFUSALS } from "../../queue/refusing-redis.js";
import { interruptTwice, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { type Worker, Workers } from "./queue-setup.js";

/** A Redis server that refuses commands or is away for some seconds costs neither an answer nor a paid token. */

const folder = workFolder({ mail: MAIL });
const { artE, path, readJson, start } = folder;
const TASKS = 32;
const USAGE = { inputTokens: 200, outputTokens: 50, cachedInputTokens: 0 };
const TOKENS_PER_CALL = USAGE.inputTokens + USAGE.outputTokens;
const LINE = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --model-id anthropic/claude-sonnet-4-5 --no-progress`;
/** Several reconnection attempts fit into this time. */
const REFUSED_MS = 3_000;

describe("a queue whose Redis rejects commands", needs("redis"), () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let workers: Workers;
  let both: readonly Worker[];
  let replyMs: number;

  const variables = () => ({
    ART_E_QUEUE_URL: redis.url,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: provider.url,
  });

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    provider = await startFakeProvider(async ({ turn, question }) => {
      await delay(replyMs);
      return turn === 0
        ? { toolCalls: [{ name: "email_search", arguments: { query: question } }], usage: USAGE }
        : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }], usage: USAGE };
    });
  });
  beforeEach(async () => {
    replyMs = 50;
    redis = await startRedis({ isDurable: true });
    workers = new Workers(folder, () => redis.url);
  });

  const startWorkers = async (flags = "", names = ["a", "b"]) => {
    both = names.map((name) => {
      const own = { ...variables(), ANTHROPIC_API_KEY: `key-of-${name}` };
      return workers.start(name, `--concurrency ${8 / names.length} ${flags}`, own);
    });
    for (const worker of both) await expect.poll(worker.said).toContain("takes tasks from");
  };
  afterEach(async () => {
    await workers.close();
    await redis?.close();
  });
  afterAll(() => provider?.close());

  const stop = async ({ child, ended }: Worker) => {
    child.kill("SIGTERM");
    return (await ended).code;
  };

  const losesNoToken = async (kind: string, refuse: (typeof REFUSALS)[string]) => {
    const before = provider.requests.length;
    await startWorkers();
    const run = artE(`${LINE} -o ${kind}.json`, variables());
    await provider.received(before + 20);
    const accept = await refuse(redis.client);
    await delay(REFUSED_MS);
    await accept();
    const { code } = await run;
    const { totalTasks, failedTasks, usage } = readJson(`${kind}.json`);
    expect({
      tokens: usage.inputTokens + usage.outputTokens,
      totalTasks,
      failedTasks,
      codes: [code, ...(await Promise.all(both.map(stop)))],
    }).toEqual({
      tokens: (provider.requests.length - before) * TOKENS_PER_CALL,
      totalTasks: TASKS,
      failedTasks: 0,
      codes: [0, 0, 0],
    });
    expect(provider.requests.length - before).toBe(2 * TASKS);
    for (const worker of both) {
      expect(worker.said().match(new RegExp(`refuses commands \\(${kind}`, "g"))).toHaveLength(1);
      expect(worker.said()).toContain("is back");
    }
  };

  const all = Object.entries(REFUSALS);
  it.each(all.slice(0, 1))("loses no billed token while Redis answers %s", losesNoToken);
  it.each(all.slice(1))("loses no billed token while Redis answers %s", { tags: ["slow"] }, losesNoToken);

  it("loses no billed token if locks expire while Redis rejects commands and one worker renews them late", {
    tags: ["slow"],
  }, async () => {
    await startWorkers("--lock 6");
    const before = provider.requests.length;
    const run = artE(`${LINE} -o long.json`, variables());
    await provider.received(before + 20);
    const accept = await REFUSALS.OOM?.(redis.client);
    await delay(3 * REFUSED_MS);
    both[0]?.child.kill("SIGSTOP");
    await accept?.();
    await delay(5_000);
    both[0]?.child.kill("SIGCONT");
    expect((await run).code).toBe(0);
    const { usage } = readJson("long.json");
    expect(usage.inputTokens + usage.outputTokens).toBe((provider.requests.length - before) * TOKENS_PER_CALL);
    expect(provider.requests.length - before).toBe(2 * TASKS);
  });

  describe("after a signal while Redis is unavailable", () => {
    /** Kills Redis while most of the first eight tasks are in their second and last call. */
    const loseRedis = async () => {
      const before = provider.requests.length;
      const run = start(LINE, variables());
      await provider.received(before + 14);
      await redis.kill();
      for (const worker of both) await expect.poll(worker.said).toContain("is unreachable");
      return run;
    };

    it("ends a worker after its grace period, and reports results that it could not send", {
      tags: ["slow"],
    }, async () => {
      // This worker gets all tasks.
      await startWorkers("--grace 1", ["a"]);
      const run = await loseRedis();
      const [brief] = both;
      brief?.child.kill("SIGTERM");
      const { code, stderr } = (await brief?.ended) ?? {};
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/Cannot send \d results?: the queue/),
      });
      run.child.kill("SIGKILL");
    });

    it.each<[string, () => unknown]>([
      ["is killed", () => redis.kill()],
      ["hangs", () => redis.freeze()],
    ])("ends a worker and a run at the second signal if Redis %s", { tags: ["slow"] }, async (_, lose) => {
      const before = provider.requests.length;
      await startWorkers("--grace 86400");
      const run = start(LINE, variables());
      await provider.received(before + 20);
      await lose();
      for (const { child } of both) await interruptTwice(child, "SIGTERM");
      for (const { ended } of both) expect((await ended).code).toBeLessThanOrEqual(1);
      await interruptTwice(run.child);
      expect((await run.ended).code).toBe(130);
    });

    it("ends a run at the first signal, and a resume answers only the missing tasks", { tags: ["slow"] }, async () => {
      const before = provider.requests.length;
      await startWorkers();
      const run = await loseRedis();
      run.child.kill("SIGINT");
      const { code, stderr } = await run.ended;
      expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining("art-e run --resume") });
      await redis.start();
      const resumed = await artE("run --resume latest -o resumed.json --no-progress", variables());
      expect(resumed.code).toBe(0);
      const { totalTasks, failedTasks } = readJson("resumed.json");
      expect({ totalTasks, failedTasks }).toEqual({ totalTasks: TASKS, failedTasks: 0 });
      expect(provider.requests.length - before).toBe(2 * TASKS);
    });
  });

  describe("with a permanent fault", () => {
    it("ends both a worker and a run with one line if a key has the wrong type", { tags: ["slow"] }, async () => {
      const before = provider.requests.length;
      // The run lasts long enough for both to join it.
      replyMs = 500;
      await startWorkers();
      const run = start(LINE, variables());
      // A worker without a task would not see the fault, and one of the two can join the run a second later.
      const keys = () => new Set(provider.requests.slice(before).map(({ headers }) => headers["x-api-key"]));
      await expect.poll(() => keys().size, { interval: 5 }).toBe(2);
      const [spent = ""] = await redis.client.keys("art-e:*:spent");
      await redis.client.multi().del(spent).lpush(spent, "x").exec();
      const fault = `Cannot use the queue at ${redis.url}: WRONGTYPE Operation against a key holding the wrong kind of value`;
      for (const { ended } of [run, ...both]) {
        const { code, stderr } = await ended;
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(fault) });
        expect(stderr).not.toContain("bug");
      }
    });

    it("ends a worker if Redis forbids a command", { tags: ["slow"] }, async () => {
      await startWorkers();
      await redis.client.call("ACL", "SETUSER", "default", "-sadd");
      for (const { ended } of both) {
        const { code, stderr } = await ended;
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("Cannot use the queue at") });
        expect(stderr).toContain("NOPERM");
        expect(stderr).not.toContain("bug");
      }
    });

    it("skips a run whose description has the wrong type, and answers the others", { tags: ["slow"] }, async () => {
      await startWorkers();
      await redis.client.hset("art-e:runs", "run_x", "attempt");
      await redis.client.lpush("art-e:{run_x}:manifest", "x");
      for (const worker of both) {
        await expect.poll(worker.said).toMatch(/run run_x is left to other workers: Cannot use the queue .*WRONGTYPE/);
      }
      const status = await artE("queue status", variables());
      expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining("WRONGTYPE") });
      const run = await artE(LINE.replace(`-l ${TASKS}`, "-l 4"), variables());
      expect(run.code).toBe(0);
      expect(await artE("queue clean run_x", variables())).toMatchObject({ code: 0 });
      expect(await redis.client.exists("art-e:{run_x}:manifest")).toBe(0);
    });
  });
});
