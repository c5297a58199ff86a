import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { AgentFunction } from "../../src/agents/agent-function.js";
import { resumeArtEBenchmark, runArtEBenchmark } from "../../src/library/benchmark.js";
import type { BenchmarkConfig, Scorer } from "../../src/library/benchmark-config.js";
import { importMail } from "../../src/library/import-mail.js";
import { loadTasks } from "../../src/library/load-tasks.js";
import { fetchTrace, openDatabase } from "../../src/library/open-database.js";
import type { Question, Trace } from "../../src/library/published-types.js";
import { MAIL, QUESTIONS, ROOT, startProgram, workFolder } from "../cli/art-e.js";

/** Agents, scorers and questions that a program passes to the library. */

const { artE, path, write } = workFolder({ mail: MAIL });

let tasks: Question[];
let db: string;
beforeAll(async () => {
  db = path("art-e.db");
  tasks = await loadTasks({ dataset: QUESTIONS, limit: 3 });
});

const run = (agent: BenchmarkConfig["agent"], config: Partial<BenchmarkConfig> = {}, questions = tasks) =>
  runArtEBenchmark(questions, { db, env: {}, agent, ...config });

const tracesOf = async (runId: string): Promise<Trace[]> => {
  const database = await openDatabase(db);
  const traces = [...database.traces(runId)];
  database.close();
  return traces;
};

