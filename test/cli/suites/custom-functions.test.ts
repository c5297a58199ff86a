import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { flowbookTask, spiderTask, writeSuite } from "../../suites/write-suite.js";
import { workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, shell, startScriptedAgent } from "./scripted-agent.js";

/** A user's own set-up and evaluation functions: a module that --functions names, and none that a suite brings. */

const { artE, path, write, readJson } = workFolder();

const MODULE = `
import { readFileSync } from "node:fs";
export const setUp = {
  async make_numbers({ upTo }, { machine, task }) {
    const { exitCode } = await machine.run(["sh", "-c", 'seq "$0" > ~/numbers.txt', String(upTo)]);
    if (exitCode !== 0) throw new Error("no numbers for " + task.id);
  },
  async snowflake_init() { throw new Error("the warehouse is closed"); },
};
export const getters = {
  async sum_of({ path }, { machine }) {
    const { stdout } = await machine.run(["awk", "{ s += $1 } END { print s }", path]);
    return Number(stdout);
  },
};
export const evaluation = {
  async has_sum({ sum, file }, { machine, workFolder, result, expected }) {
    if (result !== null) return result === expected.sum ? 1 : 0.25;
    if (!(await machine.copyOut(file, workFolder + "/out"))) return 0;
    return readFileSync(workFolder + "/out", "utf8").trim() === String(sum) ? 1 : 0.5;
  },
  out_of_range: () => 7,
};
`;

const SET_UP = { func: "make_numbers", arguments: { upTo: 10 } };
const flowbook = (id: string, evaluation: object, config: readonly object[] = [SET_UP]) =>
  flowbookTask(id, "none", { snapshot: "base", instruction: "Add up.", config, evaluation });
const TASKS = [
  flowbook("11111111", { func: "has_sum", arguments: { sum: 55, file: "/home/user/sum.txt" } }),
  flowbook("22222222", { func: "has_sum", arguments: { sum: 56, file: "/home/user/sum.txt" } }),
  flowbook("33333333", { func: "out_of_range", arguments: {} }),
  spiderTask("44444444", "none", {
    snapshot: "base",
    instruction: "Add up.",
    config: [{ type: "make_numbers", parameters: { upTo: 4 } }],
    evaluator: {
      func: "has_sum",
      result: { type: "sum_of", path: "/home/user/numbers.txt" },
      expected: { type: "rule", rules: { sum: 10 } },
    },
  }),
  spiderTask("55555555", "none", {
    snapshot: "base",
    config: [{ type: "snowflake_init", parameters: {} }],
    evaluator: { func: "has_sum", result: { type: "sum_of", path: "/x" }, expected: { type: "rule", rules: {} } },
  }),
];
const FILES = Object.fromEntries(TASKS.map((task) => [`examples/terminal/${task.id}/${task.id}.json`, task]));

let provider: FakeProvider | undefined;
afterEach(() => provider?.close());

const ADD = shell("awk '{ s += $1 } END { print s }' numbers.txt > sum.txt");

describe("a user's functions", () => {
  it("set up and grade tasks of both forms", needs("sandbox", machinesStart), async () => {
    const suite = writeSuite(FILES);
    const module = write("functions.mjs", MODULE);
    provider = await startScriptedAgent(() => [ADD]);
    const line = `run --suite ${suite} -a data-worker --functions ${module} --max-run-tokens 1 --concurrency 1`;
    expect((await artE(line, providerVariables(provider))).code).toBe(1);
    // A run that goes on has the functions that it was begun with.
    const more = "run --resume latest --max-run-tokens 1000000 --quiet -o results.json";
    expect(await artE(more, providerVariables(provider))).toMatchObject({ code: 0 });
    const { taskResults, settings } = resultsSchema.parse(readJson("results.json"));
    expect(settings.functions).toBe(module);
    expect(taskResults.map(({ suite: graded }) => [graded?.score, graded?.state, graded?.reason])).toEqual([
      [1, "success", ""],
      [0.5, "success", "has_sum gives 0.5"],
      [0, "success", "out_of_range: it gave 7, which is no number from 0 to 1"],
      [1, "success", ""],
      [null, "setup_error", "set-up step 1, snowflake_init: the warehouse is closed"],
    ]);
  });

  it("are known to suite check, which without them says that there are none", async () => {
    const suite = writeSuite(FILES);
    const codes = async (flags: string) => {
      const { stdout } = await artE(`suite check ${suite} --json ${flags}`);
      return JSON.parse(stdout).errors.map(({ code }: { code: string }) => code);
    };
    const unknown = (await codes("")).filter((code: string) => code === "function_unknown");
    expect(unknown).toHaveLength(11);
    expect(await codes(`--functions ${write("functions.mjs", MODULE)}`)).not.toContain("function_unknown");
  });

  it("grade what an oracle says was left behind", needs("sandbox", machinesStart), async () => {
    const suite = writeSuite(FILES);
    const line = {
      suite: suite.split("/").at(-1),
      uuid: "11111111",
      state: "gold",
      grading: "script",
      expected_score: 0,
    };
    const oracle = write("oracle.jsonl", JSON.stringify({ ...line, files: {} }));
    const module = write("functions.mjs", MODULE);
    const { stdout, code } = await artE(`suite check ${suite} --oracle ${oracle} --functions ${module}`);
    expect({ stdout, code }).toEqual({ stdout: "1 equal, 0 different, 0 skipped\n", code: 0 });
  });

  it.each([
    ["there is no such file", null],
    ["it cannot be loaded: the disk is gone", "throw new Error('the disk is gone')"],
    ["it exports no functions", "export const x = 1"],
    ["its setUp is no object", "export const setUp = [() => 1]"],
    ["its evaluation.score is no function", "export const evaluation = { score: 1 }"],
    [
      "its evaluation.compare_csv has the name of a built-in function",
      "export const evaluation = { compare_csv() {} }",
    ],
    ["its getters.vm_file has the name of a built-in function", "export const getters = { vm_file() {} }"],
    ["its setUp.execute has the name of a built-in function", "module.exports = { setUp: { execute() {} } }"],
  ])("are refused in one line: %s", async (what, text) => {
    const suite = writeSuite(FILES);
    const module = path(`wrong-${what.length}.js`);
    if (text !== null) writeFileSync(module, text);
    const { code, stderr } = await artE(`suite check ${suite} --functions ${module}`);
    expect({ code, line: stderr.split("\n")[0] }).toEqual({ code: 2, line: `art-e: --functions ${module}: ${what}.` });
  });

  it("are never loaded from a suite", async () => {
    const marker = join(path("."), "loaded");
    const evil = `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "")`;
    const names = ["functions.js", "functions.mjs", "index.js", "settings/functions.js", "examples/functions.js"];
    const suite = writeSuite({ ...FILES, ...Object.fromEntries(names.map((name) => [name, evil])) });
    for (const line of [`suite check ${suite}`, `suite list ${suite}`]) await artE(line);
    expect(() => readJson("loaded")).toThrow("ENOENT");
  });

  it("are only for tasks of a suite", async () => {
    const { code, stderr } = await artE("run -a baseline --functions x.js");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("--functions is for tasks of a suite, and --suite is not given."),
    });
  });
});
