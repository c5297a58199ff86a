import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateRawSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Completion, Message, ModelError, ModelRequest, ReplyDelta } from "../../src/models/model.js";
import { resolveModel } from "../../src/models/open-model.js";
import { toReplyBody } from "../providers/wire-reply.js";
import type { WireFormat } from "../providers/wire-request.js";
import { modelOver } from "./wire.js";

/**
 * Replies, streams, refusals and waits of servers that are compatible with a provider, but not entirely. All over real
 * HTTP, at one server for the entire file. The inputs follow public bug reports of other clients.
 */

interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
type Body = any;

const seen: Body[] = [];
const seenHeaders: IncomingHttpHeaders[] = [];
let respond: (body: Body) => Response;

const server = createServer({ maxHeaderSize: 65_536 }, async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  seen.push(body);
  seenHeaders.push(request.headers);
  const { status = 200, headers = {}, body: sent } = respond(body);
  const isRaw = typeof sent === "string" || Buffer.isBuffer(sent);
  response.writeHead(status, { "content-type": isRaw ? "text/plain" : "application/json", ...headers });
  response.end(isRaw ? sent : JSON.stringify(sent));
});

let url = "";
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  seen.length = 0;
  seenHeaders.length = 0;
});

const SEARCH = {
  name: "email_search",
  description: "Searches.",
  parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};

const REQUEST: ModelRequest = {
  system: "You answer from a mailbox.",
  messages: [{ role: "user", content: "What is the adder?" }],
  tools: [SEARCH],
  toolChoice: "auto",
  maxTokens: 512,
};

const ONCE = { attempts: 1, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };
const never = new AbortController().signal;

async function open(format: WireFormat, name = "some-model") {
  const { name: model, wireApi } = modelOver(format, name);
  const baseUrl = format.startsWith("openai") ? `${url}/v1` : url;
  return resolveModel(model, { apiKey: "sk-test", baseUrl, wireApi, timeoutMs: 5_000 }, ONCE);
}

async function complete(format: WireFormat, response: Response, changes: Partial<ModelRequest> = {}, name?: string) {
  respond = () => response;
  return (await open(format, name)).complete({ ...REQUEST, ...changes }, never);
}

const failure = async (format: WireFormat, response: Response) =>
  complete(format, response).then(
    () => {
      throw new Error("the call did not fail");
    },
    (error: ModelError) => error,
  );

const ANSWER = "Index plus 4.5 cents";
const answer = (format: WireFormat) => toReplyBody(format, { content: ANSWER }, 1, "m");
const chat = (message: object, finish_reason: unknown = "stop", more: object = {}) => ({
  id: "c1",
  model: "m",
  choices: [{ index: 0, finish_reason, message: { role: "assistant", content: null, ...message } }],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  ...more,
});
const call = (args: unknown, more: object = {}) => ({
  id: "call_1",
  type: "function",
  function: { name: "email_search", arguments: args },
  ...more,
});
const usage = (counts: object) => ({ body: chat({ content: ANSWER }, "stop", { usage: counts }) });
const messages = (content: unknown, stop_reason: unknown = "end_turn", more: object = {}) => ({
  body: { id: "msg_1", type: "message", role: "assistant", model: "m", content, stop_reason, usage: null, ...more },
});
const responses = (output: unknown, more: object = {}) => ({
  body: { id: "resp_1", status: "completed", error: null, model: "m", output, ...more },
});
const google = (candidate: object, more: object = {}) => ({
  body: { candidates: [{ index: 0, finishReason: "STOP", ...candidate }], ...more },
});
const zipped = (encoding: string, body: Buffer) => ({ headers: { "content-encoding": encoding }, body });
const plain = Buffer.from(JSON.stringify(answer("openai-chat")));

const SAID = { content: ANSWER, finishReason: "stop" };
const CALLED = {
  finishReason: "tool_calls",
  toolCalls: [{ name: "email_search", arguments: { query: "adder" } }],
};
const tokens = (inputTokens: number, outputTokens: number, cachedInputTokens = 0) => ({
  usage: { inputTokens, outputTokens, cachedInputTokens },
});

