import { describe, expect, it } from "vitest";
import {
  attachTools,
  cloneAgent,
  createAgent,
  createTool,
  deleteAgent,
  deleteTool,
  detachTools,
  updateAgent,
  updateTool,
} from "../../src/agents/registry.js";
import { currentVersion, getAgent, getVersion, listVersions } from "../../src/agents/registry-store.js";
import { attachedOrDefault, getTool } from "../../src/tools/tool.js";
import { freshRegistry, refused } from "./registry-db.js";

const at = freshRegistry();
const toolsOf = (id: string) => attachedOrDefault(at.db, id).map(({ tool }) => tool.id);
const DEFAULTS = ["email_search", "email_get", "return_final_answer"];
const mine = { id: "mine", prompt: "Answer for {{inbox_address}}." };
const weather = {
  id: "weather",
  description: "The weather.",
  parametersSchema: { type: "object", properties: { city: { type: "string" } } },
  handlerKey: "http",
  handlerConfig: { url: "https://api.example.com/{{city}}" },
};

describe("an agent", () => {
  it("is made with what is said and the defaults for the rest", () => {
    expect(createAgent(at.db, mine)).toMatchObject({
      id: "mine",
      name: "mine",
      description: "",
      prompt: mine.prompt,
      model: null,
      builtin: false,
      settings: { maxTurns: 10, maxTokens: 2048, toolCalls: "all", toolChoice: "auto" },
    });
    expect(toolsOf("mine")).toEqual(DEFAULTS);
  });

  it.each([
    ["agent_invalid", { ...mine, id: "a b" }, "id: expected 1 to 64 letters"],
    ["agent_invalid", { ...mine, id: "x".repeat(65) }, "id"],
    ["agent_invalid", { id: "mine", prompt: "" }, "prompt: is empty"],
    ["agent_invalid", { ...mine, settings: { maxTurns: 0 } }, "settings.maxTurns"],
    ["agent_invalid", { ...mine, tools: [] }, "at least one tool"],
    ["agent_invalid", { ...mine, colour: "red" }, "colour"],
    ["prompt_variable", { id: "mine", prompt: "For {{inbox}}." }, "{{inbox}}"],
    ["agent_invalid", { ...mine, model: "nobody/gpt" }, "nobody"],
    ["tool_unknown", { ...mine, tools: [{ id: "nothing" }] }, "nothing"],
    ["tool_attached", { ...mine, tools: [{ id: "email_get" }, { id: "email_get" }] }, "twice"],
    ["tool_config", { ...mine, tools: [{ id: "email_get", config: { page: 1 } }] }, "page"],
    ["agent_exists", { ...mine, id: "art-e" }, "art-e"],
  ])("is not made, and nothing with it: %s %j", (code, input, word) => {
    expect(refused(at.db, code, () => createAgent(at.db, input))).toContain(word);
  });

  it("names its model in full", () => {
    expect(createAgent(at.db, { ...mine, model: "claude-x" }).model).toBe("anthropic/claude-x");
  });

  it("is changed in what is named only, and its settings can be taken away again", () => {
    createAgent(at.db, { ...mine, settings: { temperature: 1, maxTurns: 3 } });
    expect(updateAgent(at.db, "mine", { model: "openai/gpt-4.1", settings: { temperature: null } })).toMatchObject({
      prompt: mine.prompt,
      model: "openai/gpt-4.1",
      settings: { maxTurns: 3 },
    });
    expect(getAgent(at.db, "mine").settings).not.toHaveProperty("temperature");
    refused(at.db, "agent_invalid", () => updateAgent(at.db, "mine", { settings: { maxTurns: "many" } }));
    refused(at.db, "prompt_variable", () => updateAgent(at.db, "mine", { prompt: "{{x}}" }));
    refused(at.db, "agent_unknown", () => updateAgent(at.db, "other", { name: "x" }));
  });

  it("that came with the program is cloned, with its tools and their configs, and not changed", () => {
    for (const change of [
      () => updateAgent(at.db, "art-e", { name: "x" }),
      () => deleteAgent(at.db, "art-e"),
      () => attachTools(at.db, "art-e", ["email_get"]),
      () => detachTools(at.db, "art-e", ["read_email"]),
    ]) {
      expect(refused(at.db, "agent_builtin", change)).toContain("agents clone art-e");
    }
    cloneAgent(at.db, "art-e", "mine");
    expect(getAgent(at.db, "mine")).toMatchObject({ settings: getAgent(at.db, "art-e").settings, builtin: false });
    const configs = (id: string) => attachedOrDefault(at.db, id).map(({ config }) => JSON.parse(config ?? "null"));
    expect(toolsOf("mine")).toEqual(toolsOf("art-e"));
    expect(configs("mine")).toEqual([null, { pageSize: 1_000_000 }, null]);
  });

  it("gets tools after those it has, also where those were the default ones, and loses all but the last", () => {
    at.db.exec("INSERT INTO agents (id, name, prompt) VALUES ('plain', 'plain', 'p')");
    attachTools(at.db, "plain", ["read_email"], { pageSize: 5_000 });
    expect(toolsOf("plain")).toEqual([...DEFAULTS, "read_email"]);
    refused(at.db, "tool_attached", () => attachTools(at.db, "plain", ["read_email"]));
    refused(at.db, "tool_unknown", () => attachTools(at.db, "plain", ["nothing"]));
    refused(at.db, "tool_config", () => attachTools(at.db, "plain", ["search_emails"], { limit: 1 }));
    for (const id of DEFAULTS) detachTools(at.db, "plain", [id]);
    expect(toolsOf("plain")).toEqual(["read_email"]);
    refused(at.db, "tool_last", () => detachTools(at.db, "plain", ["read_email"]));
    refused(at.db, "tool_not_attached", () => detachTools(at.db, "plain", ["email_get"]));
  });
});

