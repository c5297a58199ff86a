import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkSuite } from "../../src/suites/check-suite.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { selectTasks } from "../../src/suites/task/select-tasks.js";
import { readSuite } from "../../src/suites/task/task-file.js";
import { classifyTask } from "../../src/suites/task-needs.js";
import { pairTasks } from "../../src/tasks/suite-task.js";
import { needs, SUITES } from "../machine-requirements.js";

/** Both real suites, compared with a manual review of their tasks (triage.tsv). */

const readReal = (name: string) => readSuite(openSuiteFolder(join(SUITES, name)));

/** The rows of a suite's triage, by task id. */
function triageOf(name: string): Map<string, Record<string, string>> {
  const [heading = "", ...lines] = readFileSync(join(SUITES, name, "triage.tsv"), "utf8")
    .trimEnd()
    .split("\n");
  const columns = heading.split("\t");
  const rows = lines.map((line) => Object.fromEntries(line.split("\t").map((cell, i) => [columns[i] ?? "", cell])));
  return new Map(rows.map((row) => [row.uuid ?? "", row]));
}

/** Id prefixes of the tasks with findings of a code. */
function tasksWith(name: string, code: string): string[] {
  const found = checkSuite(readReal(name)).filter((finding) => finding.code === code);
  return [...new Set(found.map(({ task }) => task?.slice(0, 8) ?? ""))].sort();
}

describe("Flowbook's 44 tasks", needs("suites"), () => {
  it("load with their tags, counterpart and evaluation", () => {
    const { tasks, problems } = readReal("flowbook");
    const triage = triageOf("flowbook");
    expect(problems).toEqual([]);
    expect(tasks).toHaveLength(44);
    for (const { task } of tasks) {
      const row = triage.get(task.id);
      expect(task.tags.join(",")).toBe(row?.tags);
      expect(task.counterpart).toBe(row?.counterpart);
      expect(task.evaluation?.metrics.map(({ func }) => func)).toEqual([row?.eval]);
      expect(task.dialect).toBe("flowbook");
    }
  });

  it("fall into classes by the way they are graded", () => {
    const triage = triageOf("flowbook");
    for (const read of readReal("flowbook").tasks) {
      const grading = triage.get(read.task.id)?.grading ?? "";
      expect(classifyTask(read), read.task.id).toBe(grading.split("+")[0]);
    }
  });

  it("show exactly the known faults", () => {
    expect(tasksWith("flowbook", "arguments_swapped")).toEqual(["42a2e80d", "58013f69"]);
    expect(tasksWith("flowbook", "result_elsewhere")).toEqual(["75e61e47"]);
    expect(tasksWith("flowbook", "counterpart_self")).toEqual(["5085517b"]);
    expect(tasksWith("flowbook", "counterpart_not_mutual")).toEqual(["99a0ef1f"]);
    expect(tasksWith("flowbook", "function_old_spelling")).toEqual(["a4773fa9", "b09a0441"]);
    const codes = new Set(checkSuite(readReal("flowbook")).map(({ code }) => code));
    // Scripts and archives are missing in the data, and the settings are not filled in.
    expect([...codes].sort()).toEqual([
      "arguments_swapped",
      "counterpart_not_mutual",
      "counterpart_self",
      "file_missing",
      "function_old_spelling",
      "result_elsewhere",
      "settings_not_filled_in",
    ]);
  });

  it("miss only scripts and archives", () => {
    const missing = checkSuite(readReal("flowbook")).filter(({ code }) => code === "file_missing");
    expect(missing).not.toEqual([]);
    expect(missing.filter(({ message }) => !/\.(sh|py|zip) is not in/.test(message))).toEqual([]);
  });

  it("form 22 pairs, and can be selected with their index files", () => {
    const { suite, tasks } = readReal("flowbook");
    const all = tasks.map(({ task }) => task);
    expect(pairTasks(all).size).toBe(44);
    const index = "test_five.json";
    expect(selectTasks(all, { index }, suite)).toHaveLength(5);
    expect(selectTasks(all, { index, counterparts: "both" }, suite)).toHaveLength(10);
    expect(selectTasks(all, { counterparts: "verbose" }, suite)).toHaveLength(22);
  });
});

describe("Spider2-V's 494 tasks", needs("suites"), () => {
  it("load with their tags, counterpart, setup and evaluation", () => {
    const { tasks, problems } = readReal("spider2v");
    const triage = triageOf("spider2v");
    const names = (funcs: readonly string[]) => [...new Set(funcs)].sort().join(",");
    expect(problems).toEqual([]);
    expect(tasks).toHaveLength(494);
    for (const { task } of tasks) {
      const row = triage.get(task.id);
      expect([task.tool, task.tags.join(","), task.counterpart]).toEqual([row?.tool, row?.tags, row?.counterpart]);
      expect(names(task.config.map(({ func }) => func)), task.id).toBe(row?.config);
      expect(names(task.evaluation?.postconfig.map(({ func }) => func) ?? []), task.id).toBe(row?.postconfig);
      expect(names(task.evaluation?.metrics.map(({ func }) => func) ?? []), task.id).toBe(
        names(row?.eval?.split(",") ?? []),
      );
      const results = task.evaluation?.metrics.flatMap(({ result }) => result?.func ?? []) ?? [];
      expect(names(results), task.id).toBe(names(row?.result?.split(",") ?? []));
      expect(task.dialect).toBe("spider2v");
    }
  });

  it("fall into classes, 122 of them graded by files or a script, and the ones with an account as such", () => {
    const triage = triageOf("spider2v");
    const byRunnable = { yes: new Set<string>(), no: new Set<string>() };
    for (const read of readReal("spider2v").tasks) {
      const row = triage.get(read.task.id);
      const runnable = classifyTask(read);
      byRunnable[row?.runnable === "yes" ? "yes" : "no"].add(runnable);
      if (row?.runnable === "yes") expect(row.grading?.includes("script"), read.task.id).toBe(runnable === "script");
      expect(runnable === "account", read.task.id).toBe(row?.class === "D");
      if (row?.class === "C") expect(runnable, read.task.id).toBe("server");
    }
    expect([...byRunnable.yes].sort()).toEqual(["files", "script"]);
    // Not visible in the functions: a changed clock, a server that the grading script calls, unreachable packages.
    expect([...byRunnable.no].sort()).toEqual(["account", "screen", "script", "server"]);
  });

  it("show exactly the known faults", () => {
    expect(tasksWith("spider2v", "destination_equal")).toEqual(["07a5f2ae", "4f3dea28", "a264fb06", "bb1540e7"]);
    const codes = new Set(checkSuite(readReal("spider2v")).map(({ code }) => code));
    expect([...codes].sort()).toEqual([
      "destination_equal",
      "file_missing",
      "needs_account",
      "needs_screen",
      "needs_server",
      "screen_passed_over",
      "settings_not_filled_in",
    ]);
  });

  it("match index files, which mark the tasks that need an account", () => {
    const { suite, tasks } = readReal("spider2v");
    const all = tasks.map(({ task }) => task);
    const sizes = ["all", "abstract", "verbose", "account", "non_account", "one"].map((name) => {
      return selectTasks(all, { index: `test_${name}.json` }, suite).length;
    });
    expect(sizes).toEqual([494, 247, 247, 168, 326, 1]);
    expect(pairTasks(all).size).toBe(494);
    expect(selectTasks(all, { tag: ["account"] }, suite)).toHaveLength(170);
  });
});
