import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ImportedTrace } from "../../src/trace-formats/imported-trace.js";
import { openImport } from "../../src/trace-formats/open-import.js";

/** Files that other programs write: spans that deviate from OTLP, and exports that are not OTLP. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function readAll(text: string): Promise<ImportedTrace[]> {
  const path = join(folder, "file.json");
  writeFileSync(path, text);
  const traces: ImportedTrace[] = [];
  for await (const { trace } of (await openImport(path)).traces()) traces.push(trace);
  return traces;
}

const json = (value: unknown) => JSON.stringify(value);

function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "number") return { intValue: String(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: attributes(value as Record<string, unknown>) } };
}

function attributes(given: Readonly<Record<string, unknown>>): object[] {
  return Object.entries(given).map(([key, value]) => ({ key, value: anyValue(value) }));
}

const span = (given: Readonly<Record<string, unknown>>, changes: object = {}) => ({
  traceId: "5b8efff798038103d269b633813fc60c",
  spanId: "eee19b7ec3c1b174",
  name: "chat",
  kind: 3,
  startTimeUnixNano: "1795165200000000000",
  endTimeUnixNano: "1795165202400000000",
  attributes: attributes(given),
  ...changes,
});

const otlp = (...spans: readonly object[]) => json({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

const QUESTION = "What is the adder?";
const ANSWER = "Index plus 4.5 cents";
const USER = { role: "user", content: QUESTION };
const ASSISTANT = { role: "assistant", content: ANSWER };

const USAGE = { "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10 };
const CALL = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", ...USAGE };
const GENAI = {
  ...CALL,
  "gen_ai.input.messages": json([{ role: "user", parts: [{ type: "text", content: QUESTION }] }]),
  "gen_ai.output.messages": json([{ role: "assistant", parts: [{ type: "text", content: ANSWER }] }]),
};

const spanEvent = (name: string, content: unknown) => ({
  name,
  timeUnixNano: "1795165200000000000",
  attributes: attributes({ "gen_ai.event.content": json(content) }),
});

/** An event whose attributes are the message. */
const plainEvent = (name: string, given: Readonly<Record<string, unknown>>) => ({
  name,
  attributes: attributes(given),
});

const OPENAI_EVENTS = [
  { "event.name": "gen_ai.system.message", role: "system", content: "Answer." },
  { "event.name": "gen_ai.user.message", ...USER },
  { "event.name": "gen_ai.choice", index: 0, message: ASSISTANT },
];

const READ = { question: QUESTION, answer: ANSWER };
const COUNTED = { ...READ, turns: [{ usage: { inputTokens: 100, outputTokens: 10 } }] };

const WITH_CALL = {
  messages: [
    { role: "user", content: QUESTION },
    { role: "assistant", toolCalls: [{ id: "c", name: "look", arguments: { q: 1 } }] },
    { role: "tool", toolCallId: "c", content: "4.5" },
    { role: "assistant", content: ANSWER },
  ],
};

