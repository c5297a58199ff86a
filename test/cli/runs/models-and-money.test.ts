import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Usage } from "../../../src/models/usage.js";
import { type Answer, type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { boxLines, demoQuestions, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { ownResultsSchema, resultsSchema } from "../results-schema.js";

describe("models and money", () => {
  /** The cost and the model of a run, over a provider's own protocol. */

  const { artE, read, readJson } = workFolder({ mail: MAIL });
  const RUN = `run -a email-search --dataset ${QUESTIONS} --no-judge --concurrency 1`;
  const providers: FakeProvider[] = [];

  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  async function provide(answer: (turn: number) => Answer): Promise<FakeProvider> {
    const provider = await startFakeProvider(({ turn }) => answer(turn));
    providers.push(provider);
    return provider;
  }

  /** Replies immediately. */
  const answering = (usage: Usage, model?: string) =>
    provide(() => ({
      toolCalls: [{ name: "return_final_answer", arguments: { answer: "x", sources: [] } }],
      usage,
      ...(model === undefined ? {} : { model }),
    }));

  const keyed = (provider: FakeProvider) => ({
    ANTHROPIC_API_KEY: "test-key",
    ANTHROPIC_BASE_URL: provider.baseUrl("anthropic"),
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: provider.baseUrl("openai-chat"),
  });

  it.each([
    [
      "no tokens and a cost of 0",
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0 },
      ["input tokens", "known price"],
    ],
    ["a cost of 0", { prompt_tokens: 5_000, completion_tokens: 10, cost: 0 }, ["known price"]],
    [
      "more cached tokens than input, with a total that contradicts them",
      { prompt_tokens: 5_000, completion_tokens: 10, total_tokens: 5_010, cached_tokens: 1_000_000 },
      ["more cached tokens"],
    ],
  ])("continues to apply --max-cost if a server reports %s, and notes it", async (_, usage, said) => {
    const call = { id: "1", type: "function", function: { name: "return_final_answer", arguments: '{"answer":"x"}' } };
    const choice = { index: 0, finish_reason: "tool_calls", message: { role: "assistant", tool_calls: [call] } };
    const provider = await provide(() => ({ fail: "body", body: { id: "1", model: "m", choices: [choice], usage } }));
    const line = `${RUN} --model-id openai/m --price 10,10 --max-cost 0.1 -l 0`;
    const { code, stderr } = await artE(line, keyed(provider));
    expect([code, stderr]).toEqual([1, expect.stringContaining("--max-cost 0.1 is reached: $0.")]);
    expect(stderr.split("\n").filter((text) => text.startsWith("openai/m: reports"))).toEqual(
      said.map((what) => expect.stringContaining(what)),
    );
    // About 1,000 to 5,000 tokens at $10 per million.
    expect(provider.requests.length).toBeLessThanOrEqual(12);
  });

  describe("cache writes", () => {
    const usage = {
      inputTokens: 10_000,
      outputTokens: 100,
      cachedInputTokens: 1_000,
      cacheWriteTokens: 8_000,
      cacheWrite1hTokens: 2_000,
    };
    // claude-sonnet-5-5: 2 input, 0.1 cached, 2.5 written for five minutes, 4 for an hour, 10 output.
    const right = (1_000 * 2 + 1_000 * 0.1 + 6_000 * 2.5 + 2_000 * 4 + 100 * 10) / 1e6;

    it("appear in the results with their price", async () => {
      const provider = await answering(usage);
      expect((await artE(`${RUN} -l 2 -o writes.json`, keyed(provider))).code).toBe(0);
      const { taskResults, costUsd, ...totals } = resultsSchema.parse(readJson("writes.json"));
      expect(totals.settings.model).toBe("anthropic/claude-sonnet-5-5");
      expect(taskResults[0]?.usage).toEqual(usage);
      expect(taskResults[0]?.costUsd).toBeCloseTo(right, 10);
      expect(costUsd).toBeCloseTo(2 * right, 10);
      expect(totals.usage).toMatchObject({ cacheWriteTokens: 16_000, cacheWrite1hTokens: 4_000 });
    });

    it("count toward --max-cost", async () => {
      const provider = await answering(usage);
      // As plain input, the first task would have been cheaper than the limit.
      const limit = right * 0.95;
      const { code, stderr } = await artE(`${RUN} -l 5 --max-cost ${limit} -o limited.json`, keyed(provider));
      expect({ code, requests: provider.requests.length }).toEqual({ code: 1, requests: 1 });
      expect(stderr).toContain("--max-cost");
    });

    it("cost the same with --price as with the vendors' rule, and CACHED is the price of cache reads", async () => {
      const provider = await answering(usage);
      const costOf = async (price: string) => {
        await artE(`${RUN} -l 1 --price ${price} -o priced.json`, keyed(provider));
        return resultsSchema.parse(readJson("priced.json")).costUsd;
      };
      const rest = 1_000 * 4 + 6_000 * 5 + 2_000 * 8 + 100 * 20;
      expect(await costOf("4,20,0.5")).toBeCloseTo((rest + 1_000 * 0.5) / 1e6, 10);
      expect(await costOf("4,20,0")).toBeCloseTo(rest / 1e6, 10);
      // Without the flag, cached input costs the same as plain input.
      expect(await costOf("4,20")).toBeCloseTo((rest + 1_000 * 4) / 1e6, 10);
    });
  });

  describe("--dry-run", () => {
    it("prices each call separately, so that many short calls do not count as one long prompt", async () => {
      const usage = { inputTokens: 60_000, outputTokens: 1_000, cachedInputTokens: 0 };
      const provider = await provide((turn) => ({
        toolCalls: [
          turn < 3
            ? { name: "email_search", arguments: { query: "gas", inbox_id: MARCUS } }
            : { name: "return_final_answer", arguments: { answer: "x", sources: [] } },
        ],
        usage,
      }));
      const run = `${RUN} --model-id claude-haiku-5-5`;
      expect((await artE(`${run} -l 2 -o calls.json`, keyed(provider))).code).toBe(0);
      const { costUsd } = resultsSchema.parse(readJson("calls.json"));
      expect(costUsd).toBeCloseTo((2 * 4 * (60_000 * 0.1 + 1_000 * 0.5)) / 1e6, 10);
      const estimate = JSON.parse((await artE(`${run} -l 10 --dry-run --json`, keyed(provider))).stdout);
      expect(estimate).toMatchObject({ tasks: 10, basis: "2 tasks of earlier runs" });
      expect(estimate.costUsd).toBeCloseTo((costUsd ?? 0) * 5, 10);
      expect(estimate.usage.inputTokens).toBe(2_400_000);
    });
  });

  describe("a reply from another model", () => {
    const usage = { inputTokens: 100_000, outputTokens: 0, cachedInputTokens: 0 };

    it("appears once, in traces, results and reports, and determines the price", async () => {
      const provider = await answering(usage, "claude-opus-5-5");
      const run = `${RUN} --model-id claude-sonnet-4-5 -l 3 -o other.json`;
      const { code, stdout, stderr } = await artE(run, keyed(provider));
      expect(code).toBe(0);
      expect(stderr.match(/but replies are from claude-opus-5-5/g)).toHaveLength(1);
      expect(stdout).toMatch(/Answered by: +claude-opus-5-5 \(3 replies\)/);
      const { taskResults, answeredBy, costUsd } = resultsSchema.parse(readJson("other.json"));
      expect(answeredBy).toEqual({ "claude-opus-5-5": 3 });
      expect(taskResults.map((result) => result.answeredBy)).toEqual(Array(3).fill({ "claude-opus-5-5": 1 }));
      // 4 dollars per million. claude-sonnet-4-5 costs 3.
      expect(costUsd).toBeCloseTo(1.2, 10);
      const trace = JSON.parse((await artE(`show latest/${taskResults[0]?.taskId} --json`)).stdout);
      expect(trace).toMatchObject({ model: "anthropic/claude-sonnet-4-5", turns: [{ model: "claude-opus-5-5" }] });
      expect((await artE(`show latest/${taskResults[0]?.taskId}`)).stdout).toContain(
        "claude-opus-5-5 according to the replies",
      );
      expect((await artE("report latest --format md")).stdout).toContain("| Answered by | claude-opus-5-5 |");
      expect((await artE("report latest -o page.html")).code).toBe(0);
      expect(read("page.html")).toContain('"answeredBy":["claude-opus-5-5"]');
    });

    it("does not appear if it is a snapshot of the requested model", async () => {
      const provider = await answering(usage, "claude-sonnet-5-5-20260928");
      const { code, stdout, stderr } = await artE(`${RUN} -l 2 -o same.json`, keyed(provider));
      expect({ code, stderr: stderr.includes("replies are from") }).toEqual({ code: 0, stderr: false });
      expect(stdout).not.toContain("Answered by");
      expect(resultsSchema.parse(readJson("same.json")).answeredBy).toEqual({ "claude-sonnet-5-5-20260928": 2 });
    });

    it("appears in ask too, and for a judge", async () => {
      const provider = await answering(usage, "claude-opus-5-5");
      const asked = await artE(["ask", MARCUS, "What is new?", "--model-id", "claude-sonnet-4-5"], keyed(provider));
      expect(asked.stderr).toContain("Requested anthropic/claude-sonnet-4-5, but replies are from claude-opus-5-5");
      const judged = await artE(
        `run -a baseline --dataset ${QUESTIONS} -l 3 --judge anthropic/claude-haiku-4-5`,
        keyed(provider),
      );
      expect(
        judged.stderr.match(/Requested anthropic\/claude-haiku-4-5, but replies are from claude-opus-5-5/g),
      ).toHaveLength(1);
    });
  });

  describe("a model name without a provider", () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 0 };

    it("selects the provider of a known vendor", async () => {
      const provider = await answering(usage);
      expect((await artE(`${RUN} -l 1 --model-id gpt-4.1 -o bare.json`, keyed(provider))).code).toBe(0);
      expect(provider.requests[0]?.path).toBe("/v1/chat/completions");
      expect(resultsSchema.parse(readJson("bare.json"))).toMatchObject({ model: "openai/gpt-4.1", costUsd: 0.002 });
    });

    it("causes an error if the vendor is unknown, and the error shows the spelling that works", async () => {
      const provider = await answering(usage);
      const { code, stderr } = await artE(`${RUN} -l 1 --model-id llama3`, keyed(provider));
      expect({ code, requests: provider.requests.length }).toEqual({ code: 2, requests: 0 });
      expect(stderr).toContain("openai/llama3");
      const ended = await artE(`${RUN} -l 1 --model-id openai/llama3`, keyed(provider));
      expect(ended.code).toBe(0);
      expect(provider.requests[0]?.body).toMatchObject({ model: "llama3" });
    });

    it("gets its provider in an agent too", async () => {
      expect(
        (await artE(["agents", "create", "bare", "--prompt", "Answer.", "--model", "gemini-3.8-flash"])).code,
      ).toBe(0);
      expect(JSON.parse((await artE("agents show bare --json")).stdout)).toMatchObject({
        model: "google/gemini-3.8-flash",
      });
    });
  });

  it("names the successor of a model that the server no longer offers", async () => {
    const provider = await provide(() => ({ fail: "status", status: 404, message: "model: claude-sonnet-4-5" }));
    const { code, stderr } = await artE(`${RUN} -l 2 --model-id claude-sonnet-4-5`, keyed(provider));
    expect(code).toBe(1);
    expect(stderr).toContain("the successor of claude-sonnet-4-5 is anthropic/claude-sonnet-5-5");
  });
});

