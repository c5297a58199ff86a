import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AppContext } from "../../src/platform/app-context.js";
import type { TaskMachine, TaskMachines } from "../../src/sandbox/task-machine.js";
import type { CustomFunction } from "../../src/suites/functions/custom-functions.js";
import { folderMachines } from "../../src/suites/machines/folder-machine.js";
import { openOracle } from "../../src/suites/oracle.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { AccountSettings } from "../../src/suites/task/account-settings.js";
import { findSandboxedMachines, openSuiteTask } from "../../src/suites/task/open-task.js";
import { readSuite } from "../../src/suites/task/task-file.js";
import { findObstacle, type TaskSources } from "../../src/suites/task-needs.js";
import { needs, SUITES } from "../machine-requirements.js";
import { machinesStart } from "./machines-start.js";
import { temporaryFolder } from "./temporary-folder.js";
import { DEMO_SUITE, flowbookTask, spiderTask, taskFiles, upload, writeSuite } from "./write-suite.js";

const context = { settings: { db: "/nowhere/art-e.db" } } as unknown as AppContext;
const [LAMPS, WEATHER, CATCHES] = ["8cb2db91", "575c7366", "84401e16"] as const;
const signal = new AbortController().signal;
const suite = openSuiteFolder(DEMO_SUITE);

function taskOf(id: string) {
  const found = readSuite(suite).tasks.find(({ task }) => task.id.startsWith(id));
  if (found === undefined) throw new Error(`no task ${id}`);
  return found.task;
}

async function open(id: string, machines = findSandboxedMachines(suite, context)) {
  const opening = await openSuiteTask(taskOf(id), { suite, machines: await machines }, signal);
  if (!opening.ok) throw new Error(opening.reason);
  onTestFinished(() => opening.opened.close());
  return opening.opened;
}

async function run(machine: TaskMachine, ...argv: string[]): Promise<string> {
  const { stdout } = await machine.run({ argv, cwd: null, env: {}, timeoutMs: 20_000 }, signal);
  return stdout.trim();
}

describe("openSuiteTask in a sandboxed machine", needs("sandbox", machinesStart), () => {
  it("sets up a task without its gold files and grading scripts, and runs a script to grade it", async () => {
    const { machine, grade } = await open(LAMPS);
    expect(await run(machine, "ls", "lamps")).toBe("east.conf\nnorth.conf\nsouth.conf");
    expect(await run(machine, "find", "/", "-xdev", "-name", "eval.sh", "-o", "-name", "*_gold*")).toBe("");
    expect(await run(machine, "ls", suite.root)).toBe("");
    expect(await grade(signal)).toMatchObject({ score: 0, state: "success" });
    await run(machine, "rm", "lamps/south.conf");
    expect(await grade(signal)).toEqual({ score: 1, state: "success", reason: "" });
  });

  it("grades while the agent's processes are running, and ends them when it is closed", async () => {
    const opened = await open(WEATHER);
    expect(await run(opened.machine, "cat", "weather/today.txt")).toBe("wind 5\ntide high");
    expect(await opened.grade(signal)).toMatchObject({ score: 0, state: "success" });
    const server = "cd weather; python3 -m http.server 8036 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 2";
    await run(opened.machine, "bash", "-c", server);
    expect(await opened.grade(signal)).toMatchObject({ score: 1 });
    await opened.close();
    await expect(run(opened.machine, "true")).rejects.toThrow("closed");
  });

  it("isolates tasks that are open at the same time", async () => {
    const [one, other] = await Promise.all([open(LAMPS), open(LAMPS)]);
    await run(one.machine, "rm", "lamps/south.conf");
    expect(await run(other.machine, "ls", "lamps")).toContain("south.conf");
    expect((await one.grade(signal)).score).toBe(1);
    expect((await other.grade(signal)).score).toBe(0);
  });

  it("reports the failed step, and leaves no machine", async () => {
    const task = { ...taskOf(LAMPS), config: [{ func: "upload_script_and_execute", arguments: BROKEN }] };
    const folder = temporaryFolder();
    cpSync(join(task.folder, "eval.sh"), join(folder, "broken.sh"));
    const broken = { ...task, folder, evaluation: null };
    const machines = await findSandboxedMachines(suite, context);
    expect(await openSuiteTask(broken, { suite, machines }, signal)).toEqual({
      ok: false,
      state: "setup_error",
      reason: expect.stringMatching(
        /^setup step 1, upload_script_and_execute: \/home\/user\/init.sh ended with exit code \d+: ls: .*lamps/,
      ),
    });
  });
});

const BROKEN = { local_path: "broken.sh", remote_path: "/home/user/init.sh" };

