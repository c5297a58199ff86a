import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Completion, type Message, type Model, ModelError, type ModelRequest } from "../../src/models/model.js";
import { resolveModel } from "../../src/models/open-model.js";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import { googleModel } from "../../src/models/providers/google.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import type { JsonValue } from "../../src/platform/json.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { toReplyBody } from "../providers/wire-reply.js";
import { WIRE_FORMATS, type WireFormat } from "../providers/wire-request.js";
import { asMessage, exchange, modelOver } from "./wire.js";

/** Required behavior of every model behind a wire format, whatever the provider's terms. Over real HTTP. */

const KEY = "sk-test-0123456789abcdef";

const SEARCH = {
  name: "email_search",
  description: "Searches the mailbox.",
  parameters: {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 50, default: 10 } },
    required: ["query"],
    additionalProperties: false,
  },
} as const;

const ask: ModelRequest = {
  system: "You answer from a mailbox.",
  messages: [{ role: "user", content: "When is the meeting?" }],
  tools: [SEARCH],
  toolChoice: "auto",
  maxTokens: 512,
};

function modelOf(format: WireFormat, baseUrl: string, attempts = 1, timeoutMs = 20_000): Promise<Model> {
  const { name, wireApi } = modelOver(format, "fake-1");
  const policy = { attempts, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };
  return resolveModel(name, { apiKey: KEY, baseUrl, wireApi, timeoutMs }, policy);
}

/** The reply and the results of its calls, appended to a request like in the agent's loop. */
function continued(request: ModelRequest, reply: Completion, ...results: { content: string; isError?: boolean }[]) {
  const tools = results.map((result, i): Message => {
    const { id, name } = reply.toolCalls[i] ?? { id: "", name: "" };
    return { role: "tool", toolCallId: id, name, content: result.content, isError: result.isError ?? false };
  });
  return { ...request, messages: [...request.messages, asMessage(reply), ...tools] };
}

const never = new AbortController().signal;

