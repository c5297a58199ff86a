import { describe, expect, test } from "vitest";
import { anthropicModel } from "../../src/models/providers/anthropic.js";
import type { Answer } from "../providers/fake-provider.js";
import { asMessage, exchange, REQUEST } from "./wire.js";

const send = (name: string, answer: Answer = { content: "ok" }, changes = {}) =>
  exchange("anthropic", anthropicModel, name, answer, changes);

describe("an Anthropic request", () => {
  test("contains all parts of a full conversation", async () => {
    const { sent } = await send("claude-sonnet-4-5");
    expect(sent).toMatchObject({ method: "POST", path: "/v1/messages" });
    expect(sent.headers).toMatchObject({ "anthropic-version": "2023-06-01", "x-api-key": "test-key" });
    expect(sent.body).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 512,
      temperature: 0,
      system: [{ type: "text", text: "You answer from a mailbox.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "When is the meeting?" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Let me look." },
            { type: "tool_use", id: "c1", name: "email_search", input: { query: "meeting" } },
            { type: "tool_use", id: "c2", name: "email_search", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: '{"emails":[]}' },
            { type: "tool_result", tool_use_id: "c2", content: "not JSON", is_error: true },
            { type: "text", text: "Please call a tool.", cache_control: { type: "ephemeral" } },
          ],
        },
      ],
      tools: [
        {
          name: "email_search",
          description: "Searches.",
          input_schema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
        },
        { name: "list_inboxes", description: "Lists.", input_schema: { type: "object", properties: {} } },
      ],
      tool_choice: { type: "any" },
    });
  });

  test("contains no system prompt, tools or temperature if there are none", async () => {
    const changes = { system: " ", tools: [], temperature: undefined, messages: [{ role: "user", content: "Hello" }] };
    const { sent } = await send("claude-sonnet-4-5", { content: "ok" }, changes);
    expect(sent.body).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 512,
      messages: [{ role: "user", content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }] }],
    });
  });

  test.each([
    ["claude-3-5-haiku-latest", 0, "any"],
    ["claude-sonnet-4-20250514", 0, "any"],
    ["claude-opus-4-6", 0, "any"],
    ["claude-opus-4-7", undefined, "any"],
    ["claude-sonnet-5-5", undefined, "auto"],
    ["claude-fable-5", undefined, "auto"],
    ["claude-mythos-preview", undefined, "auto"],
    ["glm-4.6", 0, "any"],
  ])("contains for %s the temperature %s and the tool choice %s", async (name, temperature, type) => {
    const { sent } = await send(name);
    expect(sent.body).toMatchObject({ tool_choice: { type } });
    expect((sent.body as { temperature?: number }).temperature).toBe(temperature);
  });

  test("omits the text of an empty result", async () => {
    const messages = [
      ...REQUEST.messages.slice(0, 2),
      { role: "tool", toolCallId: "c1", name: "email_search", content: "", isError: false },
    ];
    const { sent } = await send("claude-sonnet-4-5", { content: "ok" }, { messages });
    const { messages: turns } = sent.body as { messages: { content: unknown[] }[] };
    expect(turns.at(-1)?.content).toEqual([
      { type: "tool_result", tool_use_id: "c1", cache_control: { type: "ephemeral" } },
    ]);
  });

  test("sends a reply with thinking back unchanged, except for its empty text", async () => {
    const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
    const redacted = { type: "redacted_thinking", data: "xyz" };
    const use = { type: "tool_use", id: "t1", name: "email_search", input: { b: 1, a: 2 } };
    const body = {
      content: [thinking, { type: "text", text: "" }, redacted, use],
      stop_reason: "tool_use",
      usage: null,
    };
    const first = await send("claude-sonnet-4-5", { fail: "body", body });
    expect(first.reply).toMatchObject({ content: "", toolCalls: [{ id: "t1" }], usage: null });
    const messages = [
      { role: "user", content: "q" },
      asMessage(first.reply),
      { role: "tool", toolCallId: "t1", name: "email_search", content: "{}", isError: false },
    ];
    const second = await send("claude-sonnet-4-5", { content: "ok" }, { messages });
    const { messages: turns } = second.sent.body as { messages: { content: unknown[] }[] };
    expect(turns[1]?.content).toEqual([thinking, redacted, use]);
  });
});

describe("an Anthropic reply that ends in thinking", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "sig" };
  const cut = { type: "thinking", thinking: "and then", signature: "" };
  const redacted = { type: "redacted_thinking", data: "xyz" };
  const text = { type: "text", text: "So far." };

  test.each([
    ["cut off by max_tokens", "max_tokens", [cut], "length", null],
    ["ended before any text", "end_turn", [thinking, redacted, { type: "text", text: " " }], "stop", null],
    ["cut off after some text", "max_tokens", [thinking, text, cut], "length", [thinking, text]],
  ])("returns to the server without the thinking (%s)", async (_, stop_reason, content, finishReason, kept) => {
    const first = await send("claude-opus-5", { fail: "body", body: { content, stop_reason, usage: null } });
    expect(first.reply.finishReason).toBe(finishReason);
    const messages = [{ role: "user", content: "q" }, asMessage(first.reply), { role: "user", content: "again" }];
    const second = await send("claude-opus-5", { content: "ok" }, { messages });
    const { messages: turns } = second.sent.body as { messages: { role: string; content: { text?: string }[] }[] };
    // Two consecutive user turns are merged.
    expect(turns.map(({ role }) => role)).toEqual(kept === null ? ["user"] : ["user", "assistant", "user"]);
    if (kept !== null) expect(turns[1]?.content).toEqual(kept);
    expect(turns.flatMap((turn) => (turn.role === "user" ? turn.content.map((block) => block.text) : []))).toEqual([
      "q",
      "again",
    ]);
  });
});

describe("an Anthropic reply", () => {
  test("counts cache reads and writes as input", async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 70,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    };
    const body = { content: [{ type: "text", text: "a" }], stop_reason: "end_turn", usage };
    const { reply } = await send("claude-sonnet-4-5", { fail: "body", body });
    expect(reply.usage).toEqual({ inputTokens: 100, outputTokens: 5, cachedInputTokens: 70, cacheWriteTokens: 20 });
    expect(reply.providerState).toBeUndefined();
  });

  test("counts one-hour cache writes separately", async () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 5,
      cachedInputTokens: 0,
      cacheWriteTokens: 90,
      cacheWrite1hTokens: 30,
    };
    const { reply } = await send("claude-sonnet-4-5", { content: "a", usage });
    expect(reply.usage).toEqual(usage);
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
  ])("with the stop reason %s has finish reason %s", async (stop_reason, finishReason) => {
    const { reply } = await send("claude-sonnet-4-5", { fail: "body", body: { content: [], stop_reason } });
    expect(reply).toMatchObject({ content: "", finishReason, rawFinishReason: stop_reason });
  });

  test("with null for its content is empty", async () => {
    const { reply } = await send("claude-sonnet-4-5", {
      fail: "body",
      body: { content: null, stop_reason: "end_turn" },
    });
    expect(reply).toMatchObject({ content: "", toolCalls: [], finishReason: "stop" });
  });
});
