import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { AgentFunction, AgentFunctionTask } from "../../src/agents/agent-function.js";
import { resumeArtEBenchmark, runArtEBenchmark } from "../../src/library/benchmark.js";
import type { BenchmarkConfig, Expected, Scorer } from "../../src/library/benchmark-config.js";
import { defineEval, defineScorer, defineTool } from "../../src/library/define.js";
import { importMail } from "../../src/library/import-mail.js";
import { loadTasks } from "../../src/library/load-tasks.js";
import { fetchTrace, openDatabase } from "../../src/library/open-database.js";
import type { Question, Trace } from "../../src/library/published-types.js";
import type { JsonValue } from "../../src/platform/json-value.js";
import { MAIL, QUESTIONS, ROOT, startProgram, workFolder } from "../cli/art-e.js";

/** Agents, scorers and questions that a program passes to the library. */

const { artE, path, write } = workFolder({ mail: MAIL });

let tasks: Question[];
let db: string;
beforeAll(async () => {
  db = path("art-e.db");
  tasks = await loadTasks({ db, dataset: QUESTIONS, limit: 3 });
});

const run = (agent: BenchmarkConfig["agent"], config: Partial<BenchmarkConfig> = {}, questions = tasks) =>
  runArtEBenchmark(questions, { db, env: {}, agent, ...config });

const tracesOf = async (runId: string): Promise<Trace[]> => {
  const database = await openDatabase(db);
  const traces = [...database.traces(runId)];
  database.close();
  return traces;
};

const never = (): never => {
  throw new Error("cannot be read");
};

/** A value that throws for every question about it. */
const unreadable = () => new Proxy({}, { getPrototypeOf: never, get: never });

/** An object whose JSON doubles with each level, without taking memory. */
const branching = (levels: number) => {
  let value: JsonValue = "x";
  for (let i = 0; i < levels; i++) value = [value, value];
  return value;
};

const nested = (levels: number): JsonValue => (levels === 0 ? "x" : [nested(levels - 1)]);

