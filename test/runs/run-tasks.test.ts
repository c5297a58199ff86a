import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { type Model, ModelError } from "../../src/models/model.js";
import { runConcurrently } from "../../src/runs/run-tasks/run-concurrently.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import type { Tool } from "../../src/tools/tool.js";
import { call, finish, type Line, scripted } from "../agents/scripted-model.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { baseline, benchmark, REPLY, remote, saved, unhurried } from "./run-setup.js";

const UNSTEERED = { hasRoom: () => true, isPaused: () => false, onChange() {} };

/** Work that ends on request. */
function workshop(count: number) {
  const taken: number[] = [];
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const saves = new Map<number, () => void>();
  let isSlow = false;
  let setPlaces: (places: number) => void = () => {};
  const next = () => {
    if (taken.length === count) return null;
    taken.push(taken.length + 1);
    return taken.length;
  };
  const answer = (task: number) => {
    begun.push(task);
    return new Promise<number>((resolve) => ends.set(task, () => resolve(task)));
  };
  const save = (task: number) =>
    isSlow ? new Promise<void>((resolve) => saves.set(task, resolve)) : Promise.resolve();
  const run = (places: number) =>
    runConcurrently(
      (listener) => {
        setPlaces = listener;
        listener(places);
      },
      { ...UNSTEERED, next, answer, save },
    );
  const end = async (...finished: number[]) => {
    for (const task of finished) {
      ends.get(task)?.();
      ends.delete(task);
    }
    await filled();
  };
  const underWay = () => [...ends.keys()];
  const saveSlowly = () => {
    isSlow = true;
  };
  const finishSaving = async (task: number) => {
    saves.get(task)?.();
    saves.delete(task);
    await filled();
  };
  return {
    taken,
    begun,
    run,
    end,
    underWay,
    setPlaces: (places: number) => setPlaces(places),
    saveSlowly,
    finishSaving,
  };
}

/** More turns of the event loop than there are tasks in a test. */
async function filled(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
}