describe("a reply", () => {
  it.each<[string, WireFormat, Response, object]>([
    ["text for the calls", "openai-chat", { body: chat({ content: ANSWER, tool_calls: "" }) }, SAID],
    ["an object for the calls", "openai-chat", { body: chat({ content: ANSWER, tool_calls: {} }) }, SAID],
    ["false for the refusal", "openai-chat", { body: chat({ content: ANSWER, refusal: false }) }, SAID],
    [
      "a part without text",
      "openai-chat",
      {
        body: chat({
          content: [
            { type: "text", text: null },
            { type: "text", text: ANSWER },
          ],
        }),
      },
      SAID,
    ],
    ["strings as parts", "openai-chat", { body: chat({ content: ["Index plus ", "4.5 cents"] }) }, SAID],
    [
      "a number as the call's id",
      "openai-chat",
      { body: chat({ tool_calls: [call({ query: "adder" }, { id: 7 })] }) },
      CALLED,
    ],
    ["a number as content", "openai-chat", { body: chat({ content: 42 }) }, { content: "42", finishReason: "stop" }],
    ["an object as content", "openai-chat", { body: chat({ content: { text: ANSWER } }) }, SAID],
    [
      "text inside an object in a part",
      "openai-chat",
      { body: chat({ content: [{ type: "text", text: { value: ANSWER } }] }) },
      SAID,
    ],
    [
      "reasoning as a part of the content",
      "openai-chat",
      {
        body: chat({
          content: [
            { type: "reasoning", text: "Hm." },
            { type: "text", text: ANSWER },
          ],
        }),
      },
      SAID,
    ],
    [
      "a call as function_call",
      "openai-chat",
      { body: chat({ function_call: call('{"query":"adder"}').function }) },
      CALLED,
    ],
    [
      "spaces around a call's name",
      "openai-chat",
      {
        body: chat({
          tool_calls: [call("", { function: { name: " email_search ", arguments: '{"query":"adder"}' } })],
        }),
      },
      CALLED,
    ],
    ["null as text for the finish reason", "openai-chat", { body: chat({ content: ANSWER }, "null") }, SAID],
    ["a block without a type", "anthropic", messages([{ text: ANSWER }]), SAID],
    [
      "arguments encoded twice",
      "openai-chat",
      { body: chat({ tool_calls: [call(JSON.stringify('{"query":"adder"}'))] }) },
      CALLED,
    ],
    [
      "null for the logprobs, model and id",
      "openai-chat",
      { body: { ...chat({ content: ANSWER }), id: null, model: null, logprobs: null } },
      SAID,
    ],
    [
      "a number for the id and a list for the model",
      "openai-chat",
      { body: { ...chat({ content: ANSWER }), id: 7, model: ["m"] } },
      SAID,
    ],
    [
      "text for the usage",
      "openai-chat",
      { body: chat({ content: ANSWER }, "stop", { usage: "none" }) },
      { ...SAID, usage: null },
    ],
    ["a null index and an empty error", "openai-chat", { body: { ...chat({ content: ANSWER }), error: null } }, SAID],
    ["an empty text as error", "openai-chat", { body: { ...chat({ content: ANSWER }), error: "" } }, SAID],
    ["the finish reason end", "openai-chat", { body: chat({ content: ANSWER }, "end") }, SAID],
    ["the finish reason normal", "openai-chat", { body: chat({ content: ANSWER }, "normal") }, SAID],
    ["the finish reason EOS", "openai-chat", { body: chat({ content: ANSWER }, "EOS") }, SAID],
    ["the finish reason stop-sequence", "openai-chat", { body: chat({ content: ANSWER }, "stop-sequence") }, SAID],
    [
      "the finish reason max-tokens",
      "openai-chat",
      { body: chat({ content: ANSWER }, "max-tokens") },
      { finishReason: "length" },
    ],
    [
      "the finish reason content-filter",
      "openai-chat",
      { body: chat({ content: "" }, "content-filter") },
      { finishReason: "refusal" },
    ],
    ["a number as finish reason", "openai-chat", { body: chat({ content: ANSWER }, 0) }, SAID],
    [
      "null for a block's text and a call's id",
      "anthropic",
      messages(
        [
          { type: "text", text: null },
          { type: "tool_use", id: null, name: "email_search", input: { query: "adder" } },
        ],
        "tool_use",
      ),
      CALLED,
    ],
    ["text for the content", "anthropic", messages(ANSWER), SAID],
    [
      "input as JSON text",
      "anthropic",
      messages([{ type: "tool_use", id: "t", name: "email_search", input: '{"query":"adder"}' }], "tool_use"),
      CALLED,
    ],
    ["null for the stop reason", "anthropic", messages([{ type: "text", text: ANSWER }], null), SAID],
    [
      "citations null and a block of an unknown type",
      "anthropic",
      messages([
        { type: "server_status", ok: true },
        { type: "text", text: ANSWER, citations: null },
      ]),
      SAID,
    ],
    [
      "text for a message's content",
      "openai-responses",
      responses([{ type: "message", role: "assistant", content: ANSWER }]),
      SAID,
    ],
    ["only output_text", "openai-responses", responses([], { output_text: ANSWER }), SAID],
    [
      "an object for a call's arguments",
      "openai-responses",
      responses([{ type: "function_call", call_id: 7, name: "email_search", arguments: { query: "adder" } }]),
      CALLED,
    ],
    [
      "null items and an unknown item",
      "openai-responses",
      responses([
        null,
        { type: "trace" },
        { type: "message", content: [{ type: "output_text", text: ANSWER, annotations: null }] },
      ]),
      SAID,
    ],
    [
      "text for a function call's args",
      "google",
      google({ content: { parts: [{ functionCall: { name: "email_search", args: '{"query":"adder"}' } }] } }),
      CALLED,
    ],
    [
      "null for the role, ratings and citations",
      "google",
      google({ content: { role: null, parts: [{ text: ANSWER }] }, safetyRatings: null, citationMetadata: null }),
      SAID,
    ],
    ["a text part that is null", "google", google({ content: { parts: [{ text: null }, { text: ANSWER }] } }), SAID],
    [
      "cached tokens beside the prompt and inside the total",
      "openai-chat",
      usage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 9110,
        prompt_tokens_details: { cached_tokens: 9000 },
      }),
      tokens(9100, 10, 9000),
    ],
    [
      "token counts as text",
      "openai-chat",
      usage({ prompt_tokens: "100", completion_tokens: "10", total_tokens: "110" }),
      tokens(100, 10),
    ],
    [
      "more cached tokens than prompt tokens and no total",
      "openai-chat",
      usage({ prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 9000 } }),
      tokens(9100, 10, 9000),
    ],
    [
      "cached tokens and reasoning beside the counts",
      "openai-chat",
      usage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 9150,
        prompt_tokens_details: { cached_tokens: 9000 },
        completion_tokens_details: { reasoning_tokens: 40 },
      }),
      { usage: { inputTokens: 9100, outputTokens: 50, cachedInputTokens: 9000, reasoningTokens: 40 } },
    ],
    [
      "reasoning beside the completion tokens",
      "openai-chat",
      usage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 150,
        completion_tokens_details: { reasoning_tokens: 40 },
      }),
      { usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 0, reasoningTokens: 40 } },
    ],
    [
      "reasoning that is more than the output, and cached tokens of the same number",
      "openai-chat",
      usage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 40 },
      }),
      { usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 40 } },
    ],
    [
      "Bedrock's names of cached tokens",
      "openai-chat",
      usage({ inputTokens: 100, outputTokens: 10, totalTokens: 9110, cacheReadInputTokens: 9000 }),
      tokens(9100, 10, 9000),
    ],
    [
      "cached tokens that Anthropic's total includes in the input",
      "anthropic",
      messages([{ type: "text", text: ANSWER }], "end_turn", {
        usage: { input_tokens: 9100, output_tokens: 10, cache_read_input_tokens: 9000, total_tokens: 9110 },
      }),
      tokens(9100, 10, 9000),
    ],
    [
      "thoughts that Gemini's total includes in the candidates",
      "google",
      google(
        { content: { parts: [{ text: ANSWER }] } },
        {
          usageMetadata: {
            promptTokenCount: 100,
            candidatesTokenCount: 50,
            thoughtsTokenCount: 40,
            totalTokenCount: 150,
          },
        },
      ),
      { usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 0, reasoningTokens: 40 } },
    ],
    [
      "null for the message",
      "openai-chat",
      { body: { ...chat({}), choices: [{ message: null, finish_reason: "stop" }] } },
      { content: "" },
    ],
    [
      "a total that contradicts its parts",
      "openai-chat",
      usage({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 0 }),
      tokens(100, 10),
    ],
    [
      "cached tokens at the top level",
      "openai-chat",
      usage({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, cached_tokens: 60 }),
      tokens(100, 10, 60),
    ],
    [
      "cached tokens and cache writes beside the prompt",
      "openai-chat",
      usage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 9610,
        prompt_tokens_details: { cached_tokens: 9000, cache_write_tokens: 500 },
      }),
      { usage: { inputTokens: 9600, outputTokens: 10, cachedInputTokens: 9000, cacheWriteTokens: 500 } },
    ],
    [
      "DeepSeek's cache hits and misses",
      "openai-chat",
      usage({
        prompt_tokens: 9100,
        completion_tokens: 10,
        total_tokens: 9110,
        prompt_cache_hit_tokens: 9000,
        prompt_cache_miss_tokens: 100,
      }),
      tokens(9100, 10, 9000),
    ],
    [
      "Anthropic's names in a chat completion",
      "openai-chat",
      usage({ input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 9000 }),
      tokens(9100, 10, 9000),
    ],
    [
      "numbers with decimals",
      "openai-chat",
      usage({ prompt_tokens: 100.0, completion_tokens: "10.0", total_tokens: 110 }),
      tokens(100, 10),
    ],
    [
      "negative counts",
      "openai-chat",
      usage({ prompt_tokens: -1, completion_tokens: -1, total_tokens: -1 }),
      { usage: null },
    ],
    ["a wrong gzip label", "openai-chat", zipped("gzip", plain), SAID],
    ["a wrong brotli label", "openai-chat", zipped("br", plain), SAID],
    ["a wrong deflate label", "openai-chat", zipped("deflate", plain), SAID],
    ["deflate without zlib's header", "openai-chat", zipped("deflate", deflateRawSync(plain)), SAID],
    ["two encodings", "openai-chat", zipped("gzip, br", brotliCompressSync(gzipSync(plain))), SAID],
    ["an encoding in upper case", "openai-chat", zipped("GZIP", gzipSync(plain)), SAID],
    ["x-gzip", "openai-chat", zipped("x-gzip", gzipSync(plain)), SAID],
    ["identity and gzip", "openai-chat", zipped("identity, gzip", gzipSync(plain)), SAID],
    [
      "headers of 20 kB",
      "openai-chat",
      { headers: { "content-security-policy": "x".repeat(20_000) }, body: plain },
      SAID,
    ],
    ["white space before the JSON", "openai-chat", { body: `\n\n   ${plain}\n` }, SAID],
    [
      "an unknown charset",
      "openai-chat",
      { headers: { "content-type": "text/json; charset=utf8mb4" }, body: plain },
      SAID,
    ],
  ])("with %s counts as one reply over %s, after one call", async (_, format, response, expected) => {
    expect(await complete(format, response)).toMatchObject(expected);
    expect(seen).toHaveLength(1);
  });

  it.each<[string, WireFormat, Response, object, string]>([
    [
      "a refused key",
      "anthropic",
      { body: { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } } },
      { kind: "auth", retryable: false },
      "invalid x-api-key",
    ],
    [
      "an overload",
      "anthropic",
      { body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } },
      { kind: "overloaded", retryable: true },
      "Overloaded",
    ],
    [
      "an error as text",
      "openai-chat",
      { body: { error: "model is still loading" } },
      { retryable: true },
      "model is still loading",
    ],
    [
      "an error of Gemini",
      "google",
      { body: { error: { code: 429, message: "Resource exhausted", status: "RESOURCE_EXHAUSTED" } } },
      { kind: "rate_limit", retryable: true },
      "Resource exhausted",
    ],
    [
      "a failed response",
      "openai-responses",
      {
        body: { id: "r", status: "failed", error: { code: "server_error", message: "An error occurred" }, output: [] },
      },
      { kind: "server", retryable: true },
      "An error occurred",
    ],
    [
      "a code in a text status",
      "openai-chat",
      { body: { error: { code: "402", message: "Insufficient credits" } } },
      { kind: "unavailable", retryable: false },
      "Insufficient credits",
    ],
    [
      "errors in a list",
      "openai-chat",
      { body: { success: false, errors: [{ code: 10000, message: "Authentication error" }] } },
      { retryable: true },
      "Authentication error",
    ],
    [
      "a message in place of the reply",
      "openai-chat",
      { body: { code: 429, msg: "service busy", data: null } },
      { kind: "rate_limit", retryable: true },
      "service busy",
    ],
    [
      "vLLM's error object",
      "openai-chat",
      { body: { object: "error", message: "bad thing", code: 400, type: "BadRequestError" } },
      { kind: "bad_request" },
      "bad thing",
    ],
    [
      "MiniMax's status",
      "openai-chat",
      { body: { choices: null, base_resp: { status_code: 1008, status_msg: "insufficient balance" } } },
      { kind: "unavailable" },
      "insufficient balance",
    ],
    [
      "plain words",
      "openai-chat",
      { body: "upstream connect error or disconnect/reset before headers" },
      { kind: "protocol", retryable: true },
      "upstream connect error",
    ],
    [
      "an error in a list",
      "google",
      {
        body: [
          { error: { code: 403, message: "Method doesn't allow unregistered callers", status: "PERMISSION_DENIED" } },
        ],
      },
      { kind: "auth" },
      "unregistered callers",
    ],
    [
      "an error as text in the choice",
      "openai-chat",
      {
        body: chat({ content: "" }, "error", {
          choices: [{ message: {}, finish_reason: "error", error: "upstream died" }],
        }),
      },
      { retryable: true },
      "upstream died",
    ],
  ])(
    "with status 200 and %s causes an error over %s, with the server's words",
    async (_, format, response, expected, words) => {
      const error = await failure(format, response);
      expect(error).toMatchObject(expected);
      expect(error.message).toContain(words);
    },
  );
});

