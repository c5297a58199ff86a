import { afterEach, describe, expect, it } from "vitest";
import { type Model, ModelError, type ModelRequest, type ReplyDelta } from "../../src/models/model.js";
import { resolveModel } from "../../src/models/open-model.js";
import {
  ERROR_EVENTS,
  type PlainScript,
  STREAMS,
  type StreamedReply,
  type StreamingProvider,
  type StreamScript,
  splitBytes,
  startStreamingProvider,
} from "../providers/streaming-provider.js";
import { toReplyBody } from "../providers/wire-reply.js";
import { WIRE_FORMATS, type WireFormat } from "../providers/wire-request.js";
import { modelOver } from "./wire.js";

/** Streamed calls over real HTTP, in the event formats of all providers. */

const KEY = "sk-test-0123456789abcdef";
const never = new AbortController().signal;

const REQUEST: ModelRequest = {
  system: "You answer from a mailbox.",
  messages: [{ role: "user", content: "Where is the meeting?" }],
  tools: [
    {
      name: "email_search",
      description: "Searches.",
      parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    },
  ],
  toolChoice: "auto",
  maxTokens: 512,
};

const ANSWER: StreamedReply = { text: ["In Zürich, ", "or in 日本 ", "🎉", " tomorrow."] };
const SEARCH: StreamedReply = {
  reasoning: ["The mail ", "must be searched."],
  text: ["Let me ", "look."],
  calls: [
    { id: "call_a", name: "email_search", args: ['{"que', 'ry": "Zür', 'ich"}'] },
    { id: "call_b", name: "email_search", args: ['{"query"', ': "日本"}'] },
  ],
};

let provider: StreamingProvider;
afterEach(() => provider.close());

const framesOf = (format: WireFormat, reply: StreamedReply) => {
  const { parts, finish } = STREAMS[format](reply);
  return [...parts, ...finish];
};

/** Opens a model on a provider that plays the scripts. */
function start(format: WireFormat, ...scripts: (StreamScript | PlainScript)[]): Promise<Model> {
  return startWithin(20_000, format, ...scripts);
}

/** Starts a model whose calls may take `timeoutMs` milliseconds. */
async function startWithin(
  timeoutMs: number,
  format: WireFormat,
  ...scripts: (StreamScript | PlainScript)[]
): Promise<Model> {
  provider = await startStreamingProvider(scripts);
  const { name, wireApi } = modelOver(format, "fake-1");
  const connection = { apiKey: KEY, baseUrl: provider.baseUrl(format), wireApi, timeoutMs };
  return resolveModel(name, connection, { attempts: 3, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 });
}

/** Returns the reply, or the error, and the parts that arrived. */
/** `onText` receives the text so far. */
async function call(model: Model, signal = never, onText: (text: string) => void = () => {}) {
  const deltas: ReplyDelta[] = [];
  const of = (type: "text" | "reasoning") =>
    deltas.flatMap((delta) => (delta.type === type ? [delta.text] : [])).join("");
  const onDelta = (delta: ReplyDelta) => {
    deltas.push(delta);
    onText(of("text"));
  };
  const outcome = await model.complete({ ...REQUEST, onDelta }, signal).catch((error: unknown) => error);
  const reply = outcome as Awaited<ReturnType<Model["complete"]>>;
  return { deltas, text: of("text"), reasoning: of("reasoning"), reply, error: outcome as ModelError };
}

