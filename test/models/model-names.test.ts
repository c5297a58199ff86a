import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { EndpointSettings } from "../../src/models/endpoint.js";
import {
  ANSWERING_MODELS,
  API_KEY_VARIABLES,
  DEFAULT_MODEL,
  JUDGE_MODELS,
  parseModelName,
  successorOf,
} from "../../src/models/model-names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { priceOf } from "../../src/models/price-lookup.js";
import { UserError } from "../../src/platform/errors.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { WIRE_FORMATS } from "../providers/wire-request.js";
import { modelOver, REQUEST } from "./wire.js";

function refusal(id: string, provider: string | null): UserError {
  try {
    parseModelName(id, provider);
  } catch (error) {
    if (error instanceof UserError) return error;
  }
  throw new Error(`${id} was accepted`);
}

describe("errors of parseModelName", () => {
  test("name both flags if there are two providers", () => {
    const error = refusal("anthropic/claude-sonnet-4-5", "openai");
    expect(error.message).toContain("--model-provider openai");
    expect(error.message).toContain("--model-id anthropic/claude-sonnet-4-5");
    expect(error.hint).toContain("--base-url");
  });

  test("list the providers if there is no server and the prefix is unknown", () => {
    expect(refusal("meta-llama/Llama-3", null).hint).toContain("anthropic, openai, google, offline, replay");
  });

  test("name an unknown provider", () => {
    expect(refusal("x", "mistral").message).toContain("mistral");
  });

  test.each(["llama3", "my-model", "gpt-oss-20b", "gemma-3-27b-it", "sonnet", "openai"])(
    "suggest the right spelling if the name is %s without a known provider",
    (id) => {
      const error = refusal(id, null);
      expect(error.code).toBe("model_unknown");
      const [spelling = ""] = error.hint?.match(/openai\/[^ ]+/) ?? [];
      expect(parseModelName(spelling, null)).toMatchObject({ provider: "openai", name: id });
    },
  );

  test.each(["", "  ", "anthropic/", "replay/"])("reject an empty name (%j)", (id) => {
    expect(refusal(id, null).code).toBe("model_missing");
  });
});

describe("parseModelName", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", null, "anthropic", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4-5", "anthropic", "anthropic", "claude-sonnet-4-5"],
    ["claude-sonnet-4-5", null, "anthropic", "claude-sonnet-4-5"],
    ["gpt-4.1", "openai", "openai", "gpt-4.1"],
    ["gpt-4.1", null, "openai", "gpt-4.1"],
    ["gpt-6.1-terra", null, "openai", "gpt-6.1-terra"],
    ["o3", null, "openai", "o3"],
    ["o4-mini-2025-04-16", null, "openai", "o4-mini-2025-04-16"],
    ["ft:gpt-4o:acme::x", null, "openai", "ft:gpt-4o:acme::x"],
    ["gemini-4-argon", null, "google", "gemini-4-argon"],
    ["claude-haiku-5-5", null, "anthropic", "claude-haiku-5-5"],
    ["baseline", null, "offline", "baseline"],
    ["llama3", "openai", "openai", "llama3"],
    ["gpt-4.1", "anthropic", "anthropic", "gpt-4.1"],
    [" google/gemini-2.5-pro ", null, "google", "gemini-2.5-pro"],
    ["meta-llama/Llama-3", "openai", "openai", "meta-llama/Llama-3"],
    ["openai/meta-llama/Llama-3:free", null, "openai", "meta-llama/Llama-3:free"],
    ["replay/runs/one.jsonl", null, "replay", "runs/one.jsonl"],
    ["replay//tmp/one.jsonl", null, "replay", "/tmp/one.jsonl"],
    ["offline/baseline", null, "offline", "baseline"],
  ])("reads %s with the given provider %s as %s, %s", (id, given, provider, name) => {
    expect(parseModelName(id, given)).toEqual({ provider, name, id: `${provider}/${name}` });
  });

  test("reads another provider's prefix as part of the name if the server is custom", () => {
    const name = parseModelName("anthropic/claude-x", "openai", true);
    expect(name).toEqual({ provider: "openai", name: "anthropic/claude-x", id: "openai/anthropic/claude-x" });
  });
});

