import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ImportedTrace } from "../../src/trace-formats/imported-trace.js";
import { openImport } from "../../src/trace-formats/open-import.js";

/** OTLP traces of other programs, based on the attributes in their documentation. */

const folder = mkdtempSync(join(tmpdir(), "art-e-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

interface Given {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parent?: number;
  readonly error?: string;
}

function anyValue(value: Attributes[string]) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value !== "number") return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Spans with ids from their position, each one second long. The first is the root, and the default parent. */
function tracesData(spans: readonly Given[], traceId = "a".repeat(32)): string {
  const id = (i: number) => String(i + 1).padStart(16, "0");
  const written = spans.map(({ name, attributes, parent = 0, error }, i) => ({
    traceId,
    spanId: id(i),
    ...(i === 0 ? {} : { parentSpanId: id(parent) }),
    name,
    kind: 1,
    startTimeUnixNano: `${1_795_165_200 + i}000000000`,
    endTimeUnixNano: `${1_795_165_201 + (i === 0 ? spans.length : i)}000000000`,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) })),
    ...(error === undefined ? {} : { status: { code: 2, message: error } }),
  }));
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: written }] }] });
}

async function readAll(...lines: readonly string[]) {
  const path = join(folder, "file.jsonl");
  writeFileSync(path, lines.join("\n"));
  const source = await openImport(path);
  const traces: ImportedTrace[] = [];
  for await (const { trace } of source.traces()) traces.push(trace);
  return { traces, tools: source.tools(), lacking: source.lacking() };
}

async function read(...spans: readonly Given[]) {
  const { traces, tools } = await readAll(tracesData(spans));
  const [trace] = traces;
  if (trace === undefined) throw new Error("no trace was read");
  return { trace, tools };
}

const CALL = { id: "c1", name: "search", arguments: { query: "annex" } };

const MESSAGES = [
  { role: "system", content: "You search." },
  { role: "user", content: "What did the annex cost?" },
  { role: "assistant", content: "", toolCalls: [CALL], reasoning: "Search first." },
  { role: "tool", toolCallId: "c1", name: "search", content: '{"total":1}', isError: false },
  { role: "assistant", content: "$1.2 million.", toolCalls: [], reasoning: "The email says so." },
];

const EXPECTED = {
  model: "openai/gpt-5",
  question: "What did the annex cost?",
  answer: "$1.2 million.",
  ending: "answered",
  messages: MESSAGES,
  toolCalls: [{ ...CALL, result: { total: 1 }, error: null, turn: 0 }],
  turns: [
    { finishReason: "tool_calls", usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0 } },
    {
      finishReason: "stop",
      usage: {
        inputTokens: 200,
        outputTokens: 30,
        cachedInputTokens: 60,
        cacheWriteTokens: 10,
        reasoningTokens: 25,
      },
    },
  ],
};

const TOOL = { name: "search", description: "Searches.", parameters: { type: "object", properties: { query: {} } } };

function openInferenceMessages(key: string, first: number, count: number): Attributes {
  const items = MESSAGES.slice(first, first + count).flatMap((message, i): [string, string][] => {
    const at = `llm.${key}.${i}.message`;
    const { role, content } = message;
    if ("toolCallId" in message) {
      return [
        [`${at}.role`, role],
        [`${at}.content`, content],
        [`${at}.tool_call_id`, message.toolCallId ?? ""],
      ];
    }
    if (!("toolCalls" in message)) {
      return [
        [`${at}.role`, role],
        [`${at}.content`, content],
      ];
    }
    const calls = (message.toolCalls ?? []).flatMap((call, j): [string, string][] => [
      [`${at}.tool_calls.${j}.tool_call.id`, call.id],
      [`${at}.tool_calls.${j}.tool_call.function.name`, call.name],
      [`${at}.tool_calls.${j}.tool_call.function.arguments`, JSON.stringify(call.arguments)],
    ]);
    return [
      [`${at}.role`, role],
      [`${at}.contents.0.message_content.type`, "reasoning"],
      [`${at}.contents.0.message_content.text`, message.reasoning ?? ""],
      ...(content === ""
        ? []
        : ([
            [`${at}.contents.1.message_content.type`, "text"],
            [`${at}.contents.1.message_content.text`, content],
          ] as [string, string][])),
      ...calls,
    ];
  });
  return Object.fromEntries(items);
}

