import { copyFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { REFUSALS } from "../../queue/refusing-redis.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { type Worker, Workers } from "./queue-setup.js";

/** A Redis server that refuses commands or is away for some seconds costs neither an answer nor a paid token. */

const folder = workFolder({ mail: MAIL });
const { path, readJson, start } = folder;
const TASKS = 64;
const USAGE = { inputTokens: 200, outputTokens: 50, cachedInputTokens: 0 };
const TOKENS_PER_CALL = USAGE.inputTokens + USAGE.outputTokens;
const LINE = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --model-id anthropic/claude-sonnet-4-5 --no-progress`;
/** Several reconnection attempts fit into this time. */
const REFUSED_MS = 3_000;

describe("a queue whose Redis refuses commands", needs("redis"), () => {
  let redis: RedisServer;
  let provider: FakeProvider;
  let workers: Workers;
  let both: readonly Worker[];

  const variables = () => ({
    ART_E_QUEUE_URL: redis.url,
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: provider.url,
  });

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    provider = await startFakeProvider(async ({ turn, question }) => {
      await delay(50);
      return turn === 0
        ? { toolCalls: [{ name: "email_search", arguments: { query: question } }], usage: USAGE }
        : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }], usage: USAGE };
    });
  });
  beforeEach(async () => {
    redis = await startRedis();
    workers = new Workers(folder, () => redis.url);
    both = ["a", "b"].map((name) => workers.start(name, "--concurrency 4", variables()));
  });
  afterEach(async () => {
    await workers.close();
    await redis?.close();
  });
  afterAll(() => provider?.close());

  const stop = async ({ child, ended }: Worker) => {
    child.kill("SIGTERM");
    return (await ended).code;
  };

  it.each(Object.entries(REFUSALS))("keeps every paid token while it answers %s", async (kind, refuse) => {
    const before = provider.requests.length;
    const run = start(`${LINE} -o ${kind}.json`, variables());
    await provider.received(before + 20);
    const accept = await refuse(redis.client);
    await delay(REFUSED_MS);
    await accept();
    const { code } = await run.ended;
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
  });
});