/** Requests and replies of the APIs, as observability tools record them. */
const RECORDED: readonly (readonly [api: string, request: unknown, reply: unknown, expected: object])[] = [
  ["text", QUESTION, ANSWER, COUNTED],
  ["text in JSON", json(QUESTION), json(ANSWER), COUNTED],
  ["chat completions", { messages: [USER], tools: [] }, { ...ASSISTANT, tool_calls: null, refusal: null }, COUNTED],
  [
    "Anthropic",
    [
      { role: "user", content: [{ type: "text", text: QUESTION }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "look", input: { q: 1 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "4.5" }] },
    ],
    { type: "message", role: "assistant", content: [{ type: "text", text: ANSWER }], stop_reason: "end_turn" },
    WITH_CALL,
  ],
  [
    "the Responses API",
    [
      USER,
      { type: "function_call", call_id: "c", name: "look", arguments: '{"q":1}' },
      { type: "function_call_output", call_id: "c", output: "4.5" },
    ],
    { output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: ANSWER }] }] },
    WITH_CALL,
  ],
  ["the Responses API with one text", { instructions: "Answer.", input: QUESTION }, [ASSISTANT], COUNTED],
  [
    "Gemini",
    { contents: [{ role: "user", parts: [{ text: QUESTION }] }] },
    { candidates: [{ content: { role: "model", parts: [{ text: ANSWER }] } }] },
    COUNTED,
  ],
  [
    "the AI SDK",
    [
      { role: "user", content: [{ type: "text", text: QUESTION }] },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "look", input: { q: 1 } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c", toolName: "look", output: { type: "text", value: "4.5" } }],
      },
    ],
    ASSISTANT,
    WITH_CALL,
  ],
  [
    "LangChain as dictionaries",
    [
      { type: "human", content: QUESTION },
      { type: "ai", content: "", tool_calls: [{ id: "c", name: "look", args: { q: 1 }, type: "tool_call" }] },
      { type: "tool", content: "4.5", tool_call_id: "c" },
    ],
    { generations: [[{ text: ANSWER }]] },
    WITH_CALL,
  ],
  [
    "LangChain as constructors",
    { messages: [[{ lc: 1, type: "constructor", id: ["HumanMessage"], kwargs: { content: QUESTION } }]] },
    { generations: [[{ message: { id: ["AIMessage"], kwargs: { content: [{ type: "text", text: ANSWER }] } } }]] },
    COUNTED,
  ],
];

const text = (value: unknown) => (typeof value === "string" ? value : json(value));

describe("a recorded request", () => {
  it.each(RECORDED)(
    "becomes a conversation in spans of Langfuse and LangSmith (%s)",
    async (_, request, reply, expected) => {
      const langfuse = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.usage_details": json({ input: 100, output: 10 }),
        "langfuse.observation.input": text(request),
        "langfuse.observation.output": text(reply),
      };
      const prompt = { "gen_ai.prompt": text(request), "gen_ai.completion": text(reply) };
      const langsmith = { ...CALL, "langsmith.span.kind": "llm", ...prompt };
      for (const given of [langfuse, langsmith]) expect(await readAll(otlp(span(given)))).toMatchObject([expected]);
    },
  );
});

