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
  let tasks = 0;
  const ask = async (next: Completion | Error, task = ++tasks) => {
    outcome = next;
    // The content of a request does not matter to the watch.
    const error = await model.complete({} as never, new AbortController().signal).then(
      () => null,
      (thrown: Error) => thrown,
    );
    return error === null ? null : watch.failed(error, task);
  };
  return {
    watch,
    ask,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

describe("a server's state", () => {
  test("becomes dead immediately if it never answered and rejects the connection", async () => {
    const { watch, ask } = watching();
    await ask(refused());
    expect(watch.fault).toEqual({
      by: "server",
      why: "the server does not answer (connection refused): connect ECONNREFUSED",
    });
  });

  test("becomes dead after three failed tasks, not one, if it resets connections", async () => {
    const { watch, ask } = watching();
    expect([await ask(reset()), await ask(reset()), watch.fault]).toEqual([true, true, null]);
    expect(await ask(reset())).toBe(false);
    expect(watch.fault?.why).toBe("the server does not answer: socket hang up");
  });

  test("stays alive during a silence, but not a longer one, if it has answered", async () => {
    const { watch, ask, pass } = watching();
    await ask(REPLY);
    pass(59_999);
    for (let i = 0; i < 5; i++) expect(await ask(refused())).toBe(true);
    expect(watch.fault).toBeNull();
    pass(1);
    await ask(refused());
    expect(watch.fault?.by).toBe("server");
  });

  test("stays alive if it answers again in time, and only some tasks fail", async () => {
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

  const WORDS = ["one", "two"];
  const other = (i: number) => new ModelError("bad_request", `400 ${WORDS[i % 2]}`, { status: 400, retryable: false });

  test("becomes dead after twenty failed tasks if it answers everything with different errors", async () => {
    const { watch, ask } = watching();
    for (let i = 1; i < 20; i++) expect(await ask(other(i))).toBe(false);
    expect(watch.fault).toBeNull();
    await ask(other(20));
    expect(watch.fault?.why).toBe("the server answers only with errors: 400 one");
  });

  test("stays alive after any number of rejected questions with different errors if it has answered", async () => {
    const { watch, ask, pass } = watching();
    await ask(REPLY);
    pass(1e9);
    for (let i = 0; i < 100; i++) await ask(other(i));
    expect(watch.fault).toBeNull();
  });

  test.each([
    ["five", 5, false],
    ["ten, after an answered task,", 10, true],
  ])("becomes dead if %s tasks in a row fail with the same error", async (_, enough, hasAnswered) => {
    const { watch, ask } = watching();
    if (hasAnswered) watch.answered();
    for (let i = 1; i < enough; i++) {
      // Each task's first call is answered.
      await ask(REPLY);
      await ask(new ModelError("bad_request", `400 no (request req_${i}a)`, { status: 400, retryable: false }));
    }
    expect(watch.fault).toBeNull();
    await ask(status(400));
    expect(watch.fault).toBeNull();
    for (let i = 0; i < enough; i++) {
      await ask(new ModelError("bad_request", `400 no (request req_${i}b)`, { status: 400, retryable: false }));
    }
    expect(watch.fault).toMatchObject({
      by: "server",
      why: expect.stringContaining("failed with the same error: 400 no"),
    });
  });

  test("stays alive if it declines one question again and again, or all long ones after an answer", async () => {
    const { watch, ask } = watching();
    await ask(REPLY);
    for (let i = 0; i < 10; i++) await ask(other(0), 7);
    watch.answered();
    for (let i = 0; i < 10; i++) {
      await ask(new ModelError("context_overflow", "400 prompt is too long", { status: 400, retryable: false }));
    }
    expect(watch.fault).toBeNull();
  });

  test("ignores cached replies and tools", async () => {
    const { watch, ask } = watching();
    await ask({ ...REPLY, cached: true });
    expect(watch.failed(new DOMException("late", "TimeoutError"), 1)).toBe(false);
    await ask(refused());
    expect(watch.fault?.by).toBe("server");
  });

  test("becomes dead if it is unreachable when no task is left, but not if it is silent", async () => {
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
