import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveModel } from "../../src/models/open-model.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import { WIRE_FORMATS } from "../providers/wire-request.js";

/** The SDKs read environment variables by themselves; only what is handed in may reach a request. */

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
const before = { ...process.env };

beforeAll(async () => {
  Object.assign(process.env, STRANGE);
  provider = await startFakeProvider(() => ({ content: "hi" }));
});
afterAll(async () => {
  process.env = before;
  await provider.close();
});

test.each(WIRE_FORMATS)("nothing of the environment is in a request over %s", async (format) => {
  const company = format.startsWith("openai") ? "openai" : (format as "anthropic" | "google");
  const wireApi = format === "openai-chat" ? "chat" : format === "openai-responses" ? "responses" : null;
  const connection = { apiKey: "ours", baseUrl: provider.baseUrl(format), wireApi, timeoutMs: 5000 } as const;
  const model = await resolveModel({ provider: company, name: "m", id: `${company}/m` }, connection);
  const messages = [{ role: "user" as const, content: "Hello" }];
  await model.complete(
    { system: "", messages, tools: [], toolChoice: "auto", maxTokens: 9 },
    new AbortController().signal,
  );
  const headers = provider.requests.at(-1)?.headers ?? {};
  expect(JSON.stringify(headers)).not.toContain("leak");
  if (format === "google") expect(headers["x-goog-api-key"]).toBe("ours");
  else expect(headers.authorization).toBe("Bearer ours");
});