describe("a tool", () => {
  it("is made, changed and deleted, unless an agent has it", () => {
    expect(createTool(at.db, weather)).toMatchObject({ name: "weather", category: "own", builtin: false });
    createAgent(at.db, mine);
    attachTools(at.db, "mine", ["weather"], { timeoutMs: 1_000 });
    expect(updateTool(at.db, "weather", { description: "Better." })).toMatchObject({ description: "Better." });
    expect(refused(at.db, "tool_in_use", () => deleteTool(at.db, "weather"))).toContain("detach mine weather");
    detachTools(at.db, "mine", ["weather"]);
    deleteTool(at.db, "weather");
    refused(at.db, "tool_unknown", () => getTool(at.db, "weather"));
  });

  it.each([
    ["tool_invalid", { ...weather, id: "a/b" }, "id"],
    ["tool_invalid", { ...weather, description: "" }, "the model reads it"],
    ["tool_invalid", { ...weather, colour: 1 }, "colour"],
    ["tool_exists", { ...weather, id: "email_get", name: "x" }, "email_get"],
    ["handler_unknown", { ...weather, handlerKey: "ftp" }, "ftp"],
    ["tool_schema", { ...weather, parametersSchema: { type: "string" } }, "object"],
    ["tool_config", { ...weather, handlerConfig: {} }, "url"],
    ["tool_config", { ...weather, handlerConfig: { url: "https://{{city}}/" } }, "path and query only"],
    ["tool_config", { ...weather, handlerConfig: { url: "https://x.{{city}}/" } }, "path and query only"],
    ["tool_config", { ...weather, handlerConfig: { url: "https://a:b@example.com/" } }, "use a header"],
    ["tool_config", { ...weather, handlerConfig: { url: "file:///etc/{{city}}" } }, "http"],
    ["tool_config", { ...weather, handlerConfig: { url: "https://example.com/{{town}}" } }, "{{town}}"],
    [
      "tool_config",
      { ...weather, handlerConfig: { url: "https://x.com", headers: { Authorization: "Bearer abc" } } },
      "secret",
    ],
    ["tool_config", { ...weather, handlerConfig: { url: "https://x.com", headers: { "X-Api-Key": "abc" } } }, "secret"],
    ["tool_config", { ...weather, handlerKey: "command", handlerConfig: { command: [] } }, "a program"],
    ["tool_config", { ...weather, handlerKey: "module", handlerConfig: { module: "x.ts" } }, "absolute"],
    [
      "tool_config",
      { ...weather, handlerKey: "mcp", handlerConfig: { tool: "a", server: { url: "ws://x" } } },
      "server",
    ],
  ])("is not made: %s %j", (code, input, word) => {
    expect(refused(at.db, code, () => createTool(at.db, input))).toContain(word);
  });

  it("is not changed so that an agent's config of it would not fit any more, nor is one that came with the program", () => {
    createTool(at.db, weather);
    refused(at.db, "tool_builtin", () => updateTool(at.db, "email_get", { name: "x" }));
    refused(at.db, "tool_builtin", () => deleteTool(at.db, "email_get"));
    refused(at.db, "tool_config", () => updateTool(at.db, "weather", { parametersSchema: { type: "object" } }));
  });
});

describe("a version", () => {
  const numbers = () => listVersions(at.db, "mine").map(({ version }) => version);

  it("is kept of every change, of the agent and of its tools, and of nothing else", () => {
    createTool(at.db, weather);
    createAgent(at.db, mine);
    expect(numbers()).toEqual([1]);
    attachTools(at.db, "mine", ["weather"]);
    updateTool(at.db, "weather", { description: "Better." });
    updateAgent(at.db, "mine", { prompt: "Answer." });
    expect(numbers()).toEqual([4, 3, 2, 1]);
    updateAgent(at.db, "mine", { prompt: "Answer." });
    cloneAgent(at.db, "mine", "other");
    expect(currentVersion(at.db, "mine")).toBe(4);
    expect(numbers()).toEqual([4, 3, 2, 1]);
  });

  it("holds the tools whole as they were, and outlives the agent; a new one of the name goes on counting", () => {
    createTool(at.db, weather);
    createAgent(at.db, { ...mine, tools: [{ id: "weather", config: { timeoutMs: 5 } }] });
    updateTool(at.db, "weather", { description: "Better." });
    deleteAgent(at.db, "mine");
    const [tool] = getVersion(at.db, "mine", 1).tools;
    expect(tool).toMatchObject({ tool: weather, config: '{"timeoutMs":5}' });
    createAgent(at.db, mine);
    expect(currentVersion(at.db, "mine")).toBe(3);
    refused(at.db, "version_unknown", () => getVersion(at.db, "mine", 9));
  });

  it("is made of a change by hand too, as soon as it matters", () => {
    createAgent(at.db, mine);
    at.db.exec("UPDATE agents SET prompt = 'By hand.' WHERE id = 'mine'");
    expect(currentVersion(at.db, "mine")).toBe(2);
    updateAgent(at.db, "mine", { prompt: "By command." });
    expect(listVersions(at.db, "mine").map(({ agent }) => agent.prompt)).toEqual([
      "By command.",
      "By hand.",
      mine.prompt,
    ]);
  });

  it("of an agent broken by hand does not keep the others from being changed", () => {
    createAgent(at.db, mine);
    at.db.exec("UPDATE agents SET settings = 'x' WHERE id = 'mine'");
    expect(createAgent(at.db, { ...mine, id: "other" }).id).toBe("other");
  });
});