const SUCCESSIONS = [
  ["anthropic/claude-sonnet-4-5", "claude-sonnet-5-5"],
  ["anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-5-5"],
  ["anthropic/claude-sonnet-5", "claude-sonnet-5-5"],
  ["anthropic/claude-3-7-sonnet-latest", "claude-sonnet-5-5"],
  ["anthropic/claude-haiku-4-5", "claude-haiku-5-5"],
  ["anthropic/claude-3-opus-latest", "claude-opus-5-5"],
  ["openai/gpt-4.1", "gpt-6.1-sol"],
  ["openai/gpt-4o-2024-08-06", "gpt-6.1-sol"],
  ["openai/gpt-4.1-mini", "gpt-6-luna"],
  ["openai/gpt-5-mini-2025-08-07", "gpt-6.1-terra"],
  ["openai/o3", "gpt-6.1-sol"],
  ["google/gemini-2.5-pro", "gemini-3.8-flash"],
  ["google/gemini-2.5-flash", "gemini-3.5-flash-lite"],
  ["google/gemini-3.7-flash", "gemini-3.8-flash"],
] as const;

describe("successorOf", () => {
  test.each(SUCCESSIONS)("returns for %s the model %s", (id, successor) => {
    const name = parseModelName(id, null);
    expect(successorOf(name)).toBe(successor);
    // It is the last in its line, and has a price.
    expect(successorOf({ ...name, name: successor })).toBeNull();
    expect(
      priceOf(`${name.provider}/${successor}`, { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }),
    ).toBeGreaterThan(0);
  });

  test.each([
    "anthropic/claude-sonet-9",
    "anthropic/claude-sonnet-5-7",
    "openai/gpt-7",
    "openai/gpt-4o-transcribe",
    "openai/llama3",
    "google/gemini-9",
  ])("returns null for %s", (id) => {
    expect(successorOf(parseModelName(id, null))).toBeNull();
  });
});

test("every default model is the latest in its line and has a price", () => {
  const judges = Object.entries(JUDGE_MODELS).map(([provider, name]) => `${provider}/${name}`);
  for (const id of [DEFAULT_MODEL, ...Object.values(ANSWERING_MODELS), ...judges]) {
    expect(successorOf(parseModelName(id, null)), id).toBeNull();
    expect(priceOf(id, { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 }), id).toBeGreaterThan(0);
  }
});

test("names the successor in an error about an unknown model, and does not change other errors", async () => {
  const provider = await startFakeProvider([
    { fail: "status", status: 404, message: "model: claude-sonnet-4-5" },
    { fail: "status", status: 400, message: "a bad request" },
  ]);
  try {
    const connection = { apiKey: "k", baseUrl: provider.baseUrl("anthropic"), wireApi: null, timeoutMs: 5_000 };
    const model = await resolveModel(parseModelName("claude-sonnet-4-5", null), connection);
    const failing = () => model.complete(REQUEST, new AbortController().signal);
    await expect(failing()).rejects.toThrow(
      "anthropic/claude-sonnet-4-5: 404 model: claude-sonnet-4-5; the successor of claude-sonnet-4-5 is anthropic/claude-sonnet-5-5",
    );
    await expect(failing()).rejects.toThrow(/^anthropic\/claude-sonnet-4-5: 400 a bad request$/);
  } finally {
    await provider.close();
  }
});

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

