import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Budget } from "../../src/runs/budget.js";
import type { Ending } from "../../src/tasks/ending.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { NO_LIMITS, type RunLimits } from "../../src/traces/run-settings.js";
import type { TaskCost } from "../../src/traces/task-result.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { benchmark, remote, resumed } from "./run-setup.js";

function opened(limits: Partial<RunLimits> = {}, workedMs = 0) {
  let now = 1_000;
  const budget = new Budget({ ...NO_LIMITS, ...limits }, workedMs, () => now);
  const spending = (costUsd: number | null, tokens: number): TaskCost => ({
    spent: { costUsd, usage: { inputTokens: tokens, outputTokens: tokens, cachedInputTokens: tokens } },
    judgeCostUsd: 0,
  });
  return {
    budget,
    charge: (costUsd: number | null, tokens = 0) => budget.charge(spending(costUsd, tokens)),
    add: (ending: Ending, times = 1, costUsd: number | null = 0, tokens = 0) => {
      for (let i = 0; i < times; i++) budget.add(spending(costUsd, tokens), ending);
      return budget.reached()?.why ?? null;
    },
    pass: (ms: number) => {
      now += ms;
      return budget.reached()?.why ?? null;
    },
  };
}

describe("a budget", () => {
  test("without limits is never spent", () => {
    const { add, pass } = opened();
    expect(add("model_error", 1_000, 1_000, 1e9)).toBeNull();
    expect(pass(1e12)).toBeNull();
  });

  test("in dollars is spent when it is reached, not before", () => {
    const { add } = opened({ maxCostUsd: 0.5 });
    expect(add("answered", 1, 0.25)).toBeNull();
    expect(add("answered", 1, null)).toBeNull();
    expect(add("answered", 1, 0.25)).toBe("--max-cost 0.5 is reached: $0.5000 spent");
  });

  test("in tokens counts those in and out, cached ones once", () => {
    const { add } = opened({ maxTokens: 400 });
    expect(add("answered", 1, null, 199)).toBeNull();
    expect(add("answered", 1, null, 1)).toBe("--max-run-tokens 400 is reached: 400 used");
  });

  test("in time is over at its end", () => {
    const { pass } = opened({ maxTimeMs: 60_000 });
    expect(pass(59_999)).toBeNull();
    expect(pass(1)).toBe("--max-time is over");
  });

  test("of failures counts what has failed, and not what has no answer", () => {
    const { add } = opened({ maxFailures: { tasks: 2 } });
    expect([add("out_of_turns"), add("dont_know"), add("out_of_budget"), add("model_error")]).toEqual(
      Array(4).fill(null),
    );
    expect(add("timeout")).toBe("--max-failures 2 is reached");
  });

  test("of a share of failures holds from the twentieth task on", () => {
    const { add } = opened({ maxFailures: { share: 0.05 } });
    expect(add("model_error", 19)).toBeNull();
    expect(add("answered")).toBe("--max-failures 5% is reached: 19 of 20 tasks failed");
  });

  test("of a share of failures is reached at exactly this share", () => {
    const { add } = opened({ maxFailures: { share: 0.1 } });
    expect(add("answered", 18)).toBeNull();
    expect(add("model_error", 2)).toBe("--max-failures 10% is reached: 2 of 20 tasks failed");
  });

  test("in dollars includes the judge, whose unknown cost counts as nothing", () => {
    const { budget } = opened({ maxCostUsd: 1 });
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.charge({ spent: { costUsd: 0.5, usage }, judgeCostUsd: null });
    expect(budget.reached()).toBeNull();
    budget.charge({ spent: { costUsd: 0.25, usage }, judgeCostUsd: 0.25 });
    expect(budget.reached()).toEqual({ flag: "--max-cost", why: "--max-cost 1 is reached: $1.0000 spent" });
  });

  test("of a share of failures is not reached just below it", () => {
    const { add } = opened({ maxFailures: { share: 0.1 } });
    expect(add("answered", 30)).toBeNull();
    expect(add("model_error", 3)).toBeNull();
    expect(add("model_error")).toBe("--max-failures 10% is reached: 4 of 34 tasks failed");
  });

  test("bears what earlier sessions have spent, but not their failures", () => {
    const { charge, add, budget } = opened({ maxCostUsd: 1, maxTokens: 100, maxFailures: { tasks: 1 } });
    charge(0.75, 10);
    expect(budget.reached()).toBeNull();
    expect(add("answered", 1, 0.25, 10)).toBe("--max-cost 1 is reached: $1.0000 spent");
    const other = opened({ maxTokens: 20 });
    other.charge(null, 10);
    expect(other.budget.reached()?.why).toBe("--max-run-tokens 20 is reached: 20 used");
  });

  test("in time bears what earlier sessions have worked", () => {
    const { pass } = opened({ maxTimeMs: 60_000 }, 50_000);
    expect(pass(9_999)).toBeNull();
    expect(pass(1)).toBe("--max-time is over");
  });
});

