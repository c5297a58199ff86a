import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AgentTask } from "../../src/agents/agent-backend.js";
import { type OpenCommandAgent, openCommandAgent } from "../../src/agents/external-agent/command-agent.js";
import type { ProgramReply } from "../../src/agents/external-agent/command-agent-process.js";
import { endpointAgent } from "../../src/agents/external-agent/endpoint-agent.js";
import type { Transcript } from "../../src/agents/rollout.js";
import { ModelError } from "../../src/models/model.js";
import type { JsonObject } from "../../src/platform/json.js";
import { singleInboxTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { type FakePlayground, type Script, startPlayground } from "../providers/fake-playground.js";
import { DANA, MARCUS, never, openDemo, type TestDb } from "../runs/demo-setup.js";

describe("an endpoint agent", () => {
  let server: FakePlayground | null = null;

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  const TASK: AgentTask = {
    id: 7,
    epoch: 2,
    instruction: "When is it?",
    variables: { inbox_address: "a@b.example", query_date: "2001-05-14" },
    maxTurns: 10,
    context: { inbox: "a@b.example", cutoff: null, signal: new AbortController().signal },
  };

  const notes: string[] = [];

  async function ask(script: Script) {
    server = await startPlayground(() => script);
    notes.length = 0;
    const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
    const agent = endpointAgent({
      name: "my-agent",
      endpoint: { apiKey: "test-key", baseUrl: `${server.url}/v1`, timeoutMs: 20_000 },
      priceOf: ({ inputTokens }) => inputTokens / 1_000,
      noteAll: (texts) => void notes.push(...texts),
    });
    const done = await agent.answer(TASK, transcript).catch((error: unknown) => error);
    return { done, transcript, seen: server.seen };
  }

  function reply(message: object, usage: object | null = { prompt_tokens: 100, completion_tokens: 5 }): Script {
    const body = { choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }], usage };
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  }

  it("sends one chat completion, with the mailbox and the date in the system message and in metadata", async () => {
    const { done, seen, transcript } = await ask(reply({ content: "On May 3." }));
    expect(seen[0]?.path).toBe("/v1/chat/completions");
    expect(seen[0]?.headers.authorization).toBe("Bearer test-key");
    const { messages, ...rest } = seen[0]?.body ?? {};
    expect(rest).toEqual({
      model: "my-agent",
      metadata: { task_id: "7", epoch: "2", inbox_address: "a@b.example", query_date: "2001-05-14" },
    });
    expect(messages[0].content).toMatch(/a@b\.example.*2001-05-14/);
    expect(messages[1]).toEqual({ role: "user", content: "When is it?" });
    expect(done).toMatchObject({ ending: "answered", answer: "On May 3.", sources: [] });
    expect(transcript.turns).toMatchObject([{ usage: { inputTokens: 100, outputTokens: 5 }, costUsd: 0.1 }]);
  });

  it.each([
    ['{"answer": " May 3 ", "sources": ["<1@x>"]}', "May 3", ["<1@x>"], "answered"],
    ['```json\n{"answer": "May 3", "sources": ["<1@x>"]}\n```', "May 3", ["<1@x>"], "answered"],
    ['{"answer": "I don\'t know"}', "I don't know", [], "dont_know"],
    ["Here it is: {'answer': 'May 3', 'sources': ['<1@x>'],}", "May 3", ["<1@x>"], "answered"],
    ['{"answer": 3, "sources": {"message_id": "<1@x>"}}', "3", ["<1@x>"], "answered"],
    ['[{"answer": "May 3", "sources": [{"message_id": "<1@x>"}]}]', "May 3", ["<1@x>"], "answered"],
    [JSON.stringify('{"answer": "May 3", "sources": "<1@x>"}'), "May 3", ["<1@x>"], "answered"],
    ['{"answer": null, "sources": []}', null, [], "out_of_turns"],
    ['{"answer": "a"} or {"answer": "b"}', '{"answer": "a"} or {"answer": "b"}', [], "answered"],
    ['{"note": "no answer here"}', '{"note": "no answer here"}', [], "answered"],
    ["{broken", "{broken", [], "answered"],
    ["", null, [], "out_of_turns"],
  ])("treats %j as the answer %j", async (content, answer, sources, ending) => {
    expect((await ask(reply({ content }, null))).done).toMatchObject({ answer, sources, ending });
  });

  it.each([
    ["as text", { message: "May 3" }, []],
    ["under the name of a part", { delta: { content: "May 3" } }, []],
    ["as a completion without a chat", { text: "May 3" }, []],
    ["in a list", { message: { content: [{ type: "text", text: "May 3" }] } }, []],
    ["as a structured answer", { message: { content: { answer: "May 3", sources: ["<1@x>"] } } }, ["<1@x>"]],
  ])("reads a message that the endpoint sends %s", async (_, choice, sources) => {
    const body = JSON.stringify({ choices: [{ index: 0, finish_reason: "stop", ...choice }] });
    const { done } = await ask({ status: 200, headers: { "content-type": "application/json" }, body });
    expect(done).toMatchObject({ ending: "answered", answer: "May 3", sources });
  });

  it("reads a stream that it did not request", async () => {
    const frames = [{ content: "On " }, { content: "May 3." }, {}].map((delta, i) => {
      const choice = { index: 0, delta, finish_reason: i === 2 ? "stop" : null };
      return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    });
    const body = [...frames, "data: [DONE]\n\n"].join("");
    const { done } = await ask({ status: 200, headers: { "content-type": "text/event-stream" }, body });
    expect(done).toMatchObject({ ending: "answered", answer: "On May 3." });
  });

  it.each([
    [202, "", "202: the server accepted the request, but did not reply"],
    [204, "", "204 without a body"],
    [200, "done", "the reply is not JSON"],
  ])("sends one request if the endpoint replies with %i %j", async (status, body, message) => {
    const { done, seen } = await ask({ status, body });
    expect(done).toMatchObject({ message: expect.stringContaining(message), retryable: false });
    expect(seen).toHaveLength(1);
  });

  it("notes a truncated answer", async () => {
    const choice = { index: 0, message: { role: "assistant", content: "The adder is" }, finish_reason: "length" };
    await ask({
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ choices: [choice] }),
    });
    expect(notes).toEqual([expect.stringContaining("answers are cut off")]);
  });

  it("reports no tokens if the server reports none", async () => {
    const { transcript } = await ask(reply({ content: "x" }, null));
    expect(transcript.turns).toMatchObject([{ usage: null, costUsd: null }]);
  });

  it("rejects a reply that calls a tool of the program, and reports an error of the server", async () => {
    const calls = await ask(
      reply({ content: null, tool_calls: [{ id: "1", function: { name: "x", arguments: "{}" } }] }),
    );
    expect(calls.done).toBeInstanceOf(ModelError);
    expect((calls.done as ModelError).message).toContain("must run its own tools");
    await server?.close();
    const { done } = await ask({ status: 404, body: '{"error":{"message":"no such model"}}' });
    expect(done).toMatchObject({ kind: "not_found", message: "404 no such model" });
  });
});

