import { describe, expect, it } from "vitest";
import { exportAgent, importAgent } from "../../src/agents/agent-file.js";
import { createAgent, createTool, updateAgent, updateTool } from "../../src/agents/registry.js";
import { getAgent, versionedAgent } from "../../src/agents/registry-store.js";
import { openEmpty } from "../runs/demo-setup.js";
import { freshRegistry, refused } from "./registry-db.js";

const at = freshRegistry();

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

describe("an agent's file", () => {
  it.each(ODD_PROMPTS)("goes round with the prompt %j", (prompt) => {
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

  it("is read by people: the prompt stands in it as it is written", () => {
    makeMine();
    expect(exportAgent(at.db, "mine")).toContain("\nprompt: |\n  Answer.\n  Briefly.\ntools:\n");
  });

  it("goes round for every agent that came with the program, under another id", () => {
    for (const id of ["art-e", "baseline", "data-worker", "email-search", "noop", "oracle"]) {
      bring(exportAgent(at.db, id).replace(`id: ${id}`, `id: my-${id}`));
      expect(exportAgent(at.db, `my-${id}`).replace(`my-${id}`, id)).toBe(exportAgent(at.db, id));
    }
  });

  it("is not put over what is there and differs, unless that is wanted; the same tool may come twice", () => {
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

  it("brings nothing where one of its parts cannot be brought", () => {
    makeMine();
    const broken = exportAgent(at.db, "mine").replaceAll("weather", "wind").replace("id: mine", "id: new");
    refused(at.db, "tool_unknown", () => bring(broken.replace("- id: email_get", "- id: nothing")));
    refused(at.db, "prompt_variable", () => bring(broken.replace("Briefly.", "{{brief}}")));
  });
});

const BOMB = Array.from({ length: 12 }, (_, i) => `a${i}: &a${i} [${i === 0 ? "x" : `*a${i - 1}, *a${i - 1}`}]`).join(
  "\n",
);

describe("a file is refused, with its line, that", () => {
  it.each([
    ["has a key nobody knows", file("colour: red\n"), 6, "colour"],
    ["has one within a tool", file("    colour: red\n"), 6, "colour"],
    ["has a value of another type", file("settings:\n  maxTurns: many\n"), 7, "settings.maxTurns"],
    ["has a setting out of bounds", file("settings:\n  temperature: 9\n"), 7, "settings.temperature"],
    ["has an id that none can have", file("", "name: New\nid: a b\n"), 2, "id"],
    ["has no prompt", "id: new\nname: New\ntools: [{id: email_get}]\n", 1, "prompt"],
    ["has a key twice", file("id: again\n"), 6, "unique"],
    ["is no YAML", file("x: [1, 2\n"), 7, ""],
    ["has an alias", `${BOMB}\n${file()}`, 1, "anchor"],
    ["has an anchor", file("description: &x text\n"), 6, "anchor"],
    ["has a tag", file("description: !!js/function 'x'\n"), 6, "tag"],
    ["is a list", "- 1\n- 2\n", 1, "object"],
    ["is two documents", `${file()}---\n${file()}`, 6, "documents"],
    ["is a text", "hello", 1, "object"],
  ])("%s", (_, text, line, word) => {
    const words = refused(at.db, "agent_file", () => bring(text));
    expect(words).toMatch(new RegExp(`^agent\\.yaml:${line}: `));
    expect(words).toContain(word);
  });

  it.each([
    ["is empty", ""],
    ["is nested without end", `x: ${"[".repeat(100_000)}`],
    ["is far too long", `# ${"x".repeat(4_000_001)}`],
  ])("%s", (_, text) => {
    refused(at.db, "agent_file", () => bring(text));
  });
});