const part = (delta: object, finish_reason: unknown = null, more: object = {}) => ({
  id: "c1",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const data = (value: unknown) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const event = (value: { type: string; [field: string]: unknown }) => `event: ${value.type}\n${data(value)}`;
const halves = [part({ role: "assistant", content: "Index plus " }), part({ content: "4.5 cents" }, "stop")];
const stream = (frames: readonly unknown[], type = "text/event-stream"): Response => ({
  headers: { "content-type": type },
  body: frames.map((frame) => (typeof frame === "string" ? frame : data(frame))).join(""),
});
const calls = (...parts: readonly object[]) =>
  stream([
    ...parts.map((tool_calls) => part({ tool_calls: [tool_calls] })),
    part({}, "tool_calls"),
    "data: [DONE]\n\n",
  ]);
const delta = (text: string, more: object = {}) =>
  event({ type: "response.output_text.delta", item_id: "m", output_index: 0, delta: text, ...more });
const completed = (more: object = {}) =>
  event({ type: "response.completed", response: { id: "r", status: "completed", output: [], ...more } });
const block = (fields: object) =>
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: ANSWER }, ...fields });
const started = event({ type: "message_start", message: { id: "m", role: "assistant", content: [], usage: null } });
const ended = event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: null });
const stopped = event({ type: "message_stop" });
const candidates = (text: string, more: object = {}) => ({ candidates: [{ content: { parts: [{ text }] }, ...more }] });
const TWO_CALLS = {
  toolCalls: [{ arguments: { query: "a" } }, { arguments: { query: "b" } }],
};

