import { copyFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { demoQuestions, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { type Worker, Workers } from "./queue-setup.js";

/** Workers, coordinators and Redis servers that die in the middle of a run: in the end, every task has one result. */

const folder = workFolder({ mail: MAIL });
const { artE, path, start } = folder;
/** Seconds after which a silent worker loses its tasks. This is the minimum. */
const WORKER = "--concurrency 4 --lock 2";
/** Limits the damage of a death: no more tasks than these are running. */
const ONE_BY_ONE = "--concurrency 1 --lock 2";
const TASKS = 30;
const LINE = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --model-id anthropic/claude-sonnet-4-5 --quiet`;
let redis: RedisServer;
let provider: FakeProvider;
let workers: Workers;
/** Called with each request and the worker's name before the reply. */
let onRequest: (request: ParsedRequest, worker: string) => Promise<void>;

const variables = (name = "c") => ({
  ART_E_QUEUE_URL: redis.url,
  ANTHROPIC_API_KEY: `key-of-${name}`,
  ANTHROPIC_BASE_URL: provider.url,
});

/** Number of model calls per task. */
let callsPerTask = 1;

async function answer(request: ParsedRequest) {
  const key = String(provider.requests.at(-1)?.headers["x-api-key"]);
  await onRequest(request, key.replace("key-of-", ""));
  const call =
    request.turn < callsPerTask - 1
      ? { name: "email_get", arguments: { message_id: `<${request.turn}@nowhere>` } }
      : { name: "return_final_answer", arguments: { answer: "42", sources: [] } };
  return { toolCalls: [call], usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0 } };
}

function worker(name: string, flags = WORKER): Worker {
  return workers.start(name, flags, variables(name));
}

/** The results of the newest run, read like any other program would. */
function results() {
  const db = new Database(path("art-e.db"), { readonly: true });
  const rows = db
    .prepare(
      "SELECT task_id AS id, failed, result ->> '$.error' AS error FROM results WHERE superseded = 0 AND run_id = (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1) ORDER BY 1",
    )
    .all() as { id: number; failed: number; error: string | null }[];
  db.close();
  return rows;
}

const expectedIds = demoQuestions
  .map(({ id }) => id)
  .sort((a, b) => a - b)
  .slice(0, TASKS);

/** Redis keys that do not belong to live workers. */
const leftInRedis = async () => (await redis.client.keys("*")).filter((key) => !/^art-e:(worker|pause)/.test(key));

describe("a queued run after a failure", needs("redis"), () => {
  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    provider = await startFakeProvider(answer);
    redis = await startRedis({ isDurable: true });
    workers = new Workers(folder, () => redis.url);
  });
  beforeEach(() => {
    onRequest = () => delay(100);
    callsPerTask = 1;
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
    await provider?.close();
  });

  const isWhole = async () => {
    expect(results().map(({ id }) => id)).toEqual(expectedIds);
    expect(results().filter(({ failed }) => failed)).toEqual([]);
    await expect.poll(leftInRedis).toEqual([]);
  };

  /**
   * The requests since the last call. A starved worker that loses its locks has its tasks requested again too, and
   * reports each one as too late.
   */
  function countAsked(): () => number {
    const count = () => provider.requests.length - (workers.said().match(/arrived too late/g)?.length ?? 0);
    const before = count();
    return () => count() - before;
  }

  describe("with two workers, one of which survives", () => {
    let dying: Worker;
    beforeAll(() => {
      [dying] = [worker("a"), worker("b")];
    });

    it("repeats only the tasks that a killed worker was running", async () => {
      const asked = countAsked();
      let ofDying = 0;
      const isBusy = new Promise<void>((resolve) => {
        onRequest = async (_, name) => {
          if (name === "a" && ++ofDying === 4) resolve();
          await isBusy;
          await delay(100);
        };
      });
      const run = artE(LINE, variables());
      await isBusy;
      await workers.kill(dying);
      expect(await run).toMatchObject({ code: 0 });
      await isWhole();
      await expect.poll(asked).toBeLessThanOrEqual(TASKS + 4);
    });

    /** Kills a coordinator. The worker continues without it until each task has been requested. */
    async function finishWithoutCoordinator(before: number): Promise<void> {
      const run = start(LINE, variables());
      await provider.received(before + 8);
      run.child.kill("SIGKILL");
      await run.ended;
      await provider.received(before + TASKS);
    }

    it("finds the answers from the time without a coordinator, and requests nothing again", {
      tags: ["slow"],
    }, async () => {
      const before = provider.requests.length;
      await finishWithoutCoordinator(before);
      const saved = results().length;
      expect(saved).toBeLessThan(TASKS);
      expect(await artE("run --resume latest --quiet", variables())).toMatchObject({ code: 0 });
      await isWhole();
      expect(provider.requests.length - before).toBe(TASKS);
    });

    it("leaves the queue at a resume if its coordinator was killed after saving the last results", {
      tags: ["slow"],
    }, async () => {
      const before = provider.requests.length;
      await finishWithoutCoordinator(before);
      await expect.poll(async () => (await redis.client.keys("art-e:*:active")).length).toBe(0);
      const keys = await leftInRedis();
      const values = await Promise.all(keys.map((key) => redis.client.dumpBuffer(key)));
      // Some keys expire by themselves, such as the marks of checks for stalled tasks, and must still expire.
      const lifetimes = await Promise.all(keys.map((key) => redis.client.pttl(key)));
      expect(await artE("run --resume latest --quiet", variables())).toMatchObject({ code: 0 });
      await expect.poll(leftInRedis).toEqual([]);
      // As if it had been killed before it removed the results that it had just saved.
      for (const [i, key] of keys.entries()) {
        await redis.client.restore(key, Math.max(0, lifetimes[i] ?? 0), values[i] as Buffer);
      }
      expect(new Set(keys.flatMap((key) => /:e1-\d+$/.exec(key) ?? [])).size).toBe(TASKS);
      expect(await artE("run --resume latest --quiet", variables())).toMatchObject({ code: 0 });
      await isWhole();
      expect(provider.requests.length - before).toBe(TASKS);
    });

    it("adds the missing tasks again after Redis lost everything", { tags: ["slow"] }, async () => {
      const asked = countAsked();
      const run = artE(LINE, variables());
      await provider.received(provider.requests.length + 12);
      await redis.client.flushall();
      expect(await run).toMatchObject({ code: 0 });
      await isWhole();
      await expect.poll(asked).toBeLessThanOrEqual(TASKS + 16);
    });
  });

  describe("with four calls per task", () => {
    const CALLS = 4;

    beforeEach(async () => {
      // Only the workers of the test take tasks. A killed worker can leave keys of BullMQ.
      await workers.close();
      await redis.client.flushall();
      callsPerTask = CALLS;
      onRequest = () => delay(20);
    });

    afterEach(() => workers.close());

    /** Tokens of the newest run, by the file's own count. */
    async function tokensUsed(): Promise<number> {
      const db = new Database(path("art-e.db"), { readonly: true });
      const newest = db.prepare("SELECT id FROM runs ORDER BY rowid DESC LIMIT 1").pluck().get();
      db.close();
      const { stdout } = await artE(`stats --run ${newest} --json`);
      const { usage } = JSON.parse(stdout) as { usage: { inputTokens: number } };
      return usage.inputTokens;
    }

    it("continues a killed worker's tasks with the stored replies", { tags: ["slow"] }, async () => {
      const asked = countAsked();
      const dying = worker("d");
      let ofDying = 0;
      const isBusy = new Promise<void>((resolve) => {
        onRequest = async (_, name) => {
          // Four tasks, each in its third or fourth call.
          if (name === "d" && ++ofDying === 14) resolve();
          await delay(20);
        };
      });
      const run = artE(LINE, variables());
      await isBusy;
      await workers.kill(dying);
      worker("e");
      expect(await run).toMatchObject({ code: 0 });
      await isWhole();
      await expect.poll(asked).toBeLessThanOrEqual(TASKS * CALLS + 4);
      expect(await tokensUsed()).toBe(TASKS * CALLS * 100);
    });

    it("keeps the replies of unfinished tasks when a limit stops it, also for a resume without a queue", {
      tags: ["slow"],
    }, async () => {
      const asked = countAsked();
      worker("f");
      const stopped = await artE(`${LINE} --max-run-tokens 250`, variables());
      expect(stopped.stderr).toContain("--max-run-tokens 250 is reached");
      const paid = asked();
      expect(await tokensUsed()).toBe(paid * 100);
      expect(results().length * CALLS, "no task was unfinished").toBeLessThan(paid);
      await expect.poll(leftInRedis).toEqual([]);
      const resumed = await artE("run --resume latest --no-progress --max-run-tokens 1000000", {
        ...variables(),
        ART_E_QUEUE_URL: "",
      });
      expect(resumed).toMatchObject({ code: 0, stderr: expect.stringContaining("art-e: this run used a queue.") });
      await isWhole();
      expect(asked()).toBe(TASKS * CALLS);
      expect(await tokensUsed()).toBe(TASKS * CALLS * 100);
    });
  });

  /** Long enough for locks to expire. */
  describe("with new workers", { tags: ["slow"] }, () => {
    afterEach(() => workers.close());

    it("continues after Redis was killed and restarted", async () => {
      const asked = countAsked();
      const a = worker("a");
      const run = start(LINE.replace("--quiet", "--no-progress"), variables());
      await provider.received(provider.requests.length + 12);
      await redis.kill();
      await expect.poll(() => a.said()).toContain("is unreachable");
      await redis.start();
      const { code, stderr } = await run.ended;
      expect(code).toBe(0);
      expect(stderr).toContain("is unreachable");
      expect(stderr).toContain("is back");
      await isWhole();
      await expect.poll(asked).toBeLessThanOrEqual(TASKS + 8);
    });

    it("fails a task that kills its worker three times, and gives the reason", async () => {
      const poison = demoQuestions.find(({ id }) => id === expectedIds[5])?.question;
      let deaths = 0;
      onRequest = async ({ question }, name) => {
        if (question !== poison) return;
        deaths++;
        const dead = workers.named(name);
        await workers.kill(dead);
        worker(`${name}-again`, ONE_BY_ONE);
        await delay(60_000, undefined, { ref: false });
      };
      worker("p", ONE_BY_ONE);
      expect(await artE(LINE, variables())).toMatchObject({ code: 0 });
      expect(deaths).toBe(3);
      const failed = results().filter((result) => result.failed);
      expect(failed).toEqual([{ id: expectedIds[5], failed: 1, error: expect.stringContaining("three times") }]);
      expect(results()).toHaveLength(TASKS);
      await expect.poll(leftInRedis).toEqual([]);
    });

    it("drops the late results of a worker that was disconnected for long, and says so", async () => {
      const asked = countAsked();
      const a = worker("a");
      const run = start(LINE, variables());
      await provider.received(provider.requests.length + 4);
      a.child.kill("SIGSTOP");
      worker("b");
      expect(await run.ended).toMatchObject({ code: 0 });
      await isWhole();
      a.child.kill("SIGCONT");
      await expect.poll(() => a.said()).toMatch(/arrived too late and was discarded/);
      await expect.poll(asked).toBeLessThanOrEqual(TASKS + 4);
    });
  });
});