/** Rows of a table: files that contain the same trace. */
const spans = (expected: object, files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(([name, file]): [string, string, object] => [name, file, expected]);
/** A file with one span. */
const one = (given: Readonly<Record<string, unknown>>, changes: object = {}) => otlp(span(given, changes));

describe("a span", () => {
  it.each<[string, string, object]>([
    ...spans(COUNTED, {
      "with the status code as a protobuf name": one(GENAI, { status: { code: "STATUS_CODE_OK" } }),
      "with the status code as a word": one(GENAI, { status: { code: "Ok" } }),
      "with the status code as text": one(GENAI, { status: { code: "1" } }),
      "without a resource and a scope around it": json({ spans: [span(GENAI)] }),
      "without a resource around it": json({ scopeSpans: [{ spans: [span(GENAI)] }] }),
      "on a line of its own": json(span(GENAI)),
      "with another word for the operation": one({ ...GENAI, "gen_ai.operation.name": "responses" }),
      "without an operation": one({ ...GENAI, "gen_ai.operation.name": "" }),
      "without an operation and a reply, such as an embedding, next to a model call": otlp(
        span({ "gen_ai.request.model": "e", "gen_ai.usage.input_tokens": 3 }, { spanId: "bbbbbbbbbbbbbbbb" }),
        span({ ...GENAI, "gen_ai.operation.name": "" }),
      ),
      "with the kind as a protobuf name": one(GENAI, { kind: "SPAN_KIND_CLIENT" }),
      "with null in optional fields": otlp(
        span(GENAI, { parentSpanId: null, status: null, events: null, links: null, traceState: null }),
        span({}, { spanId: "eee19b7ec3c1b175", attributes: null, status: { code: 0, message: null } }),
      ),
      "with numbers as times": one(GENAI, {
        startTimeUnixNano: 1795165200000000000,
        endTimeUnixNano: 1795165202400000000,
      }),
      "with a status that is a word": one(GENAI, { status: "OK" }),
      "with ISO 8601 times": one(GENAI, { startTimeUnixNano: "2026-11-20T10:00:00Z", endTimeUnixNano: "" }),
      "with a fraction and a power of ten as times": one(GENAI, {
        startTimeUnixNano: "1795165200000000000.0",
        endTimeUnixNano: "1.7951652024e18",
      }),
      "that has not ended": one(GENAI, { endTimeUnixNano: undefined }),
      "with IDs after 0x": one(GENAI, { traceId: `0x${"5b".repeat(16)}`, spanId: "0xeee19b7ec3c1b174" }),
      "with IDs in base64": one(GENAI, {
        traceId: "W47/95gDgQPSabYzgT/GDA==",
        spanId: "7uGbfsPBsXQ=",
        parentSpanId: "",
      }),
      "with an object of attributes": one({}, { attributes: GENAI }),
      "with names in snake case": one(GENAI)
        .replace("resourceSpans", "resource_spans")
        .replace("scopeSpans", "scope_spans"),
      "with messages as structures instead of text": one({
        ...CALL,
        "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: QUESTION }] }],
        "gen_ai.output.messages": [{ role: "assistant", parts: [{ type: "text", content: ANSWER }] }],
      }),
      "with chat messages instead of parts": one({
        ...CALL,
        "gen_ai.input.messages": json([USER]),
        "gen_ai.output.messages": json([ASSISTANT]),
      }),
      "with the details of the call in an event": one(CALL, {
        events: [
          plainEvent("gen_ai.client.inference.operation.details", {
            "gen_ai.input.messages": GENAI["gen_ai.input.messages"],
            "gen_ai.output.messages": GENAI["gen_ai.output.messages"],
          }),
        ],
      }),
      "with the prompt and the completion as events of convention 1.26": one(CALL, {
        events: [
          plainEvent("gen_ai.content.prompt", { "gen_ai.prompt": json([USER]) }),
          plainEvent("gen_ai.content.completion", { "gen_ai.completion": ANSWER }),
        ],
      }),
      "of Sentry": one({ ...CALL, "gen_ai.request.messages": json([USER]), "gen_ai.response.text": json([ANSWER]) }),
      "of Google's ADK": one({
        "gen_ai.system": "gcp.vertex.agent",
        "gen_ai.request.model": "gemini-2.5-pro",
        ...USAGE,
        "gcp.vertex.agent.llm_request": json({ contents: [{ role: "user", parts: [{ text: QUESTION }] }] }),
        "gcp.vertex.agent.llm_response": json({ content: { role: "model", parts: [{ text: ANSWER }] } }),
      }),
      "with an empty parent": one(GENAI, { parentSpanId: "" }),
      "with a parent of zeros": one(GENAI, { parentSpanId: "0000000000000000" }),
      "in the scopes of OTLP before 0.19": one(GENAI).replace("scopeSpans", "instrumentationLibrarySpans"),
      "of Phoenix's REST API": json({
        data: [
          {
            name: "chat",
            trace_id: "5b8efff798038103d269b633813fc60c",
            span_id: "eee19b7ec3c1b174",
            start_time_unix_nano: 1795165200000000000,
            end_time_unix_nano: 1795165202400000000,
            attributes: attributes(GENAI),
          },
        ],
        next_cursor: null,
      }),
      "with the conversation in its events": one(CALL, {
        events: [
          spanEvent("gen_ai.system.message", { role: "system", content: "Answer." }),
          spanEvent("gen_ai.user.message", USER),
          spanEvent("gen_ai.choice", { index: 0, finish_reason: "stop", message: { content: ANSWER } }),
        ],
      }),
      "of Logfire with the events as an attribute": one({ ...CALL, events: json(OPENAI_EVENTS) }),
      "of Logfire with the request and the response": one({
        ...CALL,
        request_data: json({ model: "gpt-4o", messages: [USER] }),
        response_data: json({ message: ASSISTANT }),
      }),
      "of Langfuse's SDK": one({
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.input": json([USER]),
        "langfuse.observation.output": json(ASSISTANT),
        "langfuse.observation.usage_details": json({ input: 100, output: 10 }),
      }),
      "of LangSmith": one({
        ...CALL,
        "langsmith.span.kind": "llm",
        "gen_ai.prompt": json({ messages: [USER] }),
        "gen_ai.completion": json({ choices: [{ message: ASSISTANT }] }),
      }),
      "of LangSmith with LangChain's messages": one({
        ...CALL,
        "langsmith.span.kind": "LLM",
        "gen_ai.prompt": json({
          messages: [
            [{ lc: 1, type: "constructor", id: ["HumanMessage"], kwargs: { content: QUESTION, type: "human" } }],
          ],
        }),
        "gen_ai.completion": json({
          generations: [[{ text: ANSWER, message: { kwargs: { content: ANSWER, type: "ai" } } }]],
        }),
      }),
    }),
    [
      "without an operation below the span of its agent, next to its tool",
      otlp(
        span(
          { ...GENAI, "gen_ai.operation.name": "", "gen_ai.agent.name": "finder" },
          { spanId: "aaaaaaaaaaaaaaaa", name: "agent" },
        ),
        span({ ...GENAI, "gen_ai.operation.name": "" }, { parentSpanId: "aaaaaaaaaaaaaaaa" }),
        span(
          { "gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": '{"q":1}' },
          { spanId: "bbbbbbbbbbbbbbbb", parentSpanId: "aaaaaaaaaaaaaaaa" },
        ),
      ),
      { ...COUNTED, agentId: "finder", toolCalls: [{ name: "look", arguments: { q: 1 } }] },
    ],
    [
      "with Bedrock's messages as events",
      one(CALL, {
        events: [
          plainEvent("gen_ai.user.message", { content: json([{ text: QUESTION }]) }),
          plainEvent("gen_ai.assistant.message", {
            content: json([{ toolUse: { toolUseId: "c", name: "look", input: { q: 1 } } }]),
          }),
          plainEvent("gen_ai.tool.message", {
            content: json([{ toolResult: { toolUseId: "c", content: [{ text: "4.5" }] } }]),
          }),
          plainEvent("gen_ai.choice", { finish_reason: "end_turn", message: json([{ text: ANSWER }]) }),
        ],
      }),
      WITH_CALL,
    ],
    [
      "of Google's ADK with a tool call",
      one({
        "gen_ai.request.model": "gemini-2.5-pro",
        "gcp.vertex.agent.llm_request": json({
          config: { system_instruction: "Answer." },
          contents: [
            { role: "user", parts: [{ text: QUESTION }] },
            { role: "model", parts: [{ function_call: { id: "c", name: "look", args: { q: 1 } } }] },
            { role: "user", parts: [{ function_response: { id: "c", name: "look", response: { result: "4.5" } } }] },
          ],
        }),
        "gcp.vertex.agent.llm_response": json({ content: { role: "model", parts: [{ text: ANSWER }] } }),
      }),
      {
        messages: [
          { role: "system", content: "Answer." },
          { role: "user", content: QUESTION },
          { role: "assistant", toolCalls: [{ id: "c", name: "look", arguments: { q: 1 } }] },
          { role: "tool", toolCallId: "c", content: '{"result":"4.5"}' },
          { role: "assistant", content: ANSWER },
        ],
      },
    ],
    [
      "with the session on an inner span",
      otlp(
        span({ "http.request.method": "POST" }, { spanId: "aaaaaaaaaaaaaaaa" }),
        span({ ...GENAI, "gen_ai.conversation.id": "s" }, { parentSpanId: "aaaaaaaaaaaaaaaa" }),
      ),
      { ...COUNTED, sessionId: "s" },
    ],
    [
      "of MLflow's own trace",
      json({
        info: { trace_id: "tr-1" },
        data: {
          spans: [
            {
              trace_id: "W47/95gDgQPSabYzgT/GDA==",
              span_id: "7uGbfsPBsXQ=",
              parent_span_id: "",
              name: "Completions",
              start_time_unix_nano: 1795165200000000000,
              end_time_unix_nano: 1795165202400000000,
              status: { message: "", code: "STATUS_CODE_OK" },
              attributes: {
                "mlflow.spanType": '"CHAT_MODEL"',
                "mlflow.spanInputs": json({ messages: [USER] }),
                "mlflow.spanOutputs": json({ choices: [{ message: ASSISTANT }] }),
                "mlflow.llm.model": '"gpt-4o"',
                "mlflow.llm.provider": '"openai"',
              },
            },
          ],
        },
      }),
      { ...READ, model: "openai/gpt-4o" },
    ],
    [
      "of Pydantic AI's agent",
      one({
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.request.model": "gpt-4o",
        "pydantic_ai.all_messages": json([
          { role: "user", parts: [{ type: "text", content: QUESTION }] },
          { role: "assistant", parts: [{ type: "text", content: ANSWER }] },
        ]),
        final_result: ANSWER,
      }),
      READ,
    ],
    [
      "of MLflow",
      one({
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": json({ messages: [USER] }),
        "mlflow.spanOutputs": json({ choices: [{ message: ASSISTANT }] }),
      }),
      READ,
    ],
    [
      "of LangSmith with a tool call of LangChain",
      one({
        ...USAGE,
        "langsmith.span.kind": "llm",
        "gen_ai.prompt": json({ messages: [[{ kwargs: { content: QUESTION, type: "human" } }]] }),
        "gen_ai.completion": json({
          generations: [
            [
              {
                message: {
                  kwargs: { content: "", type: "ai", tool_calls: [{ id: "c", name: "look", args: { q: 1 } }] },
                },
              },
            ],
          ],
        }),
      }),
      { question: QUESTION, messages: [{}, { toolCalls: [{ id: "c", name: "look", arguments: { q: 1 } }] }] },
    ],
  ])("%s becomes a part of a trace", async (_, text, expected) => {
    expect(await readAll(text)).toMatchObject([expected]);
  });

  it.each(["STATUS_CODE_ERROR", "Error", 2, "2"])("with the status code %j counts as failed", async (code) => {
    const events = [spanEvent("gen_ai.user.message", USER)];
    const [trace] = await readAll(one(CALL, { events, status: { code, message: "overloaded" } }));
    expect(trace).toMatchObject({ error: expect.stringContaining("overloaded") });
  });
});

it("readOtlp reads the error of a failed span from its exception if the status has none", async () => {
  const failed = {
    status: { code: 2 },
    events: [plainEvent("exception", { "exception.type": "E", "exception.message": "overloaded" })],
  };
  const tool = span({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look" }, failed);
  const [trace] = await readAll(otlp(span(GENAI, { ...failed, spanId: "aaaaaaaaaaaaaaaa" }), tool));
  expect(trace).toMatchObject({ error: "overloaded", toolCalls: [{ name: "look", error: "overloaded" }] });
});

const LANGFUSE = {
  "langfuse.observation.type": "generation",
  "langfuse.observation.input": json([USER]),
  "langfuse.observation.output": json(ASSISTANT),
};
const langfuseUsage = (usage: object) => ({ ...LANGFUSE, "langfuse.observation.usage_details": json(usage) });
const CACHED = { inputTokens: 100, cachedInputTokens: 40, outputTokens: 10 };

describe("the usage of a model call", () => {
  it.each<[string, Readonly<Record<string, unknown>>, object]>([
    [
      "outside a smaller input",
      { "gen_ai.usage.input_tokens": 60, "gen_ai.usage.cache_read.input_tokens": 400 },
      { inputTokens: 460, cachedInputTokens: 400 },
    ],
    [
      "under Strands' names",
      {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read_input_tokens": 40,
        "gen_ai.usage.cache_write_input_tokens": 30,
      },
      { inputTokens: 100, cachedInputTokens: 40, cacheWriteTokens: 30 },
    ],
    [
      "in Langfuse's categories",
      langfuseUsage({ input: 60, input_cached_tokens: 40, output: 7, output_reasoning_tokens: 3, total: 110 }),
      { ...CACHED, reasoningTokens: 3 },
    ],
    [
      "in Langfuse's report of LangChain",
      langfuseUsage({ input: 50, input_cache_read: 40, input_cache_creation: 10, output: 10, total: 110 }),
      { ...CACHED, cacheWriteTokens: 10 },
    ],
    [
      "in Langfuse's report of Anthropic",
      langfuseUsage({ input: 50, output: 10, cache_read_input_tokens: 40, cache_creation_input_tokens: 10 }),
      { ...CACHED, cacheWriteTokens: 10 },
    ],
    [
      "in Langfuse's report of OpenAI",
      langfuseUsage({
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
      { ...CACHED, reasoningTokens: 3 },
    ],
    [
      "in Langfuse's report of the Responses API",
      langfuseUsage({ input_tokens: 100, output_tokens: 10, input_tokens_details: { cached_tokens: 40 } }),
      CACHED,
    ],
    [
      "in MLflow's report",
      {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": json({ messages: [USER] }),
        "mlflow.chat.tokenUsage": json({
          input_tokens: 100,
          output_tokens: 10,
          total_tokens: 110,
          cache_read_input_tokens: 40,
        }),
      },
      CACHED,
    ],
  ])("includes cached tokens %s", async (_, given, usage) => {
    const own = { ...GENAI, "gen_ai.usage.input_tokens": "", "gen_ai.usage.output_tokens": "" };
    const [trace] = await readAll(one({ ...own, ...given }));
    expect(trace?.turns).toMatchObject([{ usage }]);
  });

  it("stays unknown if Langfuse reports no tokens", async () => {
    const [trace] = await readAll(one(langfuseUsage({})));
    expect(trace?.turns).toMatchObject([{ usage: null }]);
  });

  it.each<[string, unknown]>([
    ["operation.cost", 0.25],
    ["gen_ai.cost.total_cost", 0.25],
    ["langfuse.observation.cost_details", json({ input: 0.2, output: 0.05, total: 0.25 })],
    ["mlflow.llm.cost", json({ input_cost: 0.2, output_cost: 0.05, total_cost: 0.25 })],
  ])("has the cost in %s", async (key, cost) => {
    const [trace] = await readAll(one({}, { attributes: { ...GENAI, [key]: cost } }));
    expect(trace?.turns).toMatchObject([{ costUsd: 0.25 }]);
  });

  it.each([
    ["guardrail_intervened", "refusal"],
    ["model_context_window_exceeded", "length"],
    ["PROHIBITED_CONTENT", "refusal"],
    ["eos", "stop"],
    ["tomorrow", "other"],
  ])("has the finish reason %s, which means %s", async (reason, finishReason) => {
    const [trace] = await readAll(one({ ...GENAI, "gen_ai.response.finish_reasons": [reason] }));
    expect(trace?.turns).toMatchObject([{ finishReason, rawFinishReason: reason }]);
  });
});

it.each<[string, string, string]>([
  [
    "Langfuse",
    json({
      id: "o",
      traceId: "t",
      type: "GENERATION",
      startTime: "2025-02-24T07:39:39.170Z",
      input: [USER],
      output: ASSISTANT,
    }),
    "Langfuse",
  ],
  [
    "LangSmith",
    json({ id: "r", run_type: "llm", inputs: { messages: [USER] }, outputs: {}, dotted_order: "x" }),
    "LangSmith",
  ],
  ["Langfuse's API", json({ data: [{ id: "t", observations: [], projectId: "p" }], meta: {} }), "Langfuse"],
  ["LangSmith's API", json({ runs: [{ id: "r", run_type: "llm" }] }), "LangSmith"],
  ["Jaeger", json({ data: [{ traceID: "a", spans: [{ spanID: "b", operationName: "x" }] }] }), "Jaeger"],
  ["a trace of Jaeger", json({ spans: [{ spanID: "b", operationName: "x" }] }), "Jaeger"],
  ["Tempo", json({ batches: [] }), "Tempo"],
  ["Phoenix's API", json({ data: [{ name: "chat", context: {}, span_kind: "LLM" }] }), "Phoenix"],
  ["a list", json([{ run_type: "llm" }]), "one object per line"],
])("names the format in the error about an export of %s", async (_, text, name) => {
  await expect(readAll(text)).rejects.toThrow(name);
});

it.each([{ spans: [] }, { data: [] }, { resourceSpans: [] }, { resourceSpans: [{ scopeSpans: [] }] }])(
  "says that %j contains no spans",
  async (document) => {
    await expect(readAll(json(document))).rejects.toThrow(/contains no spans\./);
  },
);