describe("a stream", () => {
  const streamed = async (format: WireFormat, response: Response) => {
    const deltas: ReplyDelta[] = [];
    const reply = await complete(format, response, { onDelta: (one) => deltas.push(one) });
    return { reply, text: deltas.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("") };
  };

  it.each<[string, WireFormat, Response, object]>([
    [
      "empty events as keep-alives",
      "openai-chat",
      stream([halves[0], "data:\n\n", "data: \n\n", halves[1], "data: [DONE]\n\n"]),
      SAID,
    ],
    [
      "text as keep-alives",
      "openai-chat",
      stream([halves[0], "data: keep-alive\n\n", "data: ping\n\n", halves[1], "data: [DONE]\n\n"]),
      SAID,
    ],
    [
      "empty objects as keep-alives",
      "openai-chat",
      stream([halves[0], "data: {}\n\n", "data: null\n\n", halves[1]]),
      SAID,
    ],
    [
      "single newlines",
      "openai-chat",
      stream([...halves.map((one) => `data: ${JSON.stringify(one)}\n`), "data: [DONE]\n"]),
      SAID,
    ],
    [
      "single newlines and no space",
      "openai-chat",
      stream([...halves.map((one) => `data:${JSON.stringify(one)}\n`), "data:[DONE]\n"]),
      SAID,
    ],
    [
      "carriage returns",
      "openai-chat",
      stream([...halves.map((one) => `data: ${JSON.stringify(one)}\r\r`), "data: [DONE]\r\r"]),
      SAID,
    ],
    [
      "a repeated prefix",
      "openai-chat",
      stream([
        ...halves.map((one) => `data: data: ${JSON.stringify(one)}\ndata: \ndata: \n\n`),
        "data: data: [DONE]\n\n",
      ]),
      SAID,
    ],
    ["indented lines", "openai-chat", stream(halves.map((one) => ` data: ${JSON.stringify(one)}\n\n`)), SAID],
    [
      "JSON over several lines",
      "openai-chat",
      stream(
        halves.map(
          (one) =>
            `${JSON.stringify(one, null, 1)
              .split("\n")
              .map((line) => `data: ${line}`)
              .join("\n")}\n\n`,
        ),
      ),
      SAID,
    ],
    [
      "the type application/x-ndjson",
      "openai-chat",
      stream([...halves, "data: [DONE]\n\n"], "application/x-ndjson"),
      SAID,
    ],
    ["the type text/plain", "openai-chat", stream([...halves, "data: [DONE]\n\n"], "text/plain; charset=utf-8"), SAID],
    ["the type application/json", "openai-chat", stream([": ok\n\n", ...halves], "application/json"), SAID],
    [
      "no prefix: one JSON object per line",
      "openai-chat",
      stream(
        halves.map((one) => `${JSON.stringify(one)}\n`),
        "application/x-ndjson",
      ),
      SAID,
    ],
    [
      "an id and a retry line per event",
      "openai-chat",
      stream(halves.map((one, i) => `id: ${i}\nretry: 3000\n${data(one)}`)),
      SAID,
    ],
    ["a byte order mark", "openai-chat", stream(["\ufeff", ...halves]), SAID],
    [
      "an empty finish reason, and [DONE]",
      "openai-chat",
      stream([part({ content: ANSWER }, ""), part({}, ""), "data: [DONE]\n\n"]),
      SAID,
    ],
    [
      "a finish reason overwritten by an empty one",
      "openai-chat",
      stream([part({ content: "The" }, "length"), part({}, "", { usage: {} }), "data: [DONE]\n\n"]),
      { finishReason: "length" },
    ],
    [
      "null for the choices and the delta",
      "openai-chat",
      stream([{ choices: null }, { choices: [{ delta: null }] }, ...halves]),
      SAID,
    ],
    [
      "usage inside the choice",
      "openai-chat",
      stream([
        part({ content: ANSWER }),
        { choices: [{ delta: {}, finish_reason: "stop", usage: { prompt_tokens: 100, completion_tokens: 10 } }] },
      ]),
      tokens(100, 10),
    ],
    [
      "usage in x_groq",
      "openai-chat",
      stream([
        part({ content: ANSWER }),
        part({}, "stop", { x_groq: { usage: { prompt_tokens: 100, completion_tokens: 10 } } }),
      ]),
      tokens(100, 10),
    ],
    [
      "calls with index 0 and no ids",
      "openai-chat",
      calls(call('{"query":"a"}', { index: 0, id: "" }), call('{"query":"b"}', { index: 0, id: "" })),
      TWO_CALLS,
    ],
    [
      "calls without index and ids",
      "openai-chat",
      calls(call('{"query":"a"}', { id: null }), call('{"query":"b"}', { id: null })),
      TWO_CALLS,
    ],
    [
      "another id and the name in each part of one call",
      "openai-chat",
      calls(call('{"query":', { index: 0, id: "a" }), call('"adder"}', { index: 0, id: "b" })),
      CALLED,
    ],
    [
      "calls with a text index",
      "openai-chat",
      calls(call('{"query":"a"}', { index: "0" }), call('{"query":"b"}', { index: "1", id: "call_2" })),
      TWO_CALLS,
    ],
    [
      "a name in pieces",
      "openai-chat",
      calls(
        { index: 0, id: "c", function: { name: "email_", arguments: "" } },
        { index: 0, function: { name: "search" } },
        { index: 0, function: { arguments: '{"query":"adder"}' } },
      ),
      CALLED,
    ],
    [
      "a name repeated with each piece",
      "openai-chat",
      calls(call('{"query":', { index: 0 }), call('"adder"}', { index: 0 })),
      CALLED,
    ],
    ["arguments as an object", "openai-chat", calls(call({ query: "adder" }, { index: 0 })), CALLED],
    [
      "null arguments first",
      "openai-chat",
      calls(call(null, { index: 0 }), { index: 0, function: { arguments: '{"query":"adder"}' } }),
      CALLED,
    ],
    [
      "a whole message in the last chunk",
      "openai-chat",
      stream([
        { choices: [{ index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }] },
        "data: [DONE]\n\n",
      ]),
      SAID,
    ],
    [
      "deltas and a last event without output",
      "openai-responses",
      stream([
        delta("Index plus "),
        delta("4.5 cents"),
        completed({ usage: { input_tokens: 100, output_tokens: 10 } }),
      ]),
      { ...SAID, ...tokens(100, 10) },
    ],
    [
      "deltas without an index",
      "openai-responses",
      stream([delta("Index plus ", { output_index: null }), delta("4.5 cents", { output_index: null }), completed()]),
      SAID,
    ],
    [
      "events without names",
      "openai-responses",
      stream([delta(ANSWER), completed()].map((one) => one.replace(/^event: .*\n/, ""))),
      SAID,
    ],
    [
      "only a done event for the text",
      "openai-responses",
      stream([event({ type: "response.output_text.done", item_id: "m", output_index: 0, text: ANSWER }), completed()]),
      SAID,
    ],
    [
      "a call whose arguments are only in its done event",
      "openai-responses",
      stream([
        event({
          type: "response.output_item.added",
          output_index: 0,
          item: { type: "function_call", call_id: "c", name: "email_search", arguments: "" },
        }),
        event({ type: "response.function_call_arguments.done", output_index: 0, arguments: '{"query":"adder"}' }),
        completed(),
      ]),
      CALLED,
    ],
    [
      "no completed event but [DONE]",
      "openai-responses",
      stream([delta(ANSWER), event({ type: "response.done", response: { id: "r", status: "completed", output: [] } })]),
      SAID,
    ],
    [
      "a ping without type and null usage",
      "anthropic",
      stream([
        started,
        "event: ping\ndata: {}\n\n",
        event({ type: "content_block_start", index: 0, content_block: { type: "text" } }),
        block({}),
        ended,
        stopped,
      ]),
      SAID,
    ],
    ["a block without its start", "anthropic", stream([started, block({}), ended, stopped]), SAID],
    [
      "a delta without index and type",
      "anthropic",
      stream([started, block({ index: null, delta: { text: ANSWER } }), ended, stopped]),
      SAID,
    ],
    ["no message_start", "anthropic", stream([block({}), ended, stopped]), SAID],
    ["no message_stop", "anthropic", stream([started, block({}), ended]), SAID],
    [
      "the input of a call as an object at its start",
      "anthropic",
      stream([
        started,
        event({
          type: "content_block_start",
          index: 0,
          content_block: { type: "tool_use", id: "t", name: "email_search", input: { query: "adder" } },
        }),
        event({ type: "message_delta", delta: { stop_reason: "tool_use" } }),
        stopped,
      ]),
      CALLED,
    ],
    [
      "index 0 for each block",
      "anthropic",
      stream([
        started,
        ...["a", "b"].flatMap((query) => [
          event({
            type: "content_block_start",
            index: 0,
            content_block: { type: "tool_use", id: query, name: "email_search", input: {} },
          }),
          event({
            type: "content_block_delta",
            index: 0,
            delta: { type: "input_json_delta", partial_json: JSON.stringify({ query }) },
          }),
        ]),
        event({ type: "message_delta", delta: { stop_reason: "tool_use" } }),
        stopped,
      ]),
      TWO_CALLS,
    ],
    ["a text index of a block", "anthropic", stream([started, block({ index: "0" }), ended, stopped]), SAID],
    ["[DONE] at the end", "anthropic", stream([started, block({}), ended, stopped, "data: [DONE]\n\n"]), SAID],
    [
      "a JSON array",
      "google",
      { body: [candidates("Index plus "), candidates("4.5 cents", { finishReason: "STOP" })] },
      SAID,
    ],
    [
      "a JSON array in pieces",
      "google",
      {
        body: `[${JSON.stringify(candidates("Index plus "), null, 2)}\n,\r\n${JSON.stringify(candidates("4.5 cents", { finishReason: "STOP" }))}\n]`,
      },
      SAID,
    ],
    [
      "a finish reason in a chunk without content",
      "google",
      stream([candidates(ANSWER), { candidates: [{ finishReason: "STOP" }] }]),
      SAID,
    ],
    [
      "null parts",
      "google",
      stream([candidates(ANSWER), { candidates: [{ content: { parts: null }, finishReason: "STOP" }] }]),
      SAID,
    ],
    [
      "usage after the last candidate",
      "google",
      stream([
        candidates(ANSWER, { finishReason: "STOP" }),
        { usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10 } },
      ]),
      tokens(100, 10),
    ],
    [
      "FINISH_REASON_UNSPECIFIED before the last",
      "google",
      stream([
        candidates("Index plus ", { finishReason: "FINISH_REASON_UNSPECIFIED" }),
        candidates("4.5 cents", { finishReason: "STOP" }),
      ]),
      SAID,
    ],
    ["[DONE] at the end", "google", stream([candidates(ANSWER, { finishReason: "STOP" }), "data: [DONE]\n\n"]), SAID],
    [
      "null as text for each finish reason, and [DONE]",
      "openai-chat",
      stream([part({ content: ANSWER }, "null"), part({}, "null"), "data: [DONE]\n\n"]),
      SAID,
    ],
    [
      "a call as function_call",
      "openai-chat",
      stream([
        part({ function_call: { name: "email_search", arguments: "" } }),
        part({ function_call: { arguments: '{"query":"adder"}' } }),
        part({}, "function_call"),
      ]),
      CALLED,
    ],
    [
      "a null block at the start",
      "anthropic",
      stream([
        started,
        event({ type: "content_block_start", index: 0, content_block: null }),
        block({}),
        ended,
        stopped,
      ]),
      SAID,
    ],
    [
      "an object as partial_json",
      "anthropic",
      stream([
        started,
        event({
          type: "content_block_start",
          index: 0,
          content_block: { type: "tool_use", id: "t", name: "email_search" },
        }),
        block({ delta: { type: "input_json_delta", partial_json: { query: "adder" } } }),
        ended,
      ]),
      CALLED,
    ],
    [
      "text only in content_part.done",
      "openai-responses",
      stream([
        event({ type: "response.content_part.done", output_index: 0, part: { type: "output_text", text: ANSWER } }),
        completed(),
      ]),
      SAID,
    ],
    [
      "a refusal only in deltas",
      "openai-responses",
      stream([event({ type: "response.refusal.delta", output_index: 0, delta: "I cannot help." }), completed()]),
      { content: "I cannot help.", finishReason: "refusal" },
    ],
  ])("with %s counts as one reply over %s, after one call", async (_, format, response, expected) => {
    const { reply } = await streamed(format, response);
    expect(reply).toMatchObject(expected);
    expect(seen).toHaveLength(1);
  });

  it.each<[string, WireFormat, Response, RegExp]>([
    [
      "empty finish reasons",
      "openai-chat",
      stream([part({ content: "The adder" }, ""), part({ content: " was" }, "")]),
      /ended before/,
    ],
    ["no finish reason", "openai-chat", stream([part({ content: "The adder" }), "data: [DONE]\n\n"]), /ended before/],
    [
      "an error event without a field error",
      "openai-chat",
      stream([part({ content: "The adder" }), 'event: error\ndata: {"code":500,"message":"slot was evicted"}\n\n']),
      /slot was evicted/,
    ],
    [
      "vLLM's error object",
      "openai-chat",
      stream([part({ content: "The" }), { object: "error", message: "Engine died", code: 500 }]),
      /Engine died/,
    ],
    [
      "an error as text",
      "openai-chat",
      stream([part({ content: "The adder" }), { error: "CUDA out of memory" }]),
      /CUDA out of memory/,
    ],
    ["a message_delta without a stop reason", "anthropic", stream([started, block({})]), /ended before/],
    [
      "a failed response",
      "openai-responses",
      stream([
        delta("The"),
        event({
          type: "response.failed",
          response: { status: "failed", error: { code: "server_error", message: "worker died" } },
        }),
      ]),
      /worker died/,
    ],
    [
      "an error in an array",
      "google",
      { body: [candidates("The"), { error: { code: 503, message: "model is overloaded", status: "UNAVAILABLE" } }] },
      /overloaded/,
    ],
    [
      "null as text for the finish reasons",
      "openai-chat",
      stream([part({ content: "The adder" }, "null"), part({ content: " was" }, "null")]),
      /ended before/,
    ],
    [
      "an error event in plain words",
      "openai-chat",
      stream([part({ content: "The adder" }), "event: error\ndata: the worker ran out of memory\n\n"]),
      /ran out of memory/,
    ],
    [
      "a field named error",
      "openai-chat",
      stream([part({ content: "The adder" }), 'error: {"code":500,"message":"slot was evicted"}\n\n']),
      /slot was evicted/,
    ],
    [
      "a detail without choices",
      "openai-chat",
      stream([part({ content: "The adder" }), { detail: "The model was unloaded" }]),
      /was unloaded/,
    ],
  ])("contains no answer if it ends with %s over %s", async (_, format, response, words) => {
    const error = await streamed(format, response).then(
      ({ reply }) => reply,
      (thrown: unknown) => thrown,
    );
    expect(String(error)).toMatch(words);
    expect(error).toHaveProperty("kind");
  });
});

