import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENRON, needs, slow } from "../../machine-requirements.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { machinesStart } from "../../suites/machines-start.js";
import { interruptTwice, jsonLines, MAIL, QUESTIONS, ROOT, type Started, workFolder } from "../art-e.js";
import { providerVariables, shell, startScriptedAgent } from "../suites/scripted-agent.js";
import { comparable, Workers } from "./queue-setup.js";

describe("runs with a queue", () => {
  /** Runs over a queue have the same results as runs in one process. */

  const folder = workFolder({ mail: MAIL });
  const { artE, path, read, readJson, start } = folder;
  const PASSWORD = "a-password-of-redis";
  const workers = new Workers(folder, () => redis.url);
  let redis: RedisServer;
  let provider: FakeProvider;
  /** Delay before each reply. */
  let delayMs = 0;

  describe("a queued run", needs("redis"), () => {
    beforeAll(async () => {
      copyFileSync(path("art-e.db"), path("mail.db"));
      redis = await startRedis({ password: PASSWORD });
      provider = await startFakeProvider(async ({ turn, question }) => {
        await delay(delayMs);
        return turn === 0
          ? { toolCalls: [{ name: "email_search", arguments: { query: question } }], usage: USAGE }
          : { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }], usage: USAGE };
      });
      for (const name of ["a", "b"]) workers.start(name, "--concurrency 4", keys());
    });
    afterAll(async () => {
      await workers.close();
      await redis?.close();
      await provider?.close();
    });

    const USAGE = { inputTokens: 1_000, outputTokens: 50, cachedInputTokens: 0 };
    const keys = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
    const TASKS = 24;
    const queue = () => ({ ART_E_QUEUE_URL: redis.url });
    const traces = async (name: string) => {
      const { code } = await artE(`export-traces --run latest -o ${name} --overwrite`);
      expect(code).toBe(0);
      return jsonLines(read(name));
    };

    it("gives the same answers, sources, tool calls and scores as a run in one process, and leaves Redis empty", async () => {
      const line = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l ${TASKS} --epochs 2 --quiet`;
      expect((await artE(`${line} -o here.json`)).code).toBe(0);
      const here = await traces("here.jsonl");
      const over = await artE(`${line} -o over.json`, queue());
      expect(over).toMatchObject({ code: 0 });
      const there = await traces("there.jsonl");
      expect(there).toHaveLength(2 * TASKS);
      expect(there.map(comparable)).toEqual(here.map(comparable));
      const { totalTasks, completedTasks, avgSemanticScore, status } = readJson("over.json");
      expect({ totalTasks, completedTasks, status }).toEqual({
        totalTasks: 2 * TASKS,
        completedTasks: 2 * TASKS,
        status: "completed",
      });
      expect(avgSemanticScore).toBe(readJson("here.json").avgSemanticScore);
      const left = async () => (await redis.client.keys("*")).filter((key) => !/^art-e:worker/.test(key));
      await expect.poll(left).toEqual([]);
    });

    it("stops at --max-cost after at most the running calls, and continues with --resume", {
      tags: ["slow"],
    }, async () => {
      const line = `run -a email-search --dataset ${QUESTIONS} -l ${TASKS} --base-url ${provider.url} --model-id anthropic/claude-sonnet-4-5`;
      const before = provider.requests.length;
      // A task costs 2 * (1000 * 3 + 50 * 15) / 1e6 = 0.0075 dollars. The keys are the workers' own.
      const stopped = await artE(`${line} --max-cost 0.075 -o limited.json --quiet`, queue());
      expect(stopped.code).toBe(1);
      expect(stopped.stderr).toContain("--max-cost 0.075 is reached");
      const asked = (provider.requests.length - before) / 2;
      expect(asked).toBe(10);
      expect(readJson("limited.json").totalTasks).toBe(asked);
      const { code, stdout, stderr } = await artE(
        `run --resume latest --max-cost 10 --queue ${redis.url} --json --verbose`,
      );
      expect(code).toBe(0);
      expect((provider.requests.length - before) / 2).toBe(TASKS);
      expect(JSON.parse(stdout)).toMatchObject({
        totalTasks: TASKS,
        completedTasks: TASKS,
        usage: { inputTokens: 2_000 * TASKS },
      });
      // Both workers have answered, and no output shows the password.
      const said = [stdout, stderr, ...["a", "b"].map((name) => workers.named(name).said())].join("\n");
      expect(said).toContain("worker a is working on run");
      expect(said).toContain("worker b is working on run");
      expect(said).not.toContain(PASSWORD);
      expect(read("art-e.db")).not.toContain(PASSWORD);
    });

    it("finishes the workers' tasks at the first Ctrl-C, stops at the second, and can be resumed. Workers end the same way", {
      tags: ["slow"],
    }, async () => {
      delayMs = 100;
      const before = provider.requests.length;
      const own = { ...queue(), ...keys() };
      const line = `run -a email-search --dataset ${QUESTIONS} -l 40 --model-id anthropic/claude-sonnet-4-5`;
      const first = start(line, own);
      await provider.received(before + 16);
      first.child.kill("SIGINT");
      const once = await first.ended;
      expect(once.code).toBe(130);
      expect(once.stderr).toMatch(/Stopping: \d+ tasks? in flight will be finished/);
      const saved = Number(/(\d+) of 40 tasks are saved/.exec(once.stderr)?.[1]);
      expect(2 * saved).toBe(provider.requests.length - before);
      const second = start("run --resume latest", own);
      await provider.received(before + 2 * saved + 16);
      await interruptTwice(second.child);
      expect((await second.ended).code).toBe(130);
      const last = await artE("run --resume latest -o all.json", own);
      expect(last).toMatchObject({ code: 0 });
      expect(readJson("all.json")).toMatchObject({ totalTasks: 40, completedTasks: 40 });
      expect(provider.requests.length - before).toBe(2 * 40);
      for (const { child, ended } of ["a", "b"].map((name) => workers.named(name))) {
        child.kill("SIGTERM");
        expect(await ended).toMatchObject({ code: 0 });
      }
    });
  });
});

describe("the published questions with a queue", needs("redis"), () => {
  /** The real questions over real mail have the same results with two workers as in one process. */

  const folder = workFolder();
  const { artE, path, read, readJson } = folder;
  const TASKS = 60;

  describe("about real mail", slow(needs("real-mail")), () => {
    let redis: RedisServer;
    let provider: FakeProvider;
    const workers = new Workers(folder, () => redis.url);

    beforeAll(async () => {
      expect(await artE(`import ${join(ENRON, "maildir.tar.gz")} --db mail.db --quiet`)).toMatchObject({ code: 0 });
      copyFileSync(path("mail.db"), path("art-e.db"));
      redis = await startRedis();
      // A model that searches, reads the first email found, and quotes it.
      provider = await startFakeProvider(({ turn, question, results }) => {
        if (turn === 0) return { toolCalls: [{ name: "email_search", arguments: { query: question } }] };
        const found = /<[^<>"\\]+>/.exec(results[0]?.content ?? "")?.[0];
        if (turn === 1 && found !== undefined) {
          return { toolCalls: [{ name: "email_get", arguments: { message_id: found } }] };
        }
        const answer = (results[0]?.content ?? "nothing").slice(0, 400);
        return { toolCalls: [{ name: "return_final_answer", arguments: { answer, sources: found ? [found] : [] } }] };
      });
      for (const name of ["a", "b"]) workers.start(name, "--concurrency 4", variables());
    });
    afterAll(async () => {
      await workers.close();
      await redis?.close();
      await provider?.close();
    });

    const variables = () => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: provider.url });
    const traces = async (name: string) => {
      expect(await artE(`export-traces --run latest -o ${name}`)).toMatchObject({ code: 0 });
      return jsonLines(read(name));
    };

    it("give the same answers, sources and scores as in one process", async () => {
      const line = `run -a email-search --dataset ${join(ENRON, "questions.jsonl")} -l 0 --no-judge --quiet`;
      const model = "--model-id anthropic/claude-sonnet-4-5";
      expect(await artE(`${line} ${model} -o here.json`, variables())).toMatchObject({ code: 0 });
      const here = await traces("here.jsonl");
      const over = { ...variables(), ART_E_QUEUE_URL: redis.url };
      expect(await artE(`${line} ${model} -o over.json`, over)).toMatchObject({ code: 0 });
      const there = await traces("there.jsonl");
      expect(there).toHaveLength(TASKS);
      expect(there.map(withoutIds)).toEqual(here.map(withoutIds));
      const { scores, usage, costUsd } = readJson("here.json");
      expect(readJson("over.json")).toMatchObject({ totalTasks: TASKS, completedTasks: TASKS, scores, usage });
      expect(readJson("over.json").costUsd).toBeCloseTo(costUsd, 9);
      expect(Object.keys(scores).length).toBeGreaterThan(5);
      expect(workers.named("a").said() + workers.named("b").said()).toContain("is working on run");
    });
  });

  /** The server counts its replies and calls over all runs. */
  // biome-ignore lint/suspicious/noExplicitAny: lines of exported traces.
  function withoutIds(trace: any) {
    return JSON.parse(JSON.stringify(comparable(trace)).replace(/"(call|msg|toolu)_[\w-]+"/g, '"an id"'));
  }
});

describe("a suite with a queue", needs("redis"), () => {
  /** Suite tasks over a queue: done in the worker's machines, and graded with its own copy of the suite. */

  const SUITE = join(ROOT, "fixtures/suites/demo");
  const [KILNS, LAMPS] = ["142a807f", "8cb2db91"];
  const { artE, path, readJson, start } = workFolder();

  describe("whose tasks have machines", needs("sandbox", machinesStart), () => {
    let redis: RedisServer;
    let provider: FakeProvider;
    const workers: Started[] = [];
    const variables = () => ({ ...providerVariables(provider), ART_E_QUEUE_URL: redis.url });

    beforeAll(async () => {
      redis = await startRedis();
      provider = await startScriptedAgent((instruction) =>
        instruction.includes("kiln") ? [shell("grep 'kiln 3' ~/Desktop/kilns.log > ~/Desktop/kiln3.txt")] : [],
      );
    });
    afterAll(async () => {
      for (const { child, ended } of workers) {
        child.kill("SIGTERM");
        await ended;
      }
      await redis?.close();
      await provider?.close();
    });

    function startWorker(name: string, flags: string): { said(): string } {
      const worker = start(`worker --db ${name}.db --name ${name} --concurrency 2 ${flags}`, variables());
      workers.push(worker);
      let text = "";
      worker.child.stderr?.on("data", (more: string) => {
        text += more;
      });
      return { said: () => text };
    }

    it("gets the same grades as in one process if the worker has no mail, and rejects other folders", {
      tags: ["slow"],
    }, async () => {
      cpSync(SUITE, path("same/demo"), { recursive: true });
      cpSync(SUITE, path("other/demo"), { recursive: true });
      const folder = path("other/demo/examples/terminal");
      const [id = ""] = readdirSync(folder);
      const file = join(folder, id, `${id}.json`);
      writeFileSync(file, readFileSync(file, "utf8").replace(/"instruction": "/, '"instruction": "Please: '));

      const line = `run --suite ${SUITE} --task ${KILNS},${LAMPS} -a data-worker --quiet`;
      expect(await artE(`${line} -o here.json`, providerVariables(provider))).toMatchObject({ code: 0, stderr: "" });
      const asked = provider.requests.length;
      const run = artE(`${line} -o over.json`, variables());
      const other = startWorker("other", `--suite ${path("other/demo")}`);
      await expect
        .poll(other.said, { timeout: 60_000 })
        .toContain("the tasks or files of its suite demo differ from the suite on this machine");
      expect(provider.requests.length).toBe(asked);
      const same = startWorker("same", `--suite ${path("same/demo")}`);
      expect(await run).toMatchObject({ code: 0, stderr: "" });
      expect(same.said()).toContain("same is working on run");
      const grades = (name: string) =>
        readJson(name).taskResults.map(({ taskId, suite, scores, ending }: Record<string, unknown>) => ({
          taskId,
          suite,
          scores,
          ending,
        }));
      expect(grades("over.json")).toEqual(grades("here.json"));
      expect(grades("over.json").map(({ scores }: { scores: object }) => scores)).toEqual([
        { taskScore: 1, taskSolved: 1 },
        { taskScore: 0, taskSolved: 0 },
      ]);
      await expect.poll(() => redis.client.keys("art-e:{*")).toEqual([]);
    });
  });
});

describe("a queue with TLS", () => {
  /** A Redis server with TLS (rediss://) and a self-signed certificate. */

  const folder = workFolder({ mail: MAIL });
  const { artE, path, start, readJson } = folder;
  const PASSWORD = "a-password-over-tls";

  const canTls =
    spawnSync("sh", ["-c", "ldd $(command -v redis-server) | grep -q libssl && openssl version"]).status === 0;

  describe("a URL with rediss", needs("redis", canTls), () => {
    let redis: RedisServer;
    const workers = new Workers(folder, () => redis.url);
    /** Node's own way to trust a certificate. */
    const trusted = () => ({ ART_E_QUEUE_URL: redis.url, NODE_EXTRA_CA_CERTS: path("cert.pem") });

    beforeAll(async () => {
      copyFileSync(path("art-e.db"), path("mail.db"));
      const [cert, key] = [path("cert.pem"), path("key.pem")];
      const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
      const made = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
      ];
      expect(spawnSync("openssl", [...made, ...subject, "-keyout", key, "-out", cert]).status).toBe(0);
      redis = await startRedis({ password: PASSWORD, tls: { cert, key } });
      workers.start("a", "", trusted());
    });
    afterAll(async () => {
      await workers.close();
      await redis?.close();
    });

    it("works for a run", async () => {
      const line = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 2 --quiet -o over.json`;
      expect(await start(line, trusted()).ended).toMatchObject({ code: 0, stderr: "" });
      expect(readJson("over.json")).toMatchObject({ totalTasks: 2, completedTasks: 2 });
      expect(workers.named("a").said()).toContain(`takes tasks from rediss://127.0.0.1:${redis.port}`);
      expect(workers.named("a").said()).not.toContain(PASSWORD);
    });

    it("rejects an untrusted certificate, and does not show the password", async () => {
      const { code, stderr } = await artE("queue status --verbose", { ART_E_QUEUE_URL: redis.url });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/: self.signed certificate/),
      });
      expect(stderr).not.toContain(PASSWORD);
    });
  });
});
