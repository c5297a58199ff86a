import { type GenerateContentRequest, GoogleGenerativeAI } from "@google/generative-ai";
import { describe, expect, test } from "vitest";
import type { ModelError } from "../../src/models/model.js";
import { googleModel } from "../../src/models/providers/google.js";
import type { JsonValue } from "../../src/platform/json.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { asMessage, exchange } from "./wire.js";

const send = (answer: Answer = { content: "ok" }, changes = {}, name = "gemini-2.0-flash") =>
  exchange("google", googleModel, name, answer, changes);

const replied = (parts: readonly JsonValue[], finishReason = "STOP", rest = {}): Answer => ({
  fail: "body",
  body: { candidates: [{ content: { role: "model", parts }, finishReason }], ...rest },
});

describe("a Google request", () => {
  test("contains all parts of a full conversation", async () => {
    const { sent } = await send();
    expect(sent).toMatchObject({ method: "POST", path: "/v1beta/models/gemini-2.0-flash:generateContent" });
    expect(sent.headers["x-goog-api-key"]).toBe("test-key");
    expect(sent.path).not.toContain("key=");
    expect(sent.body).toEqual({
      systemInstruction: { role: "system", parts: [{ text: "You answer from a mailbox." }] },
      contents: [
        { role: "user", parts: [{ text: "When is the meeting?" }] },
        {
          role: "model",
          parts: [
            { text: "Let me look." },
            { functionCall: { name: "email_search", args: { query: "meeting" } } },
            { functionCall: { name: "email_search", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "email_search", response: { output: { emails: [] } } } },
            { functionResponse: { name: "email_search", response: { error: "not JSON" } } },
            { text: "Please call a tool." },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 512, temperature: 0 },
      tools: [
        {
          functionDeclarations: [
            {
              name: "email_search",
              description: "Searches.",
              parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
            },
            { name: "list_inboxes", description: "Lists." },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
    });
  });

  test("equals the request of Google's own SDK", async () => {
    const provider = await startFakeProvider([{ content: "ok" }]);
    const { sent } = await send();
    const { systemInstruction, contents, generationConfig, tools, toolConfig } = sent.body as GenerateContentRequest;
    const sdk = new GoogleGenerativeAI("test-key").getGenerativeModel(
      { model: "gemini-2.0-flash" },
      { baseUrl: provider.baseUrl("google") },
    );
    const system = (systemInstruction as { parts: { text: string }[] }).parts[0]?.text ?? "";
    await sdk.generateContent({ systemInstruction: system, contents, generationConfig, tools, toolConfig } as never);
    const [theirs] = provider.requests;
    expect({ ...(theirs?.body as object), safetySettings: undefined }).toEqual(sent.body);
    expect([theirs?.method, theirs?.path, theirs?.headers["x-goog-api-key"]]).toEqual([
      sent.method,
      sent.path,
      sent.headers["x-goog-api-key"],
    ]);
    await provider.close();
  });

  test("contains the complete name of a tuned model", async () => {
    const { sent } = await send({ content: "ok" }, {}, "tunedModels/my mail");
    expect(sent.path).toBe("/v1beta/tunedModels/my%20mail:generateContent");
  });

  test("omits a reply that contains only thoughts", async () => {
    const { reply } = await send(replied([{ text: "I should", thought: true }], "MAX_TOKENS"));
    const messages = [{ role: "user", content: "q" }, asMessage(reply), { role: "user", content: "again" }];
    const { sent } = await send({ content: "ok" }, { messages });
    expect(sent.body).toMatchObject({ contents: [{ role: "user", parts: [{ text: "q" }, { text: "again" }] }] });
  });

  test("sends back all parts of a signed reply, and includes ids only if Google sent them", async () => {
    const parts = [
      { text: "I should search.", thought: true },
      { functionCall: { name: "f", args: {}, id: "g1" }, thoughtSignature: "sig==" },
      { functionCall: { name: "f", args: {} } },
    ];
    const { reply } = await send(replied(parts));
    expect(reply.content).toBe("");
    const results = reply.toolCalls.map((call) => ({
      role: "tool",
      toolCallId: call.id,
      name: call.name,
      content: "x",
      isError: false,
    }));
    const messages = [asMessage(reply), ...results];
    const { sent } = await send({ content: "ok" }, { messages });
    expect(sent.body).toMatchObject({
      contents: [
        { role: "model", parts },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "g1", name: "f", response: { output: "x" } } },
            { functionResponse: { name: "f", response: { output: "x" } } },
          ],
        },
      ],
    });
    expect(JSON.stringify(sent.body).match(/"id":/g)).toHaveLength(2);
  });
});

describe("a Google reply", () => {
  test.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "refusal"],
    ["RECITATION", "refusal"],
    ["PROHIBITED_CONTENT", "refusal"],
    ["MALFORMED_FUNCTION_CALL", "broken_call"],
    ["TOO_MANY_TOOL_CALLS", "broken_call"],
  ])("with the reason %s has finish reason %s", async (raw, finishReason) => {
    const { reply } = await send({ fail: "body", body: { candidates: [{ finishReason: raw }] } });
    expect(reply).toMatchObject({ content: "", toolCalls: [], finishReason, rawFinishReason: raw });
  });

  test("counts as the model's refusal if the prompt was blocked", async () => {
    const { reply } = await send({ fail: "body", body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } } });
    expect(reply).toMatchObject({ finishReason: "refusal", rawFinishReason: "PROHIBITED_CONTENT" });
  });

  test("causes an error if it has no candidate and no reason", async () => {
    await expect(send({ fail: "body", body: { candidates: [] } })).rejects.toMatchObject({ kind: "protocol" });
  });

  test("counts thinking as output", async () => {
    const usageMetadata = {
      promptTokenCount: 100,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 30,
      cachedContentTokenCount: 60,
    };
    const { reply } = await send(replied([{ text: "x" }], "STOP", { usageMetadata }));
    expect(reply.usage).toEqual({
      inputTokens: 100,
      outputTokens: 40,
      cachedInputTokens: 60,
      reasoningTokens: 30,
    });
  });

  test.each([
    ["in seconds", () => "7", 7_000],
    ["as a date", () => new Date(Date.now() + 60_000).toUTCString(), 60_000],
  ])("leads to a retry after the time in its Retry-After header, given %s", async (_, after, waitMs) => {
    const busy = send({ fail: "status", status: 429, headers: { "retry-after": after() } });
    const { retryAfterMs } = (await busy.catch((error: unknown) => error)) as ModelError;
    expect(Math.abs((retryAfterMs ?? 0) - waitMs)).toBeLessThan(2_000);
  });

  test("stops after its maximum length", async () => {
    const huge = send(replied([{ text: "a".repeat(9_000_000) }]));
    await expect(huge).rejects.toMatchObject({ kind: "protocol", retryable: false });
  });

  test("leads to a retry after the wait that it contains, unless the key is wrong", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }];
    const busy = { error: { code: 429, message: "quota", details } };
    await expect(send({ fail: "status", status: 429, body: busy })).rejects.toMatchObject({ retryAfterMs: 34_070 });
    const message = "API key not valid. Please pass a valid API key.";
    await expect(send({ fail: "status", status: 400, message })).rejects.toMatchObject({ kind: "auth" });
  });
});