it("starts a task when a place is free, and not before", async () => {
  const { taken, run, end, underWay } = workshop(5);
  const running = run(2);
  await filled();
  expect([taken, underWay()]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  await end(2);
  expect([taken, underWay()]).toEqual([
    [1, 2, 3],
    [1, 3],
  ]);
  await end(1, 3);
  await end(4, 5);
  await running;
  expect(taken).toEqual([1, 2, 3, 4, 5]);
});

it("fills added places one per turn of the event loop, and lets running tasks finish if places are removed", async () => {
  const { begun, run, end, underWay, setPlaces } = workshop(10);
  const running = run(1);
  setPlaces(4);
  expect(underWay()).toEqual([1, 2]);
  await new Promise(setImmediate);
  expect(underWay()).toEqual([1, 2, 3]);
  await filled();
  expect(underWay()).toEqual([1, 2, 3, 4]);
  setPlaces(2);
  await end(1, 2);
  expect(underWay()).toEqual([3, 4]);
  await end(3);
  expect(underWay()).toEqual([4, 5]);
  setPlaces(0);
  await end(4, 5);
  expect(underWay()).toEqual([6]);
  setPlaces(100);
  await filled();
  await end(6, 7, 8, 9, 10);
  await running;
  expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it("ends a run without tasks immediately, and ignores later changes of the limit", async () => {
  const { begun, run, setPlaces } = workshop(0);
  await run(3);
  setPlaces(9);
  expect(begun).toEqual([]);
});

it("saves tasks without occupying a place, unless as many are waiting as places, and the run waits for them", async () => {
  const { run, end, underWay, saveSlowly, finishSaving } = workshop(7);
  saveSlowly();
  let isOver = false;
  const running = run(2).then(() => {
    isOver = true;
  });
  await filled();
  await end(1);
  expect(underWay()).toEqual([2, 3]);
  await end(2);
  expect(underWay()).toEqual([3, 4]);
  await end(3);
  expect(underWay()).toEqual([4]);
  await finishSaving(2);
  expect(underWay()).toEqual([4, 5]);
  for (const task of [1, 3]) await finishSaving(task);
  await end(4, 5);
  for (const task of [4, 5]) await finishSaving(task);
  await end(6, 7);
  expect(underWay()).toEqual([]);
  await finishSaving(6);
  expect(isOver).toBe(false);
  await finishSaving(7);
  await running;
});

it("starts the next task before the last is saved, and handles pending events before it", async () => {
  const happened: string[] = [];
  const tasks = [1, 2];
  await runConcurrently((listener) => listener(1), {
    ...UNSTEERED,
    next: () => tasks.shift() ?? null,
    async answer(task) {
      happened.push(`begun ${task}`);
      await new Promise(setImmediate);
      setImmediate(() => happened.push(`reply after ${task}`));
      return task;
    },
    async save(task) {
      happened.push(`saved ${task}`);
    },
  });
  expect(happened).toEqual(["begun 1", "begun 2", "reply after 1", "saved 1", "reply after 2", "saved 2"]);
});

describe("stopping a run", () => {
  /** Runs that do not reach their end, because of the user or an internal error. */

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

    test("saves finished tasks but no partial ones, and marks the run", async () => {
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
      // Six tasks of two turns, then three tasks that hang in their second turn.
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

    test("prevents any request before the start, and saves only itself", async () => {
      provider = await startFakeProvider(() => finish);
      const model = await remote("anthropic", provider.baseUrl("anthropic"));
      const signal = AbortSignal.abort(new Error("Ctrl-C"));
      const { run, totals, events } = await benchmark(demo.db, { model, set, signal });
      expect(provider.requests).toHaveLength(0);
      expect(run.status).toBe("interrupted");
      expect([count("results"), count("traces"), totals.totalTasks]).toEqual([0, 0, 0]);
      expect(events.map((event) => event.type)).toEqual(["run_started", "run_finished"]);
    });

    test("ends the wait of a failed call for its next attempt", async () => {
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

  describe("an internal error", () => {
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

    test.each([1, 16])("stops a run of %i concurrent tasks if a tool throws", async (concurrency) => {
      const wanted = {
        agentId: "baseline",
        model: await baseline(),
        set,
        concurrency,
        tools: [broken("email_search")],
      };
      await expect(benchmark(demo.db, wanted)).rejects.toBe(fault);
      isMarked();
      expect(count("results")).toBe(0);
    });

    test("stops a run if the model throws an error other than ModelError", async () => {
      const model: Model = { id: "script/broken", complete: () => Promise.reject(fault) };
      await expect(benchmark(demo.db, { model, set })).rejects.toBe(fault);
      isMarked();
    });

    const told = ["run_started", "task_started", "task_answered", "task_finished"];
    test.each(told)("stops a run if a listener throws at %s", async (type) => {
      const model = unhurried(await baseline());
      const onEvent = (event: { type: string }) => {
        if (event.type === type) throw fault;
      };
      await expect(benchmark(demo.db, { agentId: "baseline", model, set, concurrency: 2, onEvent })).rejects.toBe(
        fault,
      );
      isMarked();
      expect(count("results")).toBeLessThanOrEqual(2);
    });

    test("stops a run if a prompt has an unknown variable", async () => {
      demo.db.exec("UPDATE agents SET prompt = 'You are {{user}}' WHERE id = 'baseline'");
      await expect(benchmark(demo.db, { agentId: "baseline", model: await baseline(), set })).rejects.toMatchObject({
        code: "prompt_variable_unknown",
      });
      isMarked();
      expect(count("results")).toBe(0);
    });

    test("stops all other running tasks", async () => {
      let underWay = 0;
      const model: Model = {
        id: "offline/slow",
        async complete(request) {
          if (request.messages[0]?.content === set.questions[0]?.question) throw fault;
          underWay++;
          for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
          underWay--;
          return REPLY;
        },
      };
      const questions = set.questions.slice(0, 3);
      await expect(benchmark(demo.db, { model, set, questions, concurrency: 3 })).rejects.toBe(fault);
      expect(underWay).toBe(0);
      isMarked();
    });
  });
});

describe("a task's workspace", () => {
  /** Whatever the ending of a task, its files are deleted. */

  let demo: TestDb;
  let set: QuestionSet;

  beforeEach(async () => {
    demo = await openDemo();
    set = await demoSet();
    demo.db.exec(`INSERT INTO agents (id, name, prompt) VALUES ('filer', 'filer', 'p');
    INSERT INTO agent_tools (agent_id, tool_id) VALUES ('filer', 'write_file'), ('filer', 'read_file'),
      ('filer', 'list_files'), ('filer', 'return_final_answer')`);
  });

  afterEach(() => demo.close());

  const write = call("write_file", { path: "a.txt", content: "kept" });

  test("exists during its turns, and no other task sees it", async () => {
    const lines = [write, call("read_file", { path: "a.txt" }), finish("x"), call("list_files", {}), finish("y")];
    const questions = set.questions.slice(0, 2);
    const wanted = { model: scripted(lines), set, questions, agentId: "filer", concurrency: 1 };
    const { traces } = await benchmark(demo.db, wanted);
    expect(traces.map(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
      [{ path: "a.txt", bytes: 4 }, expect.objectContaining({ content: "1\tkept" }), { accepted: true }],
      [{ files: [], total: 0 }, { accepted: true }],
    ]);
  });

  /** Uses the workspace and records its path. */
  function remembering(folders: string[], onCall: () => void = () => undefined): Tool {
    return {
      id: "write_file",
      description: "",
      parameters: { type: "object" },
      async call(_, { workspace, signal }) {
        await workspace?.use(async ({ files }) => {
          if (existsSync(files)) folders.push(files);
        });
        onCall();
        signal.throwIfAborted();
        return { ok: true, value: null };
      },
    };
  }

  const ENDINGS: readonly [ending: string, lines: readonly (Line | Error)[]][] = [
    ["answered", [write, { content: "x" }]],
    ["out_of_turns", Array(10).fill(write)],
    ["model_error", [write, new ModelError("bad_request", "no", { retryable: false })]],
  ];

  test.each(ENDINGS)("disappears with its files if the task ends as %s", async (ending, lines) => {
    const folders: string[] = [];
    const tools = [remembering(folders)];
    const wanted = { model: scripted(lines), set, questions: set.questions.slice(0, 1), tools, agentId: "filer" };
    const { traces } = await benchmark(demo.db, wanted);
    expect(traces.map((trace) => trace.ending)).toEqual([ending]);
    expect(folders.length).toBeGreaterThan(0);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });

  test("disappears after an interrupted task or an internal error", async () => {
    const folders: string[] = [];
    const stop = new AbortController();
    const wanted = { set, questions: set.questions.slice(0, 1), agentId: "filer" };
    const stopping = [remembering(folders, () => stop.abort(new Error("Ctrl-C")))];
    await benchmark(demo.db, { ...wanted, model: scripted([write]), tools: stopping, signal: stop.signal });
    const faulty = [
      remembering(folders, () => {
        throw new Error("a fault of ours");
      }),
    ];
    await expect(benchmark(demo.db, { ...wanted, model: scripted([write]), tools: faulty })).rejects.toThrow("a fault");
    expect(folders).toHaveLength(2);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });
});