describe("openSuiteTask", () => {
  it("rejects an unknown snapshot", async () => {
    const task = { ...taskOf(CATCHES), snapshot: "moon" };
    const machines = await findSandboxedMachines(suite, context);
    expect(await openSuiteTask(task, { suite, machines }, signal)).toEqual({
      ok: false,
      state: "not_ready",
      reason: 'unknown snapshot "moon": add it to snapshots.json in the suite\'s folder',
    });
  });

  it("sets up and grades in a folder if the task needs only files", async () => {
    const { machine, grade } = await open(CATCHES, Promise.resolve(folderMachines));
    expect(await grade(signal)).toMatchObject({ score: 0, state: "success" });
    await machine.copyIn(join(taskOf(CATCHES).folder, "catches_gold.csv"), "/home/user/Desktop/catches.csv");
    expect(await grade(signal)).toEqual({ score: 1, state: "success", reason: "" });
  });

  it("rejects a folder if the setup runs a script", async () => {
    const opening = await openSuiteTask(taskOf(LAMPS), { suite, machines: folderMachines }, signal);
    expect(opening).toMatchObject({ ok: false, state: "unsupported" });
  });
});

const A = "11111111";

/** The obstacle to the only task of a suite. Its machines are folders by default. */
async function obstacleTo(task: { id: string }, tool: string, files: object = {}, sources: Partial<TaskSources> = {}) {
  const suite = openSuiteFolder(writeSuite({ ...taskFiles(tool, task), ...files }));
  const [read] = readSuite(suite).tasks;
  if (read === undefined) throw new Error("not read");
  const found = await findObstacle(read.task, { suite, machines: folderMachines, ...sources });
  return found === null ? null : `${found.state}: ${found.reason}`;
}

const spider = (config: readonly object[], changes: object = {}) => spiderTask(A, "2", { config, ...changes });
const call = (type: string, parameters: object = {}) => ({ type, parameters });
const rule = { type: "rule", rules: { expected: "a" } };

describe("findObstacle", () => {
  it("returns null if everything that the task needs is available", async () => {
    expect(await obstacleTo(flowbookTask(A, "2"), "jupyter")).toBeNull();
    expect(await obstacleTo(spiderTask(A, "2"), "excel")).toBeNull();
  });

  it.each([
    [
      "a setup function that needs an account",
      "bigquery_init",
      "needs_account: setup step 1, bigquery_init: needs an account",
    ],
    [
      "a setup function that needs a server",
      "airbyte_webui_init",
      "needs_server: setup step 1, airbyte_webui_init: needs a server",
    ],
    ["a setup function that needs a screen", "act", "unsupported: setup step 1, act: needs a screen"],
    ["an unsupported function", "upload_file", "unsupported: setup step 1, upload_file: is unsupported"],
    ["an unknown function", "dream", "unsupported: setup step 1, dream: is unknown"],
  ])("reports %s", async (_, func, said) => {
    expect(await obstacleTo(spider([call(func)]), "excel")).toBe(said);
    const setUp = new Map<string, CustomFunction>([[func, () => undefined]]);
    const custom = { setUp, evaluation: new Map(), getters: new Map() };
    expect(await obstacleTo(spider([call(func)]), "excel", {}, { custom })).toBeNull();
  });

  it.each([
    ["an evaluation function", { func: "check_file_existence", expected: rule }, "needs_server: evaluation function"],
    [
      "a getter",
      { func: "exact_match", result: { type: "snowflake_user_info" }, expected: rule },
      "needs_account: getter snowflake_user_info needs an account",
    ],
  ])("reports %s before the agent starts", async (_, evaluator, said) => {
    expect(await obstacleTo(spider([], { evaluator }), "excel")).toContain(said);
  });

  it("allows skipped steps before grading, and nested comparisons that score 0", async () => {
    const { evaluator } = spiderTask(A, "2");
    const withPostconfig = spider([], { evaluator: { ...evaluator, postconfig: [call("dream")] } });
    expect(await obstacleTo(withPostconfig, "excel")).toBeNull();
    const evaluation = {
      func: "evaluate_multiple_notebooks",
      arguments: { operator: "or", comparisons: [{ func: "dream", arguments: {} }] },
    };
    expect(await obstacleTo(flowbookTask(A, "2", { evaluation }), "jupyter")).toBeNull();
  });

  it("reports all missing files, in either dialect", async () => {
    const config = [upload("in.csv", "/home/user/in.csv"), upload("more.csv", "/home/user/more.csv")];
    const evaluation = { func: "compare_csv", arguments: { local_expected: "none.csv", vm_result: "/home/user/a" } };
    expect(await obstacleTo(flowbookTask(A, "2", { config, evaluation }), "jupyter")).toBe(
      "missing_files: more.csv, none.csv: missing from the task's folder",
    );
    const copy = call("copyfile_from_host_to_guest", { src: "evaluation_examples/a.zip", dest: "/home/user/a.zip" });
    expect(await obstacleTo(spider([copy]), "excel")).toBe(
      "missing_files: evaluation_examples/a.zip: missing from the suite",
    );
  });

  it("requires filled-in settings for a task tagged account", async () => {
    const settings = call("copyfile_from_host_to_guest", { src: "settings/lake/settings.json", dest: "/tmp/a" });
    const task = spider([settings], { tags: ["account"] });
    const folder = writeSuite({ "examples/a/b/b.json": "{}", "lake/settings.json": { user: "b" } });
    const accounts = new AccountSettings(openSuiteFolder(folder), folder, {});
    expect(await obstacleTo(task, "excel")).toContain("needs_account");
    expect(await obstacleTo(task, "excel", {}, { accounts })).toBeNull();
  });

  it("requires an oracle line if the agent is the oracle", async () => {
    const file = join(
      writeSuite({ "oracle.jsonl": { suite: "other", uuid: A, state: "gold", expected_score: 1 } }),
      "oracle.jsonl",
    );
    const suite = openSuiteFolder(writeSuite(taskFiles("jupyter", flowbookTask(A, "2"))));
    const oracle = openOracle(file, suite);
    expect(await obstacleTo(flowbookTask(A, "2"), "jupyter", {}, { oracle })).toBe(
      "no_oracle: the oracle file has no line for this task",
    );
  });

  it("finds the lines of the suite's own oracle file under any name of its folder", async () => {
    const task = flowbookTask(A, "2");
    const line = { suite: "other", uuid: A, state: "gold", expected_score: 1 };
    const suite = openSuiteFolder(writeSuite({ ...taskFiles("jupyter", task), "oracle.jsonl": line }));
    const oracle = openOracle(join(suite.root, "oracle.jsonl"), suite);
    expect(await obstacleTo(task, "jupyter", {}, { oracle })).toBeNull();
  });
});