const LLM = { "openinference.span.kind": "LLM", "llm.system": "openai", "llm.model_name": "gpt-5" };

/** `toolAttributes` identify the tool span. */
function openInference(toolAttributes: Attributes): readonly Given[] {
  const schema = JSON.stringify({ type: "function", function: TOOL });
  return [
    {
      name: "agent",
      attributes: { "openinference.span.kind": "CHAIN", "input.value": '{"messages":[]}', "session.id": "s1" },
    },
    {
      name: "ChatCompletion",
      attributes: {
        ...LLM,
        ...openInferenceMessages("input_messages", 0, 2),
        ...openInferenceMessages("output_messages", 2, 1),
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 20,
        "llm.tools.0.tool.json_schema": schema,
      },
    },
    {
      name: "search",
      attributes: {
        "openinference.span.kind": "TOOL",
        "tool.name": "search",
        "output.value": '{"total":1}',
        ...toolAttributes,
      },
    },
    {
      name: "ChatCompletion",
      attributes: {
        ...LLM,
        ...openInferenceMessages("input_messages", 0, 4),
        ...openInferenceMessages("output_messages", 4, 1),
        "llm.token_count.prompt": 200,
        "llm.token_count.completion": 30,
        "llm.finish_reason": "stop",
        "llm.token_count.prompt_details.cache_read": 60,
        "llm.token_count.prompt_details.cache_write": 10,
        "llm.token_count.completion_details.reasoning": 25,
      },
    },
  ];
}

const VERCEL_MODEL = {
  "ai.model.provider": "openai.responses",
  "ai.model.id": "gpt-5",
  "gen_ai.system": "openai.responses",
};

/** `version` 4 has different names for arguments and results than 5 and later. */
function vercel(version: 4 | 5): readonly Given[] {
  const prompt = [
    { role: "system", content: "You search." },
    { role: "user", content: [{ type: "text", text: "What did the annex cost?" }] },
  ];
  const given = version === 4 ? { args: CALL.arguments } : { input: CALL.arguments };
  const call = { toolCallId: "c1", toolName: "search", ...given };
  const value = { total: 1 };
  const result = version === 4 ? { result: value } : { output: { type: "json", value } };
  const usage = (input: number, output: number) =>
    version === 4
      ? { "ai.usage.promptTokens": input, "ai.usage.completionTokens": output }
      : { "ai.usage.inputTokens": input, "ai.usage.outputTokens": output };
  const doGenerate = { ...VERCEL_MODEL, "ai.operationId": "ai.generateText.doGenerate" };
  return [
    {
      name: "ai.generateText",
      attributes: {
        ...VERCEL_MODEL,
        "ai.operationId": "ai.generateText",
        "ai.telemetry.functionId": "mail-agent",
        "ai.prompt": JSON.stringify({ messages: prompt }),
        "ai.response.text": "$1.2 million.",
        ...usage(300, 50),
      },
    },
    {
      name: "ai.generateText.doGenerate",
      attributes: {
        ...doGenerate,
        "ai.prompt.messages": JSON.stringify(prompt),
        "ai.prompt.tools": [
          JSON.stringify({
            type: "function",
            name: TOOL.name,
            description: TOOL.description,
            inputSchema: TOOL.parameters,
          }),
        ],
        "ai.response.finishReason": "tool-calls",
        "ai.response.reasoning": "Search first.",
        "ai.response.toolCalls": JSON.stringify([
          { ...call, [version === 4 ? "args" : "input"]: JSON.stringify(CALL.arguments) },
        ]),
        ...usage(100, 20),
      },
    },
    {
      name: "ai.toolCall",
      attributes: {
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "search",
        "ai.toolCall.id": "c1",
        "ai.toolCall.args": JSON.stringify(CALL.arguments),
        "ai.toolCall.result": JSON.stringify(value),
      },
    },
    {
      name: "ai.generateText.doGenerate",
      attributes: {
        ...doGenerate,
        "ai.prompt.messages": JSON.stringify([
          ...prompt,
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "Search first." },
              { type: "tool-call", ...call },
            ],
          },
          { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "search", ...result }] },
        ]),
        "ai.response.finishReason": "stop",
        "ai.response.text": "$1.2 million.",
        "ai.response.reasoning": "The email says so.",
        ...usage(200, 30),
        "ai.usage.cachedInputTokens": 60,
        "ai.usage.inputTokenDetails.cacheWriteTokens": 10,
        "ai.usage.reasoningTokens": 25,
      },
    },
  ];
}

