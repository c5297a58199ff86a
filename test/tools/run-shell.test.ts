import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.js";
import { resultValue } from "../../src/tools/tool.js";
import { needs } from "../machine-requirements.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { callTool, startSandboxed } from "./machines.js";

const sandboxed = await startSandboxed();

let empty: TestDb;
beforeAll(() => {
  empty = openEmpty();
});
afterAll(async () => {
  empty.close();
  await sandboxed?.close();
});

const shell = (args: JsonValue, signal?: AbortSignal) =>
  callTool(empty, sandboxed ?? undefined, "run_shell", args, signal === undefined ? {} : { signal });
const python = (code: string) => callTool(empty, sandboxed ?? undefined, "execute_python", { code });

describe("run_shell", needs("sandbox", sandboxed !== null), () => {
  test("runs bash in the home folder, and separates stdout, stderr and exit code", async () => {
    expect(await shell({ command: "pwd; [[ a == a ]] && echo yes; echo oh >&2; exit 3" })).toEqual({
      ok: true,
      value: { stdout: "/home/user\nyes\n", stderr: "oh\n", exit_code: 3, timed_out: false, truncated: false },
    });
  });

  test("runs in another folder if given a path, absolute or relative to the home folder", async () => {
    await shell({ command: "mkdir -p work" });
    for (const cwd of ["work", "~/work", "/home/user/work/"]) {
      expect(await shell({ command: "pwd", cwd })).toMatchObject({ value: { stdout: "/home/user/work\n" } });
    }
    expect(await shell({ command: "pwd", cwd: "nowhere" })).toMatchObject({
      ok: true,
      value: { exit_code: 127, stderr: expect.stringContaining("No such file") },
    });
  });

  test("stops a command after its timeout, and returns the output so far", async () => {
    expect(await shell({ command: "echo begun; sleep 60", timeout_seconds: 1 })).toEqual({
      ok: true,
      value: {
        stdout: "begun\n",
        stderr: "",
        exit_code: null,
        timed_out: true,
        truncated: false,
        stopped: expect.stringMatching(/^Stopped after 1 seconds/),
      },
    });
  });

  test("keeps the start and the end of a long output", async () => {
    const result = await shell({ command: "echo first; seq 100000; echo last" });
    if (!result.ok) throw new Error(result.error);
    const { stdout, truncated } = resultValue(result) as { stdout: string; truncated: boolean };
    expect(truncated).toBe(true);
    expect(stdout.length).toBeLessThan(20_100);
    expect(stdout).toMatch(/^first\n1\n2\n[\s\S]*\(\d+ characters omitted\)[\s\S]*\n100000\nlast\n$/);
  });

  test("does not split a character of a long output", async () => {
    const result = await shell({ command: `python3 -c "print('a' + '\u{1f600}' * 20000)"` });
    if (!result.ok) throw new Error(result.error);
    const { stdout } = resultValue(result) as { stdout: string };
    expect(stdout).toMatch(/^a\u{1f600}+\n… \(\d+ characters omitted\) …\n\u{1f600}+\n$/u);
  });

  test("leaves background processes running", async () => {
    const started = await shell({ command: "sleep 300 > /dev/null 2>&1 & echo $!" });
    if (!started.ok) throw new Error(started.error);
    const pid = (resultValue(started) as { stdout: string }).stdout.trim();
    expect(await shell({ command: `kill -0 ${pid}` })).toMatchObject({ value: { exit_code: 0 } });
    expect(await shell({ command: `kill ${pid}` })).toMatchObject({ value: { exit_code: 0 } });
  });

  test("stops when its task ends", async () => {
    const stop = new AbortController();
    const running = shell({ command: "sleep 300; true" }, stop.signal);
    const started = () => shell({ command: "grep -lx sleep /proc/[0-9]*/comm" });
    await expect.poll(started, { timeout: 10_000 }).toMatchObject({ value: { exit_code: 0 } });
    stop.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    // grep finds no process with that name.
    const left = () => shell({ command: "grep -lx sleep /proc/[0-9]*/comm" });
    await expect.poll(left, { timeout: 10_000 }).toMatchObject({ value: { stdout: "", exit_code: 1 } });
  });
});

describe("execute_python on a machine", needs("sandbox", sandboxed !== null), () => {
  test("runs in the folder that contains the task's files, and can import modules from there", async () => {
    await shell({ command: "echo 'value = 7' > helper.py; echo data > input.txt" });
    expect(await python("import helper\nprint(helper.value, open('input.txt').read().strip(), __name__)")).toEqual({
      ok: true,
      value: { stdout: "7 data __main__\n", stderr: "", exit_code: 0, timed_out: false, truncated: false },
    });
    await python("open('/home/user/out.txt', 'w').write('written')");
    expect(await shell({ command: "cat out.txt; ls /tmp/execute_python" })).toMatchObject({
      value: { stdout: "written" },
    });
  });

  test("shows the line that failed", async () => {
    expect(await python("x = 1\nprint(x / 0)")).toMatchObject({
      value: {
        exit_code: 1,
        stderr: expect.stringMatching(/File "main\.py", line 2[\s\S]*print\(x \/ 0\)[\s\S]*ZeroDiv/),
      },
    });
    expect(await python("import sys\nsys.exit(4)")).toMatchObject({ value: { exit_code: 4, stdout: "" } });
  });

  test("accepts a long program, and prints non-ASCII characters", async () => {
    expect(await python(`${"# ä comment\n".repeat(15_000)}print("größer")`)).toMatchObject({
      value: { stdout: "größer\n", exit_code: 0 },
    });
  });
});
