import { afterEach, describe, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { boxLines, demoQuestions, jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** Runs whose replies are kept: from the cache, and from a recording. */

const { artE, readJson } = workFolder({ mail: MAIL });

let provider: FakeProvider;
afterEach(() => provider.close());

const USAGE = { inputTokens: 10_000, outputTokens: 1_000, cachedInputTokens: 0 };
/** At $2 and $10 a million. */
const TURN_USD = 0.03;
const RUN = `run -a email-search --dataset ${QUESTIONS}`;
const run = (line: string) => artE(line, { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.url });

const search = { toolCalls: [{ name: "email_search", arguments: { query: "x", inbox_id: MARCUS } }], usage: USAGE };

/** Two turns a question; the answer is another at every asking. */
async function changing(): Promise<void> {
  let said = 0;
  provider = await startFakeProvider(({ turn }) =>
    turn === 0 ? search : { content: `answer ${++said}`, usage: USAGE },
  );
}

/** All but ids and the times of the clock. */
function repeatable(file: string) {
  const { taskResults, settings, limits: _limits, ...totals } = resultsSchema.parse(readJson(file));
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
  it("asks nothing twice, repeats included, and says what was spent", async () => {
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

  it("goes on with a run that was stopped, what was kept included", async () => {
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

  it("is refused where no server is asked", async () => {
    await changing();
    const { code, stderr } = await run(`${RUN} --model-id offline/baseline --cache`);
    expect(code).toBe(2);
    expect(stderr).toContain("--cache is not for offline/baseline: it asks no server.");
  });
});

describe("--record and replay/FILE", () => {
  it("repeat a run with its failures, retries and repeats, at any concurrency", async () => {
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
  }, 180_000);
});
