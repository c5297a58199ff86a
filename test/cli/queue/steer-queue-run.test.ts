import { randomUUID } from "node:crypto";
import { copyFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { OUT_OF_BOUNDS } from "../../runs/out-of-bounds.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { Workers } from "./queue-setup.js";

const folder = workFolder({ mail: MAIL });
const { artE, path, readJson } = folder;

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
    const ended = artE(`run -a email-search --dataset ${QUESTIONS} --quiet -l 5 --cache-dir c`, variables);
    await provider.received(1);
    const ctl = async (line: string) => {
      // Another machine: no database, and another cache folder.
      const { code, stdout, stderr } = await artE(`ctl ${line} --queue ${redis.url} --db none.db --cache-dir d --json`);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    };

    expect(await ctl("pause run_ --reason night")).toMatchObject({ state: "paused", totalTasks: 5 });
    // The pause reaches the queue in the same round as the request.
    await ctl("show run_");
    waiting.shift()?.();
    await expect.poll(async () => (await ctl("show run_")).savedTasks, { timeout: 5_000 }).toBe(1);
    expect(provider.requests).toHaveLength(1);

    expect((await ctl("set run_ --max-run-tokens 1000000")).limits).toMatchObject({ maxTokens: 1_000_000 });
    await ctl("resume run_");
    await provider.received(2);
    const { changes } = await ctl("cancel run_");
    expect(changes.map((change: string) => change.replace(/^\S+ /, ""))).toEqual([
      "paused: night",
      "set token budget to 1000000",
      "resumed",
      "canceled",
    ]);
    for (const release of waiting.splice(0)) release();
    expect((await ended).code).toBe(130);
    await expect(ctl("pause run_")).rejects.toThrow("is on the queue");
  });

  it("keeps the limits and the tasks of a run if Redis contains requests out of bounds", {
    tags: ["slow"],
  }, async () => {
    const waiting: (() => void)[] = [];
    provider = await startFakeProvider(async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { content: "an answer" };
    });
    const variables = { ART_E_QUEUE_URL: redis.url, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url };
    workers.start("strict", "--concurrency 2", variables);
    const database = `--db strict.db -o strict.json`;
    copyFileSync(path("mail.db"), path("strict.db"));
    const ended = artE(`run -a email-search --dataset ${QUESTIONS} --quiet -l 2 ${database}`, variables);
    await provider.received(2);
    const [runId = ""] = await redis.client.hkeys("art-e:runs");
    const requests = `art-e:{${runId}}:control`;
    for (const changes of OUT_OF_BOUNDS) {
      const id = randomUUID();
      const request = `{"command":"set","changes":${changes}}`;
      await redis.client.rpush(requests, `{"id":"${id}","request":${request}}`);
      const reply = async () => JSON.parse((await redis.client.get(`${requests}:${id}`)) ?? "null");
      await expect.poll(reply).toMatchObject({ ok: false, code: "control_request_invalid" });
    }
    // Without a coordinator in between: the limits that workers and the coordinator read.
    const spent = `art-e:{${runId}}:spent`;
    await redis.client.hset(spent, "worker_limits", '{"taskTimeoutMs":1e12}', "limits", '{"maxTimeMs":1e12}');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const answer of waiting) answer();
    expect(await ended).toMatchObject({ code: 0 });
    expect(readJson("strict.json")).toMatchObject({ completedTasks: 2, failedTasks: 0 });
  });

  it("limits the running tasks of all workers together, their rate and the time of later tasks", {
    tags: ["slow"],
  }, async () => {
    const waiting: (() => void)[] = [];
    provider = await startFakeProvider(async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { content: "an answer" };
    });
    const variables = { ART_E_QUEUE_URL: redis.url, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url };
    workers.start("a", "--concurrency 2", variables);
    workers.start("b", "--concurrency 2", variables);
    copyFileSync(path("mail.db"), path("limits.db"));
    const run = `run -a email-search --dataset ${QUESTIONS} --quiet -l 9 --rpm 1 --db limits.db -o limited.json`;
    const ended = artE(run, variables);
    await provider.received(1);
    const ctl = async (line: string) => {
      const { code, stdout, stderr } = await artE(`ctl ${line} --queue ${redis.url} --db none.db --json`);
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const answer = (calls: number) => {
      for (const release of waiting.splice(0, calls)) release();
    };
    const saved = async () => (await ctl("show run_")).savedTasks;

    await ctl("set run_ --rpm 6000");
    await provider.received(4);
    await ctl("set run_ --concurrency 1");
    answer(3);
    await expect.poll(saved).toBe(3);
    expect(provider.requests).toHaveLength(4);
    answer(1);
    await provider.received(5);
    await expect.poll(saved).toBe(4);
    expect(provider.requests).toHaveLength(5);

    await ctl("set run_ --concurrency 3");
    await provider.received(7);
    await ctl("set run_ --task-timeout 1");
    // The workers learn the timeout within a second.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await ctl("set run_ --concurrency auto");
    // The last two tasks end by themselves. They are saved when the server answers again.
    await provider.received(9);
    await expect.poll(async () => (await ctl("show run_")).running).toHaveLength(3);
    answer(9);
    expect((await ended).code).toBe(0);
    const endings = readJson("limited.json").taskResults.map(({ ending }: { ending: string }) => ending);
    expect(endings.filter((ending: string) => ending === "timeout")).toHaveLength(2);
  });

  it("runs failed tasks again", { tags: ["slow"] }, async () => {
    let release = () => {};
    const last = new Promise<void>((resolve) => {
      release = resolve;
    });
    let requests = 0;
    provider = await startFakeProvider(async () => {
      requests++;
      if (requests === 1) return { fail: "status", status: 400, message: "out of order" };
      if (requests === 2) await last;
      return { content: "an answer" };
    });
    const variables = { ART_E_QUEUE_URL: redis.url, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url };
    workers.start("two", "--concurrency 1", variables);
    const run = `run -a email-search --dataset ${QUESTIONS} --quiet -l 2 --db requeue.db -o requeued.json`;
    copyFileSync(path("mail.db"), path("requeue.db"));
    const ended = artE(run, variables);
    await provider.received(2);
    const ctl = (line: string) => artE(`ctl ${line} --queue ${redis.url} --db none.db --json`);
    await expect.poll(async () => JSON.parse((await ctl("show run_")).stdout).failedTasks, { timeout: 5_000 }).toBe(1);
    expect(await ctl("requeue run_ --reason repaired")).toMatchObject({ code: 0 });
    release();
    expect((await ended).code).toBe(0);
    const { totalTasks, completedTasks, failedTasks, settings } = readJson("requeued.json");
    expect({ totalTasks, completedTasks, failedTasks }).toEqual({ totalTasks: 2, completedTasks: 2, failedTasks: 0 });
    expect(settings.changes).toEqual([expect.stringContaining("requeued 1 failed task: repaired")]);
    expect(requests).toBe(3);
  });

  it("lets workers continue that had reached a limit, if it is raised before the run ends", {
    tags: ["slow"],
  }, async () => {
    provider = await startFakeProvider(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { content: "an answer", usage: { inputTokens: 100, outputTokens: 0, cachedInputTokens: 0 } };
    });
    const variables = { ART_E_QUEUE_URL: redis.url, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url };
    workers.start("three", "--concurrency 1", variables);
    copyFileSync(path("mail.db"), path("raise.db"));
    const run = `run -a email-search --dataset ${QUESTIONS} --quiet -l 6 --db raise.db -o raised.json --max-run-tokens 250`;
    const ended = artE(run, variables);
    await provider.received(2);
    await artE(`ctl set run_ --max-run-tokens 100000 --queue ${redis.url} --db none.db --json`);
    const { code, stderr } = await ended;
    // The coordinator looks for a reached limit once per second, so the run can end before the limit is raised.
    if (code !== 0) expect(stderr).toContain("--max-run-tokens");
    if (code !== 0)
      expect(
        await artE("run --resume latest --db raise.db -o raised.json --max-run-tokens 100000 --quiet", variables),
      ).toMatchObject({ code: 0 });
    expect(readJson("raised.json")).toMatchObject({ totalTasks: 6, completedTasks: 6 });
  });
});
