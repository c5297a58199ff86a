import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programVersion } from "../../../src/platform/program-files.js";
import { RunQueue } from "../../../src/queue/protocol/run-queue.js";
import { PROTOCOL, publishRun, type RunManifest, withdrawRun } from "../../../src/queue/protocol/shared-state.js";
import type { OwnRunSettings } from "../../../src/traces/run-settings.js";
import { needs } from "../../machine-requirements.js";
import { freePort, type RedisServer, startRedis } from "../../queue/redis-server.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { type Worker, Workers } from "./queue-setup.js";

/** Refusals of a worker and of the program over a queue, and the keys that remain in it. */

const folder = workFolder({ mail: MAIL });
const { artE, path, readJson } = folder;
const LINE = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 5 --quiet`;

describe("a queue", needs("redis"), () => {
  let redis: RedisServer;
  let worker: Worker;
  let described: RunManifest;
  const workers = new Workers(folder, () => redis.url);
  const env = () => ({ ART_E_QUEUE_URL: redis.url });

  beforeAll(async () => {
    copyFileSync(path("art-e.db"), path("mail.db"));
    redis = await startRedis();
    await artE(`${LINE} -o five.json`);
    const { settings, corpusFingerprint } = readJson("five.json") as {
      settings: OwnRunSettings;
      corpusFingerprint: string;
    };
    described = {
      protocol: PROTOCOL,
      runId: "run_x",
      programVersion: programVersion(),
      corpusFingerprint,
      suite: null,
      settings,
      tools: [],
      requests: { timeoutMs: 1_000, rpm: null, tpm: null, cache: false },
    };
    worker = workers.start("w", "", { ...env(), ANTHROPIC_API_KEY: "the-key-of-this-machine" });
  });
  afterAll(async () => {
    await workers.close();
    await redis?.close();
  });

  const command = {
    id: "evil",
    name: "evil",
    description: "x",
    parametersSchema: { type: "object" },
    handlerKey: "command",
    handlerConfig: { argv: ["touch", "evil"] },
    category: "x",
  };
  const withSettings = (changed: Partial<OwnRunSettings>) => ({ settings: { ...described.settings, ...changed } });

  it.each<[string, () => Partial<RunManifest>, RegExp]>([
    [
      "another version started",
      () => ({ programVersion: "9.9.9" }),
      /started by art-e 9\.9\.9 \(queue protocol \d+\), and this is art-e 0\./,
    ],
    [
      "uses other mail",
      () => ({ corpusFingerprint: "f".repeat(64) }),
      /requires the mail ffffffffffff, and w\.db contains/,
    ],
    [
      "has a program as a tool",
      () => ({ tools: [{ tool: command, config: null }] }),
      /tool evil .* requires --allow-programs/,
    ],
    [
      "has a tool of an unknown kind",
      () => ({ tools: [{ tool: { ...command, handlerKey: "new" }, config: null }] }),
      /requires --allow-programs/,
    ],
    ["runs Python on the host", () => withSettings({ unsafeHostPython: true }), /outside of a sandbox/],
    ["replays a file", () => withSettings({ model: "replay//etc/passwd" }), /file on another machine/],
    [
      "sends this machine's key to another server",
      () => withSettings({ model: "anthropic/claude-sonnet-4-5", baseUrl: "http://evil.example" }),
      /calls evil\.example, but this worker sends its key for anthropic there only if its ANTHROPIC_BASE_URL is/,
    ],
    [
      "needs a key that this machine does not have",
      () => withSettings({ model: "openai/gpt-4.1" }),
      /No API key for openai/,
    ],
  ])("makes a worker skip a run that %s, and report it", async (name, change, why) => {
    const runId = `run_${name.replaceAll(/\W/g, "-")}`;
    await publishRun(redis.client, { ...described, runId, ...change() }, "1");
    await expect
      .poll(() => worker.said())
      .toMatch(new RegExp(`run ${runId} is left to other workers: .*${why.source}`));
    expect(worker.said()).not.toContain("the-key-of-this-machine");
    const { stdout } = await artE("queue status --json", env());
    expect(JSON.parse(stdout).runs).toMatchObject([{ runId, workers: [], fault: null }]);
    await withdrawRun(redis.client, runId);
  });

  it("names the versions if a later version described a run in another form", async () => {
    const later = { ...described, runId: "run_later", protocol: PROTOCOL + 1, programVersion: "9.9.9", region: "eu" };
    await publishRun(redis.client, later as unknown as RunManifest, "1");
    const why = `it was started by art-e 9.9.9 (queue protocol ${PROTOCOL + 1}), and this is art-e ${programVersion()} (${PROTOCOL})`;
    await expect.poll(() => worker.said()).toContain(`run run_later is left to other workers: ${why}.`);
    const { stdout } = await artE("queue status --json", env());
    expect(JSON.parse(stdout).runs).toMatchObject([{ runId: "run_later", workers: [], fault: why }]);
    await withdrawRun(redis.client, "run_later");
  });

  it("makes a worker reject entries that art-e did not write, and continue", async () => {
    await redis.client.hset("art-e:runs", "run_strange", "1");
    await redis.client.set("art-e:{run_strange}:manifest", "no such thing");
    await expect.poll(() => worker.said()).toMatch(/run_strange is left to other workers: .* cannot be read/);
    const { stdout } = await artE("queue status", env());
    expect(stdout).toContain("run_strange");
    expect((await artE("queue clean run_strange", env())).stdout).toContain("Removed: run_strange");
    expect(await artE(LINE, env())).toMatchObject({ code: 0 });
  });

  it("rejects an invalid task, naming it, and does not run it", async () => {
    const runId = "run_tasks";
    const queue = new RunQueue(redis.client, runId);
    await publishRun(redis.client, { ...described, runId }, "1");
    const strange = { task: { id: 1, instruction: "rm -rf /" }, epoch: 1 };
    // biome-ignore lint/suspicious/noExplicitAny: an attacker's values.
    await queue.add([{ id: "e1-1", message: strange as any }]);
    await expect.poll(async () => (await queue.counts()).finished).toBe(1);
    expect(await queue.read(["e1-1"])).toEqual([
      { id: "e1-1", failure: expect.stringMatching(/^Task e1-1 is invalid: task/) },
    ]);
    await queue.close();
    expect((await artE("queue clean --all --json", env())).stdout).toContain(runId);
    await expect.poll(() => redis.client.keys("art-e:{*")).toEqual([]);
  });

  it.each([
    [
      "--concurrency 4",
      "--concurrency does not apply to a run over a queue, because its tasks are answered on other machines.",
    ],
    ["--record replies.jsonl", "--record does not apply to a run over a queue"],
    ["--agent-command cat", "An external agent is asked from this machine only."],
  ])("rejects a run if %s is given", async (flags, message) => {
    const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} --quiet ${flags}`, env());
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  it("appears without its password if it is unreachable or requires one", async () => {
    const port = await freePort();
    const gone = await artE(`${LINE} --queue redis://:hidden-word@127.0.0.1:${port}`);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toMatch(
      new RegExp(`Cannot connect to the queue at redis://127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`),
    );
    const locked = await startRedis({ password: "another-word" });
    const url = `redis://:hidden-word@127.0.0.1:${locked.port}`;
    const refused = await artE(`worker --queue ${url} --verbose`);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("WRONGPASS") });
    expect(gone.stderr + refused.stderr).not.toContain("hidden-word");
    await locked.close();
  });

  it("causes an error if the server evicts keys, because tasks would be lost", async () => {
    await redis.client.config("SET", "maxmemory", "100mb");
    await redis.client.config("SET", "maxmemory-policy", "allkeys-lru");
    const { code, stderr } = await artE("queue status", env());
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("maxmemory-policy allkeys-lru would lose tasks"),
    });
    await redis.client.config("SET", "maxmemory", "0");
  });
});