describe("an OpenInference trace", () => {
  it.each([
    ["that have ids", { "tool_call.id": "c1", "input.value": '{"query":"annex"}' }],
    ["that have no ids", { "tool.parameters": '{"query":"annex"}' }],
    ["whose span has neither arguments nor result", { "tool_call.id": "c1", "output.value": "" }],
    [
      "of LangChain",
      {
        "input.value": "{'query': 'annex'}",
        "output.value":
          '{"content":"{\\"total\\":1}","type":"tool","name":"search","tool_call_id":"c1","status":"success"}',
      },
    ],
    [
      "of LlamaIndex, with their schema",
      {
        "tool.parameters": '{"type":"object","properties":{"query":{"type":"string"}}}',
        "input.value": '{"kwargs":{"query":"annex"}}',
      },
    ],
    [
      "of OpenLLMetry",
      {
        "gen_ai.tool.call.arguments": '{"input_str":"{}","inputs":{"query":"annex"},"tags":[]}',
        "gen_ai.tool.call.result": '{"output":{"kwargs":{"content":"1"}},"kwargs":{}}',
      },
    ],
  ])("yields its messages, calls %s, results, tokens, model and reasoning", async (_, attributes) => {
    const { trace, tools } = await read(...openInference(attributes));
    expect(trace).toMatchObject({ ...EXPECTED, sessionId: "s1", agentId: "agent" });
    expect(tools).toEqual([TOOL]);
  });

  it("yields the schema as arguments only if nothing else has them", async () => {
    const [root, call] = openInference({}) as [Given, Given];
    const tool = { "openinference.span.kind": "TOOL", "tool.name": "other", "tool.parameters": '{"type":"object"}' };
    const given = { name: "other", attributes: { ...tool, "input.value": '{"day":1}' } };
    const { trace } = await read(root, call, given, { name: "other", attributes: tool });
    expect(trace.toolCalls).toMatchObject([{ arguments: { day: 1 } }, { arguments: { type: "object" } }]);
  });

  it("yields the results in messages of the user as messages of the tool", async () => {
    const [root, first, , last] = openInference({}) as [Given, Given, Given, Given];
    const attributes = { ...last.attributes, "llm.input_messages.3.message.role": "user" };
    const { trace } = await read(root, first, { ...last, attributes });
    expect(trace).toMatchObject(EXPECTED);
  });

  it("yields the last reply as the answer if the output of the root is not a message", async () => {
    const [root, ...others] = openInference({ "tool_call.id": "c1" }) as [Given, ...Given[]];
    const { trace } = await read({ ...root, attributes: { ...root.attributes, "output.value": '{"n":1}' } }, ...others);
    expect(trace.answer).toBe(EXPECTED.answer);
  });

  it("yields the arguments of each call if its ids repeat, also in an earlier chat", async () => {
    const call = (query: string) => [
      {
        role: "assistant",
        tool_calls: [{ id: "0", function: { name: "search", arguments: JSON.stringify({ query }) } }],
      },
      { role: "tool", tool_call_id: "0", content: `about ${query}` },
    ];
    const messages = [...call("earlier"), { role: "user", content: "And now?" }, ...call("a"), ...call("b")];
    const tool = { "openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": "0" };
    const { trace } = await read(
      { name: "agent", attributes: {} },
      { name: "search", attributes: tool },
      { name: "search", attributes: tool },
      { name: "llm", attributes: { ...LLM, "input.value": JSON.stringify({ messages }), "output.value": "Done." } },
    );
    expect(trace.toolCalls).toMatchObject([
      { arguments: { query: "a" }, result: "about a" },
      { arguments: { query: "b" }, result: "about b" },
    ]);
  });

  it("yields the calls of an agent inside a tool", async () => {
    const [root, first, tool, last] = openInference({ "tool_call.id": "c1" }) as [Given, Given, Given, Given];
    const call = { tool_calls: [{ id: "c9", function: { name: "grep", arguments: '{"q":1}' } }] };
    const request = [
      { role: "user", content: "Sub" },
      { role: "assistant", ...call },
    ];
    const messages = [...request, { role: "tool", tool_call_id: "c9", content: "found" }];
    const { trace } = await read(
      root,
      first,
      tool,
      { name: "grep", attributes: { "openinference.span.kind": "TOOL", "tool.name": "grep" }, parent: 2 },
      {
        name: "sub",
        attributes: { ...LLM, "input.value": JSON.stringify({ messages }), "output.value": "x" },
        parent: 2,
      },
      last,
    );
    expect(trace).toMatchObject({ answer: EXPECTED.answer, messages: MESSAGES });
    expect(trace.toolCalls).toMatchObject([{ id: "c1" }, { id: "c9", arguments: { q: 1 }, result: "found" }]);
  });

  it("takes calls and results from the conversation if the spans of its tools are missing", async () => {
    const [root, first, , last] = openInference({}) as [Given, Given, Given, Given];
    const { trace } = await read(root, first, last);
    expect(trace).toMatchObject(EXPECTED);
  });

  it("yields the same from plain values, either text or a chat completion as JSON", async () => {
    const plain = { ...LLM, "input.value": "What did the annex cost?", "output.value": "$1.2 million." };
    const { trace } = await read({ name: "llm", attributes: plain });
    expect(trace).toMatchObject({ question: EXPECTED.question, answer: EXPECTED.answer, messages: [{}, {}] });
    const request = { messages: [{ role: "user", content: "What did the annex cost?" }] };
    const reply = { choices: [{ message: { role: "assistant", content: "$1.2 million.", reasoning_content: "Hm." } }] };
    const json = { ...LLM, "input.value": JSON.stringify(request), "output.value": JSON.stringify(reply) };
    const { trace: same } = await read({ name: "llm", attributes: json });
    expect(same).toMatchObject({
      question: EXPECTED.question,
      answer: EXPECTED.answer,
      messages: [{ role: "user" }, { role: "assistant", content: "$1.2 million.", reasoning: "Hm." }],
    });
  });
});

