import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { withoutDataMarks } from "../../src/models/tool-results.js";
import { RunSubscriptions } from "../../src/runs/run-progress.js";
import { openReadOnly } from "../../src/store/open-store.js";
import type { RunProgress } from "../../src/traces/progress.js";
import { listRuns } from "../../src/traces/run-list.js";
import { needs, TRAINING } from "../machine-requirements.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { type Client, connect, DEMO_QUESTIONS, startTrainingServer, type TrainingServer } from "./training-server.js";

const QUESTIONS = readFileSync(DEMO_QUESTIONS, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { id: number; answer: string; inbox_address: string; message_ids: string[] });

const MARCUS = "marcus.hale@kestrelplains.example";
const gold = (index: number) => QUESTIONS[index] as (typeof QUESTIONS)[number];
const search = (query: string, inbox_id = MARCUS) => ["email_search", { query, inbox_id }] as const;
const answer = (text: string, sources: readonly string[] = []) =>
  ["return_final_answer", { answer: text, sources }] as const;

const HOSTILE_ARGUMENTS: readonly object[] = [
  {},
  { query: [] },
  { query: "x".repeat(20_000), inbox_id: MARCUS },
  { query: '" OR * NEAR( AND', inbox_id: MARCUS },
  { query: "\ud800\udfff", inbox_id: `${MARCUS}\u0000` },
  { query: "x", inbox_id: "%" },
  { message_id: "../../etc/passwd" },
  { message_id: "\u0000" },
  { answer: {}, sources: "x" },
];

let server: TrainingServer;
const open: TrainingServer[] = [];
async function start(changes: Parameters<typeof startTrainingServer>[0] = {}): Promise<TrainingServer> {
  const started = await startTrainingServer(changes);
  open.push(started);
  return started;
}
afterEach(async () => {
  for (const each of open.splice(0)) {
    await each.stop();
    each.remove();
  }
});

