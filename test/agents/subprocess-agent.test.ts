import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { AgentTask, Transcript } from "../../src/agents/agent.js";
import type { ProgramReply } from "../../src/agents/agent-process.js";
import { type OpenSubprocessAgent, openSubprocessAgent } from "../../src/agents/subprocess-agent.js";
import type { JsonObject } from "../../src/platform/json.js";
import { singleInboxTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { DANA, MARCUS, never, openDemo, type TestDb } from "../runs/demo-setup.js";

let demo: TestDb;
let open: OpenSubprocessAgent | null = null;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());
afterEach(async () => {
  await open?.close();
  open = null;
});

type Program = (url: string) => Promise<Partial<ProgramReply>>;

/** Marcus is asked, on the day given. */
async function answerBy(program: Program, cutoff: string | null = null) {
  const programs = {
    async ask(question: JsonObject & { readonly id: string }): Promise<ProgramReply> {
      const { mcp } = question.tools as { mcp: { url: string } };
      return { id: question.id, ...(await program(mcp.url)) };
    },
  };
  const tools = singleInboxTools(demo.db, { mailbox: openMailbox(demo.db) });
  open = await openSubprocessAgent({ programs, toolsFor: () => tools, version: "0", priceOf: () => 0.5 });
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

it("the address given is that of the task's mailbox up to its day, and every call stands in the transcript", async () => {
  const cutoff = "2000-06-01T00:00:00Z";
  let days: string[] = [];
  const { done, transcript } = await answerBy(async (url) => {
    const client = await connect(url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["email_search", "email_get"]);
    // No list of mails here: what is read that way could not be scored.
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

it("the address is gone with the answer, and is nobody else's", async () => {
  let given = "";
  await answerBy(async (url) => {
    given = url;
    await expect(connect(`${url}x`)).rejects.toThrow(/404|nothing here/i);
    return { answer: "42" };
  });
  await expect(connect(given)).rejects.toThrow(/404|nothing here/i);
});

it("what it says meanwhile is kept, and its tokens are priced where it does not say what they cost", async () => {
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
