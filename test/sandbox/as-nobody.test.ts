import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { ROOT } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";

const NOBODY = { uid: 65_534, gid: 65_534 };
const DIST = join(ROOT, "dist/sandbox");

/** A module as nobody would run it: no home folder, no rights, no environment. */
function asNobody(source: string) {
  const options = { cwd: "/", env: {}, encoding: "utf8", timeout: 60_000, ...NOBODY } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], options);
  return { status, stdout, stderr };
}

const isRoot = process.getuid?.() === 0;
const canRead = isRoot && asNobody(`await import("${DIST}/limits.js")`).status === 0;
const works = canRead && (await chooseSandbox()).ok;

const PROGRAMS = {
  ordinary: "open('a', 'w').write('x')\nprint(6 * 7, open('a').read())",
  unreadable: "import os\nopen('a', 'w').write('x')\nos.chmod('a', 0)",
  file: "print(open('/etc/passwd').read())",
  network: "import socket\nsocket.create_connection(('127.0.0.1', 1), 1)",
  forks: "import os\nwhile True: os.fork()",
  endless: "while True: pass",
  daemon: "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nprint('left')",
  closed: "import os\nos.makedirs('a/b')\nos.chmod('a', 0)",
};

describe("as nobody", needs("root", works), () => {
  test("the same sandbox works, and holds", () => {
    const { stdout, stderr } = asNobody(`
      import { existsSync } from "node:fs";
      import { chooseSandbox } from "${DIST}/choose-sandbox.js";
      import { runPython } from "${DIST}/run-python.js";
      import { openWorkspace } from "${DIST}/workspace.js";
      const { sandbox } = await chooseSandbox();
      const results = {};
      for (const [name, code] of Object.entries(${JSON.stringify(PROGRAMS)})) {
        const workspace = openWorkspace();
        const files = await workspace.use(async (folders) => folders.files);
        results[name] = await runPython(sandbox, code, workspace, new AbortController().signal);
        await workspace.close();
        if (existsSync(files)) results[name].left = files;
      }
      console.log(JSON.stringify(results));`);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      ordinary: { stdout: "42 x\n", stderr: "", exitCode: 0, stopped: null, truncated: false },
      unreadable: { stdout: "", stderr: "", exitCode: 0, stopped: null, truncated: false },
      file: expect.objectContaining({ stderr: expect.stringContaining("FileNotFoundError"), exitCode: 1 }),
      network: expect.objectContaining({ stderr: expect.stringContaining("[Errno 101]"), exitCode: 1 }),
      forks: expect.objectContaining({ stderr: expect.stringContaining("BlockingIOError") }),
      endless: expect.objectContaining({ stopped: "time", exitCode: null }),
      daemon: { stdout: "left\n", stderr: "", exitCode: 0, stopped: null, truncated: false },
      closed: expect.objectContaining({ stopped: "workspace" }),
    });
    for (const result of Object.values(JSON.parse(stdout))) expect(result).not.toHaveProperty("left");
  }, 90_000);

  test("a task's machine starts, and is bound in memory too", () => {
    const { stdout, stderr } = asNobody(`
      import { chooseMachineHost } from "${DIST}/open-task-machine.js";
      import { MACHINE_LIMITS } from "${DIST}/limits.js";
      import { openTaskMachine } from "${DIST}/open-task-machine.js";
      import { EMPTY_SNAPSHOT } from "${DIST}/snapshots.js";
      const { host } = await chooseMachineHost();
      const limits = { ...MACHINE_LIMITS, memoryBytes: 256 * 2 ** 20 };
      const { signal } = new AbortController();
      const machine = await openTaskMachine(host, EMPTY_SNAPSHOT, { hidden: [], limits }, signal);
      const run = (argv) => machine.run({ argv, cwd: null, env: {}, timeoutMs: 30_000 }, signal);
      const bomb = "x = bytearray(2 ** 28)\\nfor i in range(0, 2 ** 28, 4096): x[i] = 1\\nimport time; time.sleep(20)";
      const results = [await run(["id", "-un"]), await run(["cat", "/etc/shadow"]), await run(["python3", "-c", bomb])];
      await machine.close();
      console.log(JSON.stringify(results.map(({ exitCode, stdout }) => [exitCode, stdout])));`);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual([
      [0, "user\n"],
      [1, ""],
      [137, ""],
    ]);
  }, 90_000);
});