describe("a run", () => {
  let demo: TestDb;
  let set: QuestionSet;
  let provider: FakeProvider;
  beforeEach(async () => {
    demo = await openDemo();
    set = await demoSet();
  });
  afterEach(async () => {
    demo.close();
    await provider.close();
  });

  test.each([
    ["whose key is refused", 401, "key"],
    ["whose account has no money", 402, "key"],
    ["whose model is unknown", 404, "model"],
  ])("%s stops at once and leaves its tasks unanswered", async (_what, status, by) => {
    provider = await startFakeProvider(() => ({ fail: "status", status, message: "no, test-key" }));
    const model = await remote("anthropic", provider.baseUrl("anthropic"), 4);
    const wanted = { model, set, concurrency: 8 };
    const { results, traces, run, stopped, asked, events } = await benchmark(demo.db, wanted);
    expect(provider.requests.length).toBeLessThanOrEqual(8);
    expect([results, traces]).toEqual([[], []]);
    expect(run.status).toBe("interrupted");
    const successor = status === 404 ? "; after claude-sonnet-4-5 came anthropic/claude-sonnet-5-5" : "";
    expect(stopped).toEqual({ by, why: `${model.id}: ${status} no, [key]${successor}` });
    expect(asked).toBe(73);
    expect(events.at(-1)).toMatchObject({ type: "run_finished", interrupted: true });
  });

  test("whose key is refused in the middle keeps what was answered, and goes on with a new key", async () => {
    let valid = true;
    provider = await startFakeProvider(() => (valid ? { content: "x" } : { fail: "status", status: 401 }));
    const wanted = { model: await remote("anthropic", provider.baseUrl("anthropic")), set, concurrency: 4 };
    let finished = 0;
    const onEvent = ({ type }: { type: string }) => {
      if (type === "task_finished" && ++finished === 10) valid = false;
    };
    const first = await benchmark(demo.db, { ...wanted, onEvent });
    expect(first.results.length).toBeGreaterThanOrEqual(10);
    expect(first.results.length).toBeLessThanOrEqual(13);
    expect(first.totals.endings).toEqual({ answered: first.results.length });
    valid = true;
    const second = await resumed(demo.db, wanted, first.run.id);
    expect(second.totals).toMatchObject({ totalTasks: 73, endings: { answered: 73 } });
  });

  test("that has spent its budget finishes what is under way, and goes on with a larger one", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 0 };
    provider = await startFakeProvider(() => ({ content: "x", usage }));
    const wanted = { model: await remote("anthropic", provider.baseUrl("anthropic")), set, concurrency: 4 };
    const first = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 10_000 } });
    expect(first.stopped).toMatchObject({ by: "limit", why: expect.stringContaining("--max-run-tokens 10000") });
    expect(first.results.length).toBeGreaterThanOrEqual(10);
    expect(first.results.length).toBeLessThanOrEqual(13);
    expect(provider.requests).toHaveLength(first.results.length);
    const same = await resumed(demo.db, { ...wanted, limits: { maxTokens: 10_000 } }, first.run.id);
    expect(same.results).toEqual(first.results);
    const rest = await resumed(demo.db, { ...wanted, limits: { maxTokens: 1e9 } }, first.run.id);
    expect(rest).toMatchObject({ stopped: null, totals: { totalTasks: 73, usage: { inputTokens: 73_000 } } });
    expect(provider.requests).toHaveLength(73);
  });
});