describe("errors of resolveModel", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["openai/gpt-4.1", "OPENAI_API_KEY"],
    ["google/gemini-2.5-pro", "GOOGLE_API_KEY or GEMINI_API_KEY"],
  ])("reject %s without a key, and name %s", async (id, variable) => {
    for (const apiKey of [null, "", "  "]) {
      const error = await resolve(id, { apiKey }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(UserError);
      expect((error as UserError).message).toContain(variable);
      expect((error as UserError).hint).toBe(`Set ${variable} in the environment or in .env.`);
    }
  });

  test("reject a key that is not a valid header value, and do not repeat the key", async () => {
    const error = await resolve("openai/gpt-4.1", { apiKey: "sk-secret\nkey" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UserError);
    expect(String(error)).not.toContain("secret");
  });

  test.each(["localhost:8000", "ftp://host/v1", "http://user:pass@host/v1", "/v1", "not a url"])(
    "reject the base URL %s",
    async (baseUrl) => {
      await expect(resolve("openai/x", { baseUrl })).rejects.toThrow("--base-url");
    },
  );

  test("reject a wire format for a provider that has only one", async () => {
    await expect(resolve("google/gemini-2.5-pro", { wireApi: "chat" })).rejects.toThrow("--wire-api chat");
  });

  test("reject an unknown offline model, and a missing replay file", async () => {
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
  ])("sends requests to another server in the given wire format (%s)", async (wireApi, path) => {
    provider = await startFakeProvider([{ content: "hi" }]);
    const model = await resolve("openai/x", { wireApi, baseUrl: `${provider.url}/v1/` });
    await model.complete(request, never);
    expect(provider.requests[0]?.path).toBe(path);
  });

  test.each([
    ["openai/x", "/v1/completions/", "/v1/chat/completions"],
    ["openai/x", "/v1/messages", "/v1/chat/completions"],
    ["google/x", "/v1beta/models/y:generateContent", "/v1beta/models/x:generateContent"],
  ])("strips the path of a request from the base URL of %s (%s)", async (id, base, path) => {
    provider = await startFakeProvider([{ content: "hi" }]);
    const model = await resolve(id, { apiKey: "key", baseUrl: `${provider.url}${base}` });
    await model.complete(request, never).catch(() => undefined);
    expect(provider.requests[0]?.path).toBe(path);
  });

  test("needs no key for a custom openai server", async () => {
    provider = await startFakeProvider([{ content: "hi" }]);
    const model = await resolve("openai/llama", { apiKey: null, baseUrl: `${provider.url}/v1` });
    await model.complete(request, never);
    expect(provider.requests[0]?.headers.authorization).toBe("Bearer no-key-needed");
  });

  test("supports the offline providers without a key", async () => {
    const model = await resolve("offline/baseline", { apiKey: null });
    expect(model.id).toBe("offline/baseline");
  });

  test("accepts two key variables for Google, and requires none offline", () => {
    expect(API_KEY_VARIABLES.google).toEqual(["GOOGLE_API_KEY", "GEMINI_API_KEY"]);
    expect(API_KEY_VARIABLES.offline).toEqual([]);
  });
});

describe("the environment variables of SDKs", () => {
  /** The SDKs read environment variables themselves. Only explicit values may reach a request. */

  const STRANGE = {
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
    ANTHROPIC_API_KEY: "leak-1",
    ANTHROPIC_AUTH_TOKEN: "leak-2",
    ANTHROPIC_CUSTOM_HEADERS: "Authorization: leak-3\nX-Api-Key: leak-4\nX-Leak: leak-5",
    OPENAI_BASE_URL: "http://127.0.0.1:9",
    OPENAI_API_KEY: "leak-6",
    OPENAI_ORG_ID: "leak-7",
    OPENAI_PROJECT_ID: "leak-8",
    OPENAI_ADMIN_KEY: "leak-9",
    OPENAI_CUSTOM_HEADERS: "authorization: leak-10\nX-Leak: leak-11",
    GOOGLE_API_KEY: "leak-12",
  };

  let provider: FakeProvider;
  beforeAll(async () => {
    for (const [name, value] of Object.entries(STRANGE)) vi.stubEnv(name, value);
    provider = await startFakeProvider(() => ({ content: "hi" }));
  });

  afterAll(async () => {
    vi.unstubAllEnvs();
    await provider.close();
  });

  test.each(WIRE_FORMATS)("do not affect a request over %s", async (format) => {
    const { name, wireApi } = modelOver(format, "m");
    const connection = { apiKey: "ours", baseUrl: provider.baseUrl(format), wireApi, timeoutMs: 5000 } as const;
    const model = await resolveModel(name, connection);
    await model.complete(request, never);
    const headers = provider.requests.at(-1)?.headers ?? {};
    expect(JSON.stringify(headers)).not.toContain("leak");
    if (format === "google") expect(headers["x-goog-api-key"]).toBe("ours");
    else expect(headers.authorization).toBe("Bearer ours");
  });
});
