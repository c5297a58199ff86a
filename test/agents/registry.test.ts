import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeModule, importServerTools } from "../../src/agents/add-tool.js";
import { exportAgent, importAgent } from "../../src/agents/agent-file.js";
import { callTool } from "../../src/agents/agent-loop.js";
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
import { currentVersion, getAgent, getVersion, listVersions, versionedAgent } from "../../src/agents/registry-store.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { type ExternalResources, openExternalResources } from "../../src/tools/tool-connections.js";
import { attachedOrDefault, getTool, listTools } from "../../src/tools/tools-store.js";
import { never, openEmpty } from "../runs/demo-setup.js";
import { stdioServerFile } from "../tools/sdk-servers.js";
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

describe("saving an agent", () => {
  it("uses the settings from the command, and defaults for the others", () => {
    expect(createAgent(at.db, mine)).toMatchObject({
      id: "mine",
      name: "mine",
      description: "",
      prompt: mine.prompt,
      model: null,
      builtin: false,
      settings: { maxTurns: 10, maxTokens: 2048, toolCalls: "all", toolChoice: "auto", toolResults: "plain" },
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
    ["prompt_variable_unknown", { id: "mine", prompt: "For {{inbox}}." }, "{{inbox}}"],
    ["agent_invalid", { ...mine, model: "nobody/gpt" }, "nobody"],
    ["tool_unknown", { ...mine, tools: [{ id: "nothing" }] }, "nothing"],
    ["tool_attached", { ...mine, tools: [{ id: "email_get" }, { id: "email_get" }] }, "twice"],
    ["tool_config_invalid", { ...mine, tools: [{ id: "email_get", config: { page: 1 } }] }, "page"],
    ["tool_config_invalid", { ...mine, tools: [{ id: "email_get", config: { page: 1 } }] }, "; allowed: "],
    ["agent_exists", { ...mine, id: "art-e" }, "art-e"],
  ])("leaves nothing behind if the agent is invalid (%s %j)", (code, input, word) => {
    expect(refused(at.db, code, () => createAgent(at.db, input))).toContain(word);
  });

  it("stores the model's full name", () => {
    expect(createAgent(at.db, { ...mine, model: "claude-x" }).model).toBe("anthropic/claude-x");
  });

  it("changes only the specified settings, and removes them on request", () => {
    createAgent(at.db, { ...mine, settings: { temperature: 1, maxTurns: 3 } });
    expect(updateAgent(at.db, "mine", { model: "openai/gpt-4.1", settings: { temperature: null } })).toMatchObject({
      prompt: mine.prompt,
      model: "openai/gpt-4.1",
      settings: { maxTurns: 3 },
    });
    expect(getAgent(at.db, "mine").settings).not.toHaveProperty("temperature");
    refused(at.db, "agent_invalid", () => updateAgent(at.db, "mine", { settings: { maxTurns: "many" } }));
    refused(at.db, "prompt_variable_unknown", () => updateAgent(at.db, "mine", { prompt: "{{x}}" }));
    refused(at.db, "agent_unknown", () => updateAgent(at.db, "other", { name: "x" }));
  });

  it("clones a built-in agent with its tools and their configs, but does not change the original", () => {
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

  it("adds tools to the default ones, and removes all but the last", () => {
    at.db.exec("INSERT INTO agents (id, name, prompt) VALUES ('plain', 'plain', 'p')");
    attachTools(at.db, "plain", ["read_email"], { pageSize: 5_000 });
    expect(toolsOf("plain")).toEqual([...DEFAULTS, "read_email"]);
    refused(at.db, "tool_attached", () => attachTools(at.db, "plain", ["read_email"]));
    refused(at.db, "tool_unknown", () => attachTools(at.db, "plain", ["nothing"]));
    refused(at.db, "tool_config_invalid", () => attachTools(at.db, "plain", ["search_emails"], { limit: 1 }));
    for (const id of DEFAULTS) detachTools(at.db, "plain", [id]);
    expect(toolsOf("plain")).toEqual(["read_email"]);
    refused(at.db, "tool_last", () => detachTools(at.db, "plain", ["read_email"]));
    refused(at.db, "tool_not_attached", () => detachTools(at.db, "plain", ["email_get"]));
  });
});

describe("saving a tool", () => {
  it("creates, changes and deletes the tool unless an agent uses it", () => {
    expect(createTool(at.db, weather)).toMatchObject({ name: "weather", category: "general", builtin: false });
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
    ["tool_schema_invalid", { ...weather, parametersSchema: { type: "string" } }, "object"],
    ["tool_config_invalid", { ...weather, handlerConfig: {} }, "url"],
    ["tool_config_invalid", { ...weather, handlerConfig: { url: "https://{{city}}/" } }, "only in its path and query"],
    [
      "tool_config_invalid",
      { ...weather, handlerConfig: { url: "https://x.{{city}}/" } },
      "only in its path and query",
    ],
    ["tool_config_invalid", { ...weather, handlerConfig: { url: "https://a:b@example.com/" } }, "Use a header"],
    ["tool_config_invalid", { ...weather, handlerConfig: { url: "file:///etc/{{city}}" } }, "http"],
    ["tool_config_invalid", { ...weather, handlerConfig: { url: "https://example.com/{{town}}" } }, "{{town}}"],
    [
      "tool_config_invalid",
      { ...weather, handlerConfig: { url: "https://x.com", headers: { Authorization: "Bearer abc" } } },
      "secret",
    ],
    [
      "tool_config_invalid",
      { ...weather, handlerConfig: { url: "https://x.com", headers: { "X-Api-Key": "abc" } } },
      "secret",
    ],
    ["tool_config_invalid", { ...weather, handlerKey: "command", handlerConfig: { command: [] } }, "a program"],
    ["tool_config_invalid", { ...weather, handlerKey: "module", handlerConfig: { module: "x.ts" } }, "absolute"],
    [
      "tool_config_invalid",
      { ...weather, handlerKey: "mcp", handlerConfig: { tool: "a", server: { url: "ws://x" } } },
      "server",
    ],
  ])("rejects an invalid tool (%s %j)", (code, input, word) => {
    expect(refused(at.db, code, () => createTool(at.db, input))).toContain(word);
  });

  it("rejects a change that would make an agent's config invalid, or that concerns a built-in tool", () => {
    createTool(at.db, weather);
    refused(at.db, "tool_builtin", () => updateTool(at.db, "email_get", { name: "x" }));
    refused(at.db, "tool_builtin", () => deleteTool(at.db, "email_get"));
    refused(at.db, "tool_config_invalid", () => updateTool(at.db, "weather", { parametersSchema: { type: "object" } }));
  });
});

describe("an agent's versions", () => {
  const numbers = () => listVersions(at.db, "mine").map(({ version }) => version);

  it("record every change of the agent and its tools, and nothing else", () => {
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

  it("contain the complete tools, and outlive the agent. A new agent of the same name continues the numbering", () => {
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

  it("record a change made in the database, when the agent is next used", () => {
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

  it("change as usual if another agent is broken in the database", () => {
    createAgent(at.db, mine);
    at.db.exec("UPDATE agents SET settings = 'x' WHERE id = 'mine'");
    expect(createAgent(at.db, { ...mine, id: "other" }).id).toBe("other");
  });
});

const ODD_PROMPTS = [
  "One line with: a colon, # a hash and 'quotes'.",
  "Two lines.\n\n  Indented {{inbox_address}}.\n- a list\n",
  "  begins with blanks\nand ends without a line end",
  "tabs\tand emoji \u{1f600} and a trailing blank \nlast",
  "---\n%YAML\n*alias &anchor !tag\n",
  "null",
  "12",
];

function makeMine(prompt = "Answer.\nBriefly.\n") {
  createTool(at.db, {
    id: "weather",
    description: "The\nweather.",
    parametersSchema: { type: "object", properties: { city: { type: "string", default: "no" } } },
    handlerKey: "http",
    handlerConfig: { url: "https://example.com/{{city}}", headers: { authorization: `Bearer \${ENV:KEY}` } },
  });
  const tools = [{ id: "weather", config: { timeoutMs: 5 } }, { id: "email_get" }];
  createAgent(at.db, { id: "mine", prompt, tools, settings: { temperature: 0.5 }, model: "openai/gpt-4.1" });
}

const file = (more = "", head = "id: new\nname: New\n") => `${head}prompt: Hi\ntools:\n  - id: email_get\n${more}`;
const bring = (text: string, replace = false) => importAgent(at.db, text, "agent.yaml", replace);

describe("the file of an agent", () => {
  it.each(ODD_PROMPTS)("stays the same after export and import if the prompt is %j", (prompt) => {
    makeMine(prompt);
    const yaml = exportAgent(at.db, "mine");
    const other = openEmpty();
    importAgent(other.db, yaml, "mine.yaml", false);
    const plain = ({ agent, tools }: ReturnType<typeof versionedAgent>) => {
      const { createdAt: _, updatedAt: __, ...kept } = { createdAt: "", updatedAt: "", ...agent };
      return { kept, tools: tools.map(({ tool, config }) => ({ config, ...tool, createdAt: "", updatedAt: "" })) };
    };
    expect(plain(versionedAgent(other.db, "mine"))).toEqual(plain(versionedAgent(at.db, "mine")));
    expect(exportAgent(other.db, "mine")).toBe(yaml);
    other.close();
  });

  it("contains the prompt as a literal block, so people can read it", () => {
    makeMine();
    expect(exportAgent(at.db, "mine")).toContain("\nprompt: |\n  Answer.\n  Briefly.\ntools:\n");
  });

  it("stays the same after export and import under another id, for every built-in agent", () => {
    for (const id of ["art-e", "baseline", "data-worker", "email-search", "mail-worker", "noop", "oracle"]) {
      bring(exportAgent(at.db, id).replace(`id: ${id}`, `id: my-${id}`));
      expect(exportAgent(at.db, `my-${id}`).replace(`my-${id}`, id)).toBe(exportAgent(at.db, id));
    }
  });

  it("replaces a different agent only on request, and can contain the same tool twice", () => {
    makeMine();
    const yaml = exportAgent(at.db, "mine");
    updateTool(at.db, "weather", { description: "Changed." });
    updateAgent(at.db, "mine", { prompt: "Changed." });
    expect(refused(at.db, "tool_exists", () => bring(yaml))).toContain("weather");
    bring(yaml, true);
    expect(exportAgent(at.db, "mine")).toBe(yaml);
    expect(refused(at.db, "agent_exists", () => bring(yaml))).toContain("--replace");
    bring(yaml.replace("id: mine", "id: second"));
    expect(getAgent(at.db, "second").prompt).toBe("Answer.\nBriefly.\n");
    refused(at.db, "agent_builtin", () => bring(exportAgent(at.db, "art-e"), true));
  });

  it("imports nothing if one of its parts is invalid", () => {
    makeMine();
    const broken = exportAgent(at.db, "mine").replaceAll("weather", "wind").replace("id: mine", "id: new");
    refused(at.db, "tool_unknown", () => bring(broken.replace("- id: email_get", "- id: nothing")));
    refused(at.db, "prompt_variable_unknown", () => bring(broken.replace("Briefly.", "{{brief}}")));
  });
});

const BOMB = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} [${i === 0 ? "x" : `*a${i - 1}, *a${i - 1}`}]`).join(
  "\n",
);

describe("importing an agent file", () => {
  it.each([
    ["has an unknown key", file("colour: red\n"), 6, "colour"],
    ["has an unknown key in a tool", file("    colour: red\n"), 6, "colour"],
    ["has a value of the wrong type", file("settings:\n  maxTurns: many\n"), 7, "settings.maxTurns"],
    ["has a setting out of bounds", file("settings:\n  temperature: 9\n"), 7, "settings.temperature"],
    ["has an invalid id", file("", "name: New\nid: a b\n"), 2, "id"],
    ["has no prompt", "id: new\nname: New\ntools: [{id: email_get}]\n", 1, "prompt"],
    ["has the same key twice", file("id: again\n"), 6, "has the key id twice"],
    ["is not YAML", file("x: [1, 2\n"), 7, ""],
    ["has an alias", `${BOMB}\n${file()}`, 1, "anchor"],
    ["has an anchor", file("description: &x text\n"), 6, "anchor"],
    ["has a tag", file("description: !!js/function 'x'\n"), 6, "tag"],
    ["is a list", "- 1\n- 2\n", 1, "object"],
    ["contains two documents", `${file()}---\n${file()}`, 6, "documents"],
    ["is a plain string", "hello", 1, "object"],
  ])("rejects a file that %s, and names the line", (_, text, line, word) => {
    const words = refused(at.db, "agent_file_invalid", () => bring(text));
    expect(words).toMatch(new RegExp(`^agent\\.yaml:${line}: `));
    expect(words).toContain(word);
  });

  it.each([
    ["is empty", ""],
    ["is endlessly nested", `x: ${"[".repeat(100_000)}`],
    ["is far too long", `# ${"x".repeat(4_000_001)}`],
  ])("rejects a file that %s", (_, text) => {
    refused(at.db, "agent_file_invalid", () => bring(text));
  });
});

describe("importing tools", () => {
  let outside: ExternalResources;

  beforeEach(() => {
    outside = openExternalResources({ PATH: process.env.PATH, MALFORMED: "1", TOKEN: "s3cr3t-token" });
  });

  afterEach(() => outside.close());

  const importAll = (env: string[] = [], prefix: string | null = null) => {
    const server = { command: [process.execPath, stdioServerFile(at.folder)], env };
    return importServerTools(
      at.db,
      { server, prefix, handlerConfig: { timeoutMs: 20_000 } },
      outside,
      new AbortController().signal,
    );
  };

  it("adds every tool of a server under a name that providers accept, and each can be called, even if its text is not JSON", async () => {
    const { added, skipped } = await importAll();
    expect(skipped).toEqual([]);
    expect(added.map(({ id }) => id)).toEqual([
      "test_server_behave",
      "test_server_pid",
      "test_server_die",
      "test_server_child",
      "test_server_a_b_c",
    ]);
    const row = getTool(at.db, "test_server_behave");
    expect(row).toMatchObject({
      handlerKey: "mcp",
      category: "mcp",
      handlerConfig: { tool: "behave", timeoutMs: 20_000 },
    });
    const context = { inbox: null, cutoff: null, signal: never };
    const live = toTool({ tool: row, config: null }, { mailbox: openMailbox(at.db), outside });
    expect(await live.call({ do: "echo", word: "a" }, context)).toEqual({ ok: true, value: { word: "a" } });
    const call = { id: "c1", name: live.id, arguments: { do: "prose" } };
    const { message, record } = await callTool(call, 0, new Map([[live.id, live]]), context);
    expect(message.content).toBe('Two lines,\nand a "quote".');
    expect(record.result).toBe(message.content);
    const short = { tool: row, config: JSON.stringify({ maxResultChars: 100 }) };
    const huge = await toTool(short, { mailbox: openMailbox(at.db), outside }).call({ do: "story" }, context);
    expect(huge).toEqual({
      ok: true,
      value: expect.stringMatching(/^Once(.|\n)*\n\[truncated: 100 of 404 characters\]$/),
    });
  });

  it("recognizes a repeated import, and skips invalid tools with the reason", async () => {
    await importAll([], "x");
    const { added, skipped } = await importAll(["MALFORMED"], "x");
    expect(added[0]?.id).toBe("x_behave_2");
    expect(skipped).toEqual([
      { name: "odd", why: expect.stringContaining("which cannot be checked") },
      { name: "later", why: expect.stringContaining("task") },
      { name: "2 listed tools", why: expect.stringContaining("not valid MCP tools") },
    ]);
  });

  it("adds nothing from an unreachable server, and shows no secret in the error", async () => {
    const before = listTools(at.db);
    const source = "console.error('bad token ' + process.env.TOKEN); process.exit(1)";
    const request = {
      server: { command: [process.execPath, "-e", source], env: ["TOKEN"] },
      prefix: null,
      handlerConfig: {},
    };
    const importing = importServerTools(at.db, request, outside, never);
    await expect(importing).rejects.toMatchObject({
      code: "mcp_failed",
      message: expect.stringContaining("bad token [secret]"),
    });
    expect(listTools(at.db)).toEqual(before);
  });

  const MODULES = {
    "named.ts": `export const description: string = "D"; export const parameters = { type: "object" }; export function call(): number { return 1; }`,
    "default.js": `export default { name: "N", description: "D", parameters: { type: "object" }, call: () => 1 };`,
    "common.cjs": `module.exports = { description: "D", parameters: { type: "object" }, call: () => 1 };`,
  };

  it.each(Object.entries(MODULES))(
    "reads the declared name, description and parameters of the module %s",
    async (name, source) => {
      writeFileSync(join(at.folder, name), source);
      expect(await describeModule(join(at.folder, name), [], outside, never)).toMatchObject({
        description: "D",
        parameters: { type: "object" },
      });
    },
  );

  it.each([
    ["broken.ts", "export const call = (", "Cannot load the module", /^Fix the module/],
    ["throws.ts", "throw new Error('at once');", "at once", /^Fix the module/],
    ["missing-import.ts", "import './absent.js'; export const call = () => 1;", "'./absent.js'", /^Fix the module/],
    ["nothing.ts", "export const x = 1;", "exports no function call", /^Export call\(args, context\)/],
    ["exits.ts", "process.exit(4);", "exits.ts: The module exited with code 4.", /^Fix the module/],
  ])("rejects the module %s with a hint that fits the cause", async (name, source, word, hint) => {
    writeFileSync(join(at.folder, name), source);
    await expect(describeModule(join(at.folder, name), [], outside, never)).rejects.toMatchObject({
      code: "module_unusable",
      message: expect.stringContaining(word),
      hint: expect.stringMatching(hint),
    });
  });

  it.each([
    ["a missing file", "absent.ts", "absent.ts: no such file"],
    ["a folder", ".", ": is not a file"],
  ])("rejects %s without mentioning exports", async (_kind, name, words) => {
    await expect(describeModule(join(at.folder, name), [], outside, never)).rejects.toMatchObject({
      code: "module_unusable",
      message: expect.stringContaining(words),
      hint: "Pass --module the path of a JavaScript or TypeScript file.",
    });
  });
});
