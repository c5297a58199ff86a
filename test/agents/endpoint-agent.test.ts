import { afterEach, expect, it } from "vitest";
import type { AgentTask, Transcript } from "../../src/agents/agent.js";
import { endpointAgent } from "../../src/agents/endpoint-agent.js";
import { ModelError } from "../../src/models/model.js";
import { type FakePlayground, type Script, startPlayground } from "../providers/fake-playground.js";

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

async function ask(script: Script) {
  server = await startPlayground(() => script);
  const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
  const agent = endpointAgent({
    name: "my-agent",
    endpoint: { apiKey: "test-key", baseUrl: `${server.url}/v1`, timeoutMs: 20_000 },
    priceOf: ({ inputTokens }) => inputTokens / 1_000,
  });
  const done = await agent.answer(TASK, transcript).catch((error: unknown) => error);
  return { done, transcript, seen: server.seen };
}

function reply(message: object, usage: object | null = { prompt_tokens: 100, completion_tokens: 5 }): Script {
  const body = { choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }], usage };
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

it("is one chat completion, with mailbox and day in the system message and in metadata", async () => {
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
  ['{"note": "no answer here"}', '{"note": "no answer here"}', [], "answered"],
  ["{broken", "{broken", [], "answered"],
  ["", null, [], "out_of_turns"],
])("%j is the answer %j", async (content, answer, sources, ending) => {
  expect((await ask(reply({ content }, null))).done).toMatchObject({ answer, sources, ending });
});

it("tells no tokens where the server does not", async () => {
  const { transcript } = await ask(reply({ content: "x" }, null));
  expect(transcript.turns).toMatchObject([{ usage: null, costUsd: null }]);
});

it("is refused where it wants its tools run here, and where the server refuses", async () => {
  const calls = await ask(
    reply({ content: null, tool_calls: [{ id: "1", function: { name: "x", arguments: "{}" } }] }),
  );
  expect(calls.done).toBeInstanceOf(ModelError);
  expect((calls.done as ModelError).message).toContain("runs its own tools");
  await server?.close();
  const { done } = await ask({ status: 404, body: '{"error":{"message":"no such model"}}' });
  expect(done).toMatchObject({ kind: "not_found", message: "404 no such model" });
});
