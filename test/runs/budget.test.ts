import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BudgetReached } from "../../src/models/call-budget.js";
import { NO_USAGE, type Usage } from "../../src/models/usage.js";
import { Budget, mostOfTask, type TaskBudget } from "../../src/runs/budget.js";
import type { Ending } from "../../src/tasks/ending.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { NO_LIMITS, type OwnRunSettings, type RunLimits } from "../../src/traces/run-settings.js";
import type { TaskCost } from "../../src/traces/task-result.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { benchmark, remote, resumed } from "./run-setup.js";

function opened(limits: Partial<RunLimits> = {}, workedMs = 0) {
  let now = 1_000;
  const budget = new Budget({ ...NO_LIMITS, ...limits }, { costUsd: 0.3, tokens: 300 }, workedMs, () => now);
  const spending = (costUsd: number | null, tokens: number): TaskCost => ({
    spent: { costUsd, usage: { inputTokens: tokens, outputTokens: tokens, cachedInputTokens: tokens } },
    judgeCostUsd: 0,
  });
  return {
    budget,
    charge: (costUsd: number | null, tokens = 0, isPart = false) => budget.charge(spending(costUsd, tokens), isPart),
    add: async (ending: Ending, times = 1, costUsd: number | null = 0, tokens = 0) => {
      for (let i = 0; i < times; i++) await budget.start().end(spending(costUsd, tokens), ending);
      return budget.reached()?.why ?? null;
    },
    pass: (ms: number) => {
      now += ms;
      return budget.reached()?.why ?? null;
    },
  };
}

test("assumes full length of all turns for the estimated maximum per task, and returns zero if the price is unknown", () => {
  const settings = { kind: "own", maxTurns: 2, maxTokens: 10, maxTaskCostUsd: null } as OwnRunSettings;
  const asked: Usage[] = [];
  const priced = mostOfTask(settings, (usage) => {
    asked.push({ ...NO_USAGE, ...usage });
    return 0.25;
  });
  expect(priced).toEqual({ costUsd: 0.5, tokens: 6_020 });
  expect(asked.map(({ inputTokens, cachedInputTokens }) => [inputTokens, cachedInputTokens])).toEqual([
    [2_000, 0],
    [4_000, 0],
  ]);
  expect(mostOfTask(settings, () => null).costUsd).toBe(0);
  expect(mostOfTask({ ...settings, maxTaskCostUsd: 0.3 }, () => 0.25).costUsd).toBe(0.3);
});