describe("an OpenEnv server", () => {
  beforeAll(async () => {
    server = await startTrainingServer();
  });
  afterAll(async () => {
    await server.stop();
    server.remove();
  });

  let client: Client;
  const begin = async (data: object) => {
    client = await connect(server.url);
    return client.reset(data);
  };
  afterEach(() => client?.close());

  it("works with the protocol's own clients", needs("training"), async () => {
    const script = join(TRAINING, "openenv_conformance.py");
    const { stdout } = await promisify(execFile)("python3", [
      script,
      server.url,
      "--capacity",
      "64",
      "--sessions",
      "64",
      "--json",
    ]);
    const rows = JSON.parse(stdout) as { id: string; result: string; detail: string }[];
    expect(rows.filter(({ result }) => result !== "PASS")).toEqual([]);
    expect(rows.length).toBeGreaterThan(40);
  });

  it("shows the task to each client, but nothing about its answer", async () => {
    const { observation, metadata, reward, done } = await begin({ index: 3, prompt: "x", difficulty: 2 });
    const { instructions, ...task } = observation.result;
    expect(observation).toMatchObject({ tool_name: "reset", error: null, metadata: task });
    expect({ metadata, reward, done }).toEqual({ metadata: task, reward: null, done: false });
    expect(task).toEqual({
      split: "test",
      index: 3,
      task_id: gold(3).id,
      inbox_address: gold(3).inbox_address,
      question: expect.any(String),
      query_date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      max_turns: 10,
      ignored: ["prompt", "difficulty"],
    });
    expect(instructions).toContain(gold(3).inbox_address);
    for (const [index, { message_ids }] of QUESTIONS.entries()) {
      const text = JSON.stringify([await client.reset({ index }), (await client.ask({ type: "state" })).data]);
      for (const id of message_ids) expect(text).not.toContain(id);
      expect(text).not.toContain('"answer"');
    }
  });

  it("always returns the same task for a seed, an index and a task_id", async () => {
    const other = await start();
    const there = await connect(other.url);
    await begin({});
    for (const asked of [{ seed: 5 }, { seed: 5 + QUESTIONS.length }, { index: 5 }, { task_id: gold(5).id }]) {
      const [here, elsewhere] = [await client.reset(asked), await there.reset({ ...asked, split: "test" })];
      expect(here.observation).toEqual(elsewhere.observation);
      expect(here.observation.result.index).toBe(5);
    }
    there.close();
  });

  it.each([
    [{ index: 10_000 }, "Unknown task 10000"],
    [{ split: "validation" }, 'Unknown split "validation". Available: test.'],
    [{ task_id: -5 }, "Unknown task_id -5"],
    [{ task_id: 1, index: 7 }, "has the index 0, not 7"],
    [{ seed: -1 }, "Invalid message"],
    [{ episode_id: "" }, "Invalid message"],
  ])("rejects a reset with %j, and continues the episode", async (data, message) => {
    await begin({ index: 1 });
    const refused = await client.ask({ type: "reset", data });
    expect(refused).toMatchObject({ type: "error", data: { code: "VALIDATION_ERROR" } });
    expect(refused.data.message).toContain(message);
    expect(await client.call(...search("nominations"))).toMatchObject({ done: false });
  });

  it.each([
    [{ tool_name: "email_search", arguments: "rent" }, ["arguments"]],
    [{ tool_name: "email_search", arguments: ["rent"] }, ["arguments"]],
    [{ arguments: {} }, ["tool_name"]],
    ["email_search", []],
  ])("rejects the step %j, names the wrong field, and continues the episode", async (data, loc) => {
    await begin({ index: 1 });
    const refused = await client.ask({ type: "step", data });
    expect(refused).toMatchObject({ type: "error", data: { code: "VALIDATION_ERROR", errors: [{ loc }] } });
    expect(await client.call(...search("nominations"))).toMatchObject({ done: false });
  });

  it("rewards the answer once, explains the reward, and has saved the trace by then", async () => {
    await begin({ index: 2, episode_id: "mine" });
    const found = await client.call(...search("price"), {
      content: "I look for the price.",
      model: "step-12",
      usage: { input_tokens: 900, output_tokens: 40 },
    });
    expect(found).toMatchObject({ reward: 0, done: false, metadata: { turns_left: 9 } });
    expect(found.observation.result.data).toEqual(
      JSON.parse(withoutDataMarks(found.observation.result.content[0].text)),
    );
    const last = await client.call(...answer(gold(2).answer, gold(2).message_ids));
    const reward = { value: 1, scorer: "semanticScore" };
    expect(last).toMatchObject({ reward: 1, done: true, metadata: { ending: "answered", reward } });
    expect(last.observation.metadata).toEqual(last.metadata);
    expect(last.metadata.scores).toMatchObject({ exactMatch: 1, sourcesCorrect: 1 });
    for (const again of [answer("x"), search("x")]) {
      expect(await client.call(again[0], again[1])).toMatchObject({
        reward: 0,
        done: true,
        observation: { result: null },
      });
    }
    expect((await client.ask({ type: "state" })).data).toMatchObject({ episode_id: "mine", ending: "answered" });

    const trace = server.stored()[0]?.traces.find(({ traceId }) => traceId === last.metadata.trace_id);
    expect(trace).toMatchObject({
      ending: "answered",
      model: "policy",
      agentId: "email-search",
      remote: { sessionId: "mine" },
      scores: { reward: { value: 1 }, exactMatch: { value: 1 } },
      turns: [{ model: "step-12", usage: { inputTokens: 900, outputTokens: 40 } }, { finishReason: "tool_calls" }],
    });
    expect(trace?.messages.map(({ role }) => role)).toEqual("system user assistant tool assistant tool".split(" "));
    expect(trace?.messages[2]).toMatchObject({ content: "I look for the price.", toolCalls: [{ id: "call_1" }] });
  });

  it("returns no email from another mailbox or a later date, whatever is requested", async () => {
    const { observation } = await begin({ index: 0 });
    const { inbox_address, query_date } = observation.result;
    const dana = await client.call(...search("the", "dana.okafor@kestrelplains.example"));
    expect(dana.observation).toMatchObject({ result: null, error: { error_type: "invalid_args" } });
    const all = await client.call("email_search", { query: "the a of to and", inbox_id: inbox_address, limit: 50 });
    const dates = all.observation.result.data.emails.map(({ date }: { date: string }) => date.slice(0, 10));
    expect(dates.length).toBeGreaterThan(0);
    expect(dates.every((date: string) => date <= query_date)).toBe(true);
  });

  it("survives 300 hostile messages, and answers each", async () => {
    await begin({ index: 0 });
    const deep = (open: string, close: string) => `{"type":"reset","data":${open.repeat(5_000)}${close.repeat(5_000)}}`;
    const odd: (string | object)[] = [
      "",
      "{",
      "nul",
      '"x"',
      "[1]",
      "1e999",
      '{"type":{}}',
      '{"type":null}',
      "\u0000",
      deep("[", "]"),
      deep('{"a":', "}"),
      '{"__proto__":{"type":"state"}}',
      '{"type":"constructor"}',
      '{"type":"toString"}',
      ...["seed", "index", "task_id", "split", "episode_id"].flatMap((key) =>
        [1e308, -0.5, "\ud800", [], {}, true, "x".repeat(10_000), "'; DROP TABLE runs; --"].map((value) => ({
          type: "reset",
          data: { [key]: value },
        })),
      ),
      ...["email_search", "email_get", "return_final_answer", "__proto__", "constructor", "x".repeat(5_000)].flatMap(
        (tool_name) => HOSTILE_ARGUMENTS.map((args) => ({ type: "step", data: { tool_name, arguments: args } })),
      ),
      ...Array.from({ length: 20 }, (_, i) => ({
        type: "mcp",
        data: { jsonrpc: "2.0", method: "x".repeat(i), id: i },
      })),
      ...Array.from({ length: 20 }, (_, i) => ({ type: "step", data: { tool_name: "email_get", metadata: i } })),
    ];
    const messages = Array.from({ length: 300 }, (_, i) => odd[(i * 7) % odd.length] ?? "");
    for (const message of messages) {
      const { type, data } = await client.ask(message);
      expect(["observation", "error", "state", "mcp", "closed"]).toContain(type);
      // A message that is not an object ends the session.
      if (data.code === "SESSION_ERROR" || type === "closed") await begin({ index: 0 });
    }
    expect(server.faults).toEqual([]);
    expect(await client.reset({ index: 1 })).toMatchObject({ done: false });
  });

  it("lets an MCP client play an episode", async () => {
    const mcp = new McpClient({ name: "test", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp?split=test&index=2`));
    await mcp.connect(transport as Transport);
    expect(mcp.getInstructions()).toContain("The question: ");
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["email_search", "email_get", "return_final_answer"]);
    const missing = await mcp.callTool({ name: "email_get", arguments: { message_id: "<none>" } });
    expect(missing).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("Unknown email") }] });
    const [name, args] = answer(gold(2).answer);
    expect(await mcp.callTool({ name, arguments: args })).toMatchObject({
      structuredContent: { accepted: true },
      _meta: { reward: 1, done: true, end: { ending: "answered" } },
    });
    await transport.terminateSession();
    await mcp.close();
  });

  it("answers JSON-RPC in OpenEnv's own sessions", async () => {
    const rpc = async (method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const response = await fetch(`${server.url}/mcp`, { method: "POST", body });
      // biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
      return (await response.json()) as any;
    };
    const { result } = await rpc("openenv/session/create", { index: 2 });
    expect(result.task).toMatchObject({ index: 2, question: expect.any(String) });
    const { session_id } = result;
    const [name, args] = answer(gold(2).answer);
    const called = await rpc("tools/call", { session_id, name, arguments: args });
    expect(called).toMatchObject({ result: { data: { accepted: true }, _meta: { reward: 1 } } });
    expect(await rpc("openenv/session/close", { session_id })).toMatchObject({ result: { closed: true } });
    expect(await rpc("tools/list", { session_id })).toMatchObject({ error: { code: -32602 } });
  });

  it("rejects requests from web pages", async () => {
    const origin = { origin: "https://example.com" };
    await expect(connect(server.url, origin)).rejects.toThrow("403");
    expect((await fetch(`${server.url}/health`, { headers: origin })).status).toBe(403);
  });
});

describe("the end of an episode", () => {
  const play = async (changes: Parameters<typeof start>[0], calls: readonly (readonly [string, object])[]) => {
    server = await start(changes);
    const client = await connect(server.url);
    await client.reset({ index: 2 });
    // biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
    let last: any = null;
    for (const call of calls) last = await client.call(...call);
    client.close();
    return last;
  };

  it("has the result of the last call after the last turn", async () => {
    const last = await play({ options: { maxTurns: 2 } }, [search("price"), search("price")]);
    expect(last).toMatchObject({ done: true, reward: 0, metadata: { ending: "out_of_turns", turns_left: 0 } });
    expect(last.observation.result.data.emails.length).toBeGreaterThan(0);
  });

  it("follows the token limit, the time limit, or three senseless calls", async () => {
    const tokens = await play({ options: { maxTokens: 300 } }, [search("price")]);
    expect(tokens).toMatchObject({ done: true, metadata: { ending: "out_of_budget" } });
    const time = await play({ options: { episodeTimeout: 1e-6 } }, [search("price")]);
    expect(time).toMatchObject({
      done: true,
      reward: 0,
      metadata: { ending: "timeout" },
      observation: { result: null, error: { error_type: "timeout" } },
    });
    const wrong = ["email_search", {}] as const;
    const senseless = await play({}, [wrong, ["nothing", {}], wrong]);
    expect(senseless).toMatchObject({ done: true, metadata: { ending: "tool_protocol_error" } });
    const stored = server.stored()[0];
    expect(stored?.results).toMatchObject([{ ending: "tool_protocol_error", turns: 3, scores: { reward: 0 } }]);
  });

  it("comes as interrupted if the client leaves, which frees the slot", async () => {
    server = await start({ serving: { maxSessions: 1 } });
    // A slot is free a moment after its client has left.
    const connectAndBegin = async (): Promise<Client> => {
      const client = await connect(server.url);
      const { type } = await client.ask({ type: "reset", data: { index: 1 } });
      return type === "observation" ? client : connectAndBegin();
    };
    for (const leave of ["close", "terminate"] as const) {
      const client = await connectAndBegin();
      await client.call(...search("price"));
      const refused = await connect(server.url);
      expect(await refused.ask({ type: "state" })).toMatchObject({
        data: { code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 },
      });
      client.socket[leave]();
    }
    (await connectAndBegin()).close();
    await server.stop();
    const [run] = server.stored();
    expect(run).toMatchObject({ totalTasks: 3, status: "completed" });
    expect(run?.results.map(({ ending, epoch, turns }) => [ending, epoch, turns])).toEqual([
      ["interrupted", 1, 1],
      ["interrupted", 2, 1],
      ["interrupted", 3, 0],
    ]);
    open.length = 0;
    server.remove();
  });

  it("comes if the client silently disconnects", async () => {
    server = await start({ serving: { maxSessions: 1, pings: { everyMs: 50, silentMs: 200 } } });
    // Like after a network failure: the connection remains, but the other side does not respond.
    const gone = await connect(server.url);
    gone.socket.pong = () => undefined;
    await gone.reset({ index: 1 });
    const next = await vi.waitFor(async () => {
      const client = await connect(server.url);
      expect(await client.ask({ type: "reset", data: { index: 2 } })).toMatchObject({ type: "observation" });
      return client;
    }, 10_000);
    // A client that answers pings remains connected.
    await delay(500);
    expect(await next.call(...search("price"))).toMatchObject({ done: false });
    expect(server.stored()[0]?.results).toMatchObject([{ ending: "interrupted" }]);
    next.close();
  });

  it("comes after a long silence", async () => {
    server = await start({ serving: { idleMs: 300 } });
    const client = await connect(server.url);
    await client.reset({});
    expect(await client.closed).toBe(1000);
    await expect.poll(() => server.stored()[0]?.results[0]?.ending).toBe("interrupted");
    expect(server.stored()[0]?.results[0]?.error).toMatch(/no message for/);
  });
});

describe("an episode's reward", () => {
  const rewardOf = async (changes: Parameters<typeof start>[0], ...call: ReturnType<typeof answer>) => {
    server = await start(changes);
    const client = await connect(server.url);
    await client.reset({ index: 2 });
    await client.call(...search("price"));
    const { reward, metadata } = await client.call(...call);
    client.close();
    expect(reward).toBe(metadata.reward.value);
    return metadata;
  };

  it("equals the value of any scorer, converted so that higher is better, and by default the semantic score", async () => {
    const right = answer(gold(2).answer, gold(2).message_ids);
    expect(await rewardOf({ options: { reward: "sourcesF1" } }, ...right)).toMatchObject({ reward: { value: 1 } });
    expect(await rewardOf({ options: { reward: "sourcesPrecision" } }, ...answer(gold(2).answer))).toMatchObject({
      reward: {
        value: 1,
        explanation: expect.stringContaining("semanticScore, because sourcesPrecision has no value"),
      },
    });
    const unfound = await rewardOf({ options: { reward: "goldRank" } }, ...answer("x"));
    expect(unfound.reward.value).toBeLessThanOrEqual(1);
  });

  it("causes an error if it requires a judge and the server has none", async () => {
    await expect(startTrainingServer({ options: { reward: "art" } })).rejects.toMatchObject({ code: "judge_missing" });
  });

  it("follows ART's rubric if there is a judge, with an explanation if the judge gives no verdict", async () => {
    const verdicts = [{ content: "True" }, { content: "no idea" }];
    const provider = await startFakeProvider(verdicts);
    const judge = { judge: "art:openai/judge", judgeBaseUrl: provider.baseUrl("openai-chat") };
    const changes = { options: { reward: "art", ...judge }, env: { OPENAI_API_KEY: "test-key-1234" } } as const;
    try {
      const judged = await rewardOf(changes, ...answer("in other words", gold(2).message_ids));
      expect(judged.reward).toMatchObject({ scorer: "artReward", explanation: "correct" });
      expect(judged.reward.value).toBeGreaterThan(1);
      const unjudged = await rewardOf(changes, ...answer("yet other words", gold(2).message_ids));
      expect(unjudged.reward.value).toBeLessThan(0);
      expect(unjudged.reward.explanation).toMatch(/no verdict from the judge .*semanticScore 0\.\d+ counts as wrong/);
      const [run] = server.stored();
      expect(run?.traces[0]?.scores).toMatchObject({ judgeCorrect: { value: null }, artReward: { value: null } });
    } finally {
      await provider.close();
    }
  });

  it("equals the semantic score, with an explanation, if the judge takes too long", async () => {
    const provider = await startFakeProvider(() => new Promise(() => undefined));
    const judge = { judge: "openai/judge", judgeBaseUrl: provider.baseUrl("openai-chat"), judgeTimeout: 0.3 };
    const changes = {
      options: { reward: "judgeCorrect", ...judge },
      env: { OPENAI_API_KEY: "test-key-1234" },
    } as const;
    try {
      const right = await rewardOf(changes, ...answer(gold(2).answer));
      expect(right.reward).toMatchObject({ value: 1, scorer: "judgeCorrect" });
      expect(right.reward.explanation).toMatch(/no verdict from the judge .*semanticScore 1\.000 counts as correct/);
      expect((await rewardOf(changes, ...answer("x"))).reward).toMatchObject({ value: 0 });
      expect(server.stored()[0]?.results).toMatchObject([{ ending: "answered", scores: { judgeCorrect: null } }]);
    } finally {
      await provider.close();
    }
  });
});

describe("a training environment's run", () => {
  it("continues under its name, and rejects different settings", async () => {
    const first = await start({ options: { name: "grpo" } });
    const play = async (url: string) => {
      const client = await connect(url);
      await client.reset({ index: 2 });
      await client.call(...answer("x"));
      client.close();
    };
    await play(first.url);
    await first.stop();
    const second = await start({ file: first.file, options: { name: "grpo" } });
    await play(second.url);
    await second.stop();
    open.length = 0;
    expect(first.stored()).toMatchObject([{ name: "grpo", totalTasks: 2, results: [{ epoch: 1 }, { epoch: 2 }] }]);
    const other = startTrainingServer({ file: first.file, options: { name: "grpo", reward: "tokenF1" } });
    await expect(other).rejects.toMatchObject({ code: "run_differs", message: expect.stringContaining("tokenF1") });
    first.remove();
  });

  it("shows the rewards and tokens of its episodes over time, with few points for any number of episodes", async () => {
    server = await start();
    const client = await connect(server.url);
    for (let i = 0; i < 70; i++) {
      await client.reset({ index: 2 });
      await client.call(...answer(i < 35 ? "x" : gold(2).answer));
    }
    client.close();
    const db = openReadOnly(server.file);
    const [run] = listRuns(db);
    const subscriptions = new RunSubscriptions(
      db,
      () => null,
      () => undefined,
    );
    let unsubscribe: () => void = () => undefined;
    const progress = await new Promise<RunProgress>((resolve) => {
      unsubscribe = subscriptions.subscribe(run?.id ?? "", resolve);
    });
    unsubscribe();
    db.close();
    const points = progress.episodes ?? [];
    expect(points.length).toBeGreaterThan(30);
    expect(points.length).toBeLessThanOrEqual(60);
    expect(points.reduce((sum, { episodes }) => sum + episodes, 0)).toBe(70);
    expect([points[0]?.reward, points.at(-1)?.reward]).toEqual([0, 1]);
    expect(points.every(({ tokens }) => tokens > 100)).toBe(true);
    expect(progress.headline).toMatchObject({ scorer: "reward", value: 0.5, n: 70 });
  });

  it("stores nothing if saving is turned off", async () => {
    server = await start({ options: { save: false } });
    const client = await connect(server.url);
    await client.reset({ index: 2 });
    expect(await client.call(...answer(gold(2).answer))).toMatchObject({ reward: 1, done: true });
    client.close();
    expect(server.stored()).toEqual([]);
  });
});

it("requires the token, as a bearer token or as a password in the URL", async () => {
  const token = "a-token-for-this-test";
  server = await start({ serving: { access: { host: "127.0.0.1", token } } });
  await expect(connect(server.url)).rejects.toThrow("401");
  expect((await fetch(`${server.url}/health`)).status).toBe(401);
  const bearer = await connect(server.url, { authorization: `Bearer ${token}` });
  const basic = await connect(server.url.replace("://", `://openenv:${token}@`));
  for (const client of [bearer, basic]) {
    expect(await client.reset({})).toMatchObject({ done: false });
    client.close();
  }
  await expect(connect(server.url.replace("://", "://openenv:another-token-than-this@"))).rejects.toThrow("401");
});
