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
  return { arrayValue: { values: (value as unknown[]).map(anyValue) } };
}

const attributes = (given: Readonly<Record<string, unknown>>) =>
  Object.entries(given).map(([key, value]) => ({ key, value: anyValue(value) }));

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

const OPENAI_EVENTS = [
  { "event.name": "gen_ai.system.message", role: "system", content: "Answer." },
  { "event.name": "gen_ai.user.message", ...USER },
  { "event.name": "gen_ai.choice", index: 0, message: ASSISTANT },
];

const READ = { question: QUESTION, answer: ANSWER };
const COUNTED = { ...READ, turns: [{ usage: { inputTokens: 100, outputTokens: 10 } }] };

describe("a span", () => {
  it.each<[string, string, object]>([
    ["with the status code as a protobuf name", otlp(span(GENAI, { status: { code: "STATUS_CODE_OK" } })), COUNTED],
    ["with the status code as a word", otlp(span(GENAI, { status: { code: "Ok" } })), COUNTED],
    ["with the status code as text", otlp(span(GENAI, { status: { code: "1" } })), COUNTED],
    ["with the kind as a protobuf name", otlp(span(GENAI, { kind: "SPAN_KIND_CLIENT" })), COUNTED],
    [
      "with null in optional fields",
      otlp(
        span(GENAI, { parentSpanId: null, status: null, events: null, links: null, traceState: null }),
        span({}, { spanId: "eee19b7ec3c1b175", attributes: null, status: { code: 0, message: null } }),
      ),
      COUNTED,
    ],
    [
      "with numbers as times",
      otlp(span(GENAI, { startTimeUnixNano: 1795165200000000000, endTimeUnixNano: 1795165202400000000 })),
      COUNTED,
    ],
    ["with an empty parent", otlp(span(GENAI, { parentSpanId: "" })), COUNTED],
    ["with a parent of zeros", otlp(span(GENAI, { parentSpanId: "0000000000000000" })), COUNTED],
    [
      "in the scopes of OTLP before 0.19",
      otlp(span(GENAI)).replace("scopeSpans", "instrumentationLibrarySpans"),
      COUNTED,
    ],
    [
      "of Phoenix's REST API",
      json({
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
      COUNTED,
    ],
    [
      "with the conversation in its events",
      otlp(
        span(CALL, {
          events: [
            spanEvent("gen_ai.system.message", { role: "system", content: "Answer." }),
            spanEvent("gen_ai.user.message", USER),
            spanEvent("gen_ai.choice", { index: 0, finish_reason: "stop", message: { content: ANSWER } }),
          ],
        }),
      ),
      COUNTED,
    ],
    ["of Logfire with the events as an attribute", otlp(span({ ...CALL, events: json(OPENAI_EVENTS) })), COUNTED],
    [
      "of Logfire with the request and the response",
      otlp(
        span({
          ...CALL,
          request_data: json({ model: "gpt-4o", messages: [USER] }),
          response_data: json({ message: ASSISTANT }),
        }),
      ),
      COUNTED,
    ],
    [
      "of Langfuse's SDK",
      otlp(
        span({
          "langfuse.observation.type": "generation",
          "langfuse.observation.model.name": "gpt-4o",
          "langfuse.observation.input": json([USER]),
          "langfuse.observation.output": json(ASSISTANT),
          "langfuse.observation.usage_details": json({ input: 100, output: 10 }),
        }),
      ),
      COUNTED,
    ],
    [
      "of LangSmith",
      otlp(
        span({
          ...CALL,
          "langsmith.span.kind": "llm",
          "gen_ai.prompt": json({ messages: [USER] }),
          "gen_ai.completion": json({ choices: [{ message: ASSISTANT }] }),
        }),
      ),
      COUNTED,
    ],
    [
      "of LangSmith with LangChain's messages",
      otlp(
        span({
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
      ),
      COUNTED,
    ],
    [
      "of LangSmith with a tool call of LangChain",
      otlp(
        span({
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
      ),
      { question: QUESTION, messages: [{}, { toolCalls: [{ id: "c", name: "look", arguments: { q: 1 } }] }] },
    ],
  ])("%s becomes a part of a trace", async (_, text, expected) => {
    expect(await readAll(text)).toMatchObject([expected]);
  });

  it.each(["STATUS_CODE_ERROR", "Error", 2, "2"])("with the status code %j counts as failed", async (code) => {
    const events = [spanEvent("gen_ai.user.message", USER)];
    const [trace] = await readAll(otlp(span(CALL, { events, status: { code, message: "overloaded" } })));
    expect(trace).toMatchObject({ error: expect.stringContaining("overloaded") });
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
])("names the format in the error about an export of %s", async (_, text, name) => {
  await expect(readAll(text)).rejects.toThrow(name);
});