describe.each(WIRE_FORMATS)("a streamed call over %s", (format) => {
  it("delivers text in parts, and returns the same reply as a plain call", async () => {
    const streaming = await start(format, { frames: framesOf(format, ANSWER) });
    const { reply, text, deltas } = await call(streaming);
    expect(text).toBe("In Zürich, or in 日本 🎉 tomorrow.");
    expect(deltas.length).toBeGreaterThan(1);
    await provider.close();
    const content = text;
    const id = { anthropic: "msg_1", "openai-chat": "chatcmpl-1", "openai-responses": "resp_1", google: "g_1" }[format];
    const plain = await start(format, { status: 200, json: toReplyBody(format, { content }, 1, "fake-1") });
    const expected = await plain.complete(REQUEST, never);
    const { latencyMs: _, waitedMs: __, responseId: ___, waits: ____, ...same } = expected;
    expect(reply).toMatchObject({ ...same, responseId: id });
  });

  it("does not stream without a listener", async () => {
    const model = await start(format, { status: 200, json: toReplyBody(format, { content: "Hello." }, 1, "fake-1") });
    await model.complete(REQUEST, never);
    expect(provider.requests[0]?.body.stream ?? false).toBe(false);
    expect(provider.requests[0]?.path).not.toContain("stream");
  });

  it("delivers reasoning, text and the start of each tool call, and joins the arguments", async () => {
    const { reply, text, reasoning, deltas } = await call(await start(format, { frames: framesOf(format, SEARCH) }));
    expect({ text, reasoning }).toEqual({ text: "Let me look.", reasoning: "The mail must be searched." });
    expect(deltas.filter(({ type }) => type === "tool_call")).toEqual([
      { type: "tool_call", index: 0, id: "call_a", name: "email_search" },
      { type: "tool_call", index: 1, id: "call_b", name: "email_search" },
    ]);
    expect(reply.toolCalls).toEqual([
      { id: "call_a", name: "email_search", arguments: { query: "Zürich" } },
      { id: "call_b", name: "email_search", arguments: { query: "日本" } },
    ]);
    expect(reply.finishReason).toBe("tool_calls");
    expect(reply.content).toBe("Let me look.");
    expect(reply.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 });
  });

  it.each([1, 3, 7])("reads a stream in pieces of %i bytes, which end within characters and lines", async (size) => {
    const frames = splitBytes([": ping\n\n", ...framesOf(format, SEARCH), ": ping\n\n"], size);
    const { reply, text } = await call(
      await start(format, { frames: [Buffer.concat(frames.slice(0, 9)), ...frames.slice(9)] }),
    );
    expect(text).toBe("Let me look.");
    expect(reply.toolCalls.map((one) => one.arguments)).toEqual([{ query: "Zürich" }, { query: "日本" }]);
  });

  it("sends the state of a streamed reply back with the next request", async () => {
    const model = await start(format, { frames: framesOf(format, SEARCH) }, { frames: framesOf(format, ANSWER) });
    const { reply } = await call(model);
    const { content, toolCalls, providerState } = reply;
    expect(providerState).toBeDefined();
    const results = toolCalls.map(({ id, name }) => ({
      role: "tool" as const,
      toolCallId: id,
      name,
      content: "[]",
      isError: false,
    }));
    const said = { role: "assistant" as const, content, toolCalls: [...toolCalls], providerState };
    await model.complete({ ...REQUEST, messages: [...REQUEST.messages, said, ...results], onDelta: () => {} }, never);
    const secret = { anthropic: "c2lnbmVk", "openai-responses": "c2VhbGVk" }[format as string];
    expect(JSON.stringify(provider.requests[1]?.body)).toContain(secret ?? "must be searched.");
  });

  it.each(["end", "destroy"] as const)(
    "fails if the stream stops too early (%s), without a retry after text",
    async (ending) => {
      const { parts } = STREAMS[format](ANSWER);
      const { error, text } = await call(
        await start(format, { frames: parts, ending }, { frames: framesOf(format, ANSWER) }),
      );
      expect(text).toBe("In Zürich, or in 日本 🎉 tomorrow.");
      expect(error).toBeInstanceOf(ModelError);
      expect(error).toMatchObject({ kind: "network", retryable: true });
      expect(provider.requests).toHaveLength(1);
    },
  );

  it("retries a stream that stops before anything was delivered", async () => {
    const first = { frames: [": ping\n\n"] };
    const { reply } = await call(await start(format, first, { frames: framesOf(format, ANSWER) }));
    expect(reply.content).toBe("In Zürich, or in 日本 🎉 tomorrow.");
    expect(reply.retries).toMatchObject([{ reason: "the reply stream ended before the reply was complete" }]);
  });

  it("fails with the error event of a stream, and retries it only before anything was delivered", async () => {
    const { parts } = STREAMS[format](ANSWER);
    const late = await call(await start(format, { frames: [...parts, ERROR_EVENTS[format]] }));
    expect(late.error).toMatchObject({ kind: "overloaded", retryable: true });
    expect(late.error.message).toContain("Overloaded");
    expect(provider.requests).toHaveLength(1);
    await provider.close();
    const early = { frames: [ERROR_EVENTS[format]] };
    const { reply } = await call(await start(format, early, { frames: framesOf(format, ANSWER) }));
    expect(reply.content).toBe("In Zürich, or in 日本 🎉 tomorrow.");
    expect(provider.requests).toHaveLength(2);
  });

  it("uses one connection for several calls", async () => {
    const model = await start(format, { frames: framesOf(format, ANSWER) });
    for (const _ of [1, 2, 3]) {
      await call(model);
      // The end of the stream arrives after its last event.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(provider.connections).toBe(1);
  });

  it("fails if an event is not JSON", async () => {
    const { error } = await call(await start(format, { frames: ['data: {"broken\n\n'] }));
    expect(error).toMatchObject({ kind: "protocol" });
  });

  it("disconnects from the server when it is aborted", async () => {
    const model = await start(format, { frames: STREAMS[format](ANSWER).parts, ending: "hang" });
    const controller = new AbortController();
    const reason = new Error("the reader left");
    const { error } = await call(model, controller.signal, (text) => {
      if (text.includes("Zürich")) controller.abort(reason);
    });
    expect(error).toBe(reason);
    await expect.poll(() => provider.abandoned).toBe(1);
  });

  it("times out if the stream falls silent", async () => {
    provider = await startStreamingProvider([{ frames: STREAMS[format](ANSWER).parts, ending: "hang" }]);
    const { name, wireApi } = modelOver(format, "fake-1");
    const connection = { apiKey: KEY, baseUrl: provider.baseUrl(format), wireApi, timeoutMs: 200 };
    const { error } = await call(await resolveModel(name, connection));
    expect(error).toMatchObject({ kind: "timeout" });
    expect(provider.requests).toHaveLength(1);
  });

  it("accepts a plain reply from a server that does not stream", async () => {
    const json = toReplyBody(format, { content: "Hello." }, 1, "fake-1");
    const { reply, deltas } = await call(await start(format, { status: 200, json }));
    expect(reply.content).toBe("Hello.");
    expect(deltas).toEqual([]);
  });

  it("calls without streaming if the server rejects it, also the next time", async () => {
    const refused = { status: 400, json: { error: { message: "Unsupported parameter: stream", param: "stream" } } };
    const plain = { status: 200, json: toReplyBody(format, { content: "Hello." }, 1, "fake-1") };
    const model = await start(format, refused, plain);
    expect((await call(model)).reply.content).toBe("Hello.");
    expect((await call(model)).reply.content).toBe("Hello.");
    expect(provider.requests).toHaveLength(3);
  });

  it.each([
    "This model only support stream mode, please enable the stream parameter to access the model. ",
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "Stream must be set to true",
  ])("streams without a listener if the server requires it, also the next time (%s)", async (message) => {
    const refused = { status: 400, json: { error: { code: "invalid_parameter_error", message } } };
    const streamed = { frames: framesOf(format, ANSWER) };
    const model = await start(format, refused, streamed, streamed);
    for (const _ of [1, 2]) {
      const { content, notes } = await model.complete(REQUEST, never);
      expect({ content, notes }).toEqual({ content: ANSWER.text?.join(""), notes: undefined });
    }
    const streams = provider.requests.map(({ path, body }) => path.includes("stream") || body.stream === true);
    expect(streams).toEqual([false, true, true]);
  });

  it("reads a stream that it did not request", async () => {
    const model = await start(format, { frames: framesOf(format, SEARCH) });
    const { content, toolCalls, usage } = await model.complete(REQUEST, never);
    expect(content).toBe("Let me look.");
    expect(toolCalls.map(({ arguments: args }) => args)).toEqual([{ query: "Zürich" }, { query: "日本" }]);
    expect(usage).toMatchObject({ inputTokens: 100 });
  });
});