describe("a budget", () => {
  test("never ends a run if it has no limits", async () => {
    const { add, pass } = opened();
    expect(await add("model_error", 1_000, 1_000, 1e9)).toBeNull();
    expect(pass(1e12)).toBeNull();
  });

  test("ends a run when its dollars are reached, not before", async () => {
    const { add } = opened({ maxCostUsd: 0.5 });
    expect(await add("answered", 1, 0.25)).toBeNull();
    expect(await add("answered", 1, null)).toBeNull();
    expect(await add("answered", 1, 0.25)).toBe("--max-cost 0.5 is reached: $0.5000 spent, including judging");
  });

  test("learns a task's cost from an earlier attempt, but not from a part of a task", () => {
    const whole = opened({ maxCostUsd: 1 });
    whole.charge(0.6);
    expect(whole.budget.hasRoom()).toBe(false);
    expect(whole.pass(0)).toContain("$0.6000 spent, including judging, and another task might cost $0.6000");
    const part = opened({ maxCostUsd: 1 });
    part.charge(0.6, 0, true);
    expect(part.budget.hasRoom()).toBe(true);
  });

  test("counts input and output tokens, and counts cached tokens once", async () => {
    const { add } = opened({ maxTokens: 400 });
    expect(await add("answered", 1, null, 100)).toBeNull();
    expect(await add("answered", 1, null, 100)).toBe("--max-run-tokens 400 is reached: 400 used");
  });

  test("ends a run at the end of its time", () => {
    const { pass } = opened({ maxTimeMs: 60_000 });
    expect(pass(59_999)).toBeNull();
    expect(pass(1)).toBe("--max-time is over");
  });

  test("counts failed tasks, but not abstentions, as failures", async () => {
    const { add } = opened({ maxFailures: { tasks: 2 } });
    for (const ending of ["out_of_turns", "dont_know", "out_of_budget", "model_error"] as const) {
      expect(await add(ending)).toBeNull();
    }
    expect(await add("timeout")).toBe("--max-failures 2 is reached");
  });

  test("applies a failure percentage from the twentieth task on", async () => {
    const { add } = opened({ maxFailures: { share: 0.07 } });
    expect(await add("model_error", 19)).toBeNull();
    expect(await add("answered")).toBe("--max-failures 7% is reached: 19 of 20 tasks failed");
  });

  test("ends a run at exactly its failure percentage", async () => {
    const { add } = opened({ maxFailures: { share: 0.1 } });
    expect(await add("answered", 18)).toBeNull();
    expect(await add("model_error", 2)).toBe("--max-failures 10% is reached: 2 of 20 tasks failed");
  });

  test("includes the judge in dollars, and an unknown cost counts as nothing", () => {
    const { budget } = opened({ maxCostUsd: 1 });
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    budget.charge({ spent: { costUsd: 0.5, usage }, judgeCostUsd: null });
    expect(budget.reached()).toBeNull();
    budget.charge({ spent: { costUsd: 0.25, usage }, judgeCostUsd: 0.25 });
    expect(budget.reached()).toEqual({
      flag: "--max-cost",
      why: "--max-cost 1 is reached: $1.0000 spent, including judging",
    });
  });

  test("does not end a run just below its failure percentage", async () => {
    const { add } = opened({ maxFailures: { share: 0.1 } });
    expect(await add("answered", 30)).toBeNull();
    expect(await add("model_error", 3)).toBeNull();
    expect(await add("model_error")).toBe("--max-failures 10% is reached: 4 of 34 tasks failed");
  });

  test("includes the cost of earlier sessions, but not their failures", async () => {
    const { charge, add, budget } = opened({ maxCostUsd: 1, maxTokens: 100, maxFailures: { tasks: 1 } });
    charge(0.5, 10);
    expect(budget.reached()).toBeNull();
    expect(await add("answered", 1, 0.5, 10)).toBe("--max-cost 1 is reached: $1.0000 spent, including judging");
    const other = opened({ maxTokens: 20 });
    other.charge(null, 10);
    expect(other.budget.reached()?.why).toBe("--max-run-tokens 20 is reached: 20 used");
  });

  test("includes the working time of earlier sessions", () => {
    const { pass } = opened({ maxTimeMs: 60_000 }, 50_000);
    expect(pass(9_999)).toBeNull();
    expect(pass(1)).toBe("--max-time is over");
  });
});

describe("the reserve for running tasks", () => {
  const call = (costUsd: number, tokens = 0) => ({ costUsd, tokens });
  const cost = (costUsd: number): TaskCost => ({ spent: { costUsd, usage: NO_USAGE }, judgeCostUsd: 0 });

  test("follows from a task's limits until the first task has ended", () => {
    const { budget } = opened({ maxCostUsd: 1 });
    const started = [0.3, 0.6, 0.9].map(() => [budget.hasRoom(), budget.start()] as const);
    expect(started.map(([hasRoom]) => hasRoom)).toEqual([true, true, true]);
    // Three tasks of at most $0.30 are running.
    expect([budget.hasRoom(), budget.reached()]).toEqual([false, null]);
  });

  test("excludes the part that running tasks have already spent", async () => {
    const { budget } = opened({ maxCostUsd: 1.25, maxTokens: 1_250 });
    const tasks = [budget.start(), budget.start(), budget.start()];
    for (const task of tasks) await task.afterCall(call(0.1, 100));
    // $0.30 spent, three of at most $0.20 more, and one of $0.30. The same in tokens.
    expect(budget.hasRoom()).toBe(true);
    budget.start();
    expect(budget.hasRoom()).toBe(false);
  });

  test("follows from the cost of finished tasks, minus the part that running tasks have spent", async () => {
    const { budget } = opened({ maxCostUsd: 1 });
    for (const dollars of [0.1, 0.1, 0.1]) await budget.start().end(cost(dollars), "answered");
    const tasks = Array.from({ length: 7 }, () => budget.hasRoom() && budget.start());
    expect([tasks.includes(false), budget.hasRoom(), budget.reached()]).toEqual([false, false, null]);
    // One costs less than expected, which leaves room for another.
    for (const task of tasks) if (task !== false) await task.afterCall(call(0.08));
    await (tasks[0] as TaskBudget).end(cost(0.08), "answered");
    expect(budget.spent.costUsd).toBeCloseTo(0.86, 10);
    expect(budget.hasRoom()).toBe(false);
    for (const task of tasks.slice(1)) if (task !== false) await task.end(cost(0.08), "answered");
    expect(budget.hasRoom()).toBe(true);
  });

  test("reaches the limit if no further task fits", async () => {
    const { budget } = opened({ maxCostUsd: 1 });
    await budget.start().end(cost(0.6), "answered");
    expect(budget.reached()).toEqual({
      flag: "--max-cost",
      why: "--max-cost 1 is reached: $0.6000 spent, including judging, and another task might cost $0.6000",
    });
  });

  test("counts no call again when its task ends", async () => {
    const { budget } = opened({ maxCostUsd: 10 });
    const task = budget.start();
    await task.afterCall(call(0.2, 50));
    expect(budget.spent).toMatchObject({ costUsd: 0.2, tokens: 50 });
    await task.end(cost(0.5), "answered");
    expect(budget.spent).toMatchObject({ costUsd: 0.5, tokens: 50, finished: 1 });
  });

  test("prevents any call at the limit", async () => {
    const { budget } = opened({ maxTokens: 100 });
    const [one, other] = [budget.start(), budget.start()];
    await one.beforeCall();
    await one.afterCall(call(0, 99));
    await other.beforeCall();
    await other.afterCall(call(0, 1));
    await expect(one.beforeCall()).rejects.toThrow("--max-run-tokens 100 is reached: 100 used");
    await expect(other.beforeCall()).rejects.toBeInstanceOf(BudgetReached);
  });
});

