import OpenAI from "openai";
import { afterAll, describe, expect, it } from "vitest";
import { startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS, RUTH } from "../runs/demo-setup.js";
import { startDemoServer } from "./demo-server.js";

const TOKEN = "a-token-for-this-test";

const provider = await startFakeProvider();
const server = await startDemoServer({ access: { token: TOKEN }, modelServer: provider.baseUrl("openai-chat") });
await server.ask("POST", "/api/agents", { id: "thinker", name: "t", model: "openai/test" });
const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: TOKEN, maxRetries: 0 });
afterAll(async () => {
  await server.close();
  await provider.close();
});

const dues = {
  model: "baseline",
  messages: [{ role: "user" as const, content: "How much are the softball dues?" }],
  metadata: { inbox_address: MARCUS, query_date: "2001-12-31" },
};

describe("the OpenAI SDK", () => {
  it("lists the agents as models", async () => {
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toEqual([
      "art-e",
      "baseline",
      "data-worker",
      "email-search",
      "mail-rules",
      "mail-worker",
      "noop",
      "oracle",
      "thinker",
    ]);
  });

  it("returns an agent as a model", async () => {
    expect(await client.models.retrieve("baseline")).toMatchObject({ id: "baseline", object: "model" });
    await expect(client.models.retrieve("nobody")).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    ["n", { n: 2 }],
    ["tools", { tools: [{ type: "function" as const, function: { name: "x", parameters: {} } }] }],
    ["tool_choice", { tool_choice: "required" as const }],
    ["functions.0", { functions: [{ name: "x" }] }],
    ["response_format.type", { response_format: { type: "json_object" as const } }],
    ["logprobs", { logprobs: true }],
    ["modalities.0", { modalities: ["audio" as const] }],
    ["web_search_options", { web_search_options: {} }],
  ])("throws an error for %s, which is unsupported", async (param, given) => {
    const asked = client.chat.completions.create({ ...dues, ...given });
    await expect(asked).rejects.toMatchObject({ status: 400, param: param.replace(/^functions.0$/, "functions") });
  });

  it("can send default values explicitly", async () => {
    const said = { n: 1, tools: [], tool_choice: "none" as const, response_format: { type: "text" as const } };
    const completion = await client.chat.completions.create({ ...dues, ...said, temperature: 0, logprobs: false });
    expect(completion.choices).toHaveLength(1);
  });

  it("receives a model's refusal as a refusal, both complete and as a stream", async () => {
    const refused = { content: "I cannot help with that.", finishReason: "refusal" } as const;
    provider.push(refused, refused);
    const asked = { ...dues, model: "thinker" };
    const completion = await client.chat.completions.create(asked);
    expect(completion.choices[0]?.message).toMatchObject({ content: null, refusal: "I cannot help with that." });
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
    expect(streamed.choices[0]?.message).toMatchObject({ refusal: "I cannot help with that." });
  });

  it("throws an error that lists similar addresses if the mailbox is unknown", async () => {
    const metadata = { inbox_address: MARCUS.replace("marcus", "markus") };
    const asked = client.chat.completions.create({ ...dues, metadata });
    await expect(asked).rejects.toMatchObject({ status: 400, message: expect.stringContaining(MARCUS) });
  });

  it("receives an answer", async () => {
    const completion = await client.chat.completions.create(dues);
    expect(completion.choices[0]).toMatchObject({
      message: { role: "assistant", content: "The league added an umpire fee so dues are $40, not 35." },
      finish_reason: "stop",
    });
    const { trace_id, sources } = (completion as unknown as { art_e: { trace_id: string; sources: string[] } }).art_e;
    expect(sources).toHaveLength(1);
    expect((await server.ask("GET", `/api/traces/${trace_id}`)).body.trace).toMatchObject({ inbox: MARCUS });
  });

  it("receives an answer as a stream, including its usage on request", async () => {
    const stream = await client.chat.completions.create({
      ...dues,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const ends: (string | null)[] = [];
    let usage: unknown = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      ends.push(...chunk.choices.map((choice) => choice.finish_reason));
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe("The league added an umpire fee so dues are $40, not 35.");
    expect(ends.at(-1)).toBe("stop");
    expect(usage).toEqual({
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      prompt_tokens_details: { cached_tokens: 0 },
    });
  });

  it("receives the tokens of all turns, passes its system message on, and stays within the mailbox", async () => {
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 30 };
    provider.push(
      { toolCalls: [{ name: "email_search", arguments: { query: "dues", inbox_id: RUTH } }], usage },
      { toolCalls: [{ name: "return_final_answer", arguments: { answer: "$40", sources: [] } }] },
    );
    const completion = await client.chat.completions.create({
      ...dues,
      model: "thinker",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "I am Ann." },
        { role: "assistant", content: "Hello Ann." },
        { role: "user", content: [{ type: "text", text: "Dues?" }] },
      ],
    });
    expect(completion.usage).toEqual({
      prompt_tokens: 200,
      completion_tokens: 40,
      total_tokens: 240,
      prompt_tokens_details: { cached_tokens: 30 },
    });
    const sent = JSON.stringify(provider.requests.at(-1)?.body);
    expect(sent).toContain("\\n\\nBe brief.");
    expect(sent).toMatch(/I am Ann\..*Hello Ann\..*Dues\?/);
    expect(sent).toContain(`You may search only the mailbox ${MARCUS}`);
  });

  it("receives a notice if an agent gives no answer", async () => {
    provider.push(...Array.from({ length: 3 }, () => ({ toolCalls: [{ name: "nothing", arguments: {} }] })));
    const completion = await client.chat.completions.create({ ...dues, model: "thinker" });
    expect(completion.choices[0]).toMatchObject({ finish_reason: "length" });
  });

  it("receives errors in its own format", async () => {
    await expect(client.chat.completions.create({ ...dues, model: "nobody" })).rejects.toMatchObject({ status: 404 });
    const two = [...dues.messages, { role: "assistant" as const, content: "x" }];
    await expect(client.chat.completions.create({ ...dues, messages: two })).rejects.toThrow(
      "The last message must be the user's",
    );
    const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    provider.push({ fail: "status", status: 400, message: "the request is odd" });
    await expect(client.chat.completions.create({ ...dues, model: "thinker" })).rejects.toMatchObject({
      status: 400,
      type: "upstream_error",
    });
    provider.push({ fail: "status", status: 400, message: "the request is odd" });
    const stream = await client.chat.completions.create({ ...dues, model: "thinker", stream: true });
    const read = async () => {
      for await (const chunk of stream) expect(chunk.object).toBe("chat.completion.chunk");
    };
    await expect(read()).rejects.toThrow("the request is odd");
  });

  it.each([
    ["a refused key", 401, "invalid key", 424],
    ["an empty account", 429, "You exceeded your current quota, please check your plan (insufficient_quota)", 424],
    ["an unknown model", 404, "no such model", 404],
    ["a question that is too long", 400, "prompt is too long: context_length_exceeded", 400],
    ["a useless request", 422, "no", 400],
  ])("does not retry %s", async (_, upstream, message, status) => {
    const patient = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: TOKEN, maxRetries: 3 });
    const before = provider.requests.length;
    provider.push({ fail: "status", status: upstream, message });
    const asked = patient.chat.completions.create({ ...dues, model: "thinker" });
    const error = await asked.then(() => null).catch((thrown) => thrown);
    expect(error).toMatchObject({ status, message: expect.stringContaining(message) });
    expect(error.headers.get("x-should-retry")).toBe("false");
    expect(provider.requests.length - before).toBe(1);
  });

  it("ends the chat if it disconnects", async () => {
    const before = provider.requests.length;
    provider.push({ fail: "silence" });
    const leaving = new AbortController();
    const asked = client.chat.completions.create({ ...dues, model: "thinker" }, { signal: leaving.signal });
    await provider.received(before + 1);
    expect(server.chats.count).toBe(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => server.chats.count, { timeout: 20_000 }).toBe(0);
  });
});
