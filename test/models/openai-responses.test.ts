import { describe, expect, test } from "vitest";
import { openaiResponsesModel } from "../../src/models/providers/openai-responses.js";
import type { JsonValue } from "../../src/platform/json.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { asMessage, exchange, REQUEST } from "./wire.js";

const send = (name: string, answer: Answer = { content: "ok" }, changes = {}) =>
  exchange("openai-responses", openaiResponsesModel, name, answer, changes);

const replied = (body: { [key: string]: JsonValue }): Answer => ({ fail: "body", body });

describe("a Responses request", () => {
  test("contains all parts of a full conversation", async () => {
    const { sent } = await send("gpt-4.1");
    expect(sent).toMatchObject({ method: "POST", path: "/v1/responses" });
    expect(sent.body).toEqual({
      model: "gpt-4.1",
      instructions: "You answer from a mailbox.",
      input: [
        { role: "user", content: "When is the meeting?" },
        { role: "assistant", content: "Let me look." },
        { type: "function_call", call_id: "c1", name: "email_search", arguments: '{"query":"meeting"}' },
        { type: "function_call", call_id: "c2", name: "email_search", arguments: '{"query' },
        { type: "function_call_output", call_id: "c1", output: '{"emails":[]}' },
        { type: "function_call_output", call_id: "c2", output: "not JSON" },
        { role: "user", content: "Please call a tool." },
      ],
      max_output_tokens: 512,
      store: false,
      temperature: 0,
      tools: [
        {
          type: "function",
          name: "email_search",
          description: "Searches.",
          parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
          strict: false,
        },
        {
          type: "function",
          name: "list_inboxes",
          description: "Lists.",
          parameters: { type: "object", properties: {} },
          strict: false,
        },
      ],
      tool_choice: "required",
    });
  });

  test("requests reasoning and sends no temperature if the model reasons", async () => {
    const { sent } = await send("gpt-5-mini", { content: "ok" }, { maxTokens: 5, reasoningTokens: 0 });
    expect(sent.body).toMatchObject({ include: ["reasoning.encrypted_content"], max_output_tokens: 16, store: false });
    expect(sent.body).not.toHaveProperty("temperature");
  });

  test("sends reasoning items back in their place, except items that only the server stored", async () => {
    const kept = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "xyz" };
    const stored = { id: "rs_2", type: "reasoning", summary: [] };
    const call = { id: "fc_1", type: "function_call", call_id: "a", name: "f", arguments: "{}" };
    const first = await send("gpt-5", replied({ status: "completed", output: [kept, stored, call] }));
    const second = await send("gpt-5", { content: "ok" }, { messages: [asMessage(first.reply)] });
    expect(second.sent.body).toMatchObject({ input: [kept, call] });
  });
});

test.each([
  ["ft:o4-mini-2025-04-16:acme::abc123", true],
  ["codex-mini-latest", true],
  ["gpt-5.1-codex", true],
  ["ft:gpt-4.1-2025-04-14:acme:mail:xyz", false],
  ["gpt-5-chat-latest", false],
])("keeps the reasoning of %s between calls in a Responses request (%s)", async (name, reasons) => {
  const { sent } = await send(name);
  const { include, temperature } = sent.body as { include?: string[]; temperature?: number };
  expect(include).toEqual(reasons ? ["reasoning.encrypted_content"] : undefined);
  expect(temperature).toBe(reasons ? undefined : 0);
});

test("keeps the reasoning after the first reply of a model with another name in a Responses request", async () => {
  const call = { toolCalls: [{ name: "f", arguments: {} }] };
  const provider = await startFakeProvider([{ ...call, reasoning: "xyz" }, { content: "ok" }]);
  const baseUrl = provider.baseUrl("openai-responses");
  const model = openaiResponsesModel("our-deployment", { apiKey: "test-key", baseUrl, timeoutMs: 5000 });
  const signal = new AbortController().signal;
  for (let i = 0; i < 2; i++) await model.complete(REQUEST, signal);
  const asked = provider.requests.map(({ body }) => (body as { include?: unknown }).include);
  expect(asked).toEqual([undefined, ["reasoning.encrypted_content"]]);
  await provider.close();
});

test("omits a reply that contains only reasoning from a Responses request, because the API would reject it", async () => {
  const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "xyz" };
  const body = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [reasoning] };
  const { reply } = await send("gpt-5", replied(body));
  expect(reply).toMatchObject({ content: "", finishReason: "length" });
  const [asked, again] = ["q", "again"].map((content) => ({ role: "user", content }));
  const second = await send("gpt-5", { content: "ok" }, { messages: [asked, asMessage(reply), again] });
  expect(second.sent.body).toMatchObject({ input: [asked, again] });
});

describe("a Response", () => {
  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "refusal"],
  ])("with the incomplete reason %s has finish reason %s", async (reason, finishReason) => {
    const { reply } = await send("m", replied({ status: "incomplete", incomplete_details: { reason }, output: [] }));
    expect(reply).toMatchObject({ finishReason, rawFinishReason: reason });
  });

  test.each([
    ["rate_limit_exceeded", "rate_limit", true],
    ["server_error", "server", true],
    ["server_is_overloaded", "overloaded", true],
    ["slow_down", "overloaded", true],
    ["insufficient_quota", "unavailable", false],
    ["some_new_code", "bad_request", false],
  ])("causes an error if it failed because of %s with status 200 (%s)", async (code, kind, retryable) => {
    const body = { status: "failed", error: { code, message: "no" }, output: [] };
    await expect(send("m", replied(body))).rejects.toMatchObject({ kind, retryable });
  });

  test("counts as the model's refusal if it failed because of invalid_prompt with status 200", async () => {
    const body = { status: "failed", error: { code: "invalid_prompt", message: "no" }, output: [] };
    expect((await send("m", replied(body))).reply).toMatchObject({ finishReason: "refusal", content: "" });
  });

  test("has no state if the model does not reason", async () => {
    expect((await send("gpt-4.1")).reply.providerState).toBeUndefined();
  });
});
