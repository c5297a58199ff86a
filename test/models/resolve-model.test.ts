import { afterEach, describe, expect, test } from "vitest";
import type { EndpointSettings } from "../../src/models/endpoint.js";
import { API_KEY_VARIABLES, parseModelName } from "../../src/models/names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { UserError } from "../../src/platform/errors.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";

const connection: EndpointSettings = { apiKey: "test-key", baseUrl: null, wireApi: null, timeoutMs: 5000 };

const request = {
  system: "",
  messages: [{ role: "user" as const, content: "Hello" }],
  tools: [],
  toolChoice: "auto" as const,
  maxTokens: 100,
};

const never = new AbortController().signal;

function resolve(id: string, changes: Partial<EndpointSettings>, provider: string | null = null) {
  const merged = { ...connection, ...changes };
  return resolveModel(parseModelName(id, provider, merged.baseUrl !== null), merged);
}

describe("resolveModel refuses", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["openai/gpt-4.1", "OPENAI_API_KEY"],
    ["google/gemini-2.5-pro", "GOOGLE_API_KEY or GEMINI_API_KEY"],
  ])("%s without a key, naming %s", async (id, variable) => {
    for (const apiKey of [null, "", "  "]) {
      const error = await resolve(id, { apiKey }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UserError);
      expect((error as UserError).message).toContain(variable);
      expect((error as UserError).hint).toContain("offline/baseline");
    }
  });

  test("a key that no header can hold, without repeating it", async () => {
    const error = await resolve("openai/gpt-4.1", { apiKey: "sk-secret\nkey" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect(String(error)).not.toContain("secret");
  });

  test.each(["localhost:8000", "ftp://host/v1", "http://user:pass@host/v1", "/v1", "not a url"])(
    "the base URL %s",
    async (baseUrl) => {
      await expect(resolve("openai/x", { baseUrl })).rejects.toThrow("--base-url");
    },
  );

  test("a wire format for a provider that has one only", async () => {
    await expect(resolve("google/gemini-2.5-pro", { wireApi: "chat" })).rejects.toThrow("--wire-api chat");
  });

  test("an offline model there is not, and a replay file there is not", async () => {
    await expect(resolve("offline/gpt", {})).rejects.toThrow(UserError);
    await expect(resolve("replay/no-such-file.jsonl", {})).rejects.toThrow("no-such-file.jsonl");
  });
});

describe("resolveModel", () => {
  let provider: FakeProvider | undefined;
  afterEach(() => provider?.close());

  test.each([
    ["chat" as const, "/v1/chat/completions"],
    ["responses" as const, "/v1/responses"],
    [null, "/v1/chat/completions"],
  ])("asks another server for the wire format %s", async (wireApi, path) => {
    provider = await startFakeProvider([{ content: "hi" }]);
    const model = await resolve("openai/x", { wireApi, baseUrl: `${provider.url}/v1/` });
    await model.complete(request, never);
    expect(provider.requests[0]?.path).toBe(path);
  });

  test("needs no key for an own openai server", async () => {
    provider = await startFakeProvider([{ content: "hi" }]);
    const model = await resolve("openai/llama", { apiKey: null, baseUrl: `${provider.url}/v1` });
    await model.complete(request, never);
    expect(provider.requests[0]?.headers.authorization).toBe("Bearer no-key-needed");
  });

  test("keeps the offline providers without a key", async () => {
    const model = await resolve("offline/baseline", { apiKey: null });
    expect(model.id).toBe("offline/baseline");
  });

  test("knows where the door finds each key", () => {
    expect(API_KEY_VARIABLES.google).toEqual(["GOOGLE_API_KEY", "GEMINI_API_KEY"]);
    expect(API_KEY_VARIABLES.offline).toEqual([]);
  });
});
