import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cacheKey, cachingReplies, digest } from "../../src/models/cache.js";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { withPrices } from "../../src/models/prices.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "replies-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;
const SERVER = { model: "openai/m", baseUrl: null, wireApi: "chat" } as const;
const USAGE = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 1 };

const asked = (question: string, epoch = 1): ModelRequest => ({
  system: "s",
  messages: [{ role: "user", content: question }],
  tools: [],
  toolChoice: "auto",
  maxTokens: 10,
  task: { id: 1, epoch },
});

/** Answers every question with its number in the order of asking. */
function counting(answer = (call: number) => `answer ${call}`) {
  const state = { calls: 0 };
  const model: Model = {
    id: SERVER.model,
    async complete(): Promise<Completion> {
      return {
        content: answer(++state.calls),
        toolCalls: [{ id: "c", name: "echo", arguments: { b: 1, a: 2 } }],
        finishReason: "tool_calls",
        rawFinishReason: "tool_calls",
        usage: USAGE,
        latencyMs: 12.5,
        retries: [{ attempt: 1, reason: "429", waitedMs: 3 }],
        providerState: { provider: "openai-chat", value: { reasoning: "hm" } },
      };
    },
  };
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

describe("a reply that is kept", () => {
  test("comes again with its latency, usage, cost and retries, marked", async () => {
    const { model, state } = counting();
    const first = await opened(model).complete(asked("q"), never);
    expect(first).toMatchObject({ content: "answer 1", costUsd: 0.5 });
    expect(first.cached).toBeUndefined();
    expect(await opened(model, 99).complete(asked("q"), never)).toEqual({ ...first, cached: true });
    expect(state.calls).toBe(1);
  });

  test("is of its repeat, and of whichever task asks the same", async () => {
    const { model, state } = counting();
    const cache = opened(model);
    await cache.complete(asked("q"), never);
    expect((await cache.complete(asked("q", 2), never)).cached).toBeUndefined();
    expect(await cache.complete({ ...asked("q"), task: { id: 2, epoch: 1 } }, never)).toMatchObject({ cached: true });
    expect(state.calls).toBe(2);
  });

  test.each([
    ["cut in its middle", (text: string) => text.slice(0, text.length / 2)],
    ["empty", () => ""],
    ["of other bytes", (text: string) => text.replace("answer 1", "answer 7")],
    ["another request's", (text: string) => text.replace(/"key":"./, '"key":"-')],
    ["of another form", () => '{"key": 1}'],
  ])("is a miss where its file is %s, and is written anew", async (_, damage) => {
    const { model, state } = counting();
    await opened(model).complete(asked("q"), never);
    const path = join(folder, files()[0] ?? "");
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    expect(await opened(model).complete(asked("q"), never)).toMatchObject({ content: "answer 2" });
    expect(await opened(model).complete(asked("q"), never)).toMatchObject({ content: "answer 2", cached: true });
    expect(state.calls).toBe(2);
  });

  test("is whole whenever it is read while 256 write it, and nothing is left beside it", async () => {
    // Large, so that writing takes a while, and each of a length of its own.
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

test("errors are not kept", async () => {
  const broken: Model = {
    id: "openai/m",
    complete: () => Promise.reject(new ModelError("server", "500", { retryable: true })),
  };
  await expect(opened(broken).complete(asked("q"), never)).rejects.toThrow("500");
  expect(files()).toEqual([]);
});

test("a folder that cannot be written to costs no reply", async () => {
  writeFileSync(join(folder, "file"), "");
  const cache = cachingReplies(counting().model, SERVER, join(folder, "file"));
  expect(await cache.complete(asked("q"), never)).toMatchObject({ content: "answer 1" });
});

test("a key depends on the server and on everything that decides a reply", () => {
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
