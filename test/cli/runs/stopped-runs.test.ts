import { spawnSync } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { importSource } from "../../import-source.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { boxLines, demoQuestions, MAIL, MARCUS, QUESTIONS, ROOT, startProgram, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

describe("programs and signals", () => {
  /** A signal ends the program, even if a thread is busy. */

  const { path, start, write } = workFolder({ mail: MAIL });

  /** In the middle of an SQLite statement that takes minutes. Only ending the process can end it. */
  const BUSY = `
  ${importSource("cli/interrupts", "listenForInterrupt")}
  ${importSource("platform/worker-rpc", "WorkerRpc")}
  const thread = new WorkerRpc(new URL("./busy-thread.mjs", import.meta.url), { data: null, youngGenerationMb: 4 });
  const interrupts = listenForInterrupt();
  interrupts.signal.addEventListener("abort", async () => {
    if (process.argv[2] !== "closes") return;
    await thread.close();
    interrupts.close();
  });
  thread.call("count").catch(() => undefined);`;

  const THREAD = `
  import { writeSync } from "node:fs";
  import { parentPort } from "node:worker_threads";
  import Database from ${JSON.stringify(join(ROOT, "node_modules/better-sqlite3/lib/index.js"))};
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  parentPort.on("message", () => {
    const statement = new Database(":memory:").prepare(endless);
    writeSync(1, "busy");
    statement.get();
  });`;

  const ENDS = "%s ends a program if sent %s during a long statement in a thread (the thread %s)";
  it.each([["SIGTERM", "once", "closes"]] as const)(ENDS, expectEnd);
  it.each([["SIGINT", "twice", "stays"]] as const)(ENDS, { tags: ["slow"] }, expectEnd);

  async function expectEnd(signal: NodeJS.Signals, often: "once" | "twice", how: string): Promise<void> {
    write("busy.mjs", BUSY);
    write("busy-thread.mjs", THREAD);
    const { child, ended } = startProgram(path(""), process.execPath, [path("busy.mjs"), how], {});
    const says = (stream: "stdout" | "stderr", word: string) =>
      new Promise<void>((resolve) => {
        child[stream]?.on("data", (text: string) => text.includes(word) && resolve());
      });
    const stopping = says("stderr", "Stopping");
    await says("stdout", "busy");
    // Within the statement, not before it: after another second of processor time.
    const worked = () => spawnSync("ps", ["-o", "time=", "-p", String(child.pid)], { encoding: "utf8" }).stdout;
    const before = worked();
    await expect.poll(worked).not.toBe(before);
    child.kill(signal);
    await stopping;
    if (often === "twice") child.kill(signal);
    await ended;
    expect(child.signalCode ?? child.exitCode).toBe(signal);
  }

  // Other tests cover the other signals for both programs.
  it.each([
    ["SIGHUP", "serve", "--port 0"],
    ["SIGHUP", "mcp", `--inbox ${MARCUS} --http --port 0`],
    ["SIGTERM", "mcp", `--inbox ${MARCUS} --http --port 0`],
  ] as const)("%s ends %s", async (signal, command, flags) => {
    const { child, ended } = start(`${command} ${flags}`);
    await new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
    child.kill(signal);
    expect((await ended).code).toBe(0);
  });
});

