import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { machinesStart, openMachine, shell } from "./machines.js";

/** Running commands in a task's machine: their surroundings, exit codes, output and time. */

describe("a command", needs("sandbox", machinesStart), () => {
  let machine: SandboxedMachine;
  beforeAll(async () => {
    machine = await openMachine({ limits: { outputBytes: 100_000 } });
  });
  afterAll(() => machine.close());

  test("runs as user in its home, with the folders of a desktop", async () => {
    expect(await shell(machine, "id -un; id -u; pwd; ls; tty || true; ls -d /mnt/container")).toEqual({
      exitCode: 0,
      stdout: "user\n1000\n/home/user\nDesktop\nDocuments\nDownloads\nanaconda3\nprojects\nnot a tty\n/mnt/container\n",
      stderr: "",
    });
  });

  test("has its own folder, variables and nothing of this process's", async () => {
    const { stdout } = await shell(machine, "pwd; env", { cwd: "/tmp", env: { TASK: "a b\n" } });
    const names = [...stdout.matchAll(/^(\w+)=/gm)].map(([, name]) => name).sort();
    expect(stdout).toMatch(/^\/tmp\n/);
    expect(stdout).toContain("TASK=a b\n\n");
    expect(names).toEqual(
      ["HOME", "LANG", "LOGNAME", "MPLBACKEND", "PATH", "PWD", "SHELL", "SHLVL", "TASK", "TZ", "USER", "_"].sort(),
    );
  });

  test("is not read by a shell", async () => {
    const run = { argv: ["echo", "$HOME; `id`", "ü\n"], cwd: null, env: {}, timeoutMs: 10_000 };
    expect((await machine.run(run, new AbortController().signal)).stdout).toBe("$HOME; `id` ü\n\n");
  });

  test("gives its exit code, or 128 and the signal's number", async () => {
    expect(await shell(machine, "echo out; echo err >&2; exit 7")).toEqual({
      exitCode: 7,
      stdout: "out\n",
      stderr: "err\n",
    });
    expect((await shell(machine, "kill -TERM $$")).exitCode).toBe(143);
  });

  test("that is not there, or starts in a folder that is not, ends with 127", async () => {
    const run = (argv: string[], cwd: string | null) =>
      machine.run({ argv, cwd, env: {}, timeoutMs: 10_000 }, new AbortController().signal);
    expect(await run(["no-such-program"], null)).toMatchObject({
      exitCode: 127,
      stderr: expect.stringContaining("no-such-program"),
    });
    expect(await run(["ls"], "/no/such")).toMatchObject({ exitCode: 127, stderr: expect.stringContaining("/no/such") });
    expect(await run(["/etc/passwd"], null)).toMatchObject({ exitCode: 126 });
    expect(await run(["echo", "x".repeat(300_000)], null)).toMatchObject({ exitCode: 126 });
    await expect(run(["echo", "a\0b"], null)).rejects.toThrow("null byte");
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("is ended at its time limit with all of its group, and keeps what it had printed", async () => {
    const start = Date.now();
    const script = "echo begun; bash -c 'sleep 611' & sleep 612";
    expect(await shell(machine, script, { timeoutMs: 500 })).toEqual({ exitCode: null, stdout: "begun\n", stderr: "" });
    expect(Date.now() - start).toBeLessThan(10_000);
    expect((await shell(machine, "pgrep -f 'sleep 61[12]'")).stdout).toBe("");
  });

  test("that ignores signals is ended too", async () => {
    const script = "trap '' TERM INT HUP; echo ignoring; while :; do sleep 0.1; done";
    expect(await shell(machine, script, { timeoutMs: 500 })).toMatchObject({ exitCode: null, stdout: "ignoring\n" });
  });

  test("prints as much as is kept, else the beginning, the end and how much lay between", async () => {
    const { stdout, stderr, exitCode } = await shell(machine, "seq 500000; yes no | head -c 99999 >&2");
    expect(exitCode).toBe(0);
    const all = Array.from({ length: 500_000 }, (_, i) => `${i + 1}\n`).join("");
    expect(stdout.slice(0, 50_000)).toBe(all.slice(0, 50_000));
    expect(stdout.slice(-50_000)).toBe(all.slice(-50_000));
    expect(stdout.slice(50_000, -50_000)).toBe(`\n[${all.length - 100_000} of ${all.length} bytes left out]\n`);
    expect(stderr).toBe("no\n".repeat(33_333));
  });

  test("that never stops printing is ended at its time limit", async () => {
    const { exitCode, stdout } = await shell(machine, "yes", { timeoutMs: 500 });
    expect(exitCode).toBeNull();
    expect(stdout).toMatch(/^(y\n){25000}\n\[\d+ of \d+ bytes left out]\n\n?(y\n){24999}y?\n?$/);
  });

  test("may print what is no text", async () => {
    expect((await shell(machine, "printf '\\xff\\x00a'")).stdout).toBe("�\0a");
  });

  test("runs beside others", async () => {
    const start = Date.now();
    const runs = await Promise.all([1, 2, 3, 4].map((i) => shell(machine, `sleep 1; echo ${i}`)));
    expect(runs.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n", "3\n", "4\n"]);
    expect(Date.now() - start).toBeLessThan(3_500);
  });

  test("is ended when the task is stopped, and the machine goes on", async () => {
    const stop = new AbortController();
    const running = shell(machine, "sleep 613", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the task was stopped")), 300);
    await expect(running).rejects.toThrow("the task was stopped");
    expect((await shell(machine, "pgrep -f 'sleep 613'")).exitCode).toBe(1);
    await expect(shell(machine, "echo", { signal: stop.signal })).rejects.toThrow("the task was stopped");
  });
});
