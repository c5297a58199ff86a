import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { QUESTIONS, ROOT, startProgram } from "../cli/art-e.js";

/**
 * The examples of docs/agent-frameworks.md. The frameworks are stand-ins with their published interfaces, which call the
 * tools as a model would, so that the examples run offline. Vitest and art-e are the real packages.
 */

const PAGE = readFileSync(join(ROOT, "docs/agent-frameworks.md"), "utf8");
const EXAMPLES = [...PAGE.matchAll(/^```typescript\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
const example = (text: string) => EXAMPLES.find((code) => code.includes(text)) ?? "";

/** Searches with the question, then answers with the first email. */
const LOOP = `
  export async function twoSteps(question, tools) {
    const { emails } = await tools.email_search({ query: question });
    return { first: emails[0]?.message_id ?? "", text: \`The answer is in \${emails[0]?.message_id ?? "no email"}\` };
  }
  export const usage = { inputTokens: 100, outputTokens: 10 };`;

const STEPS = `
  const { text } = await twoSteps(prompt, Object.fromEntries(Object.entries(tools).map(([name, { execute }]) => [name, execute])));
  const call = { toolName: "email_search", input: { query: prompt } };
  const steps = [
    { text: "", reasoningText: "Search first.", toolCalls: [call], usage },
    { text, reasoningText: undefined, toolCalls: [], usage: { inputTokens: 200, outputTokens: undefined } },
  ];
  return { text, steps };`;

const STAND_INS: Readonly<Record<string, string>> = {
  ai: `import { twoSteps, usage } from "../loop.mjs";
    export const jsonSchema = (schema) => schema;
    export const tool = (definition) => definition;
    export const stepCountIs = (count) => ({ count });
    export async function generateText({ prompt, tools }) { ${STEPS} }`,
  "@mastra/core/agent": `import { twoSteps, usage } from "../../../loop.mjs";
    export class Agent {
      async generate(prompt, { toolsets: { mail: tools } }) { ${STEPS} }
    }`,
  "@openai/agents": `import { twoSteps, usage } from "../../loop.mjs";
    export const tool = (definition) => definition;
    export class Agent { constructor(options) { Object.assign(this, options); } }
    export async function run({ tools }, question) {
      const { text } = await twoSteps(question, Object.fromEntries(tools.map(({ name, execute }) => [name, execute])));
      const call = { type: "function_call", name: "email_search", arguments: JSON.stringify({ query: question }) };
      const message = { type: "message", content: [{ type: "output_text", text }] };
      return { finalOutput: text, rawResponses: [{ output: [call], usage }, { output: [message], usage }] };
    }`,
};

const JITI = join(ROOT, "node_modules/jiti/lib/jiti-cli.mjs");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "art-e-frameworks-"));
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const [name, target] of [
    ["art-e", ROOT],
    ["vitest", join(ROOT, "node_modules/vitest")],
  ] as const) {
    symlinkSync(target, join(modules, name));
  }
  writeFileSync(join(modules, "loop.mjs"), LOOP);
  for (const [name, code] of Object.entries(STAND_INS)) {
    mkdirSync(join(modules, name), { recursive: true });
    writeFileSync(join(modules, name, "package.json"), JSON.stringify({ name, type: "module", exports: "./index.js" }));
    writeFileSync(join(modules, name, "index.js"), code);
  }
  const core = { name: "@mastra/core", type: "module", exports: { "./agent": "./agent/index.js" } };
  writeFileSync(join(modules, "@mastra/core/package.json"), JSON.stringify(core));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "mail-agent.ts"), example("// mail-agent.ts"));
  copyFileSync(inject("demoDatabase"), join(folder, "art-e.db"));
  cpSync(QUESTIONS, join(folder, "questions.jsonl"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("docs/agent-frameworks.md", () => {
  it.each([
    ["the AI SDK", "generateText({"],
    ["Mastra", "@mastra/core"],
    ["OpenAI Agents", "@openai/agents"],
  ])("measures an agent of %s, whose trace has a turn per model call", async (name, text) => {
    const file = `${name.replaceAll(" ", "-")}.ts`;
    const shown = `const { openDatabase } = await import("art-e");
      const database = await openDatabase();
      const [trace] = [...database.traces("latest")];
      console.log(JSON.stringify([trace.turns.map(({ usage }) => usage.inputTokens), trace.toolCalls.map(({ turn }) => turn)]));`;
    writeFileSync(join(folder, file), `${example(text)}\n${shown}`);
    const { code, stdout, stderr } = await startProgram(folder, process.execPath, [JITI, file], {}).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [figures = "", trace = ""] = stdout.trim().split("\n");
    const [sources, turns] = figures.split(" ").map(Number);
    expect(sources).toBeGreaterThan(0);
    expect(turns).toBe(2);
    const second = text === "@openai/agents" ? 100 : 200;
    expect(JSON.parse(trace)).toEqual([[100, second], [text === "@mastra/core" ? 1 : 0]]);
  });

  it("tests an agent with Vitest, and a missed limit fails with its reason", async () => {
    const test = example("// agent.test.ts");
    writeFileSync(join(folder, "agent.test.ts"), test);
    writeFileSync(join(folder, "missed.test.ts"), test.replace("sources: 0.7", "sources: 0.8"));
    const cli = join(dirname(JITI), "../../vitest/vitest.mjs");
    const vitest = (file: string) =>
      startProgram(folder, process.execPath, [cli, "run", file, "--root", folder], { CI: "true" }).ended;
    expect(await vitest("agent.test.ts")).toMatchObject({ code: 0 });
    const missed = await vitest("missed.test.ts");
    expect(missed.code).toBe(1);
    expect(missed.stdout + missed.stderr).toContain(
      "sources has the lower bound 0.719 (0.822, n=73), which does not reach 0.8",
    );
  });
});
