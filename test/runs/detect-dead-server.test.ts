import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Completion, type Model, ModelError } from "../../src/models/model.js";
import { ServerWatch } from "../../src/runs/detect-dead-server.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { benchmark, REPLY, remote, resumed } from "./run-setup.js";

const refused = () => new ModelError("network", "connect ECONNREFUSED", { retryable: true, unreachable: true });
const reset = () => new ModelError("network", "socket hang up", { retryable: true });
const status = (code: number) => new ModelError("server", `${code} no`, { status: code, retryable: true });

/** A watch with the test's clock and server. */
function watching() {
  let now = 0;
  const watch = new ServerWatch(60_000, () => now);
  let outcome: Completion | Error = REPLY;
  const model = watch.model({
    id: "acme/model",
    complete: async () => {
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  });
  const ask = async (next: Completion | Error) => {
    outcome = next;
    // The content of a request does not matter to the watch.
    const error = await model.complete({} as never, new AbortController().signal).then(
      () => null,
      (thrown: Error) => thrown,
    );
    return error === null ? null : watch.failed(error);
  };
  return {
    watch,
    ask,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe("a server", () => {
  test("is dead immediately if it never answered and refuses the connection", async () => {
    const { watch, ask } = watching();
    await ask(refused());
    expect(watch.fault).toEqual({
      by: "server",
      why: "the server does not answer (connection refused): connect ECONNREFUSED",
    });
  });

  test("is dead after three failed tasks, not one, if it resets connections", async () => {
    const { watch, ask } = watching();
    expect([await ask(reset()), await ask(reset()), watch.fault]).toEqual([true, true, null]);
    expect(await ask(reset())).toBe(false);
    expect(watch.fault?.why).toBe("the server does not answer: socket hang up");
  });

  test("can be silent for a while, but not longer, if it has answered", async () => {
    const { watch, ask, pass } = watching();
    await ask(REPLY);
    pass(59_999);
    for (let i = 0; i < 5; i++) expect(await ask(refused())).toBe(true);
    expect(watch.fault).toBeNull();
    pass(1);
    await ask(refused());
    expect(watch.fault?.by).toBe("server");
  });

  test("has only made some tasks fail if it answers again in time", async () => {
    const { watch, ask, pass } = watching();
    await ask(REPLY);
    pass(50_000);
    expect(await ask(refused())).toBe(true);
    await ask(REPLY);
    expect(watch.isAnswering).toBe(true);
    pass(50_000);
    expect(await ask(refused())).toBe(true);
    expect(watch.fault).toBeNull();
  });

  test.each([400, 500])("is dead after twenty failed tasks if it answers everything with %i", async (code) => {
    const { watch, ask } = watching();
    for (let i = 1; i < 20; i++) expect(await ask(status(code))).toBe(false);
    expect(watch.fault).toBeNull();
    await ask(status(code));
    expect(watch.fault?.why).toBe(`the server answers only with errors: ${code} no`);
  });

  test("can refuse any number of questions if it has answered", async () => {
    const { watch, ask, pass } = watching();
    await ask(REPLY);
    pass(1e9);
    for (let i = 0; i < 100; i++) await ask(status(400));
    expect(watch.fault).toBeNull();
  });

  test("is not considered alive because of cached replies, or dead because of tools", async () => {
    const { watch, ask } = watching();
    await ask({ ...REPLY, cached: true });
    expect(watch.failed(new DOMException("late", "TimeoutError"))).toBe(false);
    await ask(refused());
    expect(watch.fault?.by).toBe("server");
  });

  test("is dead if it is unreachable when no task is left, but not if it is silent", async () => {
    for (const [error, by] of [
      [refused(), "server"],
      [reset(), undefined],
    ] as const) {
      const { watch, ask } = watching();
      await ask(REPLY);
      await ask(error);
      watch.close();
      expect(watch.fault?.by).toBe(by);
    }
  });
});

describe("a run", () => {
  let demo: TestDb;
  let set: QuestionSet;
  beforeEach(async () => {
    demo = await openDemo();
    set = await demoSet();
  });
  afterEach(() => demo.close());

  test("keeps its answers and leaves the other tasks if its server disappears, and continues when the server is back", async () => {
    let asked = 0;
    let isThere = () => ++asked <= 5;
    const model: Model = {
      id: "acme/model",
      complete: async () => {
        if (!isThere()) throw refused();
        return REPLY;
      },
    };
    const questions = set.questions.slice(0, 12);
    const first = await benchmark(demo.db, { model, set, questions, concurrency: 2 });
    expect(first.stopped).toMatchObject({ by: "server" });
    expect(first.run.status).toBe("interrupted");
    expect(first.totals).toMatchObject({ totalTasks: 5, failedTasks: 0, endings: { answered: 5 } });
    isThere = () => true;
    const second = await resumed(demo.db, { model, set, questions }, first.run.id);
    expect(second).toMatchObject({ stopped: null, totals: { totalTasks: 12, failedTasks: 0 } });
  });

  const DAILY = {
    message: "Rate limit reached on tokens per day (TPD). Please try again in 2h3m.",
    code: "rate_limit_exceeded",
  };

  test.each([
    ["a daily limit with Retry-After", 429, { "retry-after": "7380" }, DAILY, "UTC"],
    ["a daily limit described in words", 429, {}, DAILY, "UTC"],
    ["a server that is down for an hour", 503, { "retry-after": "3600" }, { message: "maintenance" }, "UTC"],
    ["an empty account", 400, {}, { message: "Your credit balance is too low to access the API." }, "too low"],
  ])("leaves its other tasks, and continues later, if interrupted by %s", async (_, status, headers, error, why) => {
    let isOver = false;
    const provider = await startFakeProvider(({ question }) =>
      isOver || question === set.questions[0]?.question
        ? { content: "x" }
        : { fail: "status", status, headers, body: { error } },
    );
    const questions = set.questions.slice(0, 12);
    const model = await remote("openai-chat", provider.baseUrl("openai-chat"), 6);
    const first = await benchmark(demo.db, { model, set, questions, concurrency: 2 });
    expect(first.stopped).toMatchObject({ by: "account", why: expect.stringContaining(why) });
    expect(first.totals).toMatchObject({ totalTasks: 1, failedTasks: 0, endings: { answered: 1 } });
    expect(provider.requests.length).toBeLessThan(6);
    isOver = true;
    const second = await resumed(demo.db, { model, set, questions }, first.run.id);
    await provider.close();
    expect(second).toMatchObject({ stopped: null, totals: { totalTasks: 12, failedTasks: 0 } });
  });

  test("saves tasks as failed, only once, if its server makes some fail and recovers", async () => {
    let asked = 0;
    const model: Model = {
      id: "acme/model",
      complete: async () => {
        if (++asked === 3) throw reset();
        return REPLY;
      },
    };
    const questions = set.questions.slice(0, 8);
    const { totals, stopped } = await benchmark(demo.db, { model, set, questions, concurrency: 1 });
    expect(stopped).toBeNull();
    expect(totals).toMatchObject({ totalTasks: 8, failedTasks: 1, endings: { answered: 7, model_error: 1 } });
  });
});
