import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MACHINE_LIMITS } from "../../src/sandbox/limits.js";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { leftInSandboxes } from "./host-witness.js";
import { hasCgroup, machinesStart, openMachine, shell } from "./machines.js";

/** A task's machine that takes too much: the rest of this one is not harmed, and it can still be graded. */

const MB = 2 ** 20;
const LIMITS = {
  memoryBytes: 256 * MB,
  processes: 64,
  disk: { ...MACHINE_LIMITS.disk, "/home/user": 32 * MB, "/tmp": 16 * MB, "/dev/shm": 16 * MB },
};

/** Where the kernel itself ends a process there is no word of why. */
const SAID = hasCgroup ? /(Killed|^$|MemoryError)/ : /memory of 256 MB was used up: all processes were ended/;

describe("a machine", needs("sandbox", machinesStart), () => {
  let machine: SandboxedMachine;
  let folder = "";
  beforeEach(async () => {
    machine = await openMachine({ limits: LIMITS });
    folder = mkdtempSync(join(tmpdir(), "art-e-limits-"));
    await shell(machine, "echo done > result.txt");
  });
  afterEach(async () => {
    // Whatever was tried: what the agent had left before can be collected.
    expect(await machine.copyOut("/home/user/result.txt", join(folder, "result"))).toBe(true);
    expect(readFileSync(join(folder, "result"), "utf8")).toBe("done\n");
    await machine.close();
    rmSync(folder, { recursive: true });
    expect(await leftInSandboxes()).toEqual([]);
  });

  test("with a fork bomb: the command is ended in time, and the next one runs", async () => {
    const start = Date.now();
    const { exitCode } = await shell(machine, "bomb() { bomb | bomb & }; bomb; sleep 600", { timeoutMs: 2_000 });
    expect(exitCode).toBeNull();
    expect(Date.now() - start).toBeLessThan(30_000);
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("with as many processes as it may have and not one more", async () => {
    const { stdout } = await shell(
      machine,
      `python3 -c '
import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except BlockingIOError: pass
print(made)'; kill -9 -1`,
    );
    expect(Number(stdout)).toBeGreaterThan(40);
    expect(Number(stdout)).toBeLessThan(LIMITS.processes);
  });

  test("whose disk is full: writing fails there, and nowhere else", async () => {
    const { stdout, stderr } = await shell(
      machine,
      `for folder in ~ /tmp /dev/shm /mnt; do
         head -c 100M /dev/zero > $folder/big
         test $(stat -c %s $folder/big) -lt ${65 * MB} && echo $folder is limited
       done; df --output=avail ~ | tail -1`,
    );
    const folders = ["/home/user", "/tmp", "/dev/shm", "/mnt"];
    expect(stdout).toBe(`${folders.map((name) => `${name} is limited\n`).join("")}    0\n`);
    expect(stderr.match(/No space left on device|File too large|File size limit exceeded/g)?.length).toBe(4);
    await expect(machine.copyIn(process.execPath, "/home/user/node")).rejects.toThrow("No space left");
    expect((await shell(machine, "rm ~/big; echo more > ~/more; cat ~/more")).stdout).toBe("more\n");
  });

  test("whose processes take more memory than there is", async () => {
    const bomb = `python3 -c '
import os, time
for _ in range(7):
    if os.fork() == 0: break
block = bytearray(60 * 2 ** 20)
for i in range(0, len(block), 4096): block[i] = 1
time.sleep(30)'; true`;
    const { exitCode, stderr } = await shell(machine, bomb);
    expect(stderr).toMatch(SAID);
    if (!hasCgroup) expect(exitCode).toBe(137);
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("whose files and processes take it together", async () => {
    const script = `head -c 30M /dev/urandom > big; head -c 15M /dev/urandom > /tmp/big; python3 -c '
import time
block = bytearray(230 * 2 ** 20)
for i in range(0, len(block), 4096): block[i] = 1
time.sleep(30)'; true`;
    expect((await shell(machine, script)).stderr).toMatch(SAID);
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("that holds memory in the sockets of its loopback", async () => {
    const { stderr } = await shell(
      machine,
      `python3 -c '
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
held = []
for _ in range(20):
    if os.fork() == 0: break
held = []
try:
    while True:
        client = socket.create_connection(server.getsockname(), 5)
        client.setblocking(False)
        held.append(client)
        try:
            while True: client.send(b"x" * 65536)
        except BlockingIOError: pass
except OSError: pass
time.sleep(20)'; true`,
      { timeoutMs: 15_000 },
    );
    // Where it is not full, the kernel's own limit on such memory came first.
    expect(stderr).toMatch(hasCgroup ? /^/ : SAID);
  });

  test("that prints without end by a daemon goes on to answer", async () => {
    await shell(machine, "setsid yes & disown -a; sleep 0.2");
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("with a tree of folders deeper than any path", async () => {
    const script =
      'python3 -c \'import os\nfor i in range(3000):\n  os.mkdir("d" * 20); os.chdir("d" * 20)\'; echo made';
    expect((await shell(machine, script)).stdout).toBe("made\n");
    expect(await machine.copyOut(`/home/user/${"d".repeat(20)}`, join(folder, "x"))).toBe(false);
  });
});

test(
  "processes that have left their session and take every free place are ended when no command starts any more",
  needs("sandbox", machinesStart),
  async () => {
    // With memory enough that not this is what ends them.
    const machine = await openMachine({ limits: { processes: 64 } });
    try {
      const script = `python3 -c '
import os, time
os.setsid()
while True:
    try:
        if os.fork() == 0: time.sleep(600)
    except OSError: pass' & sleep 2`;
      await shell(machine, script, { timeoutMs: 20_000 });
      // The places of that command itself take a moment to be taken.
      await sleep(1_000);
      const { stdout, stderr, exitCode } = await shell(machine, "echo on; pgrep -c python3");
      expect({ stdout, exitCode }).toEqual({ stdout: "on\n0\n", exitCode: 1 });
      expect(stderr).toContain("[The machine was full of processes: all of them were ended.]");
      expect((await shell(machine, "echo on")).stderr).toBe("");
    } finally {
      await machine.close();
    }
  },
);
