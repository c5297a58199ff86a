import { existsSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ModelError } from "../../src/models/model.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import type { Tool } from "../../src/tools/tool.js";
import { call, finish, type Line, scripted } from "../agents/scripted-model.js";
import { demoSet, openDemo, type TestDb } from "./demo-setup.js";
import { benchmark } from "./run-setup.js";

/** Whatever a task ends as, its files go with it. */

let demo: TestDb;
let set: QuestionSet;
beforeEach(async () => {
  demo = await openDemo();
  set = await demoSet();
  demo.db.exec(`INSERT INTO agents (id, name, prompt) VALUES ('filer', 'filer', 'p');
    INSERT INTO agent_tools (agent_id, tool_id) VALUES ('filer', 'write_file'), ('filer', 'read_file'),
      ('filer', 'list_files'), ('filer', 'return_final_answer')`);
});
afterEach(() => demo.close());

const write = call("write_file", { path: "a.txt", content: "kept" });

test("the files of one task stay through its turns, and no other task sees them", async () => {
  const lines = [write, call("read_file", { path: "a.txt" }), finish("x"), call("list_files", {}), finish("y")];
  const questions = set.questions.slice(0, 2);
  const wanted = { model: scripted(lines), set, questions, agentId: "filer", concurrency: 1 };
  const { traces } = await benchmark(demo.db, wanted);
  expect(traces.map(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
    [{ path: "a.txt", bytes: 4 }, expect.objectContaining({ content: "1\tkept" }), { accepted: true }],
    [{ files: [], total: 0 }, { accepted: true }],
  ]);
});

/** Uses the workspace and remembers where it is. */
function remembering(folders: string[], onCall: () => void = () => undefined): Tool {
  return {
    id: "write_file",
    description: "",
    parameters: { type: "object" },
    async call(_, { workspace, signal }) {
      await workspace?.use(async ({ files }) => {
        if (existsSync(files)) folders.push(files);
      });
      onCall();
      signal.throwIfAborted();
      return { ok: true, value: null };
    },
  };
}

const ENDINGS: readonly [ending: string, lines: readonly (Line | Error)[]][] = [
  ["answered", [write, { content: "x" }]],
  ["out_of_turns", Array(10).fill(write)],
  ["model_error", [write, new ModelError("bad_request", "no", { retryable: false })]],
];

test.each(ENDINGS)("a task that ends as %s leaves no files", async (ending, lines) => {
  const folders: string[] = [];
  const tools = [remembering(folders)];
  const wanted = { model: scripted(lines), set, questions: set.questions.slice(0, 1), tools, agentId: "filer" };
  const { traces } = await benchmark(demo.db, wanted);
  expect(traces.map((trace) => trace.ending)).toEqual([ending]);
  expect(folders.length).toBeGreaterThan(0);
  expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
});

test("nor does one that is interrupted, or that a fault of ours ends", async () => {
  const folders: string[] = [];
  const stop = new AbortController();
  const wanted = { set, questions: set.questions.slice(0, 1), agentId: "filer" };
  const stopping = [remembering(folders, () => stop.abort(new Error("Ctrl-C")))];
  await benchmark(demo.db, { ...wanted, model: scripted([write]), tools: stopping, signal: stop.signal });
  const faulty = [
    remembering(folders, () => {
      throw new Error("a fault of ours");
    }),
  ];
  await expect(benchmark(demo.db, { ...wanted, model: scripted([write]), tools: faulty })).rejects.toThrow("a fault");
  expect(folders).toHaveLength(2);
  expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
});