describe("a server that dies", () => {
  /**
   * An unresponsive server: the run does not wait for it to the end. The waits between HTTP attempts are the real ones.
   */

  const { artE } = workFolder({ mail: MAIL });
  const RUN = `run -a email-search --dataset ${QUESTIONS} --concurrency 4`;
  let provider: FakeProvider | undefined;

  afterEach(() => provider?.close());

  /** A port without a listener, below the system's range for other tests' servers. */
  async function closedPort(): Promise<number> {
    for (let port = 20_000; ; port++) {
      const server = createServer();
      const isFree = await new Promise<boolean>((resolve) => {
        server.once("error", () => resolve(false));
        server.listen(port, "127.0.0.1", () => resolve(true));
      });
      if (!isFree) continue;
      await new Promise((resolve) => server.close(resolve));
      return port;
    }
  }

  it("stops the run with the cause, and the run continues when the server is back", { timeout: 180_000 }, async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const key = { ANTHROPIC_API_KEY: "test-key" };
    const { code, stdout, stderr } = await artE(`${RUN} -l 6`, { ...key, ANTHROPIC_BASE_URL: url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^(Answering 0% {2}Waiting: .*ECONNREFUSED.*; next try in \d+ s \(\d of \d tasks?\) .*\n(Answering .*\n)*)art-e: Run run_\S+ stopped: the server does not answer \(connection refused\): anthropic\/\S+ connection failed: .*ECONNREFUSED.* \(after 6 attempts\)\.\n {7}0 of 6 tasks are saved\. Check that it is running and reachable, then continue: art-e run --resume run_\S+\n$/,
    );
    provider = await startFakeProvider(() => ({ content: "an answer" }));
    // The URL belongs to the run: another one requires --force.
    const line = `run --resume latest --force --base-url ${provider.url} --json`;
    const resumed = await artE(line, key);
    expect(resumed.code).toBe(0);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "completed", totalTasks: 6, failedTasks: 0 });
  });

  const WEB_PAGES = "stops the run immediately, and the reason is shown, if it sends web pages to %s";
  it.each(["anthropic/claude-sonnet-4-5"])(WEB_PAGES, expectStop);
  it.each(["openai/gpt-4.1", "google/gemini-2.5-flash"])(WEB_PAGES, { tags: ["slow"] }, expectStop);

  async function expectStop(model: string): Promise<void> {
    const server = createHttpServer((request, response) => {
      request.resume().on("end", () => response.end("<!DOCTYPE html><html><body>Log in</body></html>"));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", GOOGLE_API_KEY: "k" };
    const line = `${RUN} -l 30 --model-id ${model} --base-url http://127.0.0.1:${port} --no-judge`;
    const { code, stderr } = await artE(line, keys);
    server.close();
    expect(code).toBe(1);
    expect(stderr).toContain("the server returned a web page (HTML) instead of an API response.\n");
    expect(stderr).not.toContain("attempts");
  }
});

