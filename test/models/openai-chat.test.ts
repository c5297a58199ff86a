import { describe, expect, test } from "vitest";
import { isOpenaiServer } from "../../src/models/endpoint.js";
import { openaiChatModel } from "../../src/models/providers/openai-chat.js";
import type { Answer } from "../providers/fake-provider.js";
import { asMessage, exchange } from "./wire.js";

const send = (name: string, answer: Answer = { content: "ok" }, changes = {}) =>
  exchange("openai-chat", openaiChatModel, name, answer, changes);

const replied = (message: object, finish_reason: string | null = "stop") =>
  ({ fail: "body", body: { choices: [{ message: message as never, finish_reason }] } }) as const;

describe("a chat completion request", () => {
  test("contains all parts of a full conversation", async () => {
    const { sent } = await send("qwen3");
    expect(sent).toMatchObject({ method: "POST", path: "/v1/chat/completions" });
    expect(sent.body).toEqual({
      model: "qwen3",
      stream: false,
      max_tokens: 512,
      temperature: 0,
      messages: [
        { role: "system", content: "You answer from a mailbox." },
        { role: "user", content: "When is the meeting?" },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "email_search", arguments: '{"query":"meeting"}' } },
            { id: "c2", type: "function", function: { name: "email_search", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: '{"emails":[]}' },
        { role: "tool", tool_call_id: "c2", content: "not JSON" },
        { role: "user", content: "Please call a tool." },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "email_search",
            description: "Searches.",
            parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
          },
        },
        {
          type: "function",
          function: { name: "list_inboxes", description: "Lists.", parameters: { type: "object", properties: {} } },
        },
      ],
      tool_choice: "required",
    });
  });

  test.each(["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1", "openai/gpt-5-mini"])(
    "treats %s as a reasoning model",
    async (name) => {
      const { sent } = await send(name);
      expect(sent.body).toMatchObject({ max_completion_tokens: 512 + 16_384 });
      expect(sent.body).not.toHaveProperty("max_tokens");
      expect(sent.body).not.toHaveProperty("temperature");
    },
  );

  test.each(["gpt-4.1", "gpt-5-chat-latest", "o-llama", "meta-llama/Llama-3"])(
    "treats %s as a model that does not reason",
    async (name) => {
      expect((await send(name)).sent.body).toMatchObject({ max_tokens: 512, temperature: 0 });
    },
  );

  test("sends the signature of a tool call back with the call", async () => {
    const signature = { extra_content: { google: { thought_signature: "SIG" } } };
    const call = { id: "a", function: { name: "f", arguments: "{}" } };
    const first = await send("m", replied({ content: null, tool_calls: [{ ...call, ...signature }] }));
    const second = await send("m", { content: "ok" }, { messages: [asMessage(first.reply)], system: "" });
    expect(second.sent.body).toMatchObject({ messages: [{ tool_calls: [{ id: "a", ...signature }] }] });
    expect(second.sent.body).not.toHaveProperty("messages.0.extra_content");
  });

  test("contains the name of a called tool in a form that every provider accepts", async () => {
    const names = ["email.search now", "", "x".repeat(90)];
    const toolCalls = names.map((name, i) => ({ id: `c${i}`, name, arguments: {} }));
    const { sent } = await send("m", { content: "ok" }, { messages: [{ role: "assistant", content: "", toolCalls }] });
    const [, { tool_calls }] = (sent.body as { messages: [unknown, { tool_calls: { function: { name: string } }[] }] })
      .messages;
    expect(tool_calls.map((call) => call.function.name)).toEqual(["email_search_now", "unnamed_tool", "x".repeat(64)]);
  });

  test("omits an empty reply, and joins the user messages around it", async () => {
    const { sent } = await send(
      "m",
      { content: "ok" },
      {
        system: "",
        messages: [
          { role: "user", content: "When?" },
          { role: "assistant", content: " ", toolCalls: [] },
          { role: "user", content: "Please call a tool." },
        ],
      },
    );
    expect(sent.body).toMatchObject({ messages: [{ role: "user", content: "When?\n\nPlease call a tool." }] });
  });

  test("sends reasoning back in the field from which it was read", async () => {
    const details = [{ type: "reasoning.encrypted", data: "xyz" }];
    const first = await send(
      "m",
      replied({
        content: null,
        reasoning: "hm",
        reasoning_details: details,
        tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }],
      }),
    );
    const second = await send("m", { content: "ok" }, { messages: [asMessage(first.reply)], system: "" });
    expect(second.sent.body).toMatchObject({
      messages: [{ role: "assistant", content: null, reasoning: "hm", reasoning_details: details }],
    });
  });
});

describe("a chat completion", () => {
  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "refusal"],
    ["eos", "stop"],
    [null, "stop"],
  ])("with the reason %s has finish reason %s", async (raw, finishReason) => {
    const { reply } = await send("m", replied({ content: "x" }, raw));
    expect(reply).toMatchObject({ finishReason, rawFinishReason: raw ?? "", usage: null });
  });

  test("counts as a call if it contains calls, whatever its finish reason", async () => {
    const call = { function: { name: "f", arguments: "" } };
    const { reply } = await send("m", replied({ content: "", tool_calls: [call] }));
    expect(reply).toMatchObject({ finishReason: "tool_calls", toolCalls: [{ name: "f", arguments: {} }] });
  });

  test("can have an object as arguments", async () => {
    const call = { id: "a", function: { name: "f", arguments: { query: "x" } } };
    const { reply } = await send("m", replied({ tool_calls: [call] }));
    expect(reply.toolCalls).toEqual([{ id: "a", name: "f", arguments: { query: "x" } }]);
  });

  test("can have several parts", async () => {
    const { reply } = await send(
      "m",
      replied({
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      }),
    );
    expect(reply.content).toBe("ab");
  });

  test("counts as an error if it contains one, even if the status is 200", async () => {
    const body = { error: { code: 429, message: "upstream is busy" } };
    await expect(send("m", { fail: "body", body })).rejects.toMatchObject({ kind: "rate_limit", retryable: true });
  });

  test("causes no retry if the account has no credit", async () => {
    const answer = {
      fail: "status",
      status: 429,
      message: "You exceeded your current quota",
      code: "insufficient_quota",
    } as const;
    await expect(send("m", answer)).rejects.toMatchObject({ kind: "unavailable", retryable: false });
  });
});

test("isOpenAiServer recognizes OpenAI's own server", () => {
  expect(isOpenaiServer(null)).toBe(true);
  expect(isOpenaiServer("https://api.openai.com/v1")).toBe(true);
  expect(isOpenaiServer("http://localhost:8000/v1")).toBe(false);
  expect(isOpenaiServer("https://api.openai.com.evil.example/v1")).toBe(false);
});