describe("findObstacle on a snapshot", needs("sandbox", machinesStart), () => {
  const withSnapshot = async (snapshot: string, script: string) => {
    const config = [
      { func: "upload_script_and_execute", arguments: { local_path: "init.sh", remote_path: "/home/user/init.sh" } },
    ];
    const task = flowbookTask(A, "2", { snapshot, config });
    const own = { base: { optional: { "art-e-none": null, sh: "dash" } }, far: { unavailable: "runs in containers" } };
    const files = { [`examples/jupyter/${A}/init.sh`]: script, "snapshots.json": own };
    const suite = openSuiteFolder(writeSuite({ ...taskFiles("jupyter", task), ...files }));
    const machines: TaskMachines = await findSandboxedMachines(suite, context);
    return obstacleTo(task, "jupyter", files, { machines });
  };

  it.each([
    ["base", "echo art-e-none; sh -c true\n# art-e-none\n", null],
    [
      "base",
      "x=$(art-e-none list)",
      "not_ready: the snapshot base does not have programs that the task's scripts call: art-e-none",
    ],
    ["base", "cd /tmp\nif art-e-none; then true; fi", "not_ready: the snapshot base does not have programs"],
    ["base", "curl -s localhost:3000/assets", "not_ready: the snapshot base does not have programs"],
    ["far", "true", "needs_server: the snapshot far is not available: runs in containers"],
    ["moon", "true", 'not_ready: unknown snapshot "moon"'],
  ])("returns for %s and the script %j the obstacle %s", async (snapshot, script, said) => {
    const found = await withSnapshot(snapshot, script);
    if (said === null) expect(found).toBeNull();
    else expect(found).toContain(said);
  });
});

describe("Spider2-V's 170 tasks with accounts", needs("suites"), () => {
  it("run if settings are filled in and custom functions are given, except tasks that need a server or dbt", async () => {
    const suite = openSuiteFolder(join(SUITES, "spider2v"));
    // Custom functions for everything.
    const every = Object.assign(new Map<string, CustomFunction>(), { has: () => true, get: () => () => 1 });
    const sources: TaskSources = {
      suite,
      machines: await findSandboxedMachines(suite, context),
      accounts: { read: () => ({ text: "{}" }), secrets: () => ["x"] } as unknown as AccountSettings,
      custom: { setUp: every, evaluation: every, getters: every },
    };
    const tasks = readSuite(suite).tasks.filter(({ task }) => task.tags.includes("account"));
    const obstacles = await Promise.all(tasks.map(({ task }) => findObstacle(task, sources)));
    const states = tasks.map(({ task }, i) => `${task.snapshot} ${obstacles[i]?.state ?? "runs here"}`);
    expect(new Set(states.filter((state) => !state.startsWith("dbt ")))).toEqual(
      new Set(["airbyte needs_server", "bigquery runs here", "servicenow runs here", "snowflake runs here"]),
    );
  });
});
