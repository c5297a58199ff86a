import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { FolderMachine } from "../../src/suites/machines/folder-machine.js";
import { runSetUp } from "../../src/suites/task/task-setup.js";
import type { FunctionCall, SuiteTask } from "../../src/tasks/suite-task.js";
import { RunningMachine } from "./running-machine.js";
import { temporaryFolder, writeFiles } from "./temporary-folder.js";

function createMachine() {
  const folder = temporaryFolder();
  const root = join(folder, "root");
  mkdirSync(join(root, "home"), { recursive: true });
  writeFileSync(join(folder, "secret"), "secret");
  return { folder, root, machine: new FolderMachine(root), out: join(folder, "out") };
}

describe("FolderMachine", () => {
  it("copies files and folders in and out", async () => {
    const { folder, machine, out } = createMachine();
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src", "a"), "1");
    await machine.copyIn(join(folder, "src"), "/home/user/new/src");
    await machine.copyIn(join(folder, "secret"), "/home/user/new/src/b");
    expect(await machine.copyOut("/home/user/new/src/a", out)).toBe(true);
    expect(readFileSync(out, "utf8")).toBe("1");
    expect(await machine.copyOut("/home/user/new/src", out)).toBe(false);
    expect(await machine.copyOut("/home/none", out)).toBe(false);
    expect(await machine.copyOut("/home/user/new/src/a/b", out)).toBe(false);
  });

  it("follows no link to a file or folder, and stays inside its folder", async () => {
    const { folder, root, machine, out } = createMachine();
    symlinkSync(join(folder, "secret"), join(root, "home", "link"));
    symlinkSync(folder, join(root, "up"));
    expect(await machine.copyOut("/home/link", out)).toBe(false);
    expect(await machine.copyOut("/up/secret", out)).toBe(false);
    expect(await machine.copyOut("/home/../../secret", out)).toBe(false);
    await expect(machine.copyIn(join(folder, "secret"), "/up/new")).rejects.toThrow("through a link");
    await expect(machine.copyOut("secret", out)).rejects.toThrow("absolute");
    await expect(machine.copyIn(join(folder, "secret"), "/")).rejects.toThrow("not a file");
  });

  it("does not wait for a pipe's writer", async () => {
    const { root, machine, out } = createMachine();
    execFileSync("mkfifo", [join(root, "home", "pipe")]);
    expect(await machine.copyOut("/home/pipe", out)).toBe(false);
  });
});

const call = (func: string, args: JsonObject = {}): FunctionCall => ({ func, arguments: args });
const upload = (local: string, remote: string) => call("upload_file_to_vm", { local_path: local, remote_path: remote });

const script = (local: string, remote: string) =>
  call("upload_script_and_execute", { local_path: local, remote_path: remote });

interface Setting {
  readonly dialect?: SuiteTask["dialect"];
  readonly suite?: Readonly<Record<string, string>>;
  readonly runs?: boolean;
  readonly tags?: readonly string[];
  readonly signal?: AbortSignal;
}

/** Sets up a task in a folder as a machine. Commands run on the host. */
async function setUp(config: readonly FunctionCall[], setting: Setting = {}) {
  const folder = temporaryFolder();
  const [root, suite] = [join(folder, "root"), join(folder, "suite")];
  for (const path of [root, suite]) mkdirSync(path);
  writeFiles(suite, setting.suite ?? {});
  symlinkSync("/etc/passwd", join(suite, "link"));
  const machine = new (setting.runs === false ? FolderMachine : RunningMachine)(root);
  const task = { dialect: "flowbook", folder: suite, tags: [], config, ...setting } as unknown as SuiteTask;
  const signal = setting.signal ?? new AbortController().signal;
  const result = await runSetUp({ task, machine, options: { suiteRoot: folder, timeScale: 0 }, signal });
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : null);
  return { result, read, commands: machine instanceof RunningMachine ? machine.commands : [] };
}

const spider = (suite: Setting["suite"] = {}): Setting => ({ dialect: "spider2v", suite });