describe.each(WIRE_FORMATS)("a model over %s", (format) => {
  let provider: FakeProvider;
  let model: Model;

  beforeEach(async () => {
    provider = await startFakeProvider();
    model = await modelOf(format, provider.baseUrl(format));
  });
  afterEach(() => provider.close());

  async function failure(attempts = 1): Promise<ModelError> {
    const trying = await modelOf(format, provider.baseUrl(format), attempts);
    const error = await trying.complete(ask, never).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ModelError);
    return error as ModelError;
  }

  test.each([
    [400, "bad_request", false],
    [401, "auth", false],
    [403, "auth", false],
    [404, "not_found", false],
    [413, "context_overflow", false],
    [422, "bad_request", false],
    [408, "timeout", true],
    [409, "server", true],
    [429, "rate_limit", true],
    [500, "server", true],
    [502, "server", true],
    [503, "overloaded", true],
    [529, "overloaded", true],
  ] as const)("maps status %i to %s, retryable %s", async (status, kind, retryable) => {
    provider.push({ fail: "status", status, message: "what went wrong" });
    const error = await failure();
    expect(error).toMatchObject({ kind, status, retryable, retries: [] });
    expect(error.message).toContain("what went wrong");
  });

  test("separates a prompt that is too long from other bad requests", async () => {
    provider.push({ fail: "status", status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" });
    expect(await failure()).toMatchObject({ kind: "context_overflow", retryable: false });
  });

  test("redacts a key in an error, even if the provider repeats it", async () => {
    provider.push({
      fail: "status",
      status: 401,
      message: `Incorrect API key provided: ${KEY}, or AIzaSyA-1234567890`,
    });
    const error = await failure();
    const everything = inspect(error, { depth: 10, showHidden: true });
    expect(everything).not.toContain(KEY);
    expect(everything).not.toContain("AIzaSyA-1234567890");
    expect(error.message).toContain("[key]");
  });

  test("reduces an error page to one line", async () => {
    provider.push({ fail: "status", status: 502, body: `<html>\n<h1>Bad</h1>\n${"x".repeat(5000)}</html>` });
    const error = await failure();
    expect(error.message).not.toContain("\n");
    expect(error.message.length).toBeLessThan(400);
  });

  test.each(["reset", "cut-off", "half-json"] as const)("retries a damaged reply (%s)", async (fail) => {
    provider.push({ fail });
    const error = await failure();
    expect(error.retryable).toBe(true);
    expect(["network", "protocol"]).toContain(error.kind);
  });

  test("does not retry a web page, which is not an API reply", async () => {
    provider.push({ fail: "html" });
    expect(await failure()).toMatchObject({ kind: "protocol", retryable: false });
  });

  test("throws a protocol error for a reply in another format", async () => {
    provider.push({ fail: "body", body: { hello: "world" } });
    expect(await failure()).toMatchObject({ kind: "protocol", retryable: true });
  });

  test("throws a network error if nothing listens at the URL", async () => {
    await provider.close();
    expect(await failure()).toMatchObject({ kind: "network", retryable: true, status: null });
  });

  test.each(["silence", "stall"] as const)("times out if the server does not answer in time (%s)", async (fail) => {
    provider.push({ fail });
    const hurried = await modelOf(format, provider.baseUrl(format), 1, 150);
    await expect(hurried.complete(ask, never)).rejects.toMatchObject({ kind: "timeout", retryable: true });
  });

  test.each(["silence", "stall"] as const)(
    "rejects with the reason if aborted while waiting (%s), and does not retry",
    async (fail) => {
      provider.push({ fail }, { content: "too late" });
      const patient = await modelOf(format, provider.baseUrl(format), 3);
      const controller = new AbortController();
      const reply = patient.complete(ask, controller.signal);
      await provider.received(1);
      controller.abort(new Error("the user pressed Ctrl-C"));
      await expect(reply).rejects.toThrow("the user pressed Ctrl-C");
      expect(provider.requests).toHaveLength(1);
    },
  );

  test("sends nothing after an abort", async () => {
    await expect(model.complete(ask, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
    expect(provider.requests).toHaveLength(0);
  });

  test("retries failures, and records them", async () => {
    provider.push({ fail: "status", status: 529 }, { fail: "reset" }, { fail: "half-json" }, { content: "in May" });
    const trying = await modelOf(format, provider.baseUrl(format), 4);
    const reply = await trying.complete(ask, never);
    expect(reply.content).toBe("in May");
    expect(reply.retries.map((retry) => retry.attempt)).toEqual([1, 2, 3]);
    expect(reply.retries[0]?.reason).toContain("529");
  });

  test("fails and lists all attempts if no reply is valid", async () => {
    provider.push({ fail: "status", status: 500 }, { fail: "status", status: 500 }, { fail: "status", status: 429 });
    const error = await failure(3);
    expect(error).toMatchObject({ kind: "rate_limit", status: 429 });
    expect(error.retries).toHaveLength(2);
    expect(provider.requests).toHaveLength(3);
  });

  test("sends and returns text", async () => {
    provider.push({ content: "It is on Monday — 3 pm. ✓" });
    const reply = await model.complete(ask, never);
    expect(reply).toMatchObject({
      content: "It is on Monday — 3 pm. ✓",
      toolCalls: [],
      finishReason: "stop",
      usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 },
      retries: [],
    });
    expect(reply.latencyMs).toBeGreaterThan(0);
    expect(reply.rawFinishReason).not.toBe("");
    expect(model.id).toMatch(/^(anthropic|openai|google)\/fake-1$/);
  });

  test("replaces only one character for a byte that is not UTF-8", async () => {
    provider.push({ fail: "invalid-utf8" });
    expect((await model.complete(ask, never)).content).toBe("before|\uFFFD|after");
  });

  test("returns a tool call, and sends a request that describes the tool", async () => {
    provider.push({ toolCalls: [{ name: "email_search", arguments: { query: "meeting", limit: 5 } }] });
    const reply = await model.complete({ ...ask, toolChoice: "required" }, never);
    expect(reply.finishReason).toBe("tool_calls");
    expect(reply.toolCalls).toEqual([
      { id: expect.stringMatching(/./), name: "email_search", arguments: { query: "meeting", limit: 5 } },
    ]);
    expect(provider.requests[0]?.headers["content-type"]).toBe("application/json");
  });

  test("sends several calls with their results in order, including an error", async () => {
    const call = (query: string) => ({ name: "email_search", arguments: { query } });
    const dialogue = await startFakeProvider((request) => {
      if (request.turn === 0) return { content: "Let me look.", toolCalls: [call("meeting"), call("agenda")] };
      return { content: request.results.map((result) => `${result.content}/${result.isError}`).join(" ") };
    });
    const talking = await modelOf(format, dialogue.baseUrl(format));
    const first = await talking.complete(ask, never);
    expect(new Set(first.toolCalls.map(({ id }) => id)).size).toBe(2);
    const second = await talking.complete(
      continued(ask, first, { content: "found" }, { content: "no such inbox", isError: true }),
      never,
    );
    const marked = format === "anthropic" || format === "google";
    expect(second.content).toBe(`found/false no such inbox/${marked}`);
    await dialogue.close();
  });

  test("marks arguments that are not an object as invalid, and keeps their text", async () => {
    const broken = format.startsWith("openai") ? '{"query": "meet' : ["meeting"];
    provider.push({ toolCalls: [{ name: "email_search", arguments: broken }] }, { content: "sorry" });
    const reply = await model.complete(ask, never);
    const invalid = format.startsWith("openai") ? '{"query": "meet' : '["meeting"]';
    expect(reply.toolCalls[0]).toMatchObject({ arguments: {}, invalid });
    const next = continued(ask, reply, { content: "Arguments must be a JSON object.", isError: true });
    expect((await model.complete(next, never)).content).toBe("sorry");
  });

  test("makes empty and repeated call ids unique in the entire conversation", async () => {
    const calls = ["", "same", "same"].map((id) => ({ id, name: "email_search", arguments: {} }));
    provider.push({ toolCalls: calls, reasoning: "b64==" }, { toolCalls: calls }, { content: "done" });
    const first = await model.complete(ask, never);
    const request = continued(ask, first, { content: "1" }, { content: "2" }, { content: "3" });
    const second = await model.complete(request, never);
    const ids = [...first.toolCalls, ...second.toolCalls].map(({ id }) => id);
    expect(new Set(ids).size).toBe(6);
    expect(ids).not.toContain("");
    const last = await model.complete(
      continued(request, second, { content: "4" }, { content: "5" }, { content: "6" }),
      never,
    );
    expect(last.content).toBe("done");
  });

  test("assigns the same ids to the same reply", async () => {
    const reply = { toolCalls: [{ id: "", name: "email_search", arguments: {} }] };
    provider.push(reply, reply);
    const [a, b] = [await model.complete(ask, never), await model.complete(ask, never)];
    expect(a.toolCalls).toEqual(b.toolCalls);
  });

  test("separates a refusal from an answer", async () => {
    provider.push({ content: "I cannot help with that.", finishReason: "refusal" });
    const reply = await model.complete(ask, never);
    expect(reply.finishReason).toBe("refusal");
    expect(reply.content).toBe("I cannot help with that.");
  });

  test("marks a reply that its length limit truncated", async () => {
    provider.push({ content: "The meeting is", finishReason: "length" });
    expect(await model.complete(ask, never)).toMatchObject({ content: "The meeting is", finishReason: "length" });
  });

  test("retries a reply that broke off, and never treats its text as the answer", async () => {
    provider.push({ content: "The adder was", finishReason: "other" }, { content: "4.5 cents" });
    const patient = await modelOf(format, provider.baseUrl(format), 2);
    const { content, retries } = await patient.complete(ask, never);
    expect(content).toBe("4.5 cents");
    expect(retries).toMatchObject([{ reason: expect.stringContaining("broke off") }]);
  });

  test("separates reasoning that the server left in the text", async () => {
    provider.push({ content: "<think>Maybe 9.9?</think>4.5 cents" });
    expect(await model.complete(ask, never)).toMatchObject({ content: "4.5 cents", reasoning: "Maybe 9.9?" });
  });

  test("counts cached input as part of the input", async () => {
    provider.push({ content: "x", usage: { inputTokens: 1000, outputTokens: 7, cachedInputTokens: 900 } });
    const { usage } = await model.complete(ask, never);
    expect(usage).toEqual({ inputTokens: 1000, outputTokens: 7, cachedInputTokens: 900 });
  });

  test("returns null as the usage if the server does not report it", async () => {
    provider.push({ content: "x", usage: null });
    expect((await model.complete(ask, never)).usage).toBeNull();
  });

  test("sends the provider's state back, with only the calls that the agent kept", async () => {
    const call = { name: "email_search", arguments: { query: "a" } };
    provider.push(
      { content: "thinking", toolCalls: [call, call], reasoning: "opaque+signature==" },
      { content: "done" },
    );
    const first = await model.complete(ask, never);
    expect(first.providerState).toBeDefined();
    const trimmed = { ...first, toolCalls: first.toolCalls.slice(0, 1) };
    await model.complete(continued(ask, trimmed, { content: "[]" }), never);
    const sent = JSON.stringify(provider.requests[1]?.body);
    expect(sent.split("opaque+signature==")).toHaveLength(2);
    const calls = sent.match(/"type":"(tool_use|function_call|function)","?|"functionCall":/g)?.length ?? 0;
    const declared = format === "openai-chat" ? 1 : format === "openai-responses" ? 1 : 0;
    const expected = format === "openai-responses" ? 2 : 1 + declared;
    expect(calls).toBe(expected);
  });

  test("does not send another provider's state", async () => {
    provider.push({ content: "done" });
    const foreign = { provider: "elsewhere", value: { secret: "opaque" } };
    const messages: Message[] = [
      ...ask.messages,
      { role: "assistant", content: "hm", toolCalls: [], providerState: foreign },
      { role: "user", content: "Go on." },
    ];
    await model.complete({ ...ask, messages }, never);
    expect(JSON.stringify(provider.requests[0]?.body)).not.toContain("opaque");
  });

  test("does not send half a surrogate pair", async () => {
    provider.push({ content: "ok" });
    await model.complete({ ...ask, messages: [{ role: "user", content: "cut \ud83d here" }] }, never);
    expect(JSON.stringify(provider.requests[0]?.body)).toContain("cut \ufffd here");
  });

  test("keeps connections alive, even after errors", async () => {
    provider.push({ fail: "status", status: 500 }, ...Array.from({ length: 9 }, () => ({ content: "ok" })));
    const trying = await modelOf(format, provider.baseUrl(format), 2);
    for (let i = 0; i < 9; i++) await trying.complete(ask, never);
    expect(provider.requests).toHaveLength(10);
    expect(provider.connections).toBeLessThanOrEqual(3);
  });
});

/** The id of a reply in the provider's own logs. */

describe.each([
  ["anthropic", anthropicModel, "id", "msg_1"],
  ["openai-chat", openaiChatModel, "id", "chatcmpl-1"],
  ["openai-responses", openaiResponsesModel, "id", "resp_1"],
  ["google", googleModel, "responseId", "resp_1"],
] as const)("the id of a reply in the %s format", (format, make, field, expected) => {
  const whole = toReplyBody(format, { content: "ok" }, 1, "asked") as { [key: string]: JsonValue };
  const idOf = async (id: JsonValue) =>
    (await exchange(format, make, "asked", { fail: "body", body: { ...whole, [field]: id } })).reply.responseId;

  test("appears in the record", async () => {
    const { reply } = await exchange(format, make, "asked", { content: "ok" });
    expect(reply.responseId).toBe(expected);
  });

  test("disappears if invalid, and the reply is accepted anyway", async () => {
    expect(await idOf("")).toBeUndefined();
    expect(await idOf(7)).toBeUndefined();
    expect(await idOf(null)).toBeUndefined();
    expect(await idOf("x".repeat(201))).toBeUndefined();
  });
});
