import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { requestKey } from "../../src/models/cache.js";
import { type Completion, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { recording, replayModel } from "../../src/models/replay.js";
import { UserError } from "../../src/platform/errors.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "replay-"));
  file = join(folder, "replies.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true }));

const never = new AbortController().signal;

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

const protocol = { name: "ModelError", kind: "protocol", retryable: false };

describe("replay refuses", () => {
  test.each([
    ["not JSON", '{"taskQuestion": "q", "replies": []}\n{"task', "line 2"],
    ["something else", '{"hello": 1}', "entry 1"],
    ["a misspelt field", '[{"replies": [{"contents": "x"}]}]', "replies.0"],
    ["half a recording", '{"key": "x", "model": "m"}', "completion"],
  ])("a file that holds %s", async (_, text, where) => {
    writeFileSync(file, text);
    const error = await replayModel(file).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).toContain(where);
    expect((error as UserError).message).toContain(file);
  });

  test("a request that no entry answers", async () => {
    writeFileSync(file, '{"taskQuestion": "known", "replies": [{"content": "a"}]}');
    const model = await replayModel(file);
    await expect(model.complete(asked("unknown"), never)).rejects.toMatchObject(protocol);
  });

  test("a turn after the script's last", async () => {
    writeFileSync(file, '{"replies": [{"content": "a"}]}');
    const model = await replayModel(file);
    await expect(model.complete(asked("q", 1), never)).rejects.toMatchObject(protocol);
  });

  test("to answer after an abort", async () => {
    writeFileSync(file, '{"replies": [{"content": "a"}]}');
    const model = await replayModel(file);
    await expect(model.complete(asked("q"), AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  });
});

describe("a script", () => {
  const search = { toolCalls: [{ name: "email_search", arguments: { query: "x" } }] };
  const one = { taskQuestion: "one", replies: [search, { content: "first", finishReason: "length" }] };
  const any = { replies: [{ content: "any", usage: { inputTokens: 5, outputTokens: 1, cachedInputTokens: 0 } }] };

  test.each([
    ["as lines", `${JSON.stringify(one)}\n\n${JSON.stringify(any)}\n`],
    ["as one list", JSON.stringify([one, any], null, 2)],
  ])("%s answers each question by its turn, in any order", async (_, text) => {
    writeFileSync(file, text);
    const model = await replayModel(file);
    expect(model.id).toBe(`replay/${file}`);
    expect(await model.complete(asked(" one ", 1), never)).toMatchObject({ content: "first", finishReason: "length" });
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
  /** Says how often it was asked. */
  function counting(): Model {
    let calls = 0;
    return {
      id: "openai/m",
      async complete(request): Promise<Completion> {
        const content = `${request.messages[0]?.content} ${++calls}`;
        return {
          content,
          toolCalls: [],
          finishReason: "stop",
          rawFinishReason: "stop",
          usage: null,
          latencyMs: 12,
          retries: [{ attempt: 1, reason: "429", waitedMs: 3 }],
          providerState: { provider: "openai-chat", value: { reasoning: "hm" } },
        };
      },
    };
  }

  test("is answered from: the nth time the nth reply, then no more", async () => {
    let text = "";
    const live = recording(counting(), (line) => {
      text += line;
    });
    const given = [];
    for (const question of ["a", "b", "a"]) given.push(await live.complete(asked(question), never));
    writeFileSync(file, text);
    const model = await replayModel(file);
    expect(await model.complete(asked("a"), never)).toEqual(given[0]);
    expect(await model.complete(asked("a"), never)).toEqual(given[2]);
    expect(await model.complete(asked("b"), never)).toEqual(given[1]);
    await expect(model.complete(asked("b"), never)).rejects.toMatchObject(protocol);
    await expect(model.complete({ ...asked("a"), maxTokens: 11 }, never)).rejects.toMatchObject(protocol);
  });

  test("fails again where the call had failed for good, or outlasted its task", async () => {
    const retries = [{ attempt: 1, reason: "500", waitedMs: 3 }];
    const failure = new ModelError("server", "x/y: 500 (after 2 attempts)", { retryable: true, retries });
    const late = new DOMException("late", "TimeoutError");
    let text = "";
    for (const error of [failure, late]) {
      const broken: Model = { id: "x/y", complete: () => Promise.reject(error) };
      const live = recording(broken, (line) => {
        text += line;
      });
      await expect(live.complete(asked("a"), never)).rejects.toBe(error);
    }
    writeFileSync(file, text);
    const model = await replayModel(file);
    const { kind, message } = failure;
    await expect(model.complete(asked("a"), never)).rejects.toMatchObject({ kind, message, retries, retryable: false });
    await expect(model.complete(asked("a"), never)).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("does not hold calls that were interrupted", async () => {
    let text = "";
    const broken: Model = { id: "x/y", complete: () => Promise.reject(new Error("no")) };
    const live = recording(broken, (line) => {
      text += line;
    });
    await expect(live.complete(asked("a"), never)).rejects.toThrow("no");
    expect(text).toBe("");
  });
});

test("a key depends on everything that decides a reply, and on no order of keys", () => {
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