describe("runSetUp on a Flowbook task", () => {
  it("uploads files and runs scripts, in order", async () => {
    const config = [
      upload("deep/in.csv", "~/Desktop/data/in.csv"),
      script("init.sh", "/home/user/init.sh"),
      script("init.sh", "/home/user/scripts/"),
    ];
    const suite = {
      "deep/in.csv": "a\n1\n",
      "init.sh":
        '#!/bin/sh\ncat "$ROOT/home/user/Desktop/data/in.csv" >> "$ROOT/seen"; echo "$TASK_SETUP_LOG" >> "$ROOT/seen"\n',
    };
    const { result, read } = await setUp(config, { suite });
    expect(result).toBeNull();
    expect(read("home/user/Desktop/data/in.csv")).toBe("a\n1\n");
    expect(read("home/user/scripts/init.sh")).toBe(suite["init.sh"]);
    expect(read("seen")).toBe("a\n1\ntask-setup.log\n".repeat(2));
  });

  it("runs a script even if it has no shebang line", async () => {
    const { read } = await setUp([script("init.sh", "/home/user/init.sh")], {
      suite: { "init.sh": "echo 1 > $ROOT/a" },
    });
    expect(read("a")).toBe("1\n");
  });

  it("stops at the first failed step, and reports the last line of its output", async () => {
    const config = [script("init.sh", "/home/user/init.sh"), upload("init.sh", "/home/user/later")];
    const suite = { "init.sh": "#!/bin/sh\necho first; echo 'no such thing' >&2; echo ' is here ' >&2; exit 3\n" };
    const { result, read } = await setUp(config, { suite });
    expect(result).toEqual({
      ok: false,
      state: "setup_error",
      reason: "setup step 1, upload_script_and_execute: /home/user/init.sh ended with exit code 3: is here",
    });
    expect(read("home/user/later")).toBeNull();
  });

  it.each([
    ["a missing file", upload("none.zip", "/home/user/a"), "missing_files", "none.zip, which is missing from the ta"],
    ["a missing script", script("init.sh", "/home/user/a"), "missing_files", "init.sh, which is missing from the ta"],
    ["an unknown function", call("dream"), "unsupported", "step 1, dream: unknown function"],
    ["a function of the other dialect", call("sleep", { seconds: 0 }), "unsupported", "unknown function"],
    ["a property of every JavaScript object", call("constructor"), "unsupported", "unknown function"],
    ["a path that leaves the suite", upload("../../etc/passwd", "/home/user/a"), "setup_error", "leaves the suite"],
    ["a link that leaves the suite", upload("link", "/home/user/a"), "setup_error", "leaves the suite through a link"],
    ["a relative path in the machine", upload("in.csv", "a"), "setup_error", "not an absolute path"],
    ["missing arguments", call("upload_file_to_vm"), "setup_error", "arguments are invalid"],
  ] as const)("rejects %s", async (_, step, state, reason) => {
    const { result } = await setUp([step], { suite: { "in.csv": "" } });
    expect(result).toMatchObject({ ok: false, state, reason: expect.stringContaining(reason) });
  });

  it("requires a machine that runs commands only if there are scripts", async () => {
    const suite = { "in.csv": "", "init.sh": "" };
    const files = await setUp([upload("in.csv", "/home/user/a")], { suite, runs: false });
    expect(files.result).toBeNull();
    const { result } = await setUp([script("init.sh", "/home/user/b")], { suite, runs: false });
    expect(result).toMatchObject({ state: "unsupported", reason: expect.stringContaining("runs commands") });
  });

  it("stops when it is aborted", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    const started = setUp([upload("in.csv", "/home/user/a")], { suite: { "in.csv": "" }, signal });
    await expect(started).rejects.toThrow("stopped");
  });
});

describe("runSetUp on a Spider2-V task", () => {
  const copy = call("copyfile_from_host_to_guest", { src: "suite/in.csv", dest: "/home/user/in.csv" });

  it("copies files, runs and deletes scripts, executes commands and waits, and skips windows", async () => {
    const config = [
      copy,
      call("script_and_execute", { src: "suite/init.sh", dest: "/home/user/x.sh", options: ["two words"] }),
      call("launch", { command: ["gnome-terminal"] }),
      call("execute", { command: "cp /home/user/in.csv /home/user/out.csv" }),
      call("command", { command: ["grep", "1", "/home/user/out.csv"], until: { stdout: "1" } }),
      call("execute", { command: ["python3", "-c", "import pyautogui"] }),
      call("open", { path: "/home/user/in.csv" }),
      call("sleep", { seconds: 3600 }),
    ];
    const { result, read, commands } = await setUp(
      config,
      spider({ "in.csv": "1\n", "init.sh": 'echo "$1" > $ROOT/a' }),
    );
    expect(result).toBeNull();
    expect([read("a"), read("home/user/out.csv"), read("home/user/x.sh")]).toEqual(["two words\n", "1\n", null]);
    expect(commands.filter((command) => /gnome-terminal|pyautogui/.test(command))).toEqual([]);
  });

  it("stops at a failed command", async () => {
    const fails = await setUp([call("execute", { command: ["sh", "-c", "echo broken; exit 2"] })], spider());
    expect(fails.result).toMatchObject({
      state: "setup_error",
      reason: "setup step 1, execute: sh -c echo broken; exit 2 ended with exit code 2: broken",
    });
  });
});
