import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { QuestionSet } from "../../src/tasks/question.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { type ParsedRequest, WIRE_FORMATS } from "../providers/wire-request.js";
import { demoSet, MARCUS, openDemo, question, type TestDb } from "./demo-setup.js";
import { benchmark, remote } from "./run-setup.js";

describe("model failures", () => {
  /** Servers that fail in the middle of a run, over real HTTP. */

  /** Only the first turn's usage: 1000 input tokens at $3 and 20 output tokens at $15 per million. */
  const FIRST_TURN_COST = 0.0033;
  const USAGE = { inputTokens: 1000, outputTokens: 20, cachedInputTokens: 0 };
  let demo: TestDb;
  let set: QuestionSet;
  let provider: FakeProvider;

  beforeAll(async () => {
    demo = await openDemo();
    set = await demoSet();
  });

  afterAll(() => demo.close());

  afterEach(() => provider.close());

  const ask = (ids: readonly number[]) => ids.map((id) => question(set.questions, id));

  const search = {
    toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: MARCUS } }],
    usage: USAGE,
  };

  const finish = (answer: string, sources: readonly string[] = []) => ({
    toolCalls: [{ name: "return_final_answer", arguments: { answer, sources } }],
    usage: USAGE,
  });

  const down = (status: number, message = "it failed"): Answer => ({ fail: "status", status, message });

  async function runAgainst(
    answer: (request: ParsedRequest) => Answer,
    ids: readonly number[],
    attempts = 1,
    taskTimeoutMs = 60_000,
  ) {
    provider = await startFakeProvider(answer);
    const model = await remote("anthropic", provider.baseUrl("anthropic"), attempts);
    return benchmark(demo.db, { model, set, questions: ask(ids), taskTimeoutMs });
  }

  const UNGRADED = { exactMatch: null, semanticScore: null, sourcesCorrect: null, foundGold: null, readGold: null };

  describe("a task whose model fails", () => {
    test("ends as model_error with the reason, without a retry or a grade, if the failure is permanent", async () => {
      const { results, traces, totals } = await runAgainst(() => down(400, "no such tool"), [16], 4);
      expect(provider.requests).toHaveLength(1);
      expect(results[0]).toMatchObject({
        ...UNGRADED,
        ending: "model_error",
        agentAnswer: "",
        turns: 0,
        retries: 0,
        costUsd: 0,
      });
      expect(results[0]?.error).toBe("anthropic/claude-sonnet-4-5: 400 no such tool");
      expect(traces[0]).toMatchObject({ ending: "model_error", answer: null, sources: [], scores: {}, turns: [] });
      expect(traces[0]?.messages.map((message) => message.role)).toEqual(["system", "user"]);
      expect(totals).toMatchObject({ completedTasks: 0, failedTasks: 1, exactMatchAccuracy: null });
      expect(totals.overAllTasks).toMatchObject({ tasks: 1, exactMatchAccuracy: 0 });
    });

    test("keeps its retries if the failure is repeated", async () => {
      const { results, traces, totals } = await runAgainst(() => down(500), [16], 3);
      expect(provider.requests).toHaveLength(3);
      expect(results[0]).toMatchObject({ ...UNGRADED, ending: "model_error", retries: 2, costUsd: 0 });
      expect(results[0]?.error).toContain("500 it failed (after 3 attempts)");
      expect(traces[0]?.turns).toHaveLength(1);
      expect(traces[0]?.turns[0]?.retries.map(({ attempt, reason }) => [attempt, reason])).toEqual([
        [1, "500 it failed"],
        [2, "500 it failed"],
      ]);
      expect(totals).toMatchObject({ failedTasks: 1, retries: 2, costUsd: 0 });
    });

    test("keeps the first turn's cost and results, and gets no score, if the failure is in the second turn", async () => {
      const { results, traces, totals } = await runAgainst(({ turn }) => (turn === 0 ? search : down(503)), [16], 2);
      const result = results[0];
      expect(result).toMatchObject({ ...UNGRADED, ending: "model_error", retries: 1, usage: USAGE });
      expect(result?.costUsd).toBeCloseTo(FIRST_TURN_COST, 10);
      expect(totals.costUsd).toBeCloseTo(FIRST_TURN_COST, 10);
      expect(traces[0]?.toolCalls).toHaveLength(1);
      expect(traces[0]?.toolCalls[0]?.result).not.toBeNull();
      expect(traces[0]?.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
    });

    test("gets a score, and its retries are recorded, if the failure is temporary", async () => {
      let asked = 0;
      const answer = () => (++asked === 1 ? down(529) : finish("$40"));
      const { results, totals } = await runAgainst(answer, [16], 3);
      expect(results[0]).toMatchObject({ ending: "answered", exactMatch: true, retries: 1, turns: 1 });
      expect(totals).toMatchObject({ completedTasks: 1, failedTasks: 0, retries: 1 });
    });

    test("ends as timeout, and keeps the earlier turns, if the model falls silent", async () => {
      const answer = ({ turn }: ParsedRequest): Answer => (turn === 0 ? search : { fail: "silence" });
      const { results, traces } = await runAgainst(answer, [16], 4, 2_000);
      expect(results[0]).toMatchObject({ ...UNGRADED, ending: "timeout", error: "No answer within 2 s.", turns: 1 });
      expect(results[0]?.costUsd).toBeCloseTo(FIRST_TURN_COST, 10);
      expect(traces[0]).toMatchObject({ ending: "timeout", scores: {}, answer: null });
      expect(provider.requests).toHaveLength(2);
    });

    test("contains the key in neither trace nor result if the failure repeats it", async () => {
      const { traces, results } = await runAgainst(() => down(400, "bad key test-key"), [16]);
      expect(results[0]?.error).toContain("bad key");
      expect(JSON.stringify([traces, results])).not.toContain("test-key");
    });
  });

  describe("a run whose server rejects every question", () => {
    const rejected = async (status: number, error: object, questions = 8) => {
      provider = await startFakeProvider(() => ({ fail: "status", status, body: { error: { ...error } } }));
      const model = await remote("openai-chat", provider.baseUrl("openai-chat"), 3);
      return benchmark(demo.db, { model, set, questions: set.questions.slice(0, questions), concurrency: 1 });
    };

    // All words of such errors are tested in test/models/provider-errors.test.ts.
    test.each<[string, string, object]>([
      [
        "its account is restricted, with the code of a refusal",
        "account",
        {
          message: "Your access has been restricted due to repeated policy violations",
          code: "content_policy_violation",
        },
      ],
      ["its key is wrong", "key", { message: "Incorrect API key provided: xa***st.", code: "invalid argument" }],
      ["its key expired", "key", { message: "API key expired. Please renew it.", status: "INVALID_ARGUMENT" }],
      ["its model is gone", "model", { message: "The model `llama3-70b-8192` has been decommissioned" }],
      [
        "it has too many tools",
        "tools",
        {
          message: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 150 instead.",
          code: "array_above_max_length",
          param: "tools",
        },
      ],
    ])("stops at the first question if %s (%s), and rejects none", async (_, by, error) => {
      const { run, stopped, results } = await rejected(400, error);
      expect(stopped).toMatchObject({ by });
      expect(run.status).toBe("interrupted");
      expect(results).toEqual([]);
      expect(provider.requests).toHaveLength(1);
    });

    test("names the number of tools if there are too many", async () => {
      const { stopped } = await rejected(400, { message: "You may not include more than 128 tools in your request." });
      expect(stopped).toMatchObject({
        why: expect.stringMatching(/more than 128 tools.*; the request has \d+ tools$/),
      });
    });

    test("stops after five different questions with the same error, whatever its words", async () => {
      const { stopped } = await rejected(400, { message: "the moon is in the wrong phase" });
      expect(stopped).toMatchObject({ by: "server", why: expect.stringContaining("5 tasks in a row") });
      expect(provider.requests).toHaveLength(5);
    });

    test("continues after one web page of a firewall, and does not show it", async () => {
      const page = "<!DOCTYPE html><html><head><title>Attention Required!</title></head><body>no</body></html>";
      let asked = 0;
      provider = await startFakeProvider(() =>
        ++asked === 2 ? { fail: "status", status: 403, body: page } : finish("$40"),
      );
      const model = await remote("openai-chat", provider.baseUrl("openai-chat"), 3);
      const { run, totals, results } = await benchmark(demo.db, {
        model,
        set,
        questions: set.questions.slice(0, 4),
        concurrency: 1,
      });
      expect(run.status).toBe("completed");
      expect(totals).toMatchObject({ completedTasks: 3, failedTasks: 1 });
      expect(JSON.stringify(results)).not.toContain("<html");
    });
  });

  describe("a run with failed tasks", () => {
    test("continues, and its totals have both denominators", async () => {
      const gold = question(set.questions, 16).message_ids;
      const { results, totals, run } = await runAgainst(
        ({ question, turn }) => {
          if (question.includes("softball dues")) return finish("$40", gold);
          if (question.includes("Calgary hotel")) return down(500);
          if (question.includes("Sylvie") || question.includes("MVP")) return turn === 0 ? search : down(400);
          return finish("the wrong answer");
        },
        [16, 15, 18, 2],
      );
      expect(run.status).toBe("completed");
      expect(results.map(({ taskId, ending }) => [taskId, ending])).toEqual([
        [2, "answered"],
        [15, "model_error"],
        [16, "answered"],
        [18, "model_error"],
      ]);
      const completed = results.filter((result) => result.error === undefined);
      const mean = (field: keyof TaskResult, over: number) =>
        completed.reduce((sum, result) => sum + Number(result[field]), 0) / over;
      const averages = (over: number) => ({
        exactMatchAccuracy: mean("exactMatch", over),
        avgSemanticScore: mean("semanticScore", over),
        sourcesCorrect: mean("sourcesCorrect", over),
        foundGold: mean("foundGold", over),
        readGold: mean("readGold", over),
      });
      expect(totals).toMatchObject({ totalTasks: 4, completedTasks: 2, failedTasks: 2, ...averages(2) });
      expect(totals.overAllTasks).toEqual({ tasks: 4, ...averages(4) });
      expect(totals).toMatchObject({ exactMatchAccuracy: 0.5, sourcesCorrect: 0.5 });
      expect(totals.avgExecutionTimeMs).toBe(mean("executionTimeMs", 2));
      expect(totals.usage).toEqual({ inputTokens: 3000, outputTokens: 60, cachedInputTokens: 0 });
      expect(totals.costUsd).toBeCloseTo(3 * FIRST_TURN_COST, 10);
      expect(totals.endings).toEqual({ answered: 2, model_error: 2 });
      expect(
        demo.db.prepare("SELECT task_id FROM results WHERE run_id = ? AND failed = 1").pluck().all(run.id),
      ).toEqual([15, 18]);
    });
  });
});