describe("an agent function", () => {
  it("gets the question, its mailbox and its tools, and every call is traced", async () => {
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

  it("cannot read another mailbox, and learns why a call is refused", async () => {
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

  it.each([
    ["throws", async () => Promise.reject(new Error("no network")), "model_error", "no network"],
    ["returns nothing", (async () => undefined) as unknown as AgentFunction, "model_error", "returned no answer"],
    ["returns a number", (async () => 7) as unknown as AgentFunction, "model_error", "returned no answer"],
    [
      "throws at once",
      () => {
        throw new Error("not async");
      },
      "model_error",
      "not async",
    ],
  ] as const)("that %s fails the task, and the others continue", async (_, broken, ending, error) => {
    const agent: AgentFunction = async (task) => (task.id === tasks[0]?.id ? broken(task) : "$40");
    const results = await run(agent as AgentFunction);
    expect(results).toMatchObject({ totalTasks: 3, failedTasks: 1 });
    const failed = results.taskResults.find(({ error: text }) => text !== undefined);
    expect(failed).toMatchObject({ taskId: tasks[0]?.id, ending, error: expect.stringContaining(error) });
  });

  it("that ignores its signal ends with the task's time limit", async () => {
    const results = await run(() => new Promise<string>(() => {}), { taskTimeout: 0.2 }, tasks.slice(0, 1));
    expect(results.endings).toEqual({ timeout: 1 });
  });

  it("that changes what it receives or has passed changes neither the trace nor other tasks", async () => {
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

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each([
    ["a BigInt", { query: 1n }, "its arguments are not JSON"],
    ["a cycle", cycle, "its arguments are not JSON"],
    ["an argument of two million characters", { query: "x".repeat(2_000_000) }, "its arguments exceed"],
  ])("that passes %s to a tool fails its task, and the others continue", async (_, args, message) => {
    const agent: AgentFunction = async ({ id, callTool }) => {
      if (id === tasks[0]?.id) await callTool("email_search", args as never);
      return "x";
    };
    const results = await run(agent);
    expect(results).toMatchObject({ completedTasks: 2, failedTasks: 1 });
    expect(results.taskResults.find(({ error }) => error !== undefined)?.error).toContain(message);
  });

  it.each([
    ["an answer of 60 million characters", () => "word ".repeat(12_000_000)],
    ["a million sources", () => ({ answer: "x", sources: Array(1_000_000).fill("<a@b>") })],
  ])("that returns %s fails its task within seconds", async (_, returned) => {
    const started = performance.now();
    const results = await run(async () => returned(), { taskTimeout: 30 }, tasks.slice(0, 1));
    expect(results.endings).toEqual({ model_error: 1 });
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it("that calls a tool after its end learns that the task has ended", async () => {
    const late: Promise<unknown>[] = [];
    const agent: AgentFunction = async ({ callTool }) => {
      const call = () => callTool("email_search", { query: "dues" }).catch((error: Error) => error.message);
      late.push(call(), delay(100).then(call));
      return "x";
    };
    await run(agent, {}, tasks.slice(0, 1));
    const message = "Cannot call email_search: the task has ended.";
    expect(await Promise.all(late)).toEqual([message, message]);
  });

  it("without an answer is out of turns", async () => {
    const results = await run(async () => ({ answer: null }), {}, tasks.slice(0, 1));
    expect(results.endings).toEqual({ out_of_turns: 1 });
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

  it("stops when the signal aborts, and is continued with the same function", async () => {
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

  const runMany = async (count: number) => {
    const { signal } = new AbortController();
    const one = () => run(agent, { signal }, tasks.slice(0, 1));
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

  it("in one process all finish", () => runMany(8));

  it("in two processes all finish", async () => {
    expect(await Promise.all([6, 6].map(runInProcess))).toEqual(Array(2).fill({ code: 0, stdout: "6\n", stderr: "" }));
  });

  it("in one process all finish, 50 at a time, a hundred times", { tags: ["slow"], timeout: 3_600_000 }, async () => {
    for (let round = 0; round < 100; round++) await runMany(50);
  });

  it("in two processes all finish, 20 in each", { tags: ["slow"] }, async () => {
    expect(await Promise.all([20, 20].map(runInProcess))).toEqual(
      Array(2).fill({ code: 0, stdout: "20\n", stderr: "" }),
    );
  });

  it("finish next to an import into their database", async () => {
    const own = { db: path("growing.db") };
    await importMail(MAIL, own);
    const importing = importMail(MAIL, own);
    const runs = Array.from({ length: 3 }, () => run(agent, own, tasks.slice(0, 1)));
    expect(await Promise.all([importing, ...runs])).toMatchObject([{}, ...Array(3).fill({ completedTasks: 1 })]);
  });
});

describe("an invalid call", () => {
  it.each([
    ["limit: -1", { limit: -1 }, /^limit: /],
    ["limit: NaN", { limit: Number.NaN }, /^limit: /],
    ["an unknown option", { limitt: 4 }, /^limitt: unknown option\.$/],
    ["an unknown split", { split: "dev" }, /^split: /],
  ])("of loadTasks with %s is refused", async (_, options, message) => {
    const loading = loadTasks({ dataset: QUESTIONS, ...(options as object) });
    await expect(loading).rejects.toMatchObject({ code: "option_invalid", message: expect.stringMatching(message) });
  });

  it.each([
    ["limit: -1", { limit: -1 }, /^limit: expected a whole number of at least 0\.$/],
    ["an unknown filter", { filter: "some" }, /^filter: expected none or art\.$/],
    ["an unknown option", { limitt: 3 }, /^limitt: unknown option\.$/],
  ])("of importMail with %s is refused", async (_, options, message) => {
    const importing = importMail(MAIL, { db: path("other.db"), ...(options as object) });
    await expect(importing).rejects.toMatchObject({ code: "option_invalid", message: expect.stringMatching(message) });
    expect(existsSync(path("other.db"))).toBe(false);
  });

  it("of search is refused", async () => {
    const database = await openDatabase(db);
    const searching = (options: object) => database.search(tasks[0]?.inbox_address ?? "", "dues", options);
    await expect(searching({ limit: 51 })).rejects.toMatchObject({
      message: "limit: expected a whole number from 1 to 50.",
    });
    await expect(searching({ cutoff: "2000-13-45" })).rejects.toMatchObject({
      message: "cutoff: expected a date, YYYY-MM-DD.",
    });
    database.close();
  });

  it("with an output that cannot be written does not start a run", async () => {
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
  ])("of %s is refused if its %s has another type", async (_, name, call) => {
    for (const bad of [5, Symbol("x")]) {
      await expect(call(bad as never)).rejects.toMatchObject({
        code: "option_invalid",
        message: expect.stringMatching(new RegExp(`^${name}: expected `)),
      });
    }
  });

  it("of a closed database says that it is closed", async () => {
    const database = await openDatabase(db);
    database.close();
    expect(() => database.runs()).toThrow(expect.objectContaining({ code: "db_closed" }));
  });

  it("of runArtEBenchmark names the argument", async () => {
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

  it("with an aborted signal does not start a run", async () => {
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

  it("that changes its input changes neither the stored answer nor what the next scorer sees", async () => {
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

  it("that returns a number too large for a mean fails", async () => {
    const explanation = "the scorer returned neither a number (up to 1e100) nor null";
    expect(await failureOf(() => 1e308)).toEqual([3, { value: null, explanation, failed: true }]);
  });

  it("that never ends fails after the task timeout", async () => {
    const failure = { value: null, explanation: "not finished after 0.5 s", failed: true };
    expect(await failureOf(() => new Promise(() => {}), { taskTimeout: 0.5 })).toEqual([3, failure]);
  });

  it("that never ends does not keep an aborted run from stopping, and runs again after a resume", async () => {
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

  it("cannot have the name of another one", async () => {
    const twice = run(async () => "x", { scorers: [1, 0].map((value) => ({ name: "same", score: () => value })) });
    await expect(twice).rejects.toMatchObject({ message: "scorers: two functions have the name same." });
  });

  it("is stored with its mean and interval, and a failure is recorded", async () => {
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

  it("is required to continue the run", async () => {
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
  ])("%o are refused", async (config, message) => {
    await expect(run("baseline", config as never)).rejects.toMatchObject({
      name: "UserError",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["no tasks", [], /does not contain questions/],
    ["a task without an answer", [{ id: 1, question: "?" }], /task 0/],
    ["two tasks with one id", [0, 0], /1/],
  ])("%s are refused", async (_, list, message) => {
    const questions = list.map((item) => (typeof item === "number" ? tasks[item] : item));
    await expect(run("baseline", {}, questions as never)).rejects.toThrow(message);
  });

  it("runs over loaded tasks have the dataset of the command line, and other tasks their own", async () => {
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
