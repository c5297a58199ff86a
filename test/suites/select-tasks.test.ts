import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SuiteSelectionOptions, selectTasks } from "../../src/suites/select-tasks.js";
import { openSuiteFolder, readIndexFile } from "../../src/suites/suite-folder.js";
import { pairTasks } from "../../src/tasks/suite-task.js";
import { flowbookTask, read, taskFiles, writeSuite } from "./write-suite.js";

/** Of two pairs, in two tools, and a task without a counterpart. */
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

describe("a selection of tasks", () => {
  it.each<[string, SuiteSelectionOptions, string]>([
    ["everything", {}, "a1 a2 b1 b2 c1"],
    ["by tool", { tool: "jupyter" }, "b1 b2 c1"],
    ["by all of its tags", { tag: ["account", "gui"] }, "b1"],
    ["by no task's tags", { tag: ["account", "cli"] }, ""],
    ["by ids and their beginnings", { task: ["c", "a2"] }, "a2 c1"],
    ["by tool and tag", { tool: "excel", tag: ["verbose"] }, "a2"],
    ["in the order of an index file", { index: "index.json" }, "b2 a1"],
    ["the abstract ones", { counterparts: "abstract" }, "a1 b1 c1"],
    ["the verbose ones", { counterparts: "verbose" }, "a2 b2"],
    ["whole pairs", { counterparts: "both" }, "a1 a2 b1 b2"],
    ["whole pairs of a part", { counterparts: "both", task: ["b2", "c1"] }, "b1 b2"],
  ])("is %s", (_, selection, expected) => {
    expect(select(selection).join(" ")).toBe(expected);
  });

  it("refuses ids that are none, or of several", () => {
    expect(() => select({ task: ["x"] })).toThrow('Unknown task "x".');
    expect(() => select({ task: ["b"] })).toThrow("Several tasks start with b: b1, b2.");
  });

  it("refuses an index file with tasks that the suite has not", () => {
    expect(() => select({ index: "wrong.json" })).toThrow(
      "The index file lists 1 tasks that are not in the suite, such as excel/b1.",
    );
  });
});

describe("pairs", () => {
  const pairsOf = (...pairs: [string, string | null][]) => {
    const files = pairs.map(([id, counterpart]) => taskFiles("excel", flowbookTask(id, "", { counterpart })));
    const { tasks } = read(Object.assign({}, ...files));
    return Object.fromEntries(pairTasks(tasks.map(({ task }) => task)));
  };

  it("are tasks that name each other", () => {
    expect(pairsOf(["a", "b"], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("are also a task that names itself and the one that names it", () => {
    expect(pairsOf(["a", "a"], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("are also a task without a counterpart and the one that names it", () => {
    expect(pairsOf(["a", null], ["b", "a"])).toEqual({ a: "b", b: "a" });
  });

  it("never hold one task twice", () => {
    expect(pairsOf(["a", "b"], ["b", "a"], ["c", "a"])).toEqual({ a: "b", b: "a" });
    expect(pairsOf(["a", null], ["b", "a"], ["c", "a"])).toEqual({ a: "b", b: "a" });
    expect(pairsOf(["a", "b"], ["b", "c"], ["c", "a"])).toEqual({});
  });
});

describe("an index file", () => {
  const suiteWith = (content: unknown) =>
    openSuiteFolder(writeSuite({ "index.json": content, ...taskFiles("excel", flowbookTask("a", "b")) }));

  it("is found by its name beside examples/, or by its path", () => {
    const suite = suiteWith({ excel: ["a"], jupyter: [] });
    for (const path of ["index.json", join(suite.root, "index.json")]) {
      expect(readIndexFile(path, suite)).toEqual([{ tool: "excel", id: "a" }]);
    }
  });

  it.each([
    ["a list", ["a"], "expected a JSON object of tools"],
    ["ids that are numbers", { excel: [1] }, "expected a JSON object of tools"],
    ["no JSON", "{", "expected a JSON object of tools"],
  ])("is refused with %s", (_, content, message) => {
    expect(() => readIndexFile("index.json", suiteWith(content))).toThrow(message);
  });

  it("is refused where there is none", () => {
    expect(() => readIndexFile("other.json", suiteWith({}))).toThrow("Cannot find the index file other.json");
  });
});