describe("an agent function", () => {
  it("receives the question, its mailbox and its tools, and the trace contains every call", async () => {
    const seen: unknown[] = [];
    const agent: AgentFunction = async ({ id, epoch, question, inbox, queryDate, maxTurns, tools, callTool }) => {
      seen.push({ id, epoch, question, inbox, queryDate, maxTurns, tools: tools.map(({ name }) => name) });
      const { emails } = (await callTool("email_search", { query: question })) as { emails: { message_id: string }[] };
      return { answer: " 42 ", sources: emails.slice(0, 1).map(({ message_id }) => message_id) };
    };
    const results = await run(agent, { epochs: 2, concurrency: 1 }, tasks.slice(0, 1));
    const [task] = tasks;
    const common = { id: task?.id, question: task?.question, inbox: task?.inbox_address, queryDate: task?.query_date };
    const tools = ["email_search", "email_get"];
    expect(seen).toEqual([1, 2].map((epoch) => ({ ...common, epoch, maxTurns: 10, tools })));
    expect(results).toMatchObject({ agentId: "agent", model: "function/agent", completedTasks: 2, costUsd: null });
    const [trace] = await tracesOf(results.runId);
    expect(trace?.answer).toBe("42");
    expect(trace?.toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ["email_search", { query: task?.question }],
    ]);
    expect(trace?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(trace?.turns).toHaveLength(1);
  });

  it("cannot read another mailbox, and receives the reason if a call is rejected", async () => {
    const errors: string[] = [];
    const agent: AgentFunction = async ({ callTool }) => {
      const calls = {
        email_search: { inbox_id: "other@kestrelplains.example", query: "dues" },
        email_get: { message_id: "<none@x>" },
        execute_python: { code: "1" },
      };
      for (const [name, args] of Object.entries(calls)) {
        await callTool(name, args).catch((error: Error) => errors.push(error.message));
      }
      return "I don't know";
    };
    const results = await run(agent, {}, tasks.slice(0, 1));
    expect(errors).toHaveLength(3);
    expect(errors[1]).toMatch(/^Unknown email <none@x>/);
    expect(errors[2]).toMatch(/execute_python/);
    expect(results.endings).toEqual({ dont_know: 1 });
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;

  /** What the function does, and the error of its task. */
  const BROKEN: readonly (readonly [name: string, broken: AgentFunction, error: string])[] = [
    ["throws", async () => Promise.reject(new Error("no network")), "no network"],
    ["returns nothing", (async () => undefined) as unknown as AgentFunction, "returned no answer"],
    ["returns a number", (async () => 7) as unknown as AgentFunction, "returned no answer"],
    [
      "throws at once",
      () => {
        throw new Error("not async");
      },
      "not async",
    ],
    [
      "returns a value that cannot be read",
      async () => ({
        get answer(): string {
          throw new Error("no answer yet");
        },
      }),
      "no answer yet",
    ],
    [
      "calls a tool whose name has 60 million characters",
      async ({ callTool }: AgentFunctionTask) => String(await callTool("x".repeat(60_000_000), {})),
      "its name exceeds",
    ],
    ...(
      [
        ["an object", { value: { a: 1 } }, "[object Object]"],
        ["a BigInt", { value: 5n }, "5"],
        ["undefined", { value: undefined }, "undefined"],
        ["unreadable", { get: never }, "an error without a message"],
      ] as const
    ).map(
      ([message, property, shown]) =>
        [
          `throws an error whose message is ${message}`,
          async () => {
            throw Object.defineProperty(new Error("x"), "message", property);
          },
          shown,
        ] as const,
    ),
    ["throws a proxy that cannot be read", async () => Promise.reject(unreadable()), "an error without a message"],
    [
      "reports a call of 10^308 ms",
      async () => ({ answer: "x", turns: [{ content: "a", latencyMs: 1e308 }, { content: "b" }] }),
      "turns.0.latencyMs: Too big",
    ],
    ["reports a cost whose sum would be infinite", async () => ({ answer: "x", costUsd: 1e308 }), "costUsd: Too big"],
    [
      "reports tokens that are not a number",
      async () => ({ answer: "x", usage: { inputTokens: Number.NaN, outputTokens: 1 } }),
      "usage.inputTokens: Invalid input: expected number, received NaN",
    ],
    [
      "reports a call with a million copies of one argument",
      async () => ({ answer: "x", turns: [{ toolCalls: [{ name: "a", arguments: branching(40) }] }] }),
      "turns.0.toolCalls.0.arguments: expected at most 20000000 characters",
    ],
    [
      "reports texts of 30 million characters",
      async () => ({ answer: "x", turns: Array(30).fill({ content: "x".repeat(1_000_000) }) }),
      "turns: expected at most 20000000 characters",
    ],
    ...(
      [
        ["a BigInt", { query: 1n }, "its arguments are not JSON"],
        ["a cycle", cycle, "its arguments are not JSON"],
        ["an argument of two million characters", { query: "x".repeat(2_000_000) }, "they exceed 1000000 characters"],
        ["a million copies of one argument", { query: branching(30) }, "they exceed 1000000 characters"],
        ["an argument of 200 levels", { query: nested(200) }, "they are nested more than 100 levels deep"],
      ] as const
    ).map(
      ([what, args, message]) =>
        [
          `passes ${what} to a tool`,
          async ({ callTool }: AgentFunctionTask) => String(await callTool("email_search", args as never)),
          message,
        ] as const,
    ),
  ];
  let broken: Awaited<ReturnType<typeof run>>;

  // One run: every second of its tasks meets another fault.
  beforeAll(async () => {
    const all = await loadTasks({ db, dataset: QUESTIONS, limit: 2 * BROKEN.length });
    const faults = new Map(BROKEN.map(([, agent], i) => [all[2 * i]?.id, agent]));
    broken = await run(async (task) => faults.get(Number(task.id))?.(task) ?? "$40", {}, all);
  });

  it.each(BROKEN.map(([name, , error], i) => [name, error, i] as const))(
    "fails only the current task if it %s",
    (_, error, i) => {
      expect(broken).toMatchObject({ completedTasks: BROKEN.length, failedTasks: BROKEN.length });
      const [failed, next] = broken.taskResults.slice(2 * i);
      expect(failed).toMatchObject({ ending: "model_error", error: expect.stringContaining(error) });
      expect(next).toMatchObject({ ending: "answered", agentAnswer: "$40" });
    },
  );

  it("ends with the task's time limit if it ignores its signal", async () => {
    const results = await run(() => new Promise<string>(() => {}), { taskTimeout: 0.2 }, tasks.slice(0, 1));
    expect(results.endings).toEqual({ timeout: 1 });
  });

  it("changes neither the trace nor other tasks if it changes its input or arguments", async () => {
    const seen: string[] = [];
    const agent: AgentFunction = async ({ question, tools, callTool }) => {
      seen.push(JSON.stringify(tools));
      for (const tool of tools) (tool.parameters as { properties: object }).properties = {};
      const args = { query: question };
      const result = (await callTool("email_search", args)) as { emails: unknown[] };
      args.query = "changed";
      result.emails = [];
      return "x";
    };
    const { runId } = await run(agent, { concurrency: 1 });
    expect(new Set(seen).size).toBe(1);
    const calls = JSON.stringify((await tracesOf(runId)).map(({ toolCalls }) => toolCalls));
    expect(calls).toContain('"message_id"');
    expect(calls).not.toMatch(/"changed"|"emails":\[\]/);
  });

  it.each([
    ["an answer of 60 million characters", () => "word ".repeat(12_000_000)],
    ["a million sources", () => ({ answer: "x", sources: Array(1_000_000).fill("<a@b>") })],
  ])("fails the task within seconds if it returns %s", async (_, returned) => {
    const started = performance.now();
    const results = await run(async () => returned(), { taskTimeout: 30 }, tasks.slice(0, 1));
    expect(results.endings).toEqual({ model_error: 1 });
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it("receives an error if it calls a tool after the end of its task", async () => {
    const late: Promise<unknown>[] = [];
    const agent: AgentFunction = async ({ callTool }) => {
      const call = () => callTool("email_search", { query: "dues" }).catch((error: Error) => error.message);
      late.push(delay(0).then(call), delay(100).then(call));
      return "x";
    };
    await run(agent, {}, tasks.slice(0, 1));
    const message = "Cannot call email_search: the task has ended.";
    expect(await Promise.all(late)).toEqual([message, message]);
  });

  it("runs out of turns if it returns no answer", async () => {
    const results = await run(async () => ({ answer: null }), {}, tasks.slice(0, 1));
    expect(results.endings).toEqual({ out_of_turns: 1 });
  });

  it.each([
    ["an object", { name: { a: 1 } }, "agent"],
    ["a text with an escape sequence", { name: "a\x1b[31mb" }, "a\u241b[31mb"],
    ["a text of a million characters", { name: "z".repeat(1_000_000) }, "z".repeat(100)],
  ])("can have %s as its name", async (_, { name }, agentId) => {
    const agent: AgentFunction = Object.defineProperty(async () => "x", "name", { value: name });
    expect(await run(agent, {}, tasks.slice(0, 1))).toMatchObject({ agentId, completedTasks: 1 });
  });

  it("reports more cached tokens than input tokens, which a note says are not believed", async () => {
    const notes: string[] = [];
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 2_000_000 };
    const options = { price: { input: 2, output: 8, cached: 0.1 }, onNote: (note: string) => void notes.push(note) };
    expect(await run(async () => ({ answer: "x", usage }), options)).toMatchObject({ costUsd: 6 });
    expect(await run(async () => ({ answer: "x", turns: [{ usage }] }), options)).toMatchObject({ costUsd: 6 });
    const note = "agent: reports more cached tokens than input tokens for one reply. Its input counts as not cached";
    expect(notes).toEqual([note, note]);
  });

  it("reports tokens, which the price and the limits count", async () => {
    const agent: AgentFunction = async () => ({ answer: "x", usage: { inputTokens: 500_000, outputTokens: 0 } });
    const price = { input: 2, output: 8 };
    const results = await run(agent, { price });
    expect(results).toMatchObject({ costUsd: 3, usage: { inputTokens: 1_500_000, outputTokens: 0 } });
    const stopped = run(agent, { price, maxCost: 1, concurrency: 1 });
    await expect(stopped).rejects.toMatchObject({
      code: "run_stopped",
      message: expect.stringMatching(/--max-cost|cost/),
    });
  });

  it("reports its cost, which the limit counts without a price", async () => {
    const agent: AgentFunction = async () => ({ answer: "x", costUsd: 0.5 });
    const stopped = run(agent, { maxCost: 0.5, concurrency: 1 });
    await expect(stopped).rejects.toMatchObject({
      code: "run_stopped",
      message: expect.stringMatching(/--max-cost 0\.5 is reached: \$0\.5000/),
    });
  });

  it("hands over its model calls, which the trace contains as turns with reasoning, usage and its own tools", async () => {
    const agent: AgentFunction = async ({ question, callTool }) => {
      await callTool("email_search", { query: question });
      await callTool("email_search", { query: "annex" });
      const usage = { inputTokens: 100, outputTokens: 10, reasoningTokens: 4 };
      const search = { name: "email_search", arguments: { query: question } };
      return {
        answer: "42",
        turns: [
          { reasoning: "Search first.", toolCalls: [search, { name: "clock", result: "noon" }], usage, model: "m-1" },
          { content: "Once more.", toolCalls: [{ name: "email_search" }], usage, latencyMs: 5 },
          { content: '{"answer": "42"}', usage, costUsd: 0.5 },
        ],
      };
    };
    const results = await run(agent, { price: { input: 1, output: 10 } }, tasks.slice(0, 1));
    const [trace] = await tracesOf(results.runId);
    expect(trace?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(trace?.messages[1]).toMatchObject({ reasoning: "Search first.", toolCalls: [{ name: "email_search" }, {}] });
    expect(trace?.messages[3]).toMatchObject({ role: "tool", name: "clock", content: "noon", isError: false });
    expect(trace?.toolCalls.map(({ name, turn, result }) => [name, turn, result !== null])).toEqual([
      ["email_search", 0, true],
      ["clock", 0, true],
      ["email_search", 1, true],
    ]);
    expect(trace?.toolCalls[2]?.arguments).toEqual({ query: "annex" });
    expect(trace?.turns.map(({ model, usage, costUsd }) => [model, usage?.reasoningTokens, costUsd])).toEqual([
      ["m-1", 4, 0.0002],
      [undefined, 4, 0.0002],
      [undefined, 4, 0.5],
    ]);
    expect(results.taskResults[0]).toMatchObject({ turns: 3 });
    expect(results).toMatchObject({ costUsd: 0.5004 });
  });

  it("reports calls that its turns leave out as calls of the last turn", async () => {
    const agent: AgentFunction = async ({ callTool }) => {
      await callTool("email_search", { query: "annex" });
      return { answer: "42", turns: [{ content: "Thinking." }] };
    };
    const [trace] = await tracesOf((await run(agent, {}, tasks.slice(0, 1))).runId);
    expect(trace?.messages.map(({ role, content }) => [role, content.slice(0, 9)])).toMatchObject([
      ["user", expect.anything()],
      ["assistant", "Thinking."],
      ["tool", expect.anything()],
      ["assistant", "42"],
    ]);
  });

  it("stops when the signal aborts, and continues with the same function", async () => {
    const stop = new AbortController();
    let answered = 0;
    const counting: AgentFunction = async ({ signal }) => {
      if (++answered === 2) stop.abort();
      signal.throwIfAborted();
      return "$40";
    };
    const error = await run(counting, { signal: stop.signal, concurrency: 1 }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "run_stopped", hint: expect.stringMatching(/^1 of 3 tasks are saved\./) });
    const [, runId = ""] = /Run (\S+) stopped/.exec(error.message) ?? [];

    const { code, stderr } = await artE(`run --resume ${runId}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining("is the function counting of a program")]);
    await expect(resumeArtEBenchmark(runId, { db, env: {} })).rejects.toMatchObject({ code: "agent_function_missing" });

    const resumed = await resumeArtEBenchmark(runId, { db, env: {}, agent: counting });
    expect(resumed).toMatchObject({ runId, status: "completed", completedTasks: 3 });
    expect(answered).toBe(4);
  });
});

describe("concurrent runs", () => {
  const agent: AgentFunction = async function searching({ question, callTool }) {
    await callTool("email_search", { query: question });
    return "$40";
  };

  const runMany = async (count: number, answering = agent) => {
    const { signal } = new AbortController();
    const one = () => run(answering, { signal }, tasks.slice(0, 1));
    const results = await Promise.all(Array.from({ length: count }, one));
    expect(new Set(results.map(({ runId }) => runId)).size).toBe(count);
    expect(results.map(({ completedTasks }) => completedTasks)).toEqual(Array(count).fill(1));
  };

  /** Starts a process with this number of concurrent runs, and returns its output. */
  const runInProcess = async (count: number) => {
    const program = `
      import { loadTasks, runArtEBenchmark } from ${JSON.stringify(join(ROOT, "dist/library.js"))};
      const tasks = await loadTasks({ dataset: ${JSON.stringify(QUESTIONS)}, limit: 1 });
      const agent = async () => "$40";
      const one = () => runArtEBenchmark(tasks, { db: ${JSON.stringify(db)}, env: {}, agent });
      const results = await Promise.all(Array.from({ length: ${count} }, one));
      console.log(results.filter(({ completedTasks }) => completedTasks === 1).length);`;
    write("many.mjs", program);
    return startProgram(path("."), process.execPath, ["many.mjs"], {}).ended;
  };

  it("all finish in one process", () => runMany(4));

  it("all finish in two processes", async () => {
    expect(await Promise.all([2, 2].map(runInProcess))).toEqual(Array(2).fill({ code: 0, stdout: "2\n", stderr: "" }));
  });

  // A hundred times with ART_E_LONG. They take ten minutes of both cores, in which no other test would end in time.
  const ROUNDS = process.env.ART_E_LONG ? 100 : 10;

  it(`all finish in one process, 50 at a time, ${ROUNDS} times`, { tags: ["slow"], timeout: 3_600_000 }, async () => {
    // Without a search, which would double the time of a run.
    for (let round = 0; round < ROUNDS; round++) await runMany(50, async () => "$40");
  });

  it("leave nothing in memory after their end", async () => {
    const program = `
      import { setTimeout as delay } from "node:timers/promises";
      import { loadTasks, runArtEBenchmark } from ${JSON.stringify(join(ROOT, "dist/library.js"))};
      const tasks = await loadTasks({ dataset: ${JSON.stringify(QUESTIONS)}, limit: 1 });
      const { signal } = new AbortController();
      const one = async () => {
        const agent = async () => "$40";
        await runArtEBenchmark(tasks, { db: ${JSON.stringify(db)}, env: {}, agent, signal });
        return new WeakRef(agent);
      };
      const agents = await Promise.all(Array.from({ length: 4 }, one));
      const kept = () => agents.filter((agent) => agent.deref() !== undefined).length;
      for (let i = 0; i < 50 && kept() > 0; i++) {
        await delay(20);
        gc();
      }
      console.log(kept());`;
    write("forgotten.mjs", program);
    const ended = startProgram(path("."), process.execPath, ["--expose-gc", "forgotten.mjs"], {}).ended;
    expect(await ended).toEqual({ code: 0, stdout: "0\n", stderr: "" });
  });

  it("all finish in two processes, 20 in each", { tags: ["slow"] }, async () => {
    expect(await Promise.all([20, 20].map(runInProcess))).toEqual(
      Array(2).fill({ code: 0, stdout: "20\n", stderr: "" }),
    );
  });

  it("finish next to an import into their database", { tags: ["slow"] }, async () => {
    const own = { db: path("growing.db") };
    await importMail(MAIL, own);
    const importing = importMail(MAIL, own);
    const runs = Array.from({ length: 3 }, () => run(agent, own, tasks.slice(0, 1)));
    expect(await Promise.all([importing, ...runs])).toMatchObject([{}, ...Array(3).fill({ completedTasks: 1 })]);
  });
});

describe("invalid calls", () => {
  it.each([
    ["limit: -1", { limit: -1 }, /^limit: /],
    ["limit: NaN", { limit: Number.NaN }, /^limit: /],
    ["an unknown option", { limitt: 4 }, /^limitt: unknown option\.$/],
    ["an unknown split", { split: "dev" }, /^split: /],
  ])("cause an error from loadTasks (%s)", async (_, options, message) => {
    const loading = loadTasks({ dataset: QUESTIONS, ...(options as object) });
    await expect(loading).rejects.toMatchObject({ code: "option_invalid", message: expect.stringMatching(message) });
  });

  it.each([
    ["limit: -1", { limit: -1 }, /^limit: expected a whole number of at least 0\.$/],
    ["an unknown filter", { filter: "some" }, /^filter: expected none or art\.$/],
    ["an unknown option", { limitt: 3 }, /^limitt: unknown option\.$/],
  ])("cause an error from importMail (%s)", async (_, options, message) => {
    const importing = importMail(MAIL, { db: path("other.db"), ...(options as object) });
    await expect(importing).rejects.toMatchObject({ code: "option_invalid", message: expect.stringMatching(message) });
    expect(existsSync(path("other.db"))).toBe(false);
  });

  it("cause an error from search", async () => {
    const database = await openDatabase(db);
    const searching = (options: object) => database.search(tasks[0]?.inbox_address ?? "", "dues", options);
    await expect(searching({ limit: 51 })).rejects.toMatchObject({
      message: "limit: expected a whole number from 1 to 50.",
    });
    await expect(searching({ cutoff: "2000-13-45" })).rejects.toMatchObject({
      message: "cutoff: expected a date, YYYY-MM-DD.",
    });
    await expect(database.search(tasks[0]?.inbox_address ?? "", "dues ".repeat(10_000))).rejects.toMatchObject({
      message: "query: expected at most 10000 characters",
    });
    database.close();
  });

  it("cause an error from importMail for a path with a NUL", async () => {
    await expect(importMail("a\0b", { db: path("other.db") })).rejects.toMatchObject({ code: "source_unreadable" });
  });

  it("start no run if the output cannot be written", async () => {
    const database = await openDatabase(db);
    const before = database.runs().length;
    await expect(run("baseline", { output: path("none/results.json") })).rejects.toMatchObject({
      code: "output_unwritable",
    });
    expect(database.runs().length).toBe(before);
    database.close();
  });

  it.each([
    ["runArtEBenchmark", "signal", (bad: never) => run("baseline", { signal: bad })],
    ["runArtEBenchmark", "onProgress", (bad: never) => run("baseline", { onProgress: bad })],
    ["runArtEBenchmark", "env", (bad: never) => run("baseline", { env: bad })],
    ["resumeArtEBenchmark", "options", (bad: never) => resumeArtEBenchmark("latest", bad)],
    ["loadTasks", "cacheDir", (bad: never) => loadTasks({ cacheDir: bad })],
    ["importMail", "options", (bad: never) => importMail(MAIL, bad)],
    ["openDatabase", "db", (bad: never) => openDatabase(bad)],
    ["fetchTrace", "traceId", (bad: never) => fetchTrace(bad, { db })],
    ["getMail", "messageId", async (bad: never) => (await openDatabase(db)).getMail(bad)],
    ["traces", "run", async (bad: never) => (await openDatabase(db)).traces(bad)],
    ["results", "run", async (bad: never) => (await openDatabase(db)).results(bad)],
    ["search", "query", async (bad: never) => (await openDatabase(db)).search("ann@x.example", bad)],
  ])("cause an error from %s if its %s has another type", async (_, name, call) => {
    for (const bad of [5, Symbol("x")]) {
      await expect(call(bad as never)).rejects.toMatchObject({
        code: "option_invalid",
        message: expect.stringMatching(new RegExp(`^${name}: expected `)),
      });
    }
  });

  it("cause an error if the database is closed", async () => {
    const database = await openDatabase(db);
    database.close();
    expect(() => database.runs()).toThrow(expect.objectContaining({ code: "db_closed" }));
  });

  it.each([
    [() => defineEval(5 as never), "defineEval: eval: expected function, got number"],
    [() => defineEval(undefined as never), "defineEval: eval: expected function, got undefined"],
    [() => defineTool(null as never), "defineTool: tool: expected object, got null"],
    [() => defineTool([] as never), "defineTool: tool: expected object, got array"],
    [() => defineTool({} as never), "defineTool: call: expected function, got undefined"],
    [() => defineTool({ call: "x" } as never), "defineTool: call: expected function, got string"],
    [
      () => defineTool({ call: () => 1, parameters: [] } as never),
      "defineTool: parameters: expected object, got array",
    ],
    [() => defineTool({ call: () => 1, name: 5 } as never), "defineTool: name: expected string, got number"],
    [() => defineScorer(undefined as never), "defineScorer: scorer: expected object, got undefined"],
    [() => defineScorer({ name: "x", score: 1 } as never), "defineScorer: score: expected function, got number"],
    [() => defineScorer({ score: () => 1 } as never), "defineScorer: name: expected string, got undefined"],
  ])("cause an error from a define function about the value and its type (%s)", (call, message) => {
    expect(call).toThrow(new TypeError(message));
  });

  it.each([[{ name: "x", score: 5 }], [undefined], [5], ["exactMatch", null]])(
    "cause an error from runArtEBenchmark if a scorer is %o",
    async (...scorers) => {
      await expect(run("baseline", { scorers: scorers as never })).rejects.toMatchObject({
        code: "option_invalid",
        message: "scorers: expected a list of names, and objects with a name and a function score.",
      });
    },
  );

  it("cause an error from runArtEBenchmark that names the argument", async () => {
    const withoutTasks = runArtEBenchmark(null as unknown as Question[], { db, agent: "baseline" });
    await expect(withoutTasks).rejects.toMatchObject({
      message: "tasks: expected a list of questions, see loadTasks().",
    });
    const withoutConfig = runArtEBenchmark(tasks, undefined as unknown as BenchmarkConfig);
    await expect(withoutConfig).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringMatching(/^agent: /),
    });
  });

  it("start no run if the signal is already aborted", async () => {
    const stopped = run("baseline", { signal: AbortSignal.abort() });
    await expect(stopped).rejects.toMatchObject({
      code: "run_stopped",
      message: "The run did not start: the signal aborted.",
    });
  });
});

describe("a function scorer", () => {
  const scorers: Scorer[] = [
    { name: "length", score: async ({ answer }) => answer?.length ?? null },
    { name: "broken", score: () => Promise.reject(new Error("out of order")) },
    { name: "text", score: (() => "1") as unknown as Scorer["score"] },
  ];

  const failureOf = async (score: Scorer["score"], config: Partial<BenchmarkConfig> = {}) => {
    const { runId, completedTasks } = await run(async () => "x", { scorers: [{ name: "odd", score }], ...config });
    const [trace] = await tracesOf(runId);
    return [completedTasks, trace?.scores["function:odd"]];
  };

  it("changes neither the stored answer nor the next scorer's input if it changes its own input", async () => {
    const changing: Scorer = {
      name: "changing",
      score: (trace) => {
        Object.assign(trace, { answer: "changed", toolCalls: [] });
        return 1;
      },
    };
    const seeing: Scorer = { name: "seeing", score: ({ answer }) => (answer === "x" ? 1 : 0) };
    const onProgress = ({ result }: { result: object }) => void Object.assign(result, { agentAnswer: "changed" });
    const results = await run(async () => "x", { scorers: [changing, seeing], onProgress });
    expect(results.scores["function:seeing"]).toMatchObject({ value: 1, n: 3 });
    expect(results.taskResults.map(({ agentAnswer }) => agentAnswer)).toEqual(["x", "x", "x"]);
    expect((await tracesOf(results.runId)).map(({ answer }) => answer)).toEqual(["x", "x", "x"]);
  });

  it("receives the gold answer and its sources, and is computed alone if no other scorer is named", async () => {
    const seen: Expected[] = [];
    const gold: Scorer = { name: "gold", score: ({ sources }, expected) => seen.push(expected) + sources.length };
    const { scores } = await run(async () => "x", { scorers: [gold], concurrency: 1 });
    expect(seen).toEqual(tasks.map(({ answer, message_ids: sources }) => ({ answer, sources })));
    expect(Object.keys(scores)).not.toContain("rougeL");
    const all = await run(async () => "x");
    expect(Object.keys(all.scores)).toContain("rougeL");
  });

  it("fails if it returns a number too large for a mean", async () => {
    const explanation = "the scorer returned neither a number (up to 1e100) nor null";
    expect(await failureOf(() => 1e308)).toEqual([3, { value: null, explanation, failed: true }]);
  });

  it("fails if it throws, whatever it throws", async () => {
    const thrown: readonly (readonly [error: object, explanation: string])[] = [
      [Object.assign(new Error("x"), { message: { a: 1 } }), "[object Object]"],
      [Object.assign(new Error("x"), { message: 5n }), "5"],
      [unreadable(), "an error without a message"],
      [new Error(`${"x".repeat(9_999)}😀`.repeat(2)), "x".repeat(9_999)],
    ];
    const broken = thrown.map(([error], i) => ({
      name: `broken${i}`,
      score: () => {
        throw error;
      },
    }));
    const { runId } = await run("baseline", { scorers: broken }, tasks.slice(0, 1));
    const [trace] = await tracesOf(runId);
    for (const [i, [, explanation]] of thrown.entries())
      expect(trace?.scores[`function:broken${i}`]).toEqual({ value: null, explanation, failed: true });
  });

  it("fails after the task timeout if it never ends", async () => {
    const failure = { value: null, explanation: "not finished after 0.5 s", failed: true };
    expect(await failureOf(() => new Promise(() => {}), { taskTimeout: 0.5 })).toEqual([3, failure]);
  });

  it("lets an aborted run stop if it never ends, and runs again after a resume", async () => {
    const scorer = (score: Scorer["score"]): Scorer => ({ name: "slow", score });
    const agent: AgentFunction = async function answerX() {
      return "x";
    };
    const never = scorer(() => new Promise(() => {}));
    const stopped = run(agent, { name: "slow-scorer", scorers: [never], signal: AbortSignal.timeout(1500) });
    await expect(stopped).rejects.toMatchObject({ code: "run_stopped", hint: expect.stringMatching(/^0 of 3 tasks/) });
    const resumed = await resumeArtEBenchmark("slow-scorer", { db, env: {}, agent, scorers: [scorer(() => 1)] });
    expect(resumed.scores["function:slow"]).toMatchObject({ value: 1, n: 3 });
  });

  it("cannot share its name with another scorer", async () => {
    const twice = run(async () => "x", { scorers: [1, 0].map((value) => ({ name: "same", score: () => value })) });
    await expect(twice).rejects.toMatchObject({ message: "scorers: two functions have the name same." });
  });

  it("stores its value with mean and interval, and records a failure", async () => {
    const results = await run(async ({ id }) => "x".repeat(Number(id)), { scorers: ["exactMatch", ...scorers] });
    const lengths = tasks.map(({ id }) => id);
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    expect(results.scores["function:length"]).toMatchObject({ value: mean, n: 3, kind: "mean" });
    expect(results.taskResults.map(({ scores }) => scores["function:length"])).toEqual(lengths);
    expect(results.taskResults[0]?.failedScorers).toEqual(["function:broken", "function:text"]);
    const [trace] = await tracesOf(results.runId);
    expect(trace?.scores["function:broken"]).toEqual({ value: null, explanation: "out of order", failed: true });

    const before = results.scores["function:length"];
    const { code, stdout } = await artE(`score --run ${results.runId} --scorers rougeL --json`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).scores["function:length"]).toEqual(before);
    expect(await artE(`gate ${results.runId} --fail-under function:length=1000`)).toMatchObject({ code: 3 });
  });

  it("must be given again when the run continues", async () => {
    const stop = new AbortController();
    const onProgress = () => stop.abort();
    const length = scorers.slice(0, 1);
    const error = await run("baseline", { scorers: length, signal: stop.signal, onProgress, concurrency: 1 }).catch(
      (thrown) => thrown,
    );
    const [, runId = ""] = /Run (\S+) stopped/.exec(error.message) ?? [];
    expect((await artE(`run --resume ${runId}`)).stderr).toContain("function:length, which is a function of a program");
    const resumed = await resumeArtEBenchmark(runId, { db, env: {}, scorers: length });
    expect(resumed.scores["function:length"]?.n).toBe(3);
  });
});

describe("options", () => {
  it.each([
    [{ concurrency: 0 }, /^concurrency: expected auto, or a whole number/],
    [{ cutoff: "never" }, /^cutoff: expected/],
    [{ nosuch: 1 }, /^nosuch: unknown option/],
    [{ scorers: ["nosuch"] }, /^scorers: unknown scorer nosuch/],
    [{ scorers: [{ name: "exactMatch", score: () => 1 }] }, /^scorers: exactMatch is already a scorer/],
    [{ scorers: [{ name: "a b", score: () => 1 }] }, /^scorers: expected a name/],
    [{ agent: undefined }, /^agent: expected/],
    [{ agent: "nosuch" }, /nosuch/],
    [{ temperature: 0.5, agent: async () => "x" }, /^--temperature does not apply to an agent function/],
  ])("cause an error if they contain %o", async (config, message) => {
    await expect(run("baseline", config as never)).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["no tasks", [], /does not contain questions/],
    ["a task without an answer", [{ id: 1, question: "?" }], /task 0/],
    ["two tasks with one id", [0, 0], /1/],
    ["a list with a gap", new Array(1), /task 0, .*expected object/],
  ])("cause an error if the tasks are %s", async (_, list, message) => {
    const questions = list.map((item) => (typeof item === "number" ? tasks[item] : item));
    await expect(run("baseline", {}, questions as never)).rejects.toThrow(message);
  });

  it("select the command line's dataset for loaded tasks, and a separate one for other tasks", async () => {
    const loaded = await run("baseline");
    await artE(`run -a baseline --dataset ${QUESTIONS} -l 3 -o file.json`);
    const database = await openDatabase(db);
    const typed = await database.results("latest");
    database.close();
    expect(loaded.dataset).toEqual(typed.dataset);
    const changed = await run("baseline", {}, [{ ...(tasks[0] as Question), question: "How much?" }]);
    expect(changed.dataset).toMatchObject({ source: "tasks of a program", revision: null });
    expect(changed.dataset.sha256).not.toBe(loaded.dataset.sha256);
  });
});
