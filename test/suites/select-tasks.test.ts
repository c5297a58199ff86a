import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSuiteFolder, readIndexFile } from "../../src/suites/suite-folder.js";
import { type SuiteSelectionOptions, selectTasks } from "../../src/suites/task/select-tasks.js";
import { pairTasks } from "../../src/tasks/suite-task.js";
import { flowbookTask, read, taskFiles, writeSuite } from "./write-suite.js";

/** Tasks of two pairs, in two tools, and a task without a counterpart. */
function select(selection: SuiteSelectionOptions) {
  const { suite, tasks } = read({
    "index.json": { jupyter: ["b2"], excel: ["a1"] },
    "wrong.json": { excel: ["b1", "a1"] },
    ...taskFiles("excel", flowbookTask("a1", "a2")),
    ...taskFiles("excel", flowbookTask("a2", "a1")),
    ...taskFiles("jupyter", flowbookTask("b1", "b2", { tags: ["gui", "account", "abstract"] })),
    ...taskFiles("jupyter", flowbookTask("b2", "b1")),
    ...taskFiles("jupyter", flowbookTask("c1", "zz", { counterpart: null })),
  });
  const all = tasks.map(({ task }) => task);
  return selectTasks(all, selection, suite).map(({ id }) => id);
}

describe("selectTasks", () => {
  it.each<[string, SuiteSelectionOptions, string]>([
    ["all tasks", {}, "a1 a2 b1 b2 c1"],
    ["tasks by tool", { tool: "jupyter" }, "b1 b2 c1"],
    ["tasks that have all tags", { tag: ["account", "gui"] }, "b1"],
    ["no tasks if no task has all tags", { tag: ["account", "verbose"] }, ""],
    ["tasks by ids and id prefixes", { task: ["c", "a2"] }, "a2 c1"],
    ["tasks by tool and tag", { tool: "excel", tag: ["verbose"] }, "a2"],
    ["tasks in the order of an index file", { index: "index.json" }, "b2 a1"],
    ["the abstract tasks", { counterparts: "abstract" }, "a1 b1 c1"],
    ["the verbose tasks", { counterparts: "verbose" }, "a2 b2"],
    ["entire pairs", { counterparts: "both" }, "a1 a2 b1 b2"],
    ["the entire pairs of some tasks", { counterparts: "both", task: ["b2", "c1"] }, "b1 b2"],
  ])("selects %s", (_, selection, expected) => {
    expect(select(selection).join(" ")).toBe(expected);
  });

  it.each<[SuiteSelectionOptions, string]>([
    [{ tag: ["account", "nosuch"] }, 'Unknown tag "nosuch". Available: abstract, account, '],
    [{ tool: "jupiter" }, 'Unknown tool "jupiter". Available: excel, jupyter.'],
  ])("rejects unknown tags and tools (%j)", (selection, message) => {
    expect(() => select(selection)).toThrow(message);
  });

  it("rejects unknown and ambiguous ids", () => {
    expect(() => select({ task: ["x"] })).toThrow('Unknown task "x".');
    expect(() => select({ task: ["b"] })).toThrow("More than one task id starts with b: b1, b2.");
  });

  it("rejects an index file that contains tasks that are not in the suite", () => {
    expect(() => select({ index: "wrong.json" })).toThrow(
      "The index file lists 1 task missing from the suite, such as excel/b1.",
    );
  });
});

describe("task pairs", () => {
  const pairsOf = (...pairs: [string, string | null][]) => {
    const files = pairs.map(([id, counterpart]) => taskFiles("excel", flowbookTask(id, "", { counterpart })));
    const { tasks } = read(Object.assign({}, ...files));
    return Object.fromEntries(pairTasks(tasks.map(({ task }) => task)));
  };

  it("consist of tasks that refer to each other", () => {
    expect(pairsOf(["a", "b"], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("include a task that refers to itself and the task that refers to it", () => {
    expect(pairsOf(["a", "a"], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("include a task that has no counterpart, and any task that refers to that task", () => {
    expect(pairsOf(["a", null], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("never contain a task twice", () => {
    expect(pairsOf(["a", "b"], ["b", "a"], ["c", "a"])).toEqual({ a: "b", b: "a" });
    expect(pairsOf(["a", null], ["b", "a"], ["c", "a"])).toEqual({ a: "b", b: "a" });
    expect(pairsOf(["a", "b"], ["b", "c"], ["c", "a"])).toEqual({});
  });
});

describe("readIndexFile", () => {
  const suiteWith = (content: unknown) =>
    openSuiteFolder(writeSuite({ "index.json": content, ...taskFiles("excel", flowbookTask("a", "b")) }));

  it("finds a file by its path, or by its name next to examples/", () => {
    const suite = suiteWith({ excel: ["a"], jupyter: [] });
    for (const path of ["index.json", join(suite.root, "index.json")]) {
      expect(readIndexFile(path, suite)).toEqual([{ tool: "excel", id: "a" }]);
    }
  });

  it.each([
    ["a list", ["a"], "expected a JSON object that maps each tool"],
    ["ids that are numbers", { excel: [1] }, "expected a JSON object that maps each tool"],
    ["invalid JSON", "{", "expected a JSON object that maps each tool"],
  ])("rejects %s", (_, content, message) => {
    expect(() => readIndexFile("index.json", suiteWith(content))).toThrow(message);
  });

  it("rejects a missing file", () => {
    expect(() => readIndexFile("other.json", suiteWith({}))).toThrow("Cannot find the index file other.json");
  });
});
