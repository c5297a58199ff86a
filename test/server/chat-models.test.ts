import { expect, it } from "vitest";
import { getAgent } from "../../src/agents/registry-store.js";
import type { Provider } from "../../src/models/model-names.js";
import { ChatModels } from "../../src/server/chat/chat-models.js";
import { openEmpty } from "../runs/demo-setup.js";

const DEFAULT = "anthropic/claude-sonnet-5-5";

/** Models if only these providers have a key. */
function modelsWith(...keyed: Provider[]): ChatModels {
  const reach = (provider: Provider) => ({
    apiKey: keyed.includes(provider) ? "test-key" : null,
    baseUrl: null,
    wireApi: null,
    timeoutMs: 1_000,
  });
  return new ChatModels(reach, DEFAULT);
}

const agentOf = (id: string) => {
  const { db, close } = openEmpty();
  const agent = getAgent(db, id);
  close();
  return agent;
};

it("lists one model of each provider that has a key, and the offline baseline", () => {
  const ids = (models: ChatModels) => models.examples().map(({ id }) => id);
  expect(ids(modelsWith())).toEqual(["offline/baseline"]);
  expect(ids(modelsWith("google", "openai"))).toEqual([
    "openai/gpt-6.1-sol",
    "google/gemini-3.8-flash",
    "offline/baseline",
  ]);
});

it("selects the fallback model from a configured provider, or the default if there is none", () => {
  expect(modelsWith("anthropic", "openai").fallback()).toBe(DEFAULT);
  expect(modelsWith("google").fallback()).toBe("google/gemini-3.8-flash");
  expect(modelsWith().fallback()).toBe(DEFAULT);
});

it("prefers the requested model to the agent's own", async () => {
  const models = modelsWith("openai");
  const own = await models.get(agentOf("baseline"), undefined, undefined);
  expect(own.id).toBe("offline/baseline");
  expect((await models.get(agentOf("baseline"), "openai", "gpt-4.1")).id).toBe("openai/gpt-4.1");
  expect((await models.get(agentOf("email-search"), undefined, undefined)).id).toBe("openai/gpt-6.1-sol");
  expect(await models.get(agentOf("baseline"), undefined, undefined)).toBe(own);
});

it("never lists models without a key, or local files", async () => {
  const models = modelsWith();
  for (let i = 0; i < 2; i++) {
    await expect(models.get(agentOf("email-search"), undefined, undefined)).rejects.toThrow("No API key for anthropic");
  }
  await expect(models.get(agentOf("baseline"), "replay", "/etc/passwd")).rejects.toThrow("are not served");
});
