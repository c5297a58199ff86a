import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { TaskResult } from "../../../src/traces/task-result.js";
import { ENRON, needs, slow } from "../../machine-requirements.js";
import {
  answerFrames,
  DONE,
  type FakePlayground,
  frame,
  type Script,
  type SeenChat,
  startPlayground,
} from "../../providers/fake-playground.js";
import { exportedTraceSchema } from "../../trace-formats/exported-trace.js";
import {
  addressOf,
  demoQuestions,
  interruptTwice,
  jsonLines,
  MAIL,
  QUESTIONS,
  type Started,
  workFolder,
} from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

describe("an agent command", () => {
  const { artE, path, readJson, start } = workFolder({ mail: MAIL });
  const AGENT = join(import.meta.dirname, "../agents/mcp-agent.mjs");

  const commandOf = (log: string, behaviour = "answer") =>
    `"${process.execPath}" '${AGENT}' "${path(log)}" ${behaviour}`;

  /** As arguments: the command contains spaces, the flags contain none. */
  const args = (command: string, flags: string) => ["run", "--agent-command", command, "--quiet", ...flags.split(" ")];

  const run = (command: string, flags: string) => artE(args(command, `--dataset ${QUESTIONS} ${flags}`));

  /** An unreaped zombie counts as ended. */
  function isRunning(pid: number): boolean {
    const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return status === 0 && !stdout.trim().startsWith("Z");
  }

  const logLines = (name: string) => readFileSync(path(name), "utf8").trim().split("\n");

  it("answers with our tools, serves several questions, and has all its calls in the trace", async () => {
    const { code, stderr } = await run(commandOf("a.log"), "-a mine -l 6 --concurrency 2 -o a.json --price 1,2");
    expect([code, stderr]).toEqual([0, ""]);
    const results = resultsSchema.parse(readJson("a.json"));
    expect(results).toMatchObject({
      agentId: "mine",
      model: expect.stringMatching(/^command\/node/),
      completedTasks: 6,
    });
    expect(results.settings).toMatchObject({
      kind: "external",
      tools: ["email_search", "email_get"],
      externalAgent: { kind: "command", argv: [process.execPath, AGENT, path("a.log"), "answer"] },
    });
    // The tools are bound to the mailbox, so the gold email is found as with any agent, and the answer's source is
    // scored.
    expect(results.foundGold).toBe(1);
    expect(results.sourcesCorrect).toBeGreaterThan(0.5);
    expect(results.usage).toMatchObject({ inputTokens: 600, outputTokens: 60 });
    expect(results.costUsd).toBeCloseTo((600 * 1 + 60 * 2) / 1e6);
    const log = logLines("a.log");
    expect(log.filter((line) => line.endsWith("start"))).toHaveLength(2);
    expect(log.filter((line) => line.endsWith(" end"))).toHaveLength(2);
    const urls = log.flatMap((line) => /http:\S+/.exec(line) ?? []);
    expect(new Set(urls).size).toBe(6);

    const [trace] = jsonLines((await artE("export-traces")).stdout);
    expect(trace.toolCalls.map((call: { name: string }) => call.name)).toEqual(["email_search", "email_get"]);
    expect(trace.messages.map((message: { role: string }) => message.role).join(" ")).toBe(
      "user assistant tool assistant tool assistant assistant",
    );
    expect(trace.turns).toHaveLength(1);
    expect(log.join("\n")).toContain(`${trace.task.inbox_address} ${trace.task.query_date} 10 http://127.0.0.1:`);
  });

  it("starts again for the next question if it dies, and its exit is reported", async () => {
    const { code } = await run(commandOf("b.log", "crash"), "-l 2 --concurrency 1 -o b.json");
    expect(code).toBe(3);
    const { taskResults } = readJson("b.json");
    expect(taskResults).toHaveLength(2);
    for (const { ending, error } of taskResults) {
      expect(ending).toBe("model_error");
      expect(error).toMatch(/the program ended \(exit code 3\) without an answer: ready, with the key \[key\]/);
    }
    expect(new Set(logLines("b.log").map((line) => line.split(" ")[0])).size).toBe(2);
  });

  it("ends with all its children after the task timeout if it hangs", { tags: ["slow"] }, async () => {
    const { code } = await run(commandOf("c.log", "hang"), "-l 2 --concurrency 2 --task-timeout 15 -o c.json");
    expect(code).toBe(3);
    expect(readJson("c.json").endings).toEqual({ timeout: 2 });
    const pids = new Set(logLines("c.log").map((line) => Number(line.split(" ")[0])));
    expect(pids.size).toBe(2);
    for (const pid of pids) await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
  });

  it("ends at Ctrl-C, and the run can continue", async () => {
    const { child, ended } = start(args(commandOf("g.log", "hang"), `--dataset ${QUESTIONS} -l 2`));
    await expect.poll(() => existsSync(path("g.log")) && logLines("g.log").length, { timeout: 60_000 }).toBe(4);
    await interruptTwice(child);
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining("0 of 2 tasks are saved") });
    const pids = new Set(logLines("g.log").map((line) => Number(line.split(" ")[0])));
    for (const pid of pids) await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
  }, 120_000);

  it("ends a task as garbage, an error or empty, depending on its reply", async () => {
    await run(commandOf("d.log", "garbage,error,silent"), "--ids 1,2,3 --concurrency 1 -o d.json");
    expect(readJson("d.json").taskResults).toMatchObject([
      { ending: "model_error", error: expect.stringMatching(/not an answer \(answer: .*\): \{"id": 5/) },
      { ending: "model_error", error: expect.stringContaining("my model is down") },
      { ending: "out_of_turns" },
    ]);
    expect(readJson("d.json").taskResults[2]).not.toHaveProperty("error");
  });

  it("stops the run if it cannot be started, and resuming with a corrected command requires --force", async () => {
    const first = await run("no-such-program --x", "-l 1");
    expect(first.code).toBe(1);
    expect(first.stderr).toContain("no-such-program: no such file or directory");
    expect(first.stderr).toContain(
      "Check that the program exists and can be started, then continue: art-e run --resume",
    );
    expect(first.stderr).not.toContain("a model of the server");
    const other = await artE(args(commandOf("e.log"), "--resume latest"));
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("externalAgent was ") });
    const forced = await artE(args(commandOf("e.log"), "--resume latest --force"));
    expect([forced.code, forced.stderr]).toEqual([0, ""]);
  });

  it("keeps its original settings if the run is repeated or resumed", { tags: ["slow"] }, async () => {
    await run(commandOf("f.log"), "-a mine --ids 1");
    const again = await artE("run --repeat latest --json --quiet");
    expect([again.code, JSON.parse(again.stdout).completedTasks]).toEqual([0, 1]);
    const more = await artE("run --resume latest --json --quiet");
    expect([more.code, JSON.parse(more.stdout).completedTasks]).toEqual([0, 1]);
    const shown = await artE("agents show --run latest");
    expect(shown).toMatchObject({ code: 2, stderr: expect.stringContaining("is external (command)") });
  });

  it.each([
    ["--api-url http://x.example", "select different agents"],
    ["--model-id openai/gpt-4.1", "--model-id does not apply to an external agent"],
    ["--record r.jsonl", "--record does not apply to an external agent"],
    ["-w ws", "--workspace requires --api-url"],
  ])("causes an error if %s is given too", async (flags, message) => {
    const { code, stderr } = await run("true", flags);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("art-e run --api-url", () => {
  // No mail on this machine: the server has it.
  const { artE, start, readJson } = workFolder();
  let server: FakePlayground | null = null;

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  async function serving(play: (chat: SeenChat, number: number) => Script): Promise<FakePlayground> {
    server = await startPlayground(play);
    return server;
  }

  const RUN = `run -a agent_1 --dataset ${QUESTIONS} --quiet`;

  /** Answers every question with its gold answer. */
  function golden({ body }: SeenChat): Script {
    const asked = demoQuestions.find(({ question }) => body.messages[0].content.endsWith(question));
    if (asked === undefined) return { status: 400, body: '{"error":{"message":"no such question"}}' };
    return { chunks: answerFrames({ final: { answer: asked.answer, sources: asked.message_ids } }) };
  }

  it("runs a server's agent, with the same results, scores and traces as a local one", async () => {
    const { url, seen } = await serving(golden);
    const { code, stderr } = await artE(`${RUN} -l 12 --api-url ${url}/ -w ws_1 -o a.json`);
    expect([code, stderr]).toEqual([0, ""]);
    expect(seen.every(({ headers }) => headers["x-workspace-id"] === "ws_1")).toBe(true);
    const results = resultsSchema.parse(readJson("a.json"));
    expect(results).toMatchObject({
      agentId: "agent_1",
      model: "playground/agent_1",
      completedTasks: 12,
      exactMatchAccuracy: 1,
      avgSemanticScore: 1,
      sourcesCorrect: 1,
      foundGold: 1,
      readGold: 1,
      costUsd: null,
    });
    expect(results.settings).toMatchObject({
      kind: "external",
      externalAgent: { kind: "api", url, workspace: "ws_1", tellTask: false },
    });
    const [trace] = jsonLines((await artE("export-traces")).stdout);
    expect(trace).toMatchObject({
      model: "playground/agent_1",
      remote: { sessionId: "session_1", traceId: "trace_1" },
    });
    expect(exportedTraceSchema.parse(trace).toolCalls).toHaveLength(3);
  });

  it("takes the server and the workspace from the environment, and says so", async () => {
    const { url, seen } = await serving(golden);
    const variables = { API_URL: url, WORKSPACE_ID: "ws_env", API_TOKEN: "token-of-the-server" };
    const { code, stderr } = await artE(`run -a agent_1 --dataset ${QUESTIONS} -l 1 --no-progress`, variables);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`Using the agent at ${url} (API_URL).`)]);
    expect(seen[0]?.headers).toMatchObject({ "x-workspace-id": "ws_env", authorization: "Bearer token-of-the-server" });
  });

  it("resumes missing tasks only with the same server, workspace and agent", async () => {
    let down = true;
    const { url, seen } = await serving((chat) =>
      down && chat.body.messages[0].content === demoQuestions[2]?.question
        ? { chunks: [frame({ type: "error", errorText: "boom", retryable: false }), DONE] }
        : golden(chat),
    );
    const first = await artE(`${RUN} -l 4 --api-url ${url} -o b.json`);
    expect(first.code).toBe(0);
    expect(readJson("b.json")).toMatchObject({ completedTasks: 3, failedTasks: 1 });
    expect(readJson("b.json").taskResults[2]).toMatchObject({
      ending: "model_error",
      error: "playground/agent_1: boom",
    });
    down = false;
    const resume = "run --resume latest --retry-failed --quiet";
    for (const other of ["-w ws_2", "-a agent_2", "--tell-task"]) {
      const refused = await artE(`${resume} ${other}`);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Cannot resume run") });
    }
    const before = seen.length;
    // The environment does not matter to a run with a recorded server.
    const again = await artE(`${resume} -o b.json`, { API_URL: "http://127.0.0.1:9" });
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect(seen.length - before).toBe(1);
    expect(readJson("b.json")).toMatchObject({ completedTasks: 4, failedTasks: 0 });
  });

  it("stops immediately if the server does not have the agent", async () => {
    const { url, seen } = await serving(() => ({
      status: 404,
      body: '{"error":{"code":"NOT_FOUND","message":"Agent not found"}}',
    }));
    const { code, stderr } = await artE(`${RUN} -l 0 --concurrency 1 --api-url ${url}`);
    expect(code).toBe(1);
    expect(stderr).toContain("404 Agent not found (NOT_FOUND)");
    expect(seen).toHaveLength(1);
  });

  it("closes the streams at Ctrl-C, and keeps finished tasks", { tags: ["slow"] }, async () => {
    const { url, seen, open } = await serving((chat, number) =>
      number < 2 ? golden(chat) : { chunks: [frame({ type: "text-delta", text: "…" })], last: "hang" },
    );
    const { child, ended } = start(`${RUN} -l 6 --concurrency 2 --api-url ${url}`);
    await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(4);
    await interruptTwice(child);
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining("2 of 6 tasks are saved")]);
    await expect.poll(open, { timeout: 20_000 }).toBe(0);
  });

  it("sends a different model, and the mailbox in the question, on request", async () => {
    const { url, seen } = await serving(golden);
    const more = "--model-id openai/gpt-4.1 --tell-task --max-turns 4";
    const { code } = await artE(`${RUN} -l 1 --api-url ${url} ${more} -o c.json`);
    expect(code).toBe(0);
    expect(seen[0]?.body).toMatchObject({
      modelProvider: "openai",
      modelId: "openai/gpt-4.1",
      variables: { max_turns: "4" },
    });
    expect(seen[0]?.body.messages[0].content).toMatch(/^The mailbox is \S+@kestrelplains\.example\. Today is \d{4}-/);
    expect(readJson("c.json").model).toBe("openai/gpt-4.1");
  });

  it("calls an OpenAI-compatible endpoint with --agent-url, and counts its tokens", async () => {
    const { url, seen } = await serving(({ body }) => {
      const asked = demoQuestions.find(({ question }) => question === body.messages[1].content);
      const content = JSON.stringify({ answer: asked?.answer, sources: asked?.message_ids });
      const reply = {
        choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 1_000, completion_tokens: 10 },
      };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(reply) };
    });
    const line = `${RUN} -l 5 --agent-url ${url}/v1 --price 2,10 -o d.json`;
    const { code, stderr } = await artE(line, { OPENAI_API_KEY: "key-of-the-endpoint" });
    expect([code, stderr]).toEqual([0, ""]);
    expect(seen[0]?.body.model).toBe("agent_1");
    expect(seen[0]?.headers.authorization).toBe("Bearer key-of-the-endpoint");
    const results = resultsSchema.parse(readJson("d.json"));
    expect(results).toMatchObject({
      model: "endpoint/agent_1",
      completedTasks: 5,
      exactMatchAccuracy: 1,
      sourcesCorrect: 1,
    });
    expect(results.settings).toMatchObject({ externalAgent: { kind: "endpoint", url: `${url}/v1` } });
    expect(results.costUsd).toBeCloseTo((5 * (1_000 * 2 + 10 * 10)) / 1e6);
  });

  it("applies --price instead of an endpoint's cost of 0, and says so once", async () => {
    const { url } = await serving(() => {
      const reply = {
        choices: [{ message: { role: "assistant", content: "No." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 1_000, completion_tokens: 10, cost: 0 },
      };
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(reply) };
    });
    const { code, stderr } = await artE(
      `run -a agent_1 --dataset ${QUESTIONS} --no-progress -l 5 --agent-url ${url}/v1 --price 2,10 -o zero.json`,
    );
    expect(code).toBe(0);
    expect(stderr.match(/.*known price.*/g)).toEqual([
      "agent_1: reports a cost of less than 1% of the known price. The price applies instead",
    ]);
    expect(resultsSchema.parse(readJson("zero.json")).costUsd).toBeCloseTo((5 * (1_000 * 2 + 10 * 10)) / 1e6);
  });

  it.each([
    ["--api-url ftp://x", "expected a server URL"],
    ["--api-url http://user:secret@x.example", "expected a server URL"],
    ["--api-url http://x.example --max-cost 1", "--max-cost does not apply to an external agent"],
    ["--api-url http://x.example --cutoff off", "--cutoff off does not apply to an external agent"],
    ["--agent-url http://x.example --max-cost 1", "the price of endpoint/agent_1 is unknown"],
    ["--tell-task", "--tell-task requires --api-url"],
  ])("rejects %s before the first request", async (flags, message) => {
    const { code, stderr } = await artE(`${RUN} ${flags}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain("secret");
  });
});

/** The parts of a result that do not depend on the run, the clock or the cost, which a server does not report. */
function worth({
  executionTimeMs: _,
  modelTimeMs: _m,
  toolTimeMs: _t,
  waitingTimeMs: _w,
  traceId: __,
  costUsd: ___,
  spent: ____,
  ...result
}: TaskResult) {
  return result;
}

interface Results {
  readonly taskResults: TaskResult[];
  readonly endings: unknown;
}

describe.each([
  ["the demo", MAIL, QUESTIONS, 24, {}],
  ["real Enron mail", join(ENRON, "emails.csv"), join(ENRON, "questions.jsonl"), 60, slow(needs("real-mail"))],
])("the agents of art-e serve over %s", (_name, mail, questions, tasks, options) => {
  describe("called by art-e run", options, () => {
    const { artE, start, readJson } = workFolder({ mail });
    let server: Started;
    let url = "";
    let here: Results;

    beforeAll(async () => {
      server = start("serve --port 0 --json --quiet");
      url = await addressOf(server);
      here = await run("here.json");
    }, 60_000);

    afterAll(async () => {
      server.child.kill("SIGTERM");
      expect((await server.ended).code).toBe(0);
    });

    const run = async (file: string, ...where: string[]): Promise<Results> => {
      const line = `run -a baseline -l ${tasks} --quiet -o ${file}`;
      const { code, stderr } = await artE([...line.split(" "), "--dataset", questions, ...where]);
      expect([code, stderr]).toEqual([0, ""]);
      return readJson(file);
    };

    it("give the same answers, scores and endings with --api-url as in this program", async () => {
      const there = await run("there.json", "--api-url", url);
      expect(there.taskResults).toHaveLength(tasks);
      expect(there.taskResults.map(worth)).toEqual(here.taskResults.map(worth));
      expect(there.endings).toEqual(here.endings);
    });

    it("give the same answers with --agent-url, but show no tool calls", async () => {
      const there = await run("endpoint.json", "--agent-url", `${url}/v1`);
      const answers = (results: Results) =>
        results.taskResults.map(({ taskId, ending, agentAnswer }) => [taskId, ending, agentAnswer]);
      expect(answers(there)).toEqual(answers(here));
    });
  });
});