describe("a subprocess agent", () => {
  let demo: TestDb;
  let open: OpenCommandAgent | null = null;

  beforeAll(async () => {
    demo = await openDemo();
  });

  afterAll(() => demo.close());

  afterEach(async () => {
    await open?.close();
    open = null;
  });

  type Program = (url: string) => Promise<Partial<ProgramReply>>;

  /** Asks Marcus a question, on this date. */
  async function answerBy(program: Program, cutoff: string | null = null) {
    const programs = {
      async ask(question: JsonObject & { readonly id: string }): Promise<ProgramReply> {
        const { mcp } = question.tools as { mcp: { url: string } };
        return { id: question.id, ...(await program(mcp.url)) };
      },
    };
    const tools = singleInboxTools(demo.db, { mailbox: openMailbox(demo.db) });
    open = await openCommandAgent({
      programs,
      toolsFor: () => tools,
      version: "0",
      priceOf: () => 0.5,
      noteAll: () => {},
    });
    const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
    const task: AgentTask = {
      id: 1,
      epoch: 1,
      instruction: "?",
      variables: { inbox_address: MARCUS, query_date: "2001-05-14" },
      maxTurns: 10,
      context: { inbox: MARCUS, cutoff, signal: never },
    };
    return { done: await open.answer(task, transcript), transcript };
  }

  async function connect(url: string): Promise<Client> {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport);
    return client;
  }

  it("receives the URL of the task's mailbox up to its date, and every call is in the transcript", async () => {
    const cutoff = "2000-06-01T00:00:00Z";
    let days: string[] = [];
    const { done, transcript } = await answerBy(async (url) => {
      const client = await connect(url);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["email_search", "email_get"]);
      // No list of emails, because reading that way could not be scored.
      expect(client.getServerCapabilities()?.resources).toBeUndefined();
      const found = await client.callTool({ name: "email_search", arguments: { query: "gas contract", limit: 50 } });
      const { emails } = found.structuredContent as { emails: { date: string; message_id: string }[] };
      days = emails.map(({ date }) => date);
      await client.callTool({ name: "email_search", arguments: { query: "gas", inbox_id: DANA } });
      await client.callTool({ name: "no_such_tool", arguments: {} });
      await client.close();
      return { answer: " 42 ", sources: [emails[0]?.message_id ?? ""], cost_usd: 0.25 };
    }, cutoff);
    expect(days.length).toBeGreaterThan(3);
    expect(days.every((day) => day < cutoff)).toBe(true);
    expect(done).toMatchObject({ ending: "answered", answer: "42" });
    expect(transcript.toolCalls.map(({ name, errorKind }) => [name, errorKind])).toEqual([
      ["email_search", null],
      ["email_search", "bad_arguments"],
      ["no_such_tool", "unknown_tool"],
    ]);
    expect(transcript.turns).toMatchObject([{ usage: null, costUsd: 0.25 }]);
  });

  it("receives an unguessable URL that expires after the answer", async () => {
    let given = "";
    await answerBy(async (url) => {
      given = url;
      await expect(connect(`${url}x`)).rejects.toThrow(/404|Unknown path/i);
      return { answer: "42" };
    });
    await expect(connect(given)).rejects.toThrow(/404|Unknown path/i);
  });

  it("leaves its log output in the trace, and has its tokens priced if it reports no cost", async () => {
    const { done, transcript } = await answerBy(async () => ({
      answer: "I don't know",
      usage: { input_tokens: 5, output_tokens: 2, cached_input_tokens: 0 },
      trace: [
        { role: "assistant", content: "Hm.", name: "" },
        { role: "tool", content: "nothing", name: "its own" },
      ],
    }));
    expect(done).toMatchObject({ ending: "dont_know", sources: [] });
    expect(transcript.messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "?"],
      ["assistant", "Hm."],
      ["tool", "nothing"],
      ["assistant", "I don't know"],
    ]);
    expect(transcript.turns).toMatchObject([{ usage: { inputTokens: 5, outputTokens: 2 }, costUsd: 0.5 }]);
  });
});
