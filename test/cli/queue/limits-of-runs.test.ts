import { copyFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { listWorkers } from "../../../src/queue/protocol/shared-state.js";
import { needs } from "../../machine-requirements.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { interruptTwice, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { briefEval } from "../evals/brief-answers.js";
import { Workers } from "./queue-setup.js";

/** Limits of an entire run over a queue, which two workers keep together, tested with a counting model server. */

const folder = workFolder({ mail: MAIL });
const { artE, path, read, readJson, start, write } = folder;
/** Output of both workers. */
const SLOTS = 8;
const USAGE = { inputTokens: 900, outputTokens: 100, cachedInputTokens: 0 };
const ANSWER: Answer = {
  toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }],
  usage: USAGE,
};
const LINE = `run -a email-search --dataset ${QUESTIONS} --model-id anthropic/claude-sonnet-4-5 --no-judge --quiet`;

describe("a queued run with two workers", needs("redis"), () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let answer: (request: ParsedRequest) => Answer | Promise<Answer>;
  /** When each request arrived. */
  let times: number[] = [];
  const workers = new Workers(folder, () => redis.url);
  const variables = () => ({
    ART_E_QUEUE_URL: redis.url,
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: provider.url,
    OPENAI_API_KEY: "of-the-judge",
    OPENAI_BASE_URL: `${provider.url}/v1`,
  });

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    redis = await startRedis();
    provider = await startFakeProvider(async (request) => {
      times.push(performance.now());
      return answer(request);
    });
    answer = () => ANSWER;
    for (const name of ["a", "b"]) workers.start(name, `--concurrency ${SLOTS / 2}`, variables());
    await vi.waitFor(async () => expect(await listWorkers(redis.client)).toHaveLength(2), { timeout: 60_000 });
  });
  afterEach(() => {
    answer = () => ANSWER;
    times = [];
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
    await provider?.close();
  });

  it("sends no more requests than --rpm allows one process", { tags: ["slow"] }, async () => {
    // Two per second: the eighth starts three seconds after the first. On a busy machine the first arrives late.
    expect(await artE(`${LINE} -l 8 --rpm 120`, variables())).toMatchObject({ code: 0 });
    expect(times).toHaveLength(8);
    expect((times[7] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_500);
  });

  it("waits when the --tpm limit is reached, but lets running calls finish", { tags: ["slow"] }, async () => {
    const run = start(`${LINE} -l 20 --tpm 3000`, variables());
    const waiting = async () =>
      (await listWorkers(redis.client)).map(({ runs }) => Object.values(runs).map(({ waitingFor }) => waitingFor));
    await expect.poll(waiting, { timeout: 60_000 }).toEqual([["tokens"], ["tokens"]]);
    expect(times.length).toBeGreaterThanOrEqual(3);
    expect(times.length).toBeLessThanOrEqual(3 + SLOTS);
    await interruptTwice(run.child);
    expect(await run.ended).toMatchObject({ code: 130 });
    await artE("queue clean --all", variables());
  });

  it.each([
    ["--max-run-tokens 10000", 10],
    ["--max-cost 0.042", 10],
  ])("starts no task that does not fit into %s", async (flag, tasks) => {
    answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return ANSWER;
    };
    const { code, stderr } = await artE(`${LINE} -l 30 ${flag} -o limited.json`, variables());
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${flag} is reached`) });
    expect(times).toHaveLength(tasks);
    expect(readJson("limited.json")).toMatchObject({
      totalTasks: times.length,
      usage: { inputTokens: 900 * times.length, outputTokens: 100 * times.length },
    });
  });

  it("exceeds --max-cost only by the running calls if the server reports the cost of replies", async () => {
    answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { ...ANSWER, costUsd: 0.5 };
    };
    const line = LINE.replace(/--model-id \S+/, "--model-id openai/gpt-4.1").concat(
      ` --base-url ${provider.baseUrl("openai-chat")}`,
    );
    const { code } = await artE(`${line} -l 24 --max-cost 1 -o dear.json`, variables());
    expect(code).toBe(1);
    expect(times.length).toBeLessThan(2 + SLOTS);
    expect(readJson("dear.json").spent.costUsd).toBeCloseTo(times.length * 0.5, 10);
  });

  it("makes no call once --max-run-tokens is reached, and keeps every billed reply", async () => {
    // From the fifth task on, tasks take ten calls.
    let tasks = 0;
    answer = async ({ turn, question }) => {
      const number = turn === 0 ? ++tasks : tasks;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return number <= 4 || turn === 9
        ? ANSWER
        : { toolCalls: [{ name: "email_search", arguments: { query: question } }], usage: USAGE };
    };
    const { code } = await artE(`${LINE} -l 24 --max-run-tokens 15000 -o stopped.json`, variables());
    expect(code).toBe(1);
    expect(times.length).toBeGreaterThanOrEqual(15);
    expect(times.length).toBeLessThan(15 + SLOTS);
    const { spent, totalTasks } = readJson("stopped.json");
    expect(spent.usage).toMatchObject({ inputTokens: 900 * times.length, outputTokens: 100 * times.length });
    answer = () => ANSWER;
    const resumed = await artE("run --resume latest --max-run-tokens 1000000 -o whole.json --quiet", variables());
    expect(resumed).toMatchObject({ code: 0 });
    const whole = readJson("whole.json");
    expect(whole).toMatchObject({ totalTasks: 24, completedTasks: 24 });
    expect(whole.spent.usage.inputTokens).toBe(spent.usage.inputTokens + 900 * (24 - totalTasks));
  });

  it("stops at --max-failures, which counts the failures of both workers", async () => {
    answer = async ({ question }) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return question.length % 2 === 0 ? { fail: "status", status: 400 } : ANSWER;
    };
    const { code, stderr } = await artE(`${LINE} -l 40 --max-failures 5 -o failing.json`, variables());
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("--max-failures 5 is reached") });
    const { totalTasks, completedTasks } = readJson("failing.json");
    expect(totalTasks - completedTasks).toBeGreaterThanOrEqual(5);
    expect(totalTasks - completedTasks).toBeLessThanOrEqual(5 + SLOTS);
    expect(times.length).toBe(totalTasks);
  });

  it("slows both workers when the server rejects a request", { tags: ["slow"] }, async () => {
    let refusedAt = 0;
    answer = async () => {
      if (times.length === 12) {
        refusedAt = performance.now();
        return { fail: "status", status: 429, headers: { "retry-after": "3" } };
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
      return ANSWER;
    };
    expect(await artE(`${LINE} -l 40`, variables())).toMatchObject({ code: 0 });
    expect(times).toHaveLength(41);
    const meanwhile = times.filter((time) => time > refusedAt && time < refusedAt + 2_500);
    // The other worker alone would have requested all the rest.
    expect(meanwhile.length).toBeLessThanOrEqual(2 * SLOTS);
  });

  it("judges in the workers, with their keys, and counts the cost", async () => {
    answer = ({ tools }) =>
      tools.includes("return_final_answer")
        ? ANSWER
        : { toolCalls: [{ name: tools[0] ?? "", arguments: { reason: "as said", verdict: "correct" } }], usage: USAGE };
    const line = LINE.replace("--no-judge", "--judge openai/gpt-4.1-mini");
    expect(await artE(`${line} -l 10 -o judged.json`, variables())).toMatchObject({ code: 0, stderr: "" });
    expect(times).toHaveLength(20);
    const keys = provider.requests
      .slice(-20)
      .map(({ headers }) => headers.authorization ?? `Bearer ${headers["x-api-key"]}`);
    expect(new Set(keys)).toEqual(new Set(["Bearer k", "Bearer of-the-judge"]));
    const { scores, taskResults } = readJson("judged.json") as {
      scores: Record<string, unknown>;
      taskResults: { judgeCostUsd: number }[];
    };
    expect(scores.judgeCorrect).toMatchObject({ value: 1, n: 10 });
    for (const { judgeCostUsd } of taskResults) expect(judgeCostUsd).toBeCloseTo(900 * 0.4e-6 + 100 * 1.6e-6, 9);
    // The judge's cost counts: an answer costs 0.0042, a verdict of the larger model 0.0026.
    times = [];
    const limited = await artE(`${line.replace("gpt-4.1-mini", "gpt-4.1")} -l 24 --max-cost 0.0419`, variables());
    expect(limited).toMatchObject({ code: 1, stderr: expect.stringContaining("--max-cost 0.0419 is reached") });
    expect(times.length / 2).toBeLessThanOrEqual(7 + SLOTS);
  });

  it("sends no further request in a repeat with --cache, and uses the coordinator's evals", async () => {
    write("brief.json", briefEval(5, { name: "has_answer" }));
    expect(await artE("evals add brief.json")).toMatchObject({ code: 0 });
    const first = await artE(`${LINE} -l 10 --cache --scorers eval:has_answer@1,tokenF1 -o one.json`, variables());
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(times).toHaveLength(10);
    expect(readJson("one.json").scores["eval:has_answer"]).toMatchObject({ value: 1, n: 10 });
    const again = await artE("run --repeat latest --cache --quiet -o two.json", variables());
    expect(again).toMatchObject({ code: 0 });
    expect(times).toHaveLength(10);
    expect(readJson("two.json").scores).toEqual(readJson("one.json").scores);
    await artE("export-traces --run latest -o two.jsonl");
    expect(jsonLines(read("two.jsonl")).every(({ turns }) => turns[0].cached)).toBe(true);
  });
});
