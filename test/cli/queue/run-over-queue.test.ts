import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { demoQuestions, interruptTwice, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { comparable, Workers } from "./queue-setup.js";

/** Runs over a queue: what comes of them is what comes of a run in one process. */

const folder = workFolder({ mail: MAIL });
const { artE, path, read, readJson, start } = folder;
const PASSWORD = "a-password-of-redis";
const workers = new Workers(folder, () => redis.url);
let redis: RedisServer;
let provider: FakeProvider;

describe("a run over a queue", needs("redis"), () => {
  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    redis = await startRedis({ password: PASSWORD });
    provider = await startFakeProvider(({ turn, question }) =>
      turn === 0
        ? { toolCalls: [{ name: "email_search", arguments: { query: question } }], usage: USAGE }
        : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }], usage: USAGE },
    );
    workers.start("a", "--concurrency 8", keys());
    workers.start("b", "--concurrency 8", keys());
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
    await provider?.close();
  });

  const USAGE = { inputTokens: 1_000, outputTokens: 50, cachedInputTokens: 0 };
  const keys = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
  const queue = () => ({ ART_E_QUEUE_URL: redis.url });
  const traces = async (name: string) => {
    const { code } = await artE(`export-traces --run latest -o ${name} --overwrite`);
    expect(code).toBe(0);
    return jsonLines(read(name));
  };

  it("gives the answers, sources, tool calls and scores of a run in one process, and leaves Redis empty", async () => {
    const line = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 0 --epochs 2 --quiet`;
    expect((await artE(`${line} -o here.json`)).code).toBe(0);
    const here = await traces("here.jsonl");
    const over = await artE(`${line} -o over.json`, queue());
    expect(over).toMatchObject({ code: 0 });
    const there = await traces("there.jsonl");
    expect(there).toHaveLength(2 * demoQuestions.length);
    expect(there.map(comparable)).toEqual(here.map(comparable));
    const { totalTasks, completedTasks, avgSemanticScore, status } = readJson("over.json");
    expect({ totalTasks, completedTasks, status }).toEqual({
      totalTasks: 2 * demoQuestions.length,
      completedTasks: 2 * demoQuestions.length,
      status: "completed",
    });
    expect(avgSemanticScore).toBe(readJson("here.json").avgSemanticScore);
    const left = async () => (await redis.client.keys("*")).filter((key) => !/^art-e:worker/.test(key));
    await expect.poll(left).toEqual([]);
  });

  it("has both workers answer, with their own keys, and shows the password nowhere", async () => {
    const line = `run -a email-search --dataset ${QUESTIONS} -l 30 --base-url ${provider.url} --model-id anthropic/claude-sonnet-4-5`;
    const before = provider.requests.length;
    const { code, stdout, stderr } = await artE(`${line} --queue ${redis.url} --json --verbose`);
    expect(code).toBe(0);
    expect(provider.requests.length - before).toBe(60);
    expect(JSON.parse(stdout)).toMatchObject({ totalTasks: 30, completedTasks: 30, usage: { inputTokens: 60_000 } });
    const said = [stdout, stderr, ...["a", "b"].map((name) => workers.named(name).said())].join("\n");
    expect(said).toContain("worker a answers run");
    expect(said).toContain("worker b answers run");
    expect(said).not.toContain(PASSWORD);
    expect(read("art-e.db")).not.toContain(PASSWORD);
  });

  it("stops at --max-cost, with no more spent than what was under way, and goes on with --resume", async () => {
    const line = `run -a email-search --dataset ${QUESTIONS} -l 60 --model-id anthropic/claude-sonnet-4-5`;
    const before = provider.requests.length;
    // A task costs 2 * (1000 * 3 + 50 * 15) / 1e6 = 0.0075 dollars.
    const stopped = await artE(`${line} --max-cost 0.075 -o limited.json --quiet`, { ...queue(), ...keys() });
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toContain("--max-cost 0.075 is reached");
    const asked = (provider.requests.length - before) / 2;
    expect(asked).toBe(10);
    expect(readJson("limited.json").totalTasks).toBe(asked);
    const resumed = await artE("run --resume latest --max-cost 10 -o whole.json --quiet", { ...queue(), ...keys() });
    expect(resumed).toMatchObject({ code: 0 });
    expect(readJson("whole.json")).toMatchObject({ totalTasks: 60, completedTasks: 60 });
    expect((provider.requests.length - before) / 2).toBe(60);
  });

  it("finishes at Ctrl-C what workers have, stops at the second, and is resumed", async () => {
    const slow = await startFakeProvider(async () => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }] };
    });
    try {
      const own = { ...queue(), ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: slow.url };
      const slowly = workers.start("slow", "--concurrency 4", own);
      const line = `run -a email-search --dataset ${QUESTIONS} -l 40 --model-id anthropic/claude-sonnet-4-5`;
      const first = start(line, own);
      await slow.received(8);
      first.child.kill("SIGINT");
      const once = await first.ended;
      expect(once.code).toBe(130);
      expect(once.stderr).toMatch(/Stopping: \d+ tasks? under way will be finished/);
      const saved = Number(/(\d+) of 40 tasks are saved/.exec(once.stderr)?.[1]);
      expect(saved).toBe(slow.requests.length);
      const second = start("run --resume latest", own);
      await slow.received(saved + 8);
      await interruptTwice(second.child);
      expect((await second.ended).code).toBe(130);
      const last = await artE("run --resume latest -o all.json", own);
      expect(last).toMatchObject({ code: 0 });
      expect(readJson("all.json")).toMatchObject({ totalTasks: 40, completedTasks: 40 });
      expect(slow.requests.length).toBe(40);
      slowly.child.kill("SIGTERM");
      expect(await slowly.ended).toMatchObject({ code: 0 });
    } finally {
      await slow.close();
    }
  });
});
