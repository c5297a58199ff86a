import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { describeModule, importServerTools } from "../../src/agents/add-tool.js";
import { callTool } from "../../src/agents/agent-loop.js";
import { type ExternalResources, openExternalResources } from "../../src/tools/external-resources.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { getTool, listTools } from "../../src/tools/tool.js";
import { never } from "../runs/demo-setup.js";
import { stdioServerFile } from "../tools/sdk-servers.js";
import { freshRegistry } from "./registry-db.js";

const at = freshRegistry();
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

it("adds every tool of a server under a name that providers take, and each can be called", async () => {
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
});

it("tells a second time apart from the first, and leaves out what is no tool, with the reason", async () => {
  await importAll([], "x");
  const { added, skipped } = await importAll(["MALFORMED"], "x");
  expect(added[0]?.id).toBe("x_behave_2");
  expect(skipped).toEqual([
    { name: "odd", why: expect.stringContaining("which cannot be checked") },
    { name: "later", why: expect.stringContaining("task") },
    { name: "3 of its list", why: expect.stringContaining("not valid tools") },
  ]);
});

it("gives the model a text as the server wrote it, and no JSON of it", async () => {
  await importAll([], "x");
  const live = toTool({ tool: getTool(at.db, "x_behave"), config: null }, { mailbox: openMailbox(at.db), outside });
  const context = { inbox: null, cutoff: null, signal: never };
  const call = { id: "c1", name: live.id, arguments: { do: "prose" } };
  const { message, record } = await callTool(call, 0, new Map([[live.id, live]]), context);
  expect(message.content).toBe('Two lines,\nand a "quote".');
  expect(record.result).toBe(message.content);
  const short = { tool: getTool(at.db, "x_behave"), config: JSON.stringify({ maxResultChars: 100 }) };
  const huge = await toTool(short, { mailbox: openMailbox(at.db), outside }).call({ do: "story" }, context);
  expect(huge).toEqual({ ok: true, value: expect.stringMatching(/^Once(.|\n)*\n\[cut off: 100 of 404 characters\]$/) });
});

it("adds nothing of a server that cannot be reached, and shows no secret in saying so", async () => {
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

it.each(Object.entries(MODULES))("reads what the module %s says of itself", async (name, source) => {
  writeFileSync(join(at.folder, name), source);
  expect(await describeModule(join(at.folder, name), [], outside, never)).toMatchObject({
    description: "D",
    parameters: { type: "object" },
  });
});

it.each([
  ["broken.ts", "export const call = (", "cannot be loaded"],
  ["throws.ts", "throw new Error('at once');", "at once"],
  ["nothing.ts", "export const x = 1;", "exports no function call"],
  ["exits.ts", "process.exit(0);", "was ended"],
])("refuses the module %s", async (name, source, word) => {
  writeFileSync(join(at.folder, name), source);
  await expect(describeModule(join(at.folder, name), [], outside, never)).rejects.toMatchObject({
    code: "module_unusable",
    message: expect.stringContaining(word),
  });
});
