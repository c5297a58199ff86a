import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { getAgent } from "../../src/agents/registry-store.js";
import { openStore } from "../../src/store/open-store.js";
import { getTool, listAttachedTools } from "../../src/tools/tool.js";
import { writeEarlierFile } from "../store/earlier-database.js";

test("a file of an earlier version gets the agents and tools for suites, and keeps the user's own of these names", () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-store-"));
  const path = join(folder, "earlier.db");
  writeEarlierFile(path, []);
  const earlier = new Database(path);
  earlier.exec(`
    INSERT INTO tools (id, name, description, parameters_schema, handler_key)
      VALUES ('run_shell', 'Mine', 'My shell.', '{"type": "object"}', 'email_get');
    INSERT INTO tools (id, name, description, parameters_schema, handler_key)
      VALUES ('apply_oracle', 'Mine', 'My oracle.', '{"type": "object"}', 'email_get');
    INSERT INTO agents (id, name, prompt) VALUES
      ('data-worker', 'My worker', 'Work.'), ('oracle', 'My oracle', 'Tell.'), ('other', 'Other', 'p');
    INSERT INTO agent_tools (agent_id, tool_id, config) VALUES
      ('oracle', 'apply_oracle', NULL), ('oracle', 'email_get', NULL),
      ('data-worker', 'run_shell', '{"pageSize": 5000}'), ('other', 'run_shell', NULL), ('other', 'read_file', NULL);`);
  earlier.close();

  const db = openStore(path, { mustExist: true });
  const attached = (agent: string) => listAttachedTools(db, agent).map(({ tool, config }) => [tool.id, config]);
  expect(getTool(db, "run_shell")).toMatchObject({ builtin: true, handlerKey: "run_shell" });
  expect(getTool(db, "own_run_shell")).toMatchObject({
    builtin: false,
    description: "My shell.",
    handlerKey: "email_get",
  });
  expect(getAgent(db, "data-worker")).toMatchObject({ builtin: true, name: "Data Worker" });
  expect(getAgent(db, "own-data-worker")).toMatchObject({ builtin: false, name: "My worker", prompt: "Work." });
  expect(attached("own-data-worker")).toEqual([["own_run_shell", '{"pageSize": 5000}']]);
  expect(attached("other")).toEqual([
    ["own_run_shell", null],
    ["read_file", null],
  ]);
  expect(attached("data-worker")).toHaveLength(8);
  expect(getAgent(db, "own-oracle")).toMatchObject({ builtin: false, prompt: "Tell.", model: null });
  expect(attached("own-oracle")).toEqual([
    ["own_apply_oracle", null],
    ["email_get", null],
  ]);
  for (const id of ["oracle", "noop"])
    expect(getAgent(db, id)).toMatchObject({ builtin: true, model: `offline/${id}` });
  expect(getTool(db, "read_file")).toMatchObject({ builtin: true, description: expect.stringContaining("machine") });
  db.close();
  rmSync(folder, { recursive: true });
});
