import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Completion, type Model, NO_USAGE } from "../../src/models/model.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import type { Tool } from "../../src/tools/tool.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { baseline, benchmark, remote, saved, unhurried } from "./run-setup.js";

/** Runs that do not come to their end: by the user, or by a fault of ours. */

let demo: TestDb;
let set: QuestionSet;
beforeEach(async () => {
  demo = await openDemo();
  set = await demoSet();
});
afterEach(() => demo.close());

const count = (table: string) => demo.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
const finish = { toolCalls: [{ name: "return_final_answer", arguments: { answer: "x", sources: [] } }] };

describe("an abort", () => {
  let provider: FakeProvider;
  afterEach(() => provider.close());

  test("in the middle saves what was finished, nothing half, and marks the run", async () => {
    provider = await startFakeProvider((request) => {
      const hangs = set.questions.slice(6).some(({ question }) => question === request.question);
      return hangs && request.turn === 1
        ? { fail: "silence" }
        : request.turn === 0
          ? { toolCalls: [{ name: "email_get", arguments: { message_id: "<a@b>" } }] }
          : finish;
    });
    const model = await remote("anthropic", provider.baseUrl("anthropic"), 3);
    const controller = new AbortController();
    const running = benchmark(demo.db, { model, set, concurrency: 3, signal: controller.signal });
    // Six tasks of two turns, then three tasks that hang in their second.
    await provider.received(6 * 2 + 3 * 2);
    controller.abort(new Error("Ctrl-C"));
    const { totals, events, run, results, traces } = await running;

    expect(run.status).toBe("interrupted");
    expect(run.completedAt).not.toBeNull();
    expect(results.map((result) => result.taskId)).toEqual(set.questions.slice(0, 6).map(({ id }) => id));
    expect(traces.map(({ ending }) => ending)).toEqual(Array(6).fill("answered"));
    expect([count("results"), count("traces")]).toEqual([6, 6]);
    expect(totals).toMatchObject({ totalTasks: 6, completedTasks: 6, failedTasks: 0, endings: { answered: 6 } });
    expect(events.at(-1)).toMatchObject({ type: "run_finished", interrupted: true });
    expect(events.filter((event) => event.type === "task_started")).toHaveLength(9);
    expect(provider.requests).toHaveLength(18);
  });

  test("beforehand asks nothing and saves nothing but that it was so", async () => {
    provider = await startFakeProvider(() => finish);
    const model = await remote("anthropic", provider.baseUrl("anthropic"));
    const signal = AbortSignal.abort(new Error("Ctrl-C"));
    const { run, totals, events } = await benchmark(demo.db, { model, set, signal });
    expect(provider.requests).toHaveLength(0);
    expect(run.status).toBe("interrupted");
    expect([count("results"), count("traces"), totals.totalTasks]).toEqual([0, 0, 0]);
    expect(events.map((event) => event.type)).toEqual(["run_started", "run_finished"]);
  });

  test("while a failed call waits for its next attempt ends the wait", async () => {
    provider = await startFakeProvider(() => ({ fail: "status", status: 429, headers: { "retry-after": "30" } }));
    const model = await remote("anthropic", provider.baseUrl("anthropic"), 3);
    const controller = new AbortController();
    const running = benchmark(demo.db, { model, set, concurrency: 2, signal: controller.signal });
    await provider.received(2);
    setTimeout(() => controller.abort(new Error("Ctrl-C")), 50);
    expect((await running).run.status).toBe("interrupted");
    expect([count("results"), count("traces")]).toEqual([0, 0]);
  });
});

describe("a fault of ours stops the run and is no answer:", () => {
  const fault = new TypeError("a wire has come loose");
  const broken = (id: string): Tool => ({
    id,
    description: "d",
    parameters: { type: "object" },
    async call() {
      throw fault;
    },
  });

  const isMarked = () => {
    expect(saved(demo.db).run.status).toBe("interrupted");
    expect(count("results")).toBe(count("traces"));
  };

  test.each([1, 16])("a tool that throws, %i at once", async (concurrency) => {
    const wanted = { agentId: "baseline", model: await baseline(), set, concurrency, tools: [broken("email_search")] };
    await expect(benchmark(demo.db, wanted)).rejects.toBe(fault);
    isMarked();
    expect(count("results")).toBe(0);
  });

  test("a model that throws what is no ModelError", async () => {
    const model: Model = { id: "script/broken", complete: () => Promise.reject(fault) };
    await expect(benchmark(demo.db, { model, set })).rejects.toBe(fault);
    isMarked();
  });

  const told = ["run_started", "task_started", "task_answered", "task_finished"];
  test.each(told)("a listener that throws at %s", async (type) => {
    const model = unhurried(await baseline());
    const onEvent = (event: { type: string }) => {
      if (event.type === type) throw fault;
    };
    await expect(benchmark(demo.db, { agentId: "baseline", model, set, concurrency: 2, onEvent })).rejects.toBe(fault);
    isMarked();
    expect(count("results")).toBeLessThanOrEqual(2);
  });

  test("a prompt with a variable that nobody knows", async () => {
    demo.db.exec("UPDATE agents SET prompt = 'You are {{user}}' WHERE id = 'baseline'");
    await expect(benchmark(demo.db, { agentId: "baseline", model: await baseline(), set })).rejects.toMatchObject({
      code: "prompt_variable",
    });
    isMarked();
    expect(count("results")).toBe(0);
  });

  test("and it waits for the tasks that were under way: none goes on behind the error", async () => {
    const answer: Completion = {
      content: "an answer",
      toolCalls: [],
      finishReason: "stop",
      rawFinishReason: "stop",
      usage: NO_USAGE,
      latencyMs: 0,
      retries: [],
    };
    let underWay = 0;
    const model: Model = {
      id: "offline/slow",
      async complete(request) {
        if (request.messages[0]?.content === set.questions[0]?.question) throw fault;
        underWay++;
        for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
        underWay--;
        return answer;
      },
    };
    const questions = set.questions.slice(0, 3);
    await expect(benchmark(demo.db, { model, set, questions, concurrency: 3 })).rejects.toBe(fault);
    expect(underWay).toBe(0);
    isMarked();
  });
});