describe("resuming a run", () => {
  const { artE, read, readJson, write } = workFolder({ mail: MAIL });
  const USAGE = { inputTokens: 10_000, outputTokens: 1_000, cachedInputTokens: 0 };
  /** At $2 and $10 per million. */
  const TASK_USD = 0.03;
  let provider: FakeProvider;
  let down = new Set<string>();
  /** Looks something up twice before it answers. Each turn costs as much as a task. */
  let dear: FakeProvider;

  beforeAll(async () => {
    dear = await startFakeProvider(({ turn }) =>
      turn < 2
        ? { toolCalls: [{ name: "email_get", arguments: { message_id: "<a@b>" } }], usage: USAGE }
        : { content: "an answer", usage: USAGE },
    );
    provider = await startFakeProvider(({ question }) =>
      down.has(question) ? { fail: "status", status: 400, message: "no" } : { content: "an answer", usage: USAGE },
    );
    stoppedId = await stoppedRun();
  });

  afterAll(() => Promise.all([provider.close(), dear.close()]));

  const variables = () => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
  const run = (line: string) => artE(line, variables());
  const RUN = `run -a email-search --dataset ${QUESTIONS} --concurrency 1`;
  const runs = async () => JSON.parse((await artE("stats --runs --json")).stdout) as { id: string; status: string }[];
  const questionOf = (id: number) => demoQuestions.find((question) => question.id === id)?.question ?? "";
  /** Of two tasks. */
  const LIMIT = TASK_USD * 2;

  /** A run of six tasks that its budget stopped after two, and that no test resumes. */
  let stoppedId = "";
  const stopped = async () => (await runs()).find(({ id }) => id === stoppedId);

  /** Another such run. Returns its id. */
  async function stoppedRun(): Promise<string> {
    const { code, stdout } = await run(`${RUN} -l 6 --max-cost ${LIMIT} --json`);
    expect(code).toBe(1);
    return JSON.parse(stdout).runId as string;
  }

  describe("--max-cost", () => {
    it("stops a run, shows the command to resume it, and applies until replaced, and the results file keeps its path", async () => {
      const before = provider.requests.length;
      const { code, stderr, stdout } = await run(`${RUN} -l 6 --max-cost ${LIMIT} -o stopped.json`);
      const stopped = resultsSchema.parse(readJson("stopped.json"));
      const { runId } = stopped;
      expect(code).toBe(1);
      expect(stderr).toBe(
        `art-e: Run ${runId} stopped: --max-cost ${LIMIT} is reached: $0.0600 spent, including judging.\n       2 of 6 tasks are saved. Continue with a higher limit: art-e run --resume ${runId} --max-cost USD\n`,
      );
      expect(stopped).toMatchObject({ status: "interrupted", plannedTasks: 6, totalTasks: 2, completedTasks: 2 });
      expect(stopped.limits).toMatchObject({ maxCostUsd: LIMIT, maxTokens: null });
      expect(boxLines(stdout).Status).toBe("interrupted: 2 of 6 tasks");
      expect(boxLines(stdout).Run).toBe(runId);
      expect(provider.requests.length - before).toBe(2);

      // The limit belongs to the run: it applies if not given again, and is shown.
      expect(await run(`run --resume ${runId}`)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`art-e: limits of run ${runId}: --max-cost ${LIMIT}. Pass one again`),
      });
      expect(provider.requests.length - before).toBe(2);
      expect(await run(`run --resume latest --max-cost ${TASK_USD * 3}`)).toMatchObject({ code: 1 });
      expect(provider.requests.length - before).toBe(3);

      // Without --output, the file is written to the same path as before.
      expect(await run("run --resume latest --max-cost 9 --quiet")).toMatchObject({ code: 0, stderr: "" });
      const whole = resultsSchema.parse(readJson("stopped.json"));
      expect(whole).toMatchObject({
        runId,
        status: "completed",
        plannedTasks: 6,
        totalTasks: 6,
        completedTasks: 6,
        usage: { inputTokens: 60_000 },
      });
      expect(whole.costUsd).toBeCloseTo(6 * TASK_USD, 12);
      expect(whole.taskResults.slice(0, 2)).toEqual(stopped.taskResults);
      expect(whole.settings.changes).toBeUndefined();
      expect(provider.requests.length - before).toBe(6);
      expect((await runs())[0]).toMatchObject({ id: runId, status: "completed" });
    });

    it("requires a known price, or --price", async () => {
      const line = `${RUN} --model-id anthropic/claude-nobody-knows -l 4`;
      const refused = await run(`${line} --max-cost 1`);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain(
        "Cannot enforce --max-cost: the price of anthropic/claude-nobody-knows is unknown.",
      );
      const { code, stdout } = await run(`${line} --max-cost 0.12 --price 4,20 --json`);
      expect(code).toBe(1);
      expect(JSON.parse(stdout).totalTasks).toBe(2);
      expect(JSON.parse(stdout).costUsd).toBeCloseTo(2 * 0.06, 12);
    });
  });

  describe("the limits of a resumed run", () => {
    it.each([
      ["--max-run-tokens 11000", "--max-run-tokens 11000 is reached: 11000 used."],
      ["--max-time 0.0000001", "--max-time is over."],
      ["--max-failures 1", "--max-failures 1 is reached."],
    ])("apply %s after a resume", async (flag, why) => {
      down = new Set(flag.startsWith("--max-failures") ? demoQuestions.map(({ question }) => question) : []);
      const first = await run(`${RUN} -l 4 ${flag}`);
      expect(first).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
      const asked = provider.requests.length;
      const again = await run("run --resume latest");
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
      expect(again.stderr).toContain(`${flag.replace("0.0000001", "1e-7")}. Pass one again to change it.`);
      expect(provider.requests.length - asked).toBe(flag.startsWith("--max-failures") ? 1 : 0);
      down = new Set();
    });

    it("apply when the run is repeated, and are shown", async () => {
      const { code, stderr } = await run(`run --repeat ${stoppedId}`);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^art-e: limits of run run_\S+: --max-cost 0\.06\. Pass one again/);
    });

    it("end a task as out_of_budget before its next turn if --max-task-cost is reached, and only that task shows it", async () => {
      const line = `run -a email-search --dataset ${QUESTIONS} --ids 1,21 --concurrency 1 -o dear.json --base-url ${dear.url}`;
      expect((await run(`${line} --max-task-cost ${TASK_USD * 1.5}`)).code).toBe(0);
      const { taskResults, endings, failedTasks } = resultsSchema.parse(readJson("dear.json"));
      expect({ endings, failedTasks }).toEqual({ endings: { out_of_budget: 2 }, failedTasks: 0 });
      // Two turns cost more than the limit, so the third, which would have answered, is not requested.
      for (const task of taskResults) expect(task).toMatchObject({ turns: 2, agentAnswer: "", exactMatch: false });
      expect(dear.requests).toHaveLength(4);
      expect((await run(`${line} --max-task-cost ${TASK_USD * 3}`)).code).toBe(0);
      expect(resultsSchema.parse(readJson("dear.json")).endings).toEqual({ answered: 2 });
    });
  });

  describe("--max-cost with a judge", () => {
    it("includes the cost of judging", async () => {
      const judged = { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${provider.url}/v1` };
      // A verdict at $0.40 and $1.60 per million costs $0.0056. With it three tasks exceed the limit, without it they
      // do not.
      const line = (judge: string) => `${RUN} -l 6 ${judge} --max-cost ${TASK_USD * 3 + 0.001} --json`;
      const { code, stdout } = await artE(line("--judge openai/gpt-4.1-mini"), { ...variables(), ...judged });
      const { costUsd, totalTasks } = JSON.parse(stdout);
      expect({ code, totalTasks }).toEqual({ code: 1, totalTasks: 2 });
      expect(costUsd).toBeCloseTo(2 * TASK_USD, 9);
      expect(JSON.parse((await run(line("--no-judge"))).stdout).totalTasks).toBe(3);
    });
  });

  describe("--resume", () => {
    it("rejects changed settings with exit code 2 and a list of differences, and changes nothing", async () => {
      const before = provider.requests.length;
      const { code, stdout, stderr } = await run(
        `run --resume ${stoppedId} --max-turns 3 --temperature 0.5 --cutoff off --model-id anthropic/claude-haiku-4-5`,
      );
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      const [said, hint] = stderr.split("\n");
      expect(said).toBe(
        `art-e: Cannot resume run ${stoppedId} unchanged: model was "anthropic/claude-sonnet-5-5" and would be "anthropic/claude-haiku-4-5"; maxTurns was 10 and would be 3; temperature was null and would be 0.5; cutoff was "query_date" and would be "off".`,
      );
      expect(hint).toContain("--force");
      expect(provider.requests.length).toBe(before);
      expect(await stopped()).toMatchObject({ status: "interrupted", tasks: 2 });
    });

    it("continues at another base URL of the server, and records the URL", async () => {
      const runId = await stoppedRun();
      const elsewhere = await startFakeProvider(() => ({ content: "an answer", usage: USAGE }));
      try {
        const line = `run --resume ${runId} --max-cost 9 --base-url ${elsewhere.url} -o moved.json --json`;
        const { code, stdout, stderr } = await run(line);
        expect({ code, tasks: JSON.parse(stdout).totalTasks }).toEqual({ code: 0, tasks: 6 });
        expect(stderr).toContain(`art-e: the model server was at ${provider.url} and is at ${elsewhere.url}.`);
        expect(elsewhere.requests.length).toBeGreaterThan(0);
        const { settings } = resultsSchema.parse(readJson("moved.json"));
        expect(settings).toMatchObject({ baseUrl: elsewhere.url, changes: [expect.stringContaining(elsewhere.url)] });
      } finally {
        await elsewhere.close();
      }
    });

    it("accepts the original settings, and names the recorded server if the environment specifies another one", async () => {
      const runId = await stoppedRun();
      const line = `run --resume ${runId} --max-cost 9 -a email-search --max-turns 10 --cutoff query_date --task-timeout 600 --json`;
      const { code, stdout, stderr } = await artE(line, { ...variables(), ANTHROPIC_BASE_URL: "http://127.0.0.1:9" });
      expect({ code, tasks: JSON.parse(stdout).totalTasks }).toEqual({ code: 0, tasks: 6 });
      expect(stderr).toContain(
        `art-e: the model server is still ${provider.url}, not the one in ANTHROPIC_BASE_URL. To change it, pass --base-url URL`,
      );
    });

    it("applies changes with --force, and records each in the results file", async () => {
      const runId = await stoppedRun();
      const { code } = await run(`run --resume ${runId} --max-cost 9 --max-turns 3 --force -o forced.json`);
      expect(code).toBe(0);
      const { settings, totalTasks } = resultsSchema.parse(readJson("forced.json"));
      expect(settings).toMatchObject({ maxTurns: 3, changes: ["maxTurns was 10 and would be 3"] });
      expect(totalTasks).toBe(6);
    });

    it.each(["-l 3", "--epochs 2", "--shuffle", `--dataset ${QUESTIONS}`, "--price 1,2", "--ids 1"])(
      "rejects %s, because a run's tasks cannot be chosen again",
      async (flag) => {
        const { code, stderr } = await run(`run --resume latest ${flag}`);
        expect(code).toBe(2);
        expect(stderr).toContain(
          `${flag.replace("-l 3", "--limit 3").split(" ")[0]} does not apply to a resumed run, which keeps its tasks.`,
        );
      },
    );

    it.each(["--force", "--retry-failed"])("must be given for %s", async (flag) => {
      const { code, stderr } = await run(`${RUN} ${flag}`);
      expect(code).toBe(2);
      expect(stderr).toContain(`${flag} does not apply to a new run.`);
    });

    it("answers only the failed tasks again with --retry-failed", async () => {
      const ids = [1, 21, 50];
      down = new Set(ids.slice(0, 2).map(questionOf));
      const first = await run(`${RUN} --ids ${ids} --json`);
      expect(first.code).toBe(3);
      down = new Set();
      const before = provider.requests.length;
      const { code } = await run("run --resume latest --retry-failed -o retried.json");
      expect(code).toBe(0);
      expect(provider.requests.length - before).toBe(2);
      expect(resultsSchema.parse(readJson("retried.json"))).toMatchObject({
        runId: JSON.parse(first.stdout).runId,
        totalTasks: 3,
        failedTasks: 0,
        endings: { answered: 3 },
      });
    });
  });

  describe("--dry-run", () => {
    it("estimates the cost of a run, spends nothing and starts no run", async () => {
      const before = { requests: provider.requests.length, runs: await runs() };
      const kept = write("replies.jsonl", "as it was");
      const { code, stdout } = await run(`${RUN} -l 5 --dry-run --json --overwrite --record ${kept}`);
      expect(code).toBe(0);
      expect(read("replies.jsonl")).toBe("as it was");
      const estimate = JSON.parse(stdout);
      expect(estimate).toMatchObject({ tasks: 5, basis: expect.stringMatching(/tasks of earlier runs|a guess/) });
      expect(estimate.costUsd).toBeGreaterThan(0);
      expect({ requests: provider.requests.length, runs: await runs() }).toEqual(before);
    });

    it("counts the missing tasks of a resumed run, at --price if given", async () => {
      const { stdout } = await run(`run --resume ${stoppedId} --dry-run --json`);
      expect(JSON.parse(stdout)).toMatchObject({ tasks: 4 });
      expect(await stopped()).toMatchObject({ status: "interrupted", tasks: 2 });
      const priced = await run(`${RUN} -l 2 --price 0,1000000 --dry-run --json`);
      const { usage, costUsd } = JSON.parse(priced.stdout);
      // Tokens are shown rounded.
      expect(Math.abs(costUsd - usage.outputTokens)).toBeLessThan(1);
    });
  });

  describe("--epochs 2", () => {
    it("asks every question twice, and shows each epoch", async () => {
      const { code } = await run(`${RUN} --ids 1,2,3 --epochs 2 -o twice.json`);
      expect(code).toBe(0);
      const { taskResults, totalTasks, settings } = resultsSchema.parse(readJson("twice.json"));
      expect({ totalTasks, epochs: settings.epochs }).toEqual({ totalTasks: 6, epochs: 2 });
      expect(taskResults.map(({ taskId, epoch }) => [taskId, epoch])).toEqual([
        [1, 1],
        [1, 2],
        [2, 1],
        [2, 2],
        [3, 1],
        [3, 2],
      ]);
      const shown = JSON.parse((await artE("show latest/1/2 --json")).stdout);
      expect(shown).toMatchObject({ taskId: 1, epoch: 2, traceId: taskResults[1]?.traceId });
      expect(JSON.parse((await artE("show latest/1 --json")).stdout)).toMatchObject({ epoch: 1 });
      expect(await artE("show latest/1/3")).toMatchObject({ code: 2, stdout: "" });
    });
  });
});
