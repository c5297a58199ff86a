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
/** The answer with changes of the message, of the finish reason and of the whole body. */
const says = (message: object = {}, finish_reason: unknown = "stop", more: object = {}) => ({
  body: chat({ content: ANSWER, ...message }, finish_reason, more),
});
const text = (content: unknown, type = "text") => ({ type, text: content });
const usage = (counts: unknown) => says({}, "stop", { usage: counts });
/** Usage of 100 prompt tokens and 10 completion tokens. */
const counted = (total_tokens: number | undefined, more: object = {}) =>
  usage({ prompt_tokens: 100, completion_tokens: 10, total_tokens, ...more });
const cached = (cached_tokens: number, more: object = {}) => ({ prompt_tokens_details: { cached_tokens, ...more } });
const reasoned = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } });
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
type Row = [name: string, WireFormat, Response, meaning: object];
/** Rows of a table: responses that all have the same meaning in a format. */
const rows = (format: WireFormat, meaning: object, responses: Readonly<Record<string, Response>>) =>
  Object.entries(responses).map(([name, response]): Row => [name, format, response, meaning]);
const tokens = (inputTokens: number, outputTokens: number, cachedInputTokens = 0) => ({
  usage: { inputTokens, outputTokens, cachedInputTokens },
});

describe("a reply", () => {
  it.each<Row>([
    ...rows("openai-chat", SAID, {
      "text for the calls": says({ tool_calls: "" }),
      "an object for the calls": says({ tool_calls: {} }),
      "a choice without a list": { body: { ...chat({}), choices: chat({ content: ANSWER }).choices[0] } },
      "false for the refusal": says({ refusal: false }),
      "a part without text": says({ content: [text(null), text(ANSWER)] }),
      "strings as parts": says({ content: ["Index plus ", "4.5 cents"] }),
      "an object as content": says({ content: { text: ANSWER } }),
      "text inside an object in a part": says({ content: [text({ value: ANSWER })] }),
      "reasoning as a part of the content": says({ content: [text("Hm.", "reasoning"), text(ANSWER)] }),
      "null as text for the finish reason": says({}, "null"),
      "null for the logprobs, model and id": says({}, "stop", { id: null, model: null, logprobs: null }),
      "a number for the id and a list for the model": says({}, "stop", { id: 7, model: ["m"] }),
      "a null index and an empty error": says({}, "stop", { error: null }),
      "an empty text as error": says({}, "stop", { error: "" }),
      "the finish reason end": says({}, "end"),
      "the finish reason normal": says({}, "normal"),
      "the finish reason EOS": says({}, "EOS"),
      "the finish reason stop-sequence": says({}, "stop-sequence"),
      "a number as finish reason": says({}, 0),
      "a wrong gzip label": zipped("gzip", plain),
      "a wrong brotli label": zipped("br", plain),
      "a wrong deflate label": zipped("deflate", plain),
      "deflate without zlib's header": zipped("deflate", deflateRawSync(plain)),
      "two encodings": zipped("gzip, br", brotliCompressSync(gzipSync(plain))),
      "an encoding in upper case": zipped("GZIP", gzipSync(plain)),
      "x-gzip": zipped("x-gzip", gzipSync(plain)),
      "identity and gzip": zipped("identity, gzip", gzipSync(plain)),
      "headers of 20 kB": { headers: { "content-security-policy": "x".repeat(20_000) }, body: plain },
      "white space before the JSON": { body: `\n\n   ${plain}\n` },
      "an unknown charset": { headers: { "content-type": "text/json; charset=utf8mb4" }, body: plain },
    }),
    ...rows("openai-chat", CALLED, {
      "a number as the call's id": { body: chat({ tool_calls: [call({ query: "adder" }, { id: 7 })] }) },
      "a call as function_call": { body: chat({ function_call: call('{"query":"adder"}').function }) },
      "a call without a list": { body: chat({ tool_calls: call('{"query":"adder"}') }) },
      "a call among values that are none": { body: chat({ tool_calls: [null, call('{"query":"adder"}'), "x"] }) },
      "a call without its function": {
        body: chat({ tool_calls: [{ id: "c", name: "email_search", arguments: { query: "adder" } }] }),
      },
      "spaces around a call's name": {
        body: chat({
          tool_calls: [call("", { function: { name: " email_search ", arguments: '{"query":"adder"}' } })],
        }),
      },
      "tokens of gpt-oss after a call's name": {
        body: chat({
          tool_calls: [
            call("", { function: { name: "email_search<|channel|>commentary", arguments: '{"query":"adder"}' } }),
          ],
        }),
      },
      "arguments encoded twice": { body: chat({ tool_calls: [call(JSON.stringify('{"query":"adder"}'))] }) },
    }),
    ...rows("anthropic", SAID, {
      "a block without a type": messages([{ text: ANSWER }]),
      "text for the content": messages(ANSWER),
      "null for the stop reason": messages([text(ANSWER)], null),
      "citations null and a block of an unknown type": messages([
        { type: "server_status", ok: true },
        { type: "text", text: ANSWER, citations: null },
      ]),
    }),
    ...rows("openai-responses", SAID, {
      "text for a message's content": responses([{ type: "message", role: "assistant", content: ANSWER }]),
      "only output_text": responses([], { output_text: ANSWER }),
      "null items and an unknown item": responses([
        null,
        { type: "trace" },
        { type: "message", content: [{ type: "output_text", text: ANSWER, annotations: null }] },
      ]),
    }),
    ...rows("openai-chat", tokens(9100, 10, 9000), {
      "more cached tokens than prompt tokens and no total": counted(undefined, cached(9000)),
      "Bedrock's names of cached tokens": usage({
        inputTokens: 100,
        outputTokens: 10,
        totalTokens: 9110,
        cacheReadInputTokens: 9000,
      }),
      "Anthropic's names in a chat completion": usage({
        input_tokens: 100,
        output_tokens: 10,
        cache_read_input_tokens: 9000,
      }),
    }),
    ...rows("openai-chat", tokens(100, 10), {
      "a total that contradicts its parts": counted(0),
      "Cohere's own names": usage({
        billed_units: { input_tokens: 80, output_tokens: 10 },
        tokens: { input_tokens: 100, output_tokens: 10 },
      }),
      "numbers with decimals": usage({ prompt_tokens: 100.0, completion_tokens: "10.0", total_tokens: 110 }),
    }),
    ["a number as content", "openai-chat", says({ content: 42 }), { content: "42", finishReason: "stop" }],
    ["the finish reason max-tokens", "openai-chat", says({}, "max-tokens"), { finishReason: "length" }],
    [
      "the finish reason content-filter",
      "openai-chat",
      { body: chat({ content: "" }, "content-filter") },
      { finishReason: "refusal" },
    ],
    [
      "reasoning that is more than the output, and cached tokens of the same number",
      "openai-chat",
      counted(150, { ...cached(40), ...reasoned(40) }),
      { usage: { inputTokens: 100, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 40 } },
    ],
    [
      "null for the message",
      "openai-chat",
      { body: { ...chat({}), choices: [{ message: null, finish_reason: "stop" }] } },
      { content: "" },
    ],
    [
      "cached tokens and cache writes beside the prompt",
      "openai-chat",
      counted(9610, cached(9000, { cache_write_tokens: 500 })),
      { usage: { inputTokens: 9600, outputTokens: 10, cachedInputTokens: 9000, cacheWriteTokens: 500 } },
    ],
    [
      "null for a block's text and a call's id",
      "anthropic",
      messages(
        [text(null), { type: "tool_use", id: null, name: "email_search", input: { query: "adder" } }],
        "tool_use",
      ),
      CALLED,
    ],
    [
      "input as JSON text",
      "anthropic",
      messages([{ type: "tool_use", id: "t", name: "email_search", input: '{"query":"adder"}' }], "tool_use"),
      CALLED,
    ],
    [
      "cached tokens that Anthropic's total includes in the input",
      "anthropic",
      messages([text(ANSWER)], "end_turn", {
        usage: { input_tokens: 9100, output_tokens: 10, cache_read_input_tokens: 9000, total_tokens: 9110 },
      }),
      tokens(9100, 10, 9000),
    ],
    [
      "an object for a call's arguments",
      "openai-responses",
      responses([{ type: "function_call", call_id: 7, name: "email_search", arguments: { query: "adder" } }]),
      CALLED,
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
    [
      "a list of parts as content",
      "google",
      google({ content: [{ text: "Index plus " }, { text: "4.5 cents" }] }),
      SAID,
    ],
    ["a part without a list", "google", google({ content: { parts: { text: ANSWER } } }), SAID],
    ["a text part that is null", "google", google({ content: { parts: [{ text: null }, { text: ANSWER }] } }), SAID],
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
const DONE = "data: [DONE]\n\n";
const halves = [part({ role: "assistant", content: "Index plus " }), part({ content: "4.5 cents" }, "stop")];
const stream = (frames: readonly unknown[], type = "text/event-stream"): Response => ({
  headers: { "content-type": type },
  body: frames.map((frame) => (typeof frame === "string" ? frame : data(frame))).join(""),
});
const calls = (...parts: readonly object[]) =>
  stream([...parts.map((tool_calls) => part({ tool_calls: [tool_calls] })), part({}, "tool_calls"), DONE]);
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

  it.each<Row>([
    ...rows("openai-chat", SAID, {
      "empty events as keep-alives": stream([halves[0], "data:\n\n", "data: \n\n", halves[1], DONE]),
      "text as keep-alives": stream([halves[0], "data: keep-alive\n\n", "data: ping\n\n", halves[1], DONE]),
      "empty objects as keep-alives": stream([halves[0], "data: {}\n\n", "data: null\n\n", halves[1]]),
      "single newlines": stream([...halves.map((one) => `data: ${JSON.stringify(one)}\n`), "data: [DONE]\n"]),
      "single newlines and no space": stream([
        ...halves.map((one) => `data:${JSON.stringify(one)}\n`),
        "data:[DONE]\n",
      ]),
      "carriage returns": stream([...halves.map((one) => `data: ${JSON.stringify(one)}\r\r`), "data: [DONE]\r\r"]),
      "a repeated prefix": stream([
        ...halves.map((one) => `data: data: ${JSON.stringify(one)}\ndata: \ndata: \n\n`),
        "data: data: [DONE]\n\n",
      ]),
      "indented lines": stream(halves.map((one) => ` data: ${JSON.stringify(one)}\n\n`)),
      "JSON over several lines": stream(
        halves.map(
          (one) =>
            `${JSON.stringify(one, null, 1)
              .split("\n")
              .map((line) => `data: ${line}`)
              .join("\n")}\n\n`,
        ),
      ),
      "the type application/x-ndjson": stream([...halves, DONE], "application/x-ndjson"),
      "the type text/plain": stream([...halves, DONE], "text/plain; charset=utf-8"),
      "the type application/json": stream([": ok\n\n", ...halves], "application/json"),
      "no prefix: one JSON object per line": stream(
        halves.map((one) => `${JSON.stringify(one)}\n`),
        "application/x-ndjson",
      ),
      "an id and a retry line per event": stream(halves.map((one, i) => `id: ${i}\nretry: 3000\n${data(one)}`)),
      "a byte order mark": stream(["\ufeff", ...halves]),
      "an empty finish reason, and [DONE]": stream([part({ content: ANSWER }, ""), part({}, ""), DONE]),
      "null for the choices and the delta": stream([{ choices: null }, { choices: [{ delta: null }] }, ...halves]),
      "a whole message in the last chunk": stream([
        { choices: [{ index: 0, message: { role: "assistant", content: ANSWER }, finish_reason: "stop" }] },
        DONE,
      ]),
      "null as text for each finish reason, and [DONE]": stream([
        part({ content: ANSWER }, "null"),
        part({}, "null"),
        DONE,
      ]),
    }),
    ...rows("openai-chat", TWO_CALLS, {
      "calls with index 0 and no ids": calls(
        call('{"query":"a"}', { index: 0, id: "" }),
        call('{"query":"b"}', { index: 0, id: "" }),
      ),
      "calls without index and ids": calls(call('{"query":"a"}', { id: null }), call('{"query":"b"}', { id: null })),
      "calls with a text index": calls(
        call('{"query":"a"}', { index: "0" }),
        call('{"query":"b"}', { index: "1", id: "call_2" }),
      ),
    }),
    ...rows("openai-chat", CALLED, {
      "another id and the name in each part of one call": calls(
        call('{"query":', { index: 0, id: "a" }),
        call('"adder"}', { index: 0, id: "b" }),
      ),
      "a name in pieces": calls(
        { index: 0, id: "c", function: { name: "email_", arguments: "" } },
        { index: 0, function: { name: "search" } },
        { index: 0, function: { arguments: '{"query":"adder"}' } },
      ),
      "a name repeated with each piece": calls(call('{"query":', { index: 0 }), call('"adder"}', { index: 0 })),
      "the complete call again, with its arguments encoded twice": calls(
        call('{"query":', { index: 0 }),
        { index: 0, function: { arguments: '"adder"}' } },
        call(JSON.stringify('{"query":"adder"}'), { index: 0 }),
      ),
      "the arguments again": calls(
        call("", { index: 0 }),
        { index: 0, function: { arguments: '{"query":"adder"}' } },
        { index: 0, function: { arguments: '{ "query": "adder" }' } },
      ),
      "another number, and null for ID and name, with the arguments": calls(call("", { index: 0 }), {
        index: 1,
        id: null,
        function: { name: null, arguments: '{"query":"adder"}' },
      }),
      "arguments as an object": calls(call({ query: "adder" }, { index: 0 })),
      "null arguments first": calls(call(null, { index: 0 }), {
        index: 0,
        function: { arguments: '{"query":"adder"}' },
      }),
      "a call without a list": stream([
        part({ tool_calls: call('{"query":"adder"}', { index: 0 }) }),
        part({}, "tool_calls"),
        DONE,
      ]),
      "a call without its function": calls(
        { index: 0, id: "c", name: "email_search", arguments: '{"query":' },
        { index: 0, arguments: '"adder"}' },
      ),
      "a call as function_call": stream([
        part({ function_call: { name: "email_search", arguments: "" } }),
        part({ function_call: { arguments: '{"query":"adder"}' } }),
        part({}, "function_call"),
      ]),
    }),
    ...rows("openai-responses", SAID, {
      "deltas without an index": stream([
        delta("Index plus ", { output_index: null }),
        delta("4.5 cents", { output_index: null }),
        completed(),
      ]),
      "events without names": stream([delta(ANSWER), completed()].map((one) => one.replace(/^event: .*\n/, ""))),
      "only a done event for the text": stream([
        event({ type: "response.output_text.done", item_id: "m", output_index: 0, text: ANSWER }),
        completed(),
      ]),
      "no completed event but [DONE]": stream([
        delta(ANSWER),
        event({ type: "response.done", response: { id: "r", status: "completed", output: [] } }),
      ]),
      "text only in content_part.done": stream([
        event({ type: "response.content_part.done", output_index: 0, part: { type: "output_text", text: ANSWER } }),
        completed(),
      ]),
    }),
    ...rows("anthropic", SAID, {
      "a ping without type and null usage": stream([
        started,
        "event: ping\ndata: {}\n\n",
        event({ type: "content_block_start", index: 0, content_block: { type: "text" } }),
        block({}),
        ended,
        stopped,
      ]),
      "a block without its start": stream([started, block({}), ended, stopped]),
      "a delta without index and type": stream([
        started,
        block({ index: null, delta: { text: ANSWER } }),
        ended,
        stopped,
      ]),
      "no message_start": stream([block({}), ended, stopped]),
      "no message_stop": stream([started, block({}), ended]),
      "a text index of a block": stream([started, block({ index: "0" }), ended, stopped]),
      "[DONE] at the end": stream([started, block({}), ended, stopped, DONE]),
      "a null block at the start": stream([
        started,
        event({ type: "content_block_start", index: 0, content_block: null }),
        block({}),
        ended,
        stopped,
      ]),
    }),
    ...rows("google", SAID, {
      "a JSON array": { body: [candidates("Index plus "), candidates("4.5 cents", { finishReason: "STOP" })] },
      "a JSON array in pieces": {
        body: `[${JSON.stringify(candidates("Index plus "), null, 2)}\n,\r\n${JSON.stringify(candidates("4.5 cents", { finishReason: "STOP" }))}\n]`,
      },
      "JSON objects without a line break between them": {
        body: `${JSON.stringify(candidates("Index plus "))}${JSON.stringify(candidates("4.5 cents", { finishReason: "STOP" }), null, 2)}`,
      },
      "a keep-alive before objects on lines": {
        body: `{}\n${JSON.stringify(candidates("Index plus "))}\n${JSON.stringify(candidates("4.5 cents", { finishReason: "STOP" }))}\n`,
      },
      "a list of parts as content": stream([{ candidates: [{ content: [{ text: ANSWER }], finishReason: "STOP" }] }]),
      "a finish reason in a chunk without content": stream([
        candidates(ANSWER),
        { candidates: [{ finishReason: "STOP" }] },
      ]),
      "null parts": stream([candidates(ANSWER), { candidates: [{ content: { parts: null }, finishReason: "STOP" }] }]),
      "FINISH_REASON_UNSPECIFIED before the last": stream([
        candidates("Index plus ", { finishReason: "FINISH_REASON_UNSPECIFIED" }),
        candidates("4.5 cents", { finishReason: "STOP" }),
      ]),
      "[DONE] at the end": stream([candidates(ANSWER, { finishReason: "STOP" }), DONE]),
    }),
    [
      "what separates objects in the text of objects on lines",
      "google",
      {
        body: `${JSON.stringify(candidates("if (a) {}{"))}\n${JSON.stringify(candidates("}{", { finishReason: "STOP" }))}`,
      },
      { content: "if (a) {}{}{" },
    ],
    [
      "a finish reason overwritten by an empty one",
      "openai-chat",
      stream([part({ content: "The" }, "length"), part({}, "", { usage: {} }), DONE]),
      { finishReason: "length" },
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
      "a refusal only in deltas",
      "openai-responses",
      stream([event({ type: "response.refusal.delta", output_index: 0, delta: "I cannot help." }), completed()]),
      { content: "I cannot help.", finishReason: "refusal" },
    ],
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
    [
      "usage after the last candidate",
      "google",
      stream([
        candidates(ANSWER, { finishReason: "STOP" }),
        { usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10 } },
      ]),
      tokens(100, 10),
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
    ["no finish reason", "openai-chat", stream([part({ content: "The adder" }), DONE]), /ended before/],
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

/** Google's refusal. */
const invalid = (message: string): Response => ({
  status: 400,
  body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } },
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
  const having = (key: string) => (body: Body) => has(body, key);
  const hasSystemRole = (body: Body) => body.messages[0].role === "system";
  const CHAT = ["openai-chat", "some-model"] as const;
  const GEMMA = ["openai-chat", "gemma-2"] as const;
  const CLAUDE = ["anthropic", "claude-sonnet-4-5"] as const;
  const GPT = ["openai-responses", "gpt-5.1"] as const;
  const RESPONSES_CALL = { type: "function_call", call_id: "c", name: "email_search", arguments: '{"query":"adder"}' };
  const withCall = (fields: object) => ({ body: chat({ tool_calls: [call('{"query":"adder"}')], ...fields }) });
  const thinking = messages(
    [
      { type: "thinking", thinking: "Let me look.", signature: "claude#abc" },
      { type: "tool_use", id: "t", name: "email_search", input: { query: "adder" } },
    ],
    "tool_use",
  );

  type Rejected = [string, WireFormat, string, Response, isRejected: (body: Body) => boolean, Response];
  it.each<Rejected>([
    [
      "reasoning_content in the history",
      ...CHAT,
      withCall({ reasoning_content: "Search." }),
      having("reasoning_content"),
      refuse(
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
      ),
    ],
    [
      "reasoning_content at Mistral, in a 422",
      ...CHAT,
      withCall({ reasoning_content: "Search." }),
      having("reasoning_content"),
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
      ...CHAT,
      withCall({ reasoning: "Search." }),
      (body) => has(body.messages, "reasoning"),
      refuse("Unrecognized request argument: messages[2].reasoning"),
    ],
    [
      "reasoning_details in the history",
      ...CHAT,
      withCall({ reasoning_details: [{ type: "reasoning.text", text: "x" }] }),
      having("reasoning_details"),
      refuse("Unknown field: reasoning_details"),
    ],
    [
      "provider_specific_fields",
      ...CHAT,
      withCall({ provider_specific_fields: { refusal: null } }),
      having("provider_specific_fields"),
      refuse("Extra inputs are not permitted, field: 'messages[2].provider_specific_fields'"),
    ],
    [
      "a signature of thinking",
      ...CLAUDE,
      thinking,
      (body) => JSON.stringify(body).includes('"thinking":"Let'),
      refuse("messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
    [
      "cache_control",
      ...CLAUDE,
      thinking,
      having("cache_control"),
      refuse("system.0.cache_control: Extra inputs are not permitted"),
    ],
    [
      "the system role",
      ...CHAT,
      withCall({}),
      hasSystemRole,
      {
        status: 400,
        body: { object: "error", message: "System role not supported", type: "BadRequestError", code: 400 },
      },
    ],
    [
      "the system role, by a chat template",
      ...GEMMA,
      withCall({}),
      hasSystemRole,
      refuse("Conversation roles must alternate user/assistant/user/assistant/..."),
    ],
    [
      "the system role in a 500 of llama.cpp",
      ...GEMMA,
      withCall({}),
      hasSystemRole,
      refuse("Error: System role not supported at row 1, column 44", { code: 400 }),
    ],
    [
      "the developer instruction of Gemma",
      "google",
      "gemma-3-27b-it",
      google({ content: { parts: [{ functionCall: { name: "email_search", args: { query: "adder" } } }] } }),
      (body) => body.systemInstruction !== undefined,
      invalid("Developer instruction is not enabled for models/gemma-3-27b-it"),
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
      having("thoughtSignature"),
      invalid("Invalid JSON payload received. Unknown name \"thoughtSignature\" at 'contents[1].parts[0]'"),
    ],
    [
      "include",
      ...GPT,
      responses([RESPONSES_CALL]),
      (body) => body.include !== undefined,
      refuse("Unsupported parameter: include", { param: "include" }),
    ],
    [
      "encrypted reasoning in the input",
      ...GPT,
      responses([{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "eA" }, RESPONSES_CALL]),
      (body) => has(body.input, "encrypted_content"),
      refuse("The encrypted content gAAA... could not be verified.", { code: "invalid_encrypted_content" }),
    ],
    ...Object.entries({
      "the system role, whose enum has only two roles": refuse(
        "messages.0.role: Input should be 'user' or 'assistant'",
      ),
      "the system role, by the roles of a template": refuse(
        "jinja2.exceptions.TemplateError: Only user and assistant roles are supported!",
      ),
      "the system role, by the first message": refuse("First message must be from user"),
      "the system role, in a 500": refuse("System role not supported", {}, 500),
    }).map(([part, refusal]): Rejected => [part, ...CHAT, withCall({}), hasSystemRole, refusal]),
    [
      "instructions",
      ...GPT,
      responses([RESPONSES_CALL]),
      (body) => body.instructions !== undefined,
      refuse("Unsupported parameter: 'instructions'"),
    ],
    [
      "redacted thinking",
      ...CLAUDE,
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
      ...CHAT,
      withCall({ thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "s" }] }),
      having("thinking_blocks"),
      refuse("messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
    [
      "prompt caching, in a 403",
      ...CLAUDE,
      thinking,
      having("cache_control"),
      { status: 403, body: { message: "Your request did not allow prompt caching. See the documentation." } },
    ],
    [
      "reasoning that the server did not store",
      ...GPT,
      responses([{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "eA" }, RESPONSES_CALL]),
      (body) => has(body.input, "encrypted_content"),
      refuse("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    ],
    [
      "store",
      ...GPT,
      responses([RESPONSES_CALL]),
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