const refuse = (message: string, more: object = {}, status = 400): Response => ({
  status,
  body: { error: { message, type: "invalid_request_error", ...more } },
});

/** A conversation whose first turn has the state of a reply. */
const HISTORY = (reply: Completion): Message[] => [
  ...REQUEST.messages,
  { role: "assistant", content: reply.content, toolCalls: [...reply.toolCalls], providerState: reply.providerState },
  { role: "tool", toolCallId: reply.toolCalls[0]?.id ?? "", name: "email_search", content: "[]", isError: false },
];

describe("a server that rejects a part of a request", () => {
  const has = (value: unknown, key: string): boolean =>
    typeof value === "object" &&
    value !== null &&
    (key in value || Object.values(value).some((inner) => has(inner, key)));
  const withCall = (fields: object) => ({ body: chat({ tool_calls: [call('{"query":"adder"}')], ...fields }) });
  const thinking = messages(
    [
      { type: "thinking", thinking: "Let me look.", signature: "claude#abc" },
      { type: "tool_use", id: "t", name: "email_search", input: { query: "adder" } },
    ],
    "tool_use",
  );

  it.each<[string, WireFormat, string, Response, (body: Body) => boolean, Response]>([
    [
      "reasoning_content in the history",
      "openai-chat",
      "some-model",
      withCall({ reasoning_content: "Search." }),
      (body) => has(body, "reasoning_content"),
      refuse(
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
      ),
    ],
    [
      "reasoning_content at Mistral, in a 422",
      "openai-chat",
      "some-model",
      withCall({ reasoning_content: "Search." }),
      (body) => has(body, "reasoning_content"),
      {
        status: 422,
        body: {
          detail: [
            {
              type: "extra_forbidden",
              loc: ["body", "messages", 2, "assistant", "reasoning_content"],
              msg: "Extra inputs are not permitted",
            },
          ],
        },
      },
    ],
    [
      "reasoning in the history",
      "openai-chat",
      "some-model",
      withCall({ reasoning: "Search." }),
      (body) => has(body.messages, "reasoning"),
      refuse("Unrecognized request argument: messages[2].reasoning"),
    ],
    [
      "reasoning_details in the history",
      "openai-chat",
      "some-model",
      withCall({ reasoning_details: [{ type: "reasoning.text", text: "x" }] }),
      (body) => has(body, "reasoning_details"),
      refuse("Unknown field: reasoning_details"),
    ],
    [
      "provider_specific_fields",
      "openai-chat",
      "some-model",
      withCall({ provider_specific_fields: { refusal: null } }),
      (body) => has(body, "provider_specific_fields"),
      refuse("Extra inputs are not permitted, field: 'messages[2].provider_specific_fields'"),
    ],
    [
      "a signature of thinking",
      "anthropic",
      "claude-sonnet-4-5",
      thinking,
      (body) => JSON.stringify(body).includes('"thinking":"Let'),
      refuse("messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
    [
      "cache_control",
      "anthropic",
      "claude-sonnet-4-5",
      thinking,
      (body) => has(body, "cache_control"),
      refuse("system.0.cache_control: Extra inputs are not permitted"),
    ],
    [
      "the system role",
      "openai-chat",
      "some-model",
      withCall({}),
      (body) => body.messages[0].role === "system",
      {
        status: 400,
        body: { object: "error", message: "System role not supported", type: "BadRequestError", code: 400 },
      },
    ],
    [
      "the system role, by a chat template",
      "openai-chat",
      "gemma-2",
      withCall({}),
      (body) => body.messages[0].role === "system",
      refuse("Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
    [
      "the system role in a 500 of llama.cpp",
      "openai-chat",
      "gemma-2",
      withCall({}),
      (body) => body.messages[0].role === "system",
      {
        status: 400,
        body: {
          error: {
            code: 400,
            message: "Error: System role not supported at row 1, column 44",
            type: "invalid_request_error",
          },
        },
      },
    ],
    [
      "the developer instruction of Gemma",
      "google",
      "gemma-3-27b-it",
      google({ content: { parts: [{ functionCall: { name: "email_search", args: { query: "adder" } } }] } }),
      (body) => body.systemInstruction !== undefined,
      {
        status: 400,
        body: {
          error: {
            code: 400,
            message: "Developer instruction is not enabled for models/gemma-3-27b-it",
            status: "INVALID_ARGUMENT",
          },
        },
      },
    ],
    [
      "a thought signature",
      "google",
      "gemini-3-pro",
      google({
        content: {
          parts: [{ thoughtSignature: "c2ln", functionCall: { name: "email_search", args: { query: "adder" } } }],
        },
      }),
      (body) => has(body, "thoughtSignature"),
      {
        status: 400,
        body: {
          error: {
            code: 400,
            message: "Invalid JSON payload received. Unknown name \"thoughtSignature\" at 'contents[1].parts[0]'",
            status: "INVALID_ARGUMENT",
          },
        },
      },
    ],
    [
      "include",
      "openai-responses",
      "gpt-5.1",
      responses([{ type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' }]),
      (body) => body.include !== undefined,
      refuse("Unsupported parameter: include", { param: "include" }),
    ],
    [
      "encrypted reasoning in the input",
      "openai-responses",
      "gpt-5.1",
      responses([
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "eA" },
        { type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' },
      ]),
      (body) => has(body.input, "encrypted_content"),
      refuse("The encrypted content gAAA... could not be verified.", { code: "invalid_encrypted_content" }),
    ],
    [
      "the system role, whose enum has only two roles",
      "openai-chat",
      "some-model",
      withCall({}),
      (body) => body.messages[0].role === "system",
      refuse("messages.0.role: Input should be 'user' or 'assistant'"),
    ],
    [
      "the system role, by the roles of a template",
      "openai-chat",
      "some-model",
      withCall({}),
      (body) => body.messages[0].role === "system",
      refuse("jinja2.exceptions.TemplateError: Only user and assistant roles are supported!"),
    ],
    [
      "the system role, by the first message",
      "openai-chat",
      "some-model",
      withCall({}),
      (body) => body.messages[0].role === "system",
      refuse("First message must be from user"),
    ],
    [
      "the system role, in a 500",
      "openai-chat",
      "some-model",
      withCall({}),
      (body) => body.messages[0].role === "system",
      refuse("System role not supported", {}, 500),
    ],
    [
      "instructions",
      "openai-responses",
      "gpt-5.1",
      responses([{ type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' }]),
      (body) => body.instructions !== undefined,
      refuse("Unsupported parameter: 'instructions'"),
    ],
    [
      "redacted thinking",
      "anthropic",
      "claude-sonnet-4-5",
      messages(
        [
          { type: "redacted_thinking", data: "abc" },
          { type: "tool_use", id: "t", name: "email_search", input: { query: "adder" } },
        ],
        "tool_use",
      ),
      (body) => JSON.stringify(body).includes("redacted_thinking"),
      refuse("messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
    ],
    [
      "signed thinking blocks",
      "openai-chat",
      "some-model",
      withCall({ thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "s" }] }),
      (body) => has(body, "thinking_blocks"),
      refuse("messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
    [
      "prompt caching, in a 403",
      "anthropic",
      "claude-sonnet-4-5",
      thinking,
      (body) => has(body, "cache_control"),
      { status: 403, body: { message: "Your request did not allow prompt caching. See the documentation." } },
    ],
    [
      "reasoning that the server did not store",
      "openai-responses",
      "gpt-5.1",
      responses([
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "eA" },
        { type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' },
      ]),
      (body) => has(body.input, "encrypted_content"),
      refuse("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    ],
    [
      "store",
      "openai-responses",
      "gpt-5.1",
      responses([{ type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' }]),
      (body) => body.store !== undefined,
      { status: 422, body: { detail: [{ loc: ["body", "store"], msg: "Extra inputs are not permitted" }] } },
    ],
  ])("gets the next requests without %s over %s", async (_, format, name, first, isRefused, refusal) => {
    const model = await open(format, name);
    const end = { body: answer(format) };
    const isAfterTool = (body: Body) =>
      /"tool"|tool_result|function_call_output|functionResponse/.test(
        JSON.stringify(body.messages ?? body.input ?? body.contents).replace(/"tool_/g, (text) => text),
      );
    respond = (body) => (isRefused(body) ? refusal : isAfterTool(body) && body !== seen[0] ? end : first);
    const reply = await model.complete(REQUEST, never);
    const messages = HISTORY(reply);
    expect((await model.complete({ ...REQUEST, messages }, never)).content).toBe(ANSWER);
    const before = seen.length;
    expect((await model.complete({ ...REQUEST, messages }, never)).content).toBe(ANSWER);
    expect(seen).toHaveLength(before + 1);
    expect(seen.filter(isRefused)).toHaveLength(1);
  });

  it("gets fewer tokens of room for reasoning if they do not fit its context", async () => {
    const model = await open("openai-chat", "gpt-oss-20b");
    respond = ({ max_tokens: max }) =>
      max > 16_384 - 900
        ? refuse(
            `'max_tokens' is too large: ${max}. This model's maximum context length is 16384 tokens and your request has 900 input tokens (${max} > 16384 - 900).`,
          )
        : { body: answer("openai-chat") };
    expect((await model.complete(REQUEST, never)).content).toBe(ANSWER);
    expect((await model.complete(REQUEST, never)).content).toBe(ANSWER);
    expect(seen).toHaveLength(3);
  });

  it("gets shorter descriptions of tools if it names their maximum length", async () => {
    const model = await open("openai-chat");
    const lengthOf = (body: Body) => body.tools[0].function.description.length;
    respond = (body) =>
      lengthOf(body) > 1024
        ? refuse(
            `Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length ${lengthOf(body)} instead.`,
            { code: "string_above_max_length", param: "tools[0].function.description" },
          )
        : { body: answer("openai-chat") };
    const tools = [{ ...SEARCH, description: "Searches. ".repeat(200) }];
    for (let i = 0; i < 2; i++) expect((await model.complete({ ...REQUEST, tools }, never)).content).toBe(ANSWER);
    expect(seen.map(lengthOf)).toEqual([2000, 1024, 1024]);
  });

  it("gets an optional tool call if it rejects a forced one", async () => {
    const model = await open("openai-chat");
    respond = ({ tool_choice }) =>
      tool_choice === "auto"
        ? { body: chat({ tool_calls: [call('{"query":"adder"}')] }) }
        : {
            status: 422,
            body: {
              detail: [
                { type: "literal_error", loc: ["body", "tool_choice"], msg: "Input should be 'none' or 'auto'" },
              ],
            },
          };
    expect(await model.complete({ ...REQUEST, toolChoice: "required" }, never)).toMatchObject(CALLED);
    expect(seen.map(({ tool_choice }) => tool_choice)).toEqual(["required", "auto"]);
  });

  it("leads to a broken_call reply if it cannot read the model's own call", async () => {
    const body = {
      error: {
        message: "Failed to call a function.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: "<function=x",
      },
    };
    expect(await complete("openai-chat", { status: 400, body })).toMatchObject({ finishReason: "broken_call" });
  });

  it("leads to an error that suggests /v1 if it does not know the path", async () => {
    const { name } = modelOver("openai-chat", "m");
    respond = () => ({ status: 404, body: { detail: "Not Found" } });
    const model = await resolveModel(name, { apiKey: "k", baseUrl: url, wireApi: "chat", timeoutMs: 5_000 }, ONCE);
    await expect(model.complete(REQUEST, never)).rejects.toThrow(`try ${url}/v1`);
  });
});

describe("the wait that a server requests", () => {
  const at = (seconds: number) => Math.ceil(Date.now() / 1000) + seconds;

  it.each<[string, number, () => Record<string, string>, object, number | null]>([
    ["as a Unix time", 429, () => ({ "retry-after": String(at(30)) }), {}, 30_000],
    ["as a Unix time in milliseconds", 429, () => ({ "retry-after": String(at(30) * 1000) }), {}, 30_000],
    ["as a negative number", 429, () => ({ "retry-after": "-43" }), {}, null],
    ["as zero", 429, () => ({ "retry-after": "0" }), {}, null],
    ["in milliseconds", 429, () => ({ "retry-after-ms": "1500" }), {}, 1500],
    ["in Azure's milliseconds", 429, () => ({ "x-ms-retry-after-ms": "2500" }), {}, 2500],
    [
      "as a date of a server whose clock is an hour late",
      429,
      () => ({
        date: new Date(Date.now() - 3_600_000).toUTCString(),
        "retry-after": new Date(Date.now() - 3_600_000 + 30_000).toUTCString(),
      }),
      {},
      30_000,
    ],
    ["as a duration", 503, () => ({ "retry-after": "1m30s" }), {}, 90_000],
    ["with a unit", 429, () => ({ "retry-after": "20s" }), {}, 20_000],
    ["in words in the header", 429, () => ({ "retry-after": "20 seconds" }), {}, 20_000],
    ["in quotes", 429, () => ({ "retry-after": '"20"' }), {}, 20_000],
    ["in a header with a prefix", 429, () => ({ "x-retry-after": "7" }), {}, 7_000],
    [
      "in days",
      429,
      () => ({ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1d2h" }),
      {},
      93_600_000,
    ],
    ["as two values", 429, () => ({ "retry-after": "20, 20" }), {}, 20_000],
    [
      "in tokens that are used up",
      429,
      () => ({
        "x-ratelimit-reset-tokens": "40s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-requests": "2h",
        "x-ratelimit-remaining-requests": "7",
      }),
      {},
      40_000,
    ],
    [
      "in Anthropic's header",
      429,
      () => ({
        "anthropic-ratelimit-requests-reset": new Date(at(30) * 1000).toISOString(),
        "anthropic-ratelimit-requests-remaining": "0",
      }),
      {},
      30_000,
    ],
    ["in the standard header", 429, () => ({ "ratelimit-reset": "30", "ratelimit-remaining": "0" }), {}, 30_000],
    [
      "in x-ratelimit-reset as a Unix time",
      429,
      () => ({ "x-ratelimit-reset": String(at(30)), "x-ratelimit-remaining": "0" }),
      {},
      30_000,
    ],
    ["in the words", 429, () => ({}), { message: "Rate limit reached. Please try again in 1m26.4s." }, 86_400],
    [
      "in Google's details",
      429,
      () => ({}),
      { message: "x", details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }] },
      7_000,
    ],
    ["in a field of the error", 429, () => ({}), { message: "Rate limited", retry_after: 12 }, 12_000],
    ["in seconds in a field", 429, () => ({}), { message: "Rate limited", retry_after_seconds: 12 }, 12_000],
    [
      "in milliseconds in a field",
      429,
      () => ({}),
      { message: "Rate limited", metadata: { retryAfterMs: 2500 } },
      2_500,
    ],
  ])("can come %s (status %i)", async (_, status, headers, error, expected) => {
    const { retryAfterMs } = await failure("openai-chat", {
      status,
      headers: headers(),
      body: { error: { message: "Slow down", ...error } },
    });
    if (expected === null) expect(retryAfterMs).toBeNull();
    else expect(Math.abs((retryAfterMs ?? 0) - expected)).toBeLessThan(2_000);
  });

  it.each([
    [500, "false", false],
    [409, "true", true],
  ])("has no effect next to x-should-retry (%i %s)", async (status, says, retryable) => {
    const error = await failure("openai-chat", {
      status,
      headers: { "x-should-retry": says },
      body: { error: { message: "no" } },
    });
    expect(error.retryable).toBe(retryable);
  });
});