describe("a Vercel AI SDK trace", () => {
  it.each([4, 5] as const)(
    "yields in version %i its messages, calls, results, tokens, model and reasoning",
    async (version) => {
      const { trace, tools } = await read(...vercel(version));
      expect(trace).toMatchObject({ ...EXPECTED, agentId: "mail-agent" });
      expect(trace.turns).toHaveLength(2);
      expect(tools).toEqual([TOOL]);
    },
  );

  it("yields a trace below the span of an HTTP request", async () => {
    const spans = vercel(5).map((span, i) => (i === 0 ? span : { ...span, parent: 1 }));
    const { trace } = await read({ name: "POST /api/chat", attributes: {} }, ...spans);
    expect(trace).toMatchObject({ ...EXPECTED, agentId: "mail-agent" });
  });

  it("uses the conversation of the outer span if the inner span of a call is missing", async () => {
    const [root] = vercel(5) as [Given];
    const { trace } = await read(root);
    expect(trace).toMatchObject({
      model: "openai/gpt-5",
      question: EXPECTED.question,
      answer: EXPECTED.answer,
      turns: [{ usage: { inputTokens: 300, outputTokens: 50 } }],
    });
  });

  it.each([
    [{ type: "error-text", value: "no such mailbox" }, "no such mailbox"],
    [{ type: "execution-denied", reason: "not allowed" }, "not allowed"],
    [{ type: "error-json", value: { code: 5 } }, '{"code":5}'],
  ])("yields the tool error %j", async (output, content) => {
    const messages = [
      { role: "user", content: "When?" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "search", input: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "search", output }] },
    ];
    const attributes = {
      "ai.operationId": "ai.streamText.doStream",
      "ai.prompt.messages": JSON.stringify(messages),
      "ai.response.text": "I do not know.",
    };
    const { trace } = await read({ name: "ai.streamText.doStream", attributes });
    expect(trace.messages[2]).toEqual({ role: "tool", toolCallId: "c1", name: "search", content, isError: true });
  });
});