describe("a run", () => {
  /** N of the demo's questions. */
  const TASKS = 24;
  let demo: TestDb;
  let set: QuestionSet;
  let provider: FakeProvider;
  beforeEach(async () => {
    demo = await openDemo();
    const all = await demoSet();
    set = { ...all, questions: all.questions.slice(0, TASKS) };
  });
  afterEach(async () => {
    demo.close();
    await provider.close();
  });

  test.each([
    ["key is refused", 401, "key"],
    ["account is empty", 402, "account"],
    ["model is unknown", 404, "model"],
  ])("stops immediately, and leaves its tasks unanswered, if its %s", async (_what, status, by) => {
    provider = await startFakeProvider(() => ({ fail: "status", status, message: "no, test-key" }));
    const model = await remote("anthropic", provider.baseUrl("anthropic"), 4);
    const wanted = { model, set, concurrency: 8 };
    const { results, traces, run, stopped, requestedTasks, events } = await benchmark(demo.db, wanted);
    expect(provider.requests.length).toBeLessThanOrEqual(8);
    expect([results, traces]).toEqual([[], []]);
    expect(run.status).toBe("interrupted");
    const successor = status === 404 ? "; the successor of claude-sonnet-4-5 is anthropic/claude-sonnet-5-5" : "";
    expect(stopped).toEqual({ by, why: `${model.id}: ${status} no, [key]${successor}` });
    expect(requestedTasks).toBe(TASKS);
    expect(events.at(-1)).toMatchObject({ type: "run_finished", interrupted: true });
  });

  test("keeps its answers, and continues with a new key, if its key is rejected in the middle", async () => {
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
    expect(second.totals).toMatchObject({ totalTasks: TASKS, endings: { answered: TASKS } });
  });

  const TURNS = 3;
  test.each([1, 2, 20])("exceeds limits only by the running calls if %i tasks are concurrent", async (concurrency) => {
    const usage = { inputTokens: 1_500, outputTokens: 50, cachedInputTokens: 0 };
    const dollars = (1_500 * 3 + 50 * 15) / 1e6;
    provider = await startFakeProvider(async ({ turn }) => {
      await delay(5);
      const search = { name: "email_search", arguments: { query: "gas", inbox_id: "x@y.z" } };
      return turn < TURNS - 1 ? { toolCalls: [search], usage } : { content: "x", usage };
    });
    const wanted = { model: await remote("anthropic", provider.baseUrl("anthropic")), set, concurrency };
    // Room for six tasks and one call.
    const byCost = await benchmark(demo.db, { ...wanted, limits: { maxCostUsd: 19.5 * dollars } });
    expect(byCost.results).toHaveLength(6);
    expect(byCost.totals.costUsd).toBeCloseTo(18 * dollars, 10);
    expect(byCost.stopped).toMatchObject({ by: "limit", flag: "--max-cost" });
    const byTokens = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 19.5 * 1_550 } });
    expect(byTokens.totals.usage).toMatchObject({ inputTokens: 18 * 1_500, outputTokens: 18 * 50 });
    expect(byTokens.stopped).toMatchObject({ by: "limit", flag: "--max-run-tokens" });
    expect(provider.requests).toHaveLength(36);
  });

  test("stops between two calls if task costs rise, counts their cost, and repeats those tasks on resume", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 0 };
    const dear = new Set(set.questions.slice(4).map(({ question }) => question));
    provider = await startFakeProvider(async ({ question, turn }) => {
      await delay(5);
      const inbox = set.questions.find((one) => one.question === question)?.inbox_address ?? "";
      const search = { name: "email_search", arguments: { query: "gas", inbox_id: inbox } };
      return dear.has(question) && turn < 9 ? { toolCalls: [search], usage } : { content: "x", usage };
    });
    const wanted = { model: await remote("anthropic", provider.baseUrl("anthropic")), set, concurrency: 6 };
    const first = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 12_000 } });
    expect(first.stopped).toMatchObject({ by: "limit", flag: "--max-run-tokens" });
    expect(first.results).toHaveLength(4);
    expect(provider.requests.length).toBeGreaterThanOrEqual(12);
    expect(provider.requests.length).toBeLessThan(12 + wanted.concurrency);
    // Interrupted tasks cost money, but are not results.
    expect(first.totals.spent.usage.inputTokens).toBe(provider.requests.length * 1_000);
    const stopped = provider.requests.length;
    const same = await resumed(demo.db, { ...wanted, limits: { maxTokens: 12_000 } }, first.run.id);
    expect([same.results, provider.requests.length]).toEqual([first.results, stopped]);
    const rest = await resumed(demo.db, wanted, first.run.id);
    expect(rest).toMatchObject({ stopped: null, totals: { totalTasks: TASKS, endings: { answered: TASKS } } });
    expect(rest.totals.spent.usage.inputTokens).toBe(provider.requests.length * 1_000);
  });

  test.each([1, 4])(
    "exceeds a limit by the running calls if the server reports the cost of replies and %i tasks are concurrent",
    async (concurrency) => {
      // The price list says about $0.0004.
      provider = await startFakeProvider(async () => ({ content: "x", costUsd: 0.5 }));
      const wanted = { model: await remote("openai-chat", provider.baseUrl("openai-chat")), set, concurrency };
      const { stopped, totals } = await benchmark(demo.db, { ...wanted, limits: { maxCostUsd: 1 } });
      expect(stopped).toMatchObject({ by: "limit", flag: "--max-cost" });
      expect(provider.requests.length).toBeLessThan(2 + concurrency);
      expect(totals.spent.costUsd).toBeCloseTo(provider.requests.length * 0.5, 10);
    },
  );

  test("counts incomplete replies, and tasks that failed because of them", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 0 };
    provider = await startFakeProvider(async () => ({ content: "The add", finishReason: "other", usage }));
    const wanted = { model: await remote("openai-chat", provider.baseUrl("openai-chat"), 2), set, concurrency: 1 };
    const { stopped, totals } = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 8_000 } });
    expect(stopped).toMatchObject({ by: "limit", flag: "--max-run-tokens" });
    expect(provider.requests).toHaveLength(8);
    expect(totals.spent.usage.inputTokens).toBe(8_000);
  });

  test("counts tokens that its server does not report", async () => {
    provider = await startFakeProvider(async () => ({ content: "x", usage: null }));
    const wanted = { model: await remote("openai-chat", provider.baseUrl("openai-chat")), set, concurrency: 1 };
    const { stopped, results } = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 10_000 } });
    expect(stopped).toMatchObject({ by: "limit", flag: "--max-run-tokens" });
    expect(results.length).toBeLessThan(TASKS);
  });

  test("starts no tasks if its budget is exhausted, and continues with a larger one", async () => {
    const usage = { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 0 };
    provider = await startFakeProvider(() => ({ content: "x", usage }));
    const wanted = { model: await remote("anthropic", provider.baseUrl("anthropic")), set, concurrency: 4 };
    const first = await benchmark(demo.db, { ...wanted, limits: { maxTokens: 10_000 } });
    expect(first.stopped).toMatchObject({ by: "limit", why: expect.stringContaining("--max-run-tokens 10000") });
    expect(first.results).toHaveLength(10);
    expect(provider.requests).toHaveLength(10);
    const same = await resumed(demo.db, { ...wanted, limits: { maxTokens: 10_000 } }, first.run.id);
    expect(same.results).toEqual(first.results);
    const rest = await resumed(demo.db, { ...wanted, limits: { maxTokens: 1e9 } }, first.run.id);
    expect(rest).toMatchObject({ stopped: null, totals: { totalTasks: TASKS, usage: { inputTokens: TASKS * 1_000 } } });
    expect(provider.requests).toHaveLength(TASKS);
  });
});
