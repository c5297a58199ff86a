import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AppContext } from "../../src/platform/context.js";
import type { TaskMachine } from "../../src/sandbox/task-machine.js";
import { folderMachines } from "../../src/suites/folder-machine.js";
import { findSandboxedMachines, openSuiteTask } from "../../src/suites/open-task.js";
import { openSuiteFolder } from "../../src/suites/suite-folder.js";
import { readSuite } from "../../src/suites/task-file.js";
import { needs } from "../machine-requirements.js";
import { machinesStart } from "./machines-start.js";
import { DEMO_SUITE } from "./write-suite.js";

const [LAMPS, WEATHER, CATCHES] = ["8cb2db91", "575c7366", "84401e16"] as const;
const context = { settings: { db: "/nowhere/art-e.db" } } as unknown as AppContext;
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

describe("a task that is opened in a sandboxed machine", needs("sandbox", machinesStart), () => {
  it("is set up, holds no gold file and no script that grades, and is graded by one", async () => {
    const { machine, steps, grade } = await open(LAMPS);
    expect(steps).toEqual([{ func: "upload_script_and_execute", state: "done" }]);
    expect(await run(machine, "ls", "lamps")).toBe("east.conf\nnorth.conf\nsouth.conf");
    expect(await run(machine, "find", "/", "-xdev", "-name", "eval.sh", "-o", "-name", "*_gold*")).toBe("");
    expect(await run(machine, "ls", suite.root)).toBe("");
    expect(await grade(signal)).toMatchObject({ score: 0, state: "success" });
    await run(machine, "rm", "lamps/south.conf");
    expect(await grade(signal)).toEqual({ score: 1, state: "success", reason: "" });
  });

  it("is graded with what the agent left running, which ends when it is closed", async () => {
    const opened = await open(WEATHER);
    expect(opened.steps.at(-1)).toEqual({ func: "launch", state: "passed_over" });
    expect(await run(opened.machine, "cat", "weather/today.txt")).toBe("wind 5\ntide high");
    expect(await opened.grade(signal)).toMatchObject({ score: 0, state: "success" });
    const server = "cd weather; python3 -m http.server 8036 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 2";
    await run(opened.machine, "bash", "-c", server);
    expect(await opened.grade(signal)).toMatchObject({ score: 1 });
    await opened.close();
    await expect(run(opened.machine, "true")).rejects.toThrow("closed");
  });

  it("does not see another that is open at the same time", async () => {
    const [one, other] = await Promise.all([open(LAMPS), open(LAMPS)]);
    await run(one.machine, "rm", "lamps/south.conf");
    expect(await run(other.machine, "ls", "lamps")).toContain("south.conf");
    expect((await one.grade(signal)).score).toBe(1);
    expect((await other.grade(signal)).score).toBe(0);
  });

  it("says which step failed, and leaves no machine", async () => {
    const task = { ...taskOf(LAMPS), config: [{ func: "upload_script_and_execute", arguments: BROKEN }] };
    const folder = mkdtempSync(join(tmpdir(), "art-e-broken-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(join(task.folder, "eval.sh"), join(folder, "broken.sh"));
    const broken = { ...task, folder, evaluation: null };
    const machines = await findSandboxedMachines(suite, context);
    expect(await openSuiteTask(broken, { suite, machines }, signal)).toEqual({
      ok: false,
      state: "setup_error",
      reason: expect.stringMatching(
        /^set-up step 1, upload_script_and_execute: \/home\/user\/init.sh ended with exit code \d+: ls: .*lamps/,
      ),
    });
  });
});

const BROKEN = { local_path: "broken.sh", remote_path: "/home/user/init.sh" };

describe("a task that is opened", () => {
  it("is not where its snapshot is not known, and says so", async () => {
    const task = { ...taskOf(CATCHES), snapshot: "moon" };
    const machines = await findSandboxedMachines(suite, context);
    expect(await openSuiteTask(task, { suite, machines }, signal)).toEqual({
      ok: false,
      state: "not_ready",
      reason: 'there is no snapshot "moon": snapshots.json in the suite\'s folder adds one',
    });
  });

  it("is set up and graded in a folder, where it takes files only", async () => {
    const { machine, grade } = await open(CATCHES, Promise.resolve(folderMachines));
    expect(await grade(signal)).toMatchObject({ score: 0, state: "success" });
    await machine.copyIn(join(taskOf(CATCHES).folder, "catches_gold.csv"), "/home/user/Desktop/catches.csv");
    expect(await grade(signal)).toEqual({ score: 1, state: "success", reason: "" });
  });

  it("is not in a folder, where its set-up runs a script", async () => {
    const opening = await openSuiteTask(taskOf(LAMPS), { suite, machines: folderMachines }, signal);
    expect(opening).toMatchObject({ ok: false, state: "unsupported" });
  });
});
