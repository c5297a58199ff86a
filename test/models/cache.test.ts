import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cacheKey, cachingReplies, digest, requestKey } from "../../src/models/cache.js";
import { withPrices } from "../../src/models/call-cost.js";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { recording, replayModel } from "../../src/models/replay.js";
import { UserError } from "../../src/platform/errors.js";

const never = new AbortController().signal;

const replyOf = (content: string): Completion => ({
  content,
  toolCalls: [{ id: "c", name: "echo", arguments: { b: 1, a: 2 } }],
  finishReason: "tool_calls",
  rawFinishReason: "tool_calls",
  usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 1 },
  latencyMs: 12.5,
  retries: [{ attempt: 1, reason: "429", waitedMs: 3 }],
  providerState: { provider: "openai-chat", value: { reasoning: "hm" } },
});

describe("replaying", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "replay-"));
    file = join(folder, "replies.jsonl");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const asked = (question: string, turns = 0): ModelRequest => ({
    system: "s",
    messages: [
      { role: "user", content: question },
      ...Array.from({ length: turns }, () => ({ role: "assistant" as const, content: "", toolCalls: [] })),
    ],
    tools: [],
    toolChoice: "auto",
    maxTokens: 10,
  });

  const replay = (text: string) => {
    writeFileSync(file, text);
    return replayModel(file);
  };

  const protocol = { name: "ModelError", kind: "protocol", retryable: false };

  describe("a replay", () => {
    test.each([
      ["not JSON", '{"taskQuestion": "q", "replies": []}\n{"task', "line 2"],
      ["JSON of another kind", '{"hello": 1}', "entry 1"],
      ["a misspelled field", '[{"replies": [{"contents": "x"}]}]', "replies.0"],
      ["half a recording", '{"key": "x", "model": "m"}', "completion"],
    ])("rejects a file that contains %s", async (_, text, where) => {
      const error = await replay(text).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UserError);
      expect((error as UserError).message).toContain(where);
      expect((error as UserError).message).toContain(file);
    });

    test("rejects a request that has no entry", async () => {
      const model = await replay('{"taskQuestion": "known", "replies": [{"content": "a"}]}');
      await expect(model.complete(asked("unknown"), never)).rejects.toMatchObject(protocol);
    });

    test("rejects a turn after the end of the script", async () => {
      const model = await replay('{"replies": [{"content": "a"}]}');
      await expect(model.complete(asked("q", 1), never)).rejects.toMatchObject(protocol);
    });

    test("rejects every request after an abort", async () => {
      const model = await replay('{"replies": [{"content": "a"}]}');
      await expect(model.complete(asked("q"), AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
    });
  });

  describe("a script", () => {
    const search = { toolCalls: [{ name: "email_search", arguments: { query: "x" } }] };
    const one = { taskQuestion: "one", replies: [search, { content: "first", finishReason: "length" }] };
    const any = { replies: [{ content: "any", usage: { inputTokens: 5, outputTokens: 1, cachedInputTokens: 0 } }] };

    test.each([
      ["if written as lines", `${JSON.stringify(one)}\n\n${JSON.stringify(any)}\n`],
      ["if written as one list", JSON.stringify([one, any], null, 2)],
    ])("answers each question according to its turn, in any order (%s)", async (_, text) => {
      const model = await replay(text);
      expect(model.id).toBe(`replay/${file}`);
      expect(await model.complete(asked(" one ", 1), never)).toMatchObject({
        content: "first",
        finishReason: "length",
      });
      expect(await model.complete(asked("other"), never)).toMatchObject({ content: "any", usage: { inputTokens: 5 } });
      for (let i = 0; i < 2; i++) {
        expect(await model.complete(asked("one"), never)).toEqual({
          content: "",
          toolCalls: [{ id: "call_1_1", name: "email_search", arguments: { query: "x" } }],
          finishReason: "tool_calls",
          rawFinishReason: "tool_calls",
          usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
          latencyMs: 0,
          retries: [],
        });
      }
    });
  });

  describe("a recording", () => {
    /** Answers with the number of requests so far. */
    function counting(): Model {
      let calls = 0;
      return {
        id: "openai/m",
        complete: async (request) => replyOf(`${request.messages[0]?.content} ${++calls}`),
      };
    }

    test("returns the nth reply for the nth request, and then no more", async () => {
      const lines: string[] = [];
      const live = recording(counting(), (line) => lines.push(line));
      const given = [];
      for (const question of ["a", "b", "a"]) given.push(await live.complete(asked(question), never));
      const model = await replay(lines.join(""));
      expect(await model.complete(asked("a"), never)).toEqual(given[0]);
      expect(await model.complete(asked("a"), never)).toEqual(given[2]);
      expect(await model.complete(asked("b"), never)).toEqual(given[1]);
      await expect(model.complete(asked("b"), never)).rejects.toMatchObject(protocol);
      await expect(model.complete({ ...asked("a"), maxTokens: 11 }, never)).rejects.toMatchObject(protocol);
    });

    test("repeats a failure if every attempt failed, or if the task's timeout was exceeded", async () => {
      const retries = [{ attempt: 1, reason: "500", waitedMs: 3 }];
      const failure = new ModelError("server", "x/y: 500 (after 2 attempts)", { retryable: true, retries });
      const late = new DOMException("late", "TimeoutError");
      const lines: string[] = [];
      for (const error of [failure, late]) {
        const broken: Model = { id: "x/y", complete: () => Promise.reject(error) };
        const live = recording(broken, (line) => lines.push(line));
        await expect(live.complete(asked("a"), never)).rejects.toBe(error);
      }
      const model = await replay(lines.join(""));
      const { kind, message } = failure;
      await expect(model.complete(asked("a"), never)).rejects.toMatchObject({
        kind,
        message,
        retries,
        retryable: false,
      });
      await expect(model.complete(asked("a"), never)).rejects.toMatchObject({ name: "TimeoutError" });
    });

    test("contains no interrupted calls", async () => {
      const lines: string[] = [];
      const broken: Model = { id: "x/y", complete: () => Promise.reject(new Error("no")) };
      const live = recording(broken, (line) => lines.push(line));
      await expect(live.complete(asked("a"), never)).rejects.toThrow("no");
      expect(lines).toEqual([]);
    });
  });

  test("separates requests by everything that affects a reply, but not by key order", () => {
    const base = asked("q");
    const tool = { name: "t", description: "d", parameters: { a: 1, b: 2 } };
    const swapped = { name: "t", description: "d", parameters: { b: 2, a: 1 } };
    expect(requestKey("m", { ...base, tools: [tool] })).toBe(requestKey("m", { ...base, tools: [swapped] }));
    expect(requestKey("m", { ...base, temperature: undefined })).toBe(requestKey("m", base));
    const keys = [
      requestKey("m", base),
      requestKey("n", base),
      requestKey("m", { ...base, system: "t" }),
      requestKey("m", { ...base, temperature: 0 }),
      requestKey("m", { ...base, toolChoice: "required" }),
      requestKey("m", { ...base, tools: [tool] }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("the reply cache", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "replies-"));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const SERVER = { model: "openai/m", baseUrl: null, wireApi: "chat" } as const;

  const asked = (question: string, epoch = 1): ModelRequest => ({
    system: "s",
    messages: [{ role: "user", content: question }],
    tools: [],
    toolChoice: "auto",
    maxTokens: 10,
    task: { id: 1, epoch },
  });

  /** Answers every question with the number of requests so far. */
  function counting(answer = (call: number) => `answer ${call}`) {
    const state = { calls: 0 };
    const model: Model = { id: SERVER.model, complete: async () => replyOf(answer(++state.calls)) };
    return { model, state };
  }

  const opened = (model: Model, price = 0.5) =>
    cachingReplies(
      withPrices(model, () => price),
      SERVER,
      folder,
    );

  const files = () =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.(json|tmp)$/.test(name));

  describe("a stored reply", () => {
    test("keeps its latency, usage, cost and retries, and is marked as cached", async () => {
      const { model, state } = counting();
      const first = await opened(model).complete(asked("q"), never);
      expect(first).toMatchObject({ content: "answer 1", costUsd: 0.5 });
      expect(first.cached).toBeUndefined();
      expect(await opened(model, 99).complete(asked("q"), never)).toEqual({ ...first, cached: true });
      expect(state.calls).toBe(1);
    });

    test("belongs to its epoch, and to any task with the same request", async () => {
      const { model, state } = counting();
      const cache = opened(model);
      await cache.complete(asked("q"), never);
      expect((await cache.complete(asked("q", 2), never)).cached).toBeUndefined();
      expect(await cache.complete({ ...asked("q"), task: { id: 2, epoch: 1 } }, never)).toMatchObject({ cached: true });
      expect(state.calls).toBe(2);
    });

    test.each([
      ["truncated in the middle", (text: string) => text.slice(0, text.length / 2)],
      ["empty", () => ""],
      ["changed", (text: string) => text.replace("answer 1", "answer 7")],
      ["another request's", (text: string) => text.replace(/"key":"./, '"key":"-')],
      ["in another format", () => '{"key": 1}'],
    ])("counts as a miss if its file is %s, and a new reply replaces the file", async (_, damage) => {
      const { model, state } = counting();
      await opened(model).complete(asked("q"), never);
      const path = join(folder, files()[0] ?? "");
      writeFileSync(path, damage(readFileSync(path, "utf8")));
      expect(await opened(model).complete(asked("q"), never)).toMatchObject({ content: "answer 2" });
      expect(await opened(model).complete(asked("q"), never)).toMatchObject({ content: "answer 2", cached: true });
      expect(state.calls).toBe(2);
    });

    test("stays readable while 256 writers write it, and they leave no other files", async () => {
      // Large, so that writing takes time, and each with a different length.
      const { model } = counting((call) => `answer ${call} ${"x".repeat(30_000 + 100 * call)}`);
      const [one, other] = [opened(model), opened(model)];
      let written = false;
      const writing = Promise.all(
        Array.from({ length: 256 }, (_, i) => (i % 2 ? one : other).complete(asked(`q${i % 4}`), never)),
      ).finally(() => {
        written = true;
      });
      const seen = new Set<string>();
      while (!written) {
        await new Promise(setImmediate);
        for (const name of files().filter((each) => each.endsWith(".json"))) {
          const { key, sha256, completion } = JSON.parse(readFileSync(join(folder, name), "utf8"));
          expect({ key: `${key}.json`, sha256 }).toEqual({ key: basename(name), sha256: digest(completion) });
          seen.add(sha256);
        }
      }
      await writing;
      expect(seen.size, "too few were read to show anything").toBeGreaterThan(4);
      expect(files()).toHaveLength(4);
      expect(files().every((name) => name.endsWith(".json"))).toBe(true);
      for (let i = 0; i < 4; i++) expect(await one.complete(asked(`q${i}`), never)).toMatchObject({ cached: true });
    });
  });

  test("does not store errors", async () => {
    const broken: Model = {
      id: "openai/m",
      complete: () => Promise.reject(new ModelError("server", "500", { retryable: true })),
    };
    await expect(opened(broken).complete(asked("q"), never)).rejects.toThrow("500");
    expect(files()).toEqual([]);
  });

  test("returns the reply even if it cannot write to the folder", async () => {
    writeFileSync(join(folder, "file"), "");
    const cache = cachingReplies(counting().model, SERVER, join(folder, "file"));
    expect(await cache.complete(asked("q"), never)).toMatchObject({ content: "answer 1" });
  });

  test("separates requests by server and everything else that affects a reply", () => {
    const base = asked("q");
    const keys = [
      cacheKey(SERVER, base),
      cacheKey({ ...SERVER, model: "openai/n" }, base),
      cacheKey({ ...SERVER, baseUrl: "http://localhost:1" }, base),
      cacheKey({ ...SERVER, wireApi: "responses" }, base),
      cacheKey(SERVER, asked("r")),
      cacheKey(SERVER, asked("q", 2)),
      cacheKey(SERVER, { ...base, system: "t" }),
      cacheKey(SERVER, { ...base, maxTokens: 11 }),
      cacheKey(SERVER, { ...base, temperature: 0 }),
      cacheKey(SERVER, { ...base, toolChoice: "required" }),
      cacheKey(SERVER, { ...base, tools: [{ name: "t", description: "", parameters: {} }] }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});