describe("caching and replaying", () => {
  /** Runs with stored replies, from the cache and from a recording. */

  const { artE, readJson } = workFolder({ mail: MAIL });
  let provider: FakeProvider;

  afterEach(() => provider.close());

  const USAGE = { inputTokens: 10_000, outputTokens: 1_000, cachedInputTokens: 0 };
  /** At $2 and $10 per million. */
  const TURN_USD = 0.03;
  const RUN = `run -a email-search --dataset ${QUESTIONS}`;
  const run = (line: string) => artE(line, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });
  const search = { toolCalls: [{ name: "email_search", arguments: { query: "x", inbox_id: MARCUS } }], usage: USAGE };

  /** Two turns per question. Every call gets a different answer. */
  async function changing(): Promise<void> {
    let said = 0;
    provider = await startFakeProvider(({ turn }) =>
      turn === 0 ? search : { content: `answer ${++said}`, usage: USAGE },
    );
  }

  /** Everything but ids and clock times. */
  function repeatable(file: string) {
    const { taskResults, settings, limits: _limits, ...totals } = ownResultsSchema.parse(readJson(file));
    const { runId: _, startedAt: __, completedAt: ___, totalTimeMs: ____, ...rest } = totals;
    const { avgExecutionTimeMs: _____, avgToolTimeMs: _t, model: ______, ...figures } = rest;
    // A replay sends nothing.
    const { model: _m, baseUrl: _b, concurrency: _c, sent: _s, ...set } = settings;
    return {
      figures,
      set,
      tasks: taskResults.map(({ executionTimeMs: _, toolTimeMs: _t, traceId: __, ...task }) => task),
    };
  }

  /** In the order of the results. */
  async function turnsOf(file: string) {
    const { runId, taskResults } = resultsSchema.parse(readJson(file));
    const { stdout } = await artE(`export-traces --run ${runId} --format jsonl`);
    const traces = new Map(jsonLines(stdout).map((trace) => [trace.traceId, trace]));
    return taskResults.map(({ traceId }) => {
      const { turns, messages, ending, error } = traces.get(traceId);
      return { turns: turns.map(({ startedAt: _, ...turn }: { startedAt: string }) => turn), messages, ending, error };
    });
  }

  describe("--cache", () => {
    it("sends no request twice, even for several epochs, and reports the saved cost", async () => {
      await changing();
      const line = `${RUN} -l 4 --epochs 2 --cache`;
      expect(await run(`${line} -o first.json`)).toMatchObject({ code: 0, stderr: "" });
      expect(provider.requests).toHaveLength(16);
      const first = repeatable("first.json");
      expect(new Set(first.tasks.map(({ agentAnswer }) => agentAnswer)).size).toBe(8);
      expect(first.figures).toMatchObject({ cachedReplies: 0, spent: { usage: { inputTokens: 160_000 } } });

      const again = await run(`${line} --concurrency 16 --max-cost 0.01 -o again.json`);
      expect(again).toMatchObject({ code: 0, stderr: "" });
      expect(provider.requests).toHaveLength(16);
      const second = repeatable("again.json");
      const nothing = { usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }, costUsd: 0 };
      expect(second.figures).toEqual({ ...first.figures, cachedReplies: 16, spent: nothing });
      expect(second.figures.costUsd).toBeCloseTo(16 * TURN_USD, 10);
      expect(second.tasks).toEqual(first.tasks.map((task) => ({ ...task, cachedReplies: 2, spent: nothing })));
      expect(boxLines(again.stdout)["From the cache"]).toBe("16 of 16 replies; $0.00 of the cost was spent now");
      const marked = (await turnsOf("first.json")).map(({ turns, ...task }) => ({
        ...task,
        turns: turns.map((turn: object) => ({ ...turn, cached: true })),
      }));
      expect(await turnsOf("again.json")).toEqual(marked);
    });

    it("lets an interrupted run continue, including the stored replies", async () => {
      await changing();
      const stopped = await run(`${RUN} -l 3 --cache --concurrency 1 --max-cost ${TURN_USD * 1.5} --json`);
      expect(JSON.parse(stopped.stdout)).toMatchObject({ totalTasks: 1, cachedReplies: 0 });
      expect(await run(`${RUN} -l 2 --cache --concurrency 1 --json`)).toMatchObject({ code: 0 });
      const before = provider.requests.length;
      const { runId } = JSON.parse(stopped.stdout);
      const { code, stdout } = await run(`run --resume ${runId} --cache --max-cost 9 --json`);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ totalTasks: 3, turns: 6, cachedReplies: 2 });
      expect(provider.requests.length - before).toBe(2);
    });

    it("causes an error if no server is used", async () => {
      await changing();
      const { code, stderr } = await run(`${RUN} --model-id offline/baseline --cache`);
      expect(code).toBe(2);
      expect(stderr).toContain("--cache does not apply to offline/baseline, which does not call a server.");
    });
  });

  describe("--record and replay/FILE", () => {
    it("reproduce a run with its failures, retries and epochs, at any concurrency", { tags: ["slow"] }, async () => {
      const asked = new Map<string, number>();
      provider = await startFakeProvider(({ question, turn }) => {
        const times = (asked.get(question) ?? 0) + 1;
        asked.set(question, times);
        const at = demoQuestions.findIndex((known) => known.question === question);
        if (at === 0) return { fail: "status", status: 400, message: "no such thing" };
        if (at === 1) return { fail: "silence" };
        if (at === 2 && times === 1) return { fail: "status", status: 503, headers: { "retry-after": "0" } };
        if (at === 3 && times === 1) return { fail: "cut-off" };
        if (at === 4 && turn === 1) return { fail: "invalid-utf8" };
        return turn === 0 ? search : { content: `answer ${times}`, usage: USAGE };
      });
      const line = `${RUN} -l 8 --epochs 2 --task-timeout 15 --quiet`;
      const live = await run(`${line} --concurrency 16 --record said.jsonl -o live.json`);
      expect(live).toMatchObject({ code: 0, stderr: "" });
      const kept = repeatable("live.json");
      expect(kept.figures.endings).toEqual({ answered: 12, model_error: 2, timeout: 2 });
      expect(kept.figures.retries).toBe(2);
      const turns = await turnsOf("live.json");

      const requests = provider.requests.length;
      for (const concurrency of [1, 16]) {
        const replay = `${line} --model-id replay/said.jsonl --concurrency ${concurrency} -o replay.json`;
        expect(await run(replay)).toMatchObject({ code: 0, stderr: "" });
        expect(repeatable("replay.json")).toEqual(kept);
        expect(await turnsOf("replay.json")).toEqual(turns);
      }
      expect(provider.requests).toHaveLength(requests);
    });
  });
});
