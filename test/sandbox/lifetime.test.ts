import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { needs } from "../machine-requirements.js";
import { leftInSandboxes } from "./host-witness.js";
import { machinesStart, openMachine, processesWith, shell } from "./machines.js";

/** What a command starts lives until the machine is closed, and not longer. */

const HOLDER = join(import.meta.dirname, "hold-machine.ts");

describe("of a machine", needs("sandbox", machinesStart), () => {
  afterEach(async () => {
    expect(await leftInSandboxes()).toEqual([]);
  });

  test("a server that one command starts is reached by the next, and its output does not hold the command up", async () => {
    const machine = await openMachine();
    try {
      const start = Date.now();
      const script = "echo served > page.txt; python3 -m http.server --bind 127.0.0.1 8765 & sleep 1; echo started";
      expect(await shell(machine, script)).toMatchObject({ exitCode: 0, stdout: "started\n" });
      expect(Date.now() - start).toBeLessThan(20_000);
      // The server writes a line to the first command's stderr for each request.
      for (const name of ["127.0.0.1", "localhost"]) {
        const got = await shell(machine, `curl -sS --retry 5 --retry-connrefused http://${name}:8765/page.txt`);
        expect(got).toEqual({ exitCode: 0, stdout: "served\n", stderr: "" });
      }
    } finally {
      await machine.close();
    }
  });

  test("daemons of every kind live on after their command, and are gone after close", async () => {
    const machine = await openMachine();
    const word = `7${process.pid}.25`;
    await shell(
      machine,
      `sleep ${word} & setsid sleep ${word} & nohup sleep ${word} >/dev/null 2>&1 & disown -a
       (setsid bash -c 'trap "" TERM HUP INT; (sleep ${word} &) ; sleep ${word}' &)`,
    );
    await expect.poll(() => processesWith(`sleep\0${word}`).length).toBe(5);
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
    await machine.close();
    expect(processesWith(word)).toEqual([]);
  });

  test("a command that still runs when it is closed ends with an error", async () => {
    const machine = await openMachine();
    const running = shell(machine, "sleep 614");
    const rejected = expect(running).rejects.toThrow("the task's machine has ended: it was closed");
    await machine.close();
    await rejected;
    await machine.close();
    await expect(shell(machine, "echo")).rejects.toThrow("it was closed");
    await expect(machine.copyOut("/etc/passwd", "/nowhere")).rejects.toThrow("it was closed");
  });

  test("killing everything it can, its first process included, ends what was started and not the machine", async () => {
    const machine = await openMachine();
    try {
      await shell(machine, "sleep 615 & disown");
      await shell(machine, "kill -9 1; pkill -9 python3; pkill -TERM -f [g]uest; kill -INT 1; kill -9 -1");
      // What is killed may be seen until it has been waited for.
      await expect
        .poll(() => shell(machine, "echo still; pgrep sleep"))
        .toMatchObject({ exitCode: 1, stdout: "still\n" });
    } finally {
      await machine.close();
    }
  });

  test("nothing outlives the program that holds it, though that is killed", async () => {
    const word = `8${process.pid}.25`;
    const child = spawn(process.execPath, ["--import", "jiti/register", HOLDER, word], {
      cwd: join(import.meta.dirname, "../.."),
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(child.stdout as Readable, "data");
      await expect.poll(() => processesWith(`sleep\0${word}`).length).toBe(2);
    } finally {
      child.kill("SIGKILL");
      await ended(child);
    }
    await expect.poll(() => processesWith(word), { timeout: 10_000 }).toEqual([]);
  });
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}