describe.each(WIRE_FORMATS)("a task over %s", (format) => {
  /** Invalid replies, each with its ending, over every wire format and real HTTP. */

  let demo: TestDb;
  let set: QuestionSet;
  let provider: FakeProvider;

  beforeAll(async () => {
    demo = await openDemo();
    set = await demoSet();
  });

  afterAll(() => demo.close());

  afterEach(() => provider.close());

  const call = (name: string, args: Parameters<typeof JSON.stringify>[0]) => ({ name, arguments: args });
  const search = call("email_search", { query: "dues", inbox_id: MARCUS });
  const finish = { toolCalls: [call("return_final_answer", { answer: "$40", sources: [] })] };
  const megabytes = (n: number) => "x".repeat(n * 1024 * 1024);

  async function asked(answer: (request: ParsedRequest) => Answer, attempts = 1) {
    provider = await startFakeProvider(answer);
    const model = await remote(format, provider.baseUrl(format), attempts);
    const { results, traces, totals } = await benchmark(demo.db, {
      model,
      set,
      questions: [question(set.questions, 16)],
    });
    const [result, trace] = [results[0], traces[0]];
    if (result === undefined || trace === undefined) throw new Error("the task left nothing");
    return { result, trace, totals };
  }

  const partial = format.startsWith("openai") ? '{"query": "du' : ["du"];

  test.each([
    ["truncated arguments", call("email_search", partial), /not one JSON object\. Call it again/],
    ["an unknown tool", call("send_money", { to: "me" }), /no tool "send_money"\. The tools are: .*email_get/],
    ["arguments in another format", call("email_search", { query: 7 }), /query/],
  ])("returns an error to the model, which continues (%s)", async (_, wrong, told) => {
    const { result, trace } = await asked(({ turn }) => (turn === 0 ? { toolCalls: [wrong] } : finish));
    expect(result).toMatchObject({ ending: "answered", exactMatch: true, turns: 2 });
    expect(trace.toolCalls[0]?.error).toMatch(told);
    expect(JSON.stringify(provider.requests[1]?.body)).toContain(
      JSON.stringify(trace.toolCalls[0]?.error).slice(1, -1),
    );
  });

  test("repairs slightly wrong arguments, and the run counts the calls", async () => {
    const asText = call("email_search", { ...search.arguments, limit: "5" });
    const { result, trace, totals } = await asked(({ turn }) => (turn < 2 ? { toolCalls: [asText] } : finish));
    expect(trace.toolCalls.slice(0, 2).map(({ error, repairs }) => [error, repairs?.length])).toEqual([
      [null, 1],
      [null, 1],
    ]);
    expect([result.repairedCalls, totals.repairedCalls]).toEqual([2, 2]);
  });

  test("ends as tool_protocol_error if all calls are unusable", async () => {
    const { result } = await asked(() => ({ toolCalls: [call("send_money", {})] }));
    expect(result).toMatchObject({ ending: "tool_protocol_error", turns: 3 });
  });

  test("makes all calls of one turn, in order", async () => {
    const wrong = call("send_money", {});
    const { result, trace } = await asked(({ turn }) => (turn === 0 ? { toolCalls: [search, wrong, search] } : finish));
    expect(result.ending).toBe("answered");
    expect(trace.toolCalls.slice(0, 3).map(({ name, error }) => [name, error === null])).toEqual([
      ["email_search", true],
      ["send_money", false],
      ["email_search", true],
    ]);
  });

  test.each<[string, Answer]>([
    ["the same call forever", { toolCalls: [search] }],
    ["empty replies", { content: "" }],
    ["truncated replies", { content: "The", finishReason: "length" }],
  ])("ends as out_of_turns after %s", async (_, answer) => {
    const { result, trace } = await asked(() => answer);
    expect(result).toMatchObject({ ending: "out_of_turns", turns: trace.maxTurns, agentAnswer: "" });
  });

  test("never treats an incomplete reply as the answer", async () => {
    const { result } = await asked(() => ({ content: "$40", finishReason: "other" }));
    expect(result).toMatchObject({
      ending: "model_error",
      agentAnswer: "",
      error: expect.stringContaining("broke off"),
    });
  });

  test("replaces bytes that are not UTF-8", async () => {
    const { result } = await asked(() => ({ fail: "invalid-utf8" }));
    expect(result).toMatchObject({ ending: "answered", agentAnswer: "before|\uFFFD|after" });
  });

  test("ends as model_error, without a retry, if a reply has 10 MB", async () => {
    const { result, trace } = await asked(() => ({ content: megabytes(10) }), 3);
    expect(result).toMatchObject({ ending: "model_error", retries: 0 });
    expect(result.error).toContain("the reply is larger than 8 MB");
    expect(provider.requests).toHaveLength(1);
    expect(JSON.stringify(trace).length).toBeLessThan(100_000);
  });
});