describe("a streamed chat completion", () => {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

  it("requests usage, but not from a server that rejects the option", async () => {
    const refused = { status: 400, json: { error: { message: "Unknown field: stream_options" } } };
    const model = await start("openai-chat", refused, { frames: framesOf("openai-chat", ANSWER) });
    const { text, reply } = await call(model);
    expect(text).toContain("Zürich");
    expect(reply.usage).toMatchObject({ inputTokens: 100 });
    expect(provider.requests.map(({ body }) => body.stream_options)).toEqual([{ include_usage: true }, undefined]);
  });

  it("separates calls that a server numbers alike, or does not number", async () => {
    const part = (id: string, args: string, index?: number) =>
      chunk({ tool_calls: [{ index, id, function: { name: "email_search", arguments: args } }] });
    for (const index of [0, undefined]) {
      const frames = [part("a", '{"query":"x"}', index), part("b", '{"query":"y"}', index), chunk({}, "stop")];
      const { reply } = await call(await start("openai-chat", { frames }));
      expect(reply.toolCalls.map(({ id, arguments: args }) => [id, args])).toEqual([
        ["a", { query: "x" }],
        ["b", { query: "y" }],
      ]);
      await provider.close();
    }
  });

  it("keeps reasoning out of the streamed text if the server leaves its tags in there", async () => {
    const frames = [...("<think>Hidden.</think>Shown.".match(/.{1,4}/g) ?? [])].map((content) => chunk({ content }));
    const model = await start("openai-chat", { frames: [...frames, chunk({}, "stop")] });
    for (const _ of [1, 2]) {
      const { text, reply } = await call(model);
      expect(text).toBe("");
      expect(reply).toMatchObject({ content: "Shown.", reasoning: "Hidden." });
    }
  });

  it("joins the parts of OpenRouter's reasoning details", async () => {
    const detail = (fields: object) => chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, ...fields }] });
    const frames = [
      detail({ text: "First, " }),
      detail({ text: "then." }),
      detail({ signature: "s" }),
      chunk({ content: "Yes, it is." }),
      chunk({}, "stop"),
    ];
    const { reply } = await call(await start("openai-chat", { frames }));
    expect(reply.providerState?.value).toEqual({
      reasoning_details: [{ type: "reasoning.text", index: 0, text: "First, then.", signature: "s" }],
    });
  });
});