it("readOtlp reads the flattened messages of OpenLLMetry", async () => {
  const { trace } = await read({
    name: "openai.chat",
    attributes: {
      "llm.request.type": "chat",
      "gen_ai.system": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": '[{"type":"text","text":"When?"}]',
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.content": "Friday.",
      "gen_ai.usage.prompt_tokens": 7,
      "gen_ai.usage.completion_tokens": 2,
    },
  });
  expect(trace).toMatchObject({
    model: "openai/gpt-5",
    question: "When?",
    answer: "Friday.",
    turns: [{ usage: { inputTokens: 7, outputTokens: 2 } }],
  });
});

it("readOtlp counts a model call inside another model call once", async () => {
  const inner = openInference({})[3] as Given;
  const { trace } = await read(inner, { ...inner, parent: 0 });
  expect(trace.turns).toHaveLength(1);
});

it.each([
  ["once if it has the same name, like an MCP client's and server's", "search", 1],
  ["separately if it has another name", "grep", 3],
])("readOtlp counts a tool call inside another tool call %s", async (_, name, calls) => {
  const [root, first, tool, last] = openInference({ "tool_call.id": "c1" }) as [Given, Given, Given, Given];
  const inner = {
    name: "tools/call",
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name },
  };
  const { trace } = await read(root, first, tool, { ...inner, parent: 2 }, { ...inner, parent: 2 }, last);
  expect(trace.toolCalls).toHaveLength(calls);
});

it("readOtlp counts a span that was delivered twice once, and skips logs and metrics", async () => {
  const whole = tracesData(vercel(5));
  const { traces } = await readAll(whole, '{"resourceLogs":[]}', whole, '{"resourceMetrics":[]}');
  expect(traces).toMatchObject([EXPECTED]);
  expect(traces[0]?.turns).toHaveLength(2);
});

describe("an OTLP file whose spans contain no conversation", () => {
  const http = [{ name: "GET /", attributes: { "http.method": "GET" } }];
  const silent = [{ name: "chat", attributes: { "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5 } }];

  it.each([
    ["if it has no model calls", http],
    ["if its writer records no messages", silent],
  ])("causes an error %s", async (_, spans) => {
    await expect(readAll(tracesData(spans))).rejects.toThrow("none of its spans contains a model's messages");
  });

  it("appears in the report, but other spans are read", async () => {
    const { traces, lacking } = await readAll(tracesData(http, "b".repeat(32)), tracesData(vercel(5)));
    expect(traces).toHaveLength(1);
    expect(lacking).toMatchObject({ "neither model calls nor messages, so they were not imported": 1 });
  });
});
