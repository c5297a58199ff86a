import OpenAI from "openai";
import { afterAll, expect, it } from "vitest";
import { startFakeProvider } from "../providers/fake-provider.js";
import { DANA, MARCUS } from "../runs/demo-setup.js";
import { startDemoServer } from "./demo-server.js";

const provider = await startFakeProvider();
const server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
await server.ask("POST", "/api/agents", { id: "thinker", name: "t", model: "openai/test" });
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
afterAll(async () => {
  await server.close();
  await provider.close();
});

const metadata = { inbox_address: MARCUS, query_date: "2001-12-31" };
const dues = { model: "baseline", input: "How much are the softball dues?", metadata };
const DUES = "The league added an umpire fee so dues are $40, not 35.";

/** The last messages sent to the model, without the system prompt. */
function sent(): { role: string; content: string }[] {
  const body = provider.requests.at(-1)?.body as { messages: { role: string; content: string }[] } | undefined;
  return (body?.messages ?? []).slice(1).map(({ role, content }) => ({ role, content }));
}

it("a response contains the answer, its tokens and its sources", async () => {
  const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60 };
  provider.push({
    toolCalls: [{ name: "return_final_answer", arguments: { answer: "$40", sources: ["<1@x>"] } }],
    usage,
  });
  const response = await client.responses.create({ ...dues, model: "thinker" });
  expect(response).toMatchObject({ status: "completed", output_text: "$40", model: "thinker", metadata, error: null });
  expect(response.usage).toMatchObject({
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60 },
    output_tokens: 20,
    total_tokens: 120,
  });
  const { trace_id, sources } = (response as unknown as { art_e: { trace_id: string; sources: string[] } }).art_e;
  expect(sources).toEqual(["<1@x>"]);
  expect((await server.ask("GET", `/api/traces/${trace_id}`)).body.trace).toMatchObject({ inbox: MARCUS });
  // The response matches /openapi.json.
  expect((await server.ask("POST", "/v1/responses", dues)).body.output[0].content[0].text).toBe(DUES);
});

it("a response as a stream consists of events, each with a name and a number", async () => {
  const stream = client.responses.stream(dues);
  const types: string[] = [];
  const numbers: number[] = [];
  for await (const event of stream) {
    types.push(event.type);
    numbers.push(event.sequence_number);
  }
  expect(types).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
  ]);
  expect(numbers).toEqual(types.map((_, i) => i));
  expect((await stream.finalResponse()).output_text).toBe(DUES);
  const raw = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...dues, stream: true }),
  });
  expect(await raw.text()).toMatch(/^event: response\.created\ndata: \{/);
});

it("a request's instructions, system messages and earlier messages reach the model", async () => {
  provider.push({ content: "Ann." });
  await client.responses.create({
    ...dues,
    model: "thinker",
    instructions: "Be brief.",
    input: [
      { role: "developer", content: "Be kind." },
      { role: "user", content: [{ type: "input_text", text: "I am Ann." }] },
      { role: "assistant", content: "Hello Ann." },
      { role: "user", content: "Who am I?" },
    ],
  });
  expect(sent().map(({ content }) => content)).toEqual(["I am Ann.", "Hello Ann.", "Who am I?"]);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("\\n\\nBe brief.\\n\\nBe kind.");
});

it("a chat continues, with its mailbox and date, from a response or from an answer's id", async () => {
  provider.push({ content: "It is $40." }, { content: "Priya." }, { content: "Yes." });
  const first = await client.responses.create({ ...dues, model: "thinker" });
  const second = await client.responses.create({
    model: "thinker",
    input: "Who takes them?",
    previous_response_id: first.id,
  });
  expect(sent().map(({ content }) => content)).toEqual([dues.input, "It is $40.", "Who takes them?"]);
  const { trace_id } = (second as unknown as { art_e: { trace_id: string } }).art_e;
  expect((await server.ask("GET", `/api/traces/${trace_id}`)).body.trace).toMatchObject({
    inbox: MARCUS,
    queryDate: "2001-12-31",
  });
  const elsewhere = { model: "thinker", input: "?", previous_response_id: first.id, metadata: { inbox_address: DANA } };
  await expect(client.responses.create(elsewhere)).rejects.toThrow(`bound to ${MARCUS}`);

  // The AI SDK refers to earlier answers instead of repeating them.
  const id = first.output[0]?.id ?? "";
  const input = [
    { role: "user" as const, content: "Dues?" },
    { type: "item_reference" as const, id },
    { role: "user" as const, content: "Sure?" },
  ];
  await client.responses.create({ model: "thinker", input });
  expect(sent().map(({ content }) => content)).toEqual(["Dues?", "It is $40.", "Sure?"]);
  const unknown = [{ type: "item_reference" as const, id: "msg_none" }, ...input.slice(2)];
  await expect(client.responses.create({ model: "thinker", input: unknown })).rejects.toMatchObject({ status: 404 });
  const nowhere = { ...dues, previous_response_id: "resp_none" };
  await expect(client.responses.create(nowhere)).rejects.toMatchObject({ status: 404 });
});

it("a refusal is marked as one, and a response is incomplete if the agent is out of turns", async () => {
  provider.push({ content: "I cannot help.", finishReason: "refusal" }, { content: "No.", finishReason: "refusal" });
  const asked = { ...dues, model: "thinker" };
  expect((await client.responses.create(asked)).output).toMatchObject([
    { content: [{ type: "refusal", refusal: "I cannot help." }] },
  ]);
  const streamed = await client.responses.stream(asked).finalResponse();
  expect(streamed.output).toMatchObject([{ content: [{ type: "refusal", refusal: "No." }] }]);
  provider.push(...Array.from({ length: 3 }, () => ({ toolCalls: [{ name: "nothing", arguments: {} }] })));
  expect(await client.responses.create(asked)).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  });
});

it("a failure is an error status, or the event response.failed in a stream", async () => {
  provider.push(
    { fail: "status", status: 401, message: "bad key" },
    { fail: "status", status: 401, message: "bad key" },
  );
  const asked = { ...dues, model: "thinker" };
  await expect(client.responses.create(asked)).rejects.toMatchObject({ status: 424 });
  const stream = await client.responses.create({ ...asked, stream: true });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: { status: "failed", error: { code: "auth", message: expect.stringContaining("bad key") } },
  });
  expect(server.chats.count).toBe(0);
});

it.each([
  ["tools", { tools: [{ type: "web_search" as const }] }],
  ["tool_choice", { tool_choice: "required" as const }],
  ["text.format.type", { text: { format: { type: "json_object" as const } } }],
  ["background", { background: true }],
  ["conversation", { conversation: "conv_1" }],
  ["top_logprobs", { top_logprobs: 3 }],
])("a request with %s is refused", async (param, given) => {
  await expect(client.responses.create({ ...dues, ...given })).rejects.toMatchObject({ status: 400, param });
});

it("a request with an unknown mailbox is refused", async () => {
  const asked = client.responses.create({ ...dues, metadata: { inbox_address: "nobody@nowhere.example" } });
  await expect(asked).rejects.toMatchObject({ status: 400, message: expect.stringContaining(MARCUS) });
});