describe("a stream without an end", () => {
  const part = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
  const braces = part({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "}".repeat(2_000) } }] });
  const details = part({ reasoning_details: Array(400).fill({ type: "text", signature: "s", text: "x" }) });

  const FRAMES: readonly (readonly [name: string, frame: string])[] = [
    ["one line", `data: ${"x".repeat(65_536)}`],
    ["tool arguments", braces],
    ["one word", part({ content: "w".repeat(60_000) })],
    ["empty lines", "\n".repeat(65_536)],
    ["reasoning details", details],
  ];
  const ENDS = "ends at the limit, in linear time (%s)";
  // Seconds on an idle machine. In quadratic time, 64 MB would take hours.
  const timeout = 240_000;
  it.each(FRAMES.slice(0, 2))(ENDS, { timeout }, expectEnd);
  it.each(FRAMES.slice(2))(ENDS, { tags: ["slow"], timeout }, expectEnd);

  async function expectEnd(_: string, frame: string): Promise<void> {
    const script: StreamScript = { frames: [part({ content: "Yes: " }), frame], ending: "repeat" };
    const model = await startWithin(timeout, "openai-chat", script);
    const onDelta = () => {};
    await expect(model.complete({ ...REQUEST, onDelta }, never)).rejects.toThrow(
      "the reply stream is larger than 64 MB",
    );
  }
});

it("reports the billed tokens if a streamed message breaks off", async () => {
  const { error } = await call(await start("anthropic", { frames: STREAMS.anthropic(ANSWER).parts }));
  expect(error.billed?.usage).toMatchObject({ inputTokens: 100, outputTokens: 1 });
});
