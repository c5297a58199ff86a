import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MACHINE_LIMITS } from "../../src/sandbox/limits.js";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { leftInSandboxes } from "./host-witness.js";
import { hasCgroup, machinesStart, openMachine, processesWith, shell } from "./machines.js";

/** Commands in a task's machine: environment, exit codes, output and time. */

describe("a command", needs("sandbox", machinesStart), () => {
  let machine: SandboxedMachine;
  beforeAll(async () => {
    machine = await openMachine({ limits: { outputBytes: 100_000 } });
  });
  afterAll(() => machine.close());

  test("runs as user in its home folder, which contains a desktop's folders", async () => {
    expect(await shell(machine, "id -un; id -u; pwd; ls; tty || true; ls -d /mnt/container")).toEqual({
      exitCode: 0,
      stdout: "user\n1000\n/home/user\nDesktop\nDocuments\nDownloads\nanaconda3\nprojects\nnot a tty\n/mnt/container\n",
      stderr: "",
    });
  });

  test("gets its folder and variables, and nothing from this process", async () => {
    const { stdout } = await shell(machine, "pwd; env", { cwd: "/tmp", env: { TASK: "a b\n" } });
    const names = [...stdout.matchAll(/^(\w+)=/gm)].map(([, name]) => name).sort();
    expect(stdout).toMatch(/^\/tmp\n/);
    expect(stdout).toContain("TASK=a b\n\n");
    expect(names).toEqual(
      ["HOME", "LANG", "LOGNAME", "MPLBACKEND", "PATH", "PWD", "SHELL", "SHLVL", "TASK", "TZ", "USER", "_"].sort(),
    );
  });

  test("runs without a shell", async () => {
    const run = { argv: ["echo", "$HOME; `id`", "ü\n"], cwd: null, env: {}, timeoutMs: 10_000 };
    expect((await machine.run(run, new AbortController().signal)).stdout).toBe("$HOME; `id` ü\n\n");
  });

  test("returns its exit code, or 128 plus the signal's number", async () => {
    expect(await shell(machine, "echo out; echo err >&2; exit 7")).toEqual({
      exitCode: 7,
      stdout: "out\n",
      stderr: "err\n",
    });
    expect((await shell(machine, "kill -TERM $$")).exitCode).toBe(143);
  });

  test("ends with 127 if the program or its working directory does not exist", async () => {
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

  test("ends at its time limit with its entire group, and keeps its output", async () => {
    const script = "echo begun; bash -c 'sleep 611' & sleep 612";
    expect(await shell(machine, script, { timeoutMs: 500 })).toEqual({ exitCode: null, stdout: "begun\n", stderr: "" });
    // A killed process takes a moment to end, longer on a busy machine.
    await expect.poll(async () => (await shell(machine, "pgrep -f 'sleep 61[12]'")).stdout).toBe("");
  });

  test("ends even if it ignores signals", async () => {
    const script = "trap '' TERM INT HUP; echo ignoring; while :; do sleep 0.1; done";
    expect(await shell(machine, script, { timeoutMs: 500 })).toMatchObject({ exitCode: null, stdout: "ignoring\n" });
  });

  test("keeps its output up to the limit, and otherwise the start, the end and the number of omitted bytes", async () => {
    const { stdout, stderr, exitCode } = await shell(machine, "seq 500000; yes no | head -c 99999 >&2");
    expect(exitCode).toBe(0);
    const all = Array.from({ length: 500_000 }, (_, i) => `${i + 1}\n`).join("");
    expect(stdout.slice(0, 50_000)).toBe(all.slice(0, 50_000));
    expect(stdout.slice(-50_000)).toBe(all.slice(-50_000));
    expect(stdout.slice(50_000, -50_000)).toBe(`\n[${all.length - 100_000} of ${all.length} bytes omitted]\n`);
    expect(stderr).toBe("no\n".repeat(33_333));
  });

  test("ends at its time limit if it never stops printing", async () => {
    const { exitCode, stdout } = await shell(machine, "yes", { timeoutMs: 500 });
    expect(exitCode).toBeNull();
    expect(stdout).toMatch(/^(y\n){25000}\n\[\d+ of \d+ bytes omitted]\n\n?(y\n){24999}y?\n?$/);
  });

  test("can print bytes that are not text", async () => {
    expect((await shell(machine, "printf '\\xff\\x00a'")).stdout).toBe("�\0a");
  });

  test("can run concurrently with others", async () => {
    const meets = (i: number) => `touch ${i}; until [ -e 1 -a -e 2 -a -e 3 -a -e 4 ]; do sleep 0.1; done; echo ${i}`;
    const runs = await Promise.all([1, 2, 3, 4].map((i) => shell(machine, meets(i), { timeoutMs: 60_000 })));
    expect(runs.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n", "3\n", "4\n"]);
  });

  test("ends when the task is interrupted, and the machine continues", async () => {
    const stop = new AbortController();
    const running = shell(machine, "sleep 613", { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the task was stopped")), 300);
    await expect(running).rejects.toThrow("the task was stopped");
    await expect.poll(async () => (await shell(machine, "pgrep -f 'sleep 613'")).exitCode).toBe(1);
    await expect(shell(machine, "echo", { signal: stop.signal })).rejects.toThrow("the task was stopped");
  });
});

/** Copies into a task's machine and out of it, where an agent can have left anything. */

const MOST = 5 * 2 ** 20;

describe("copying", needs("sandbox", machinesStart), () => {
  let machine: SandboxedMachine;
  let folder = "";
  beforeAll(async () => {
    machine = await openMachine({ limits: { copyBytes: MOST, copyFiles: 10 } });
    folder = mkdtempSync(join(tmpdir(), "art-e-copies-"));
  });
  afterAll(async () => {
    await machine.close();
    rmSync(folder, { recursive: true });
  });

  const collect = async (path: string) => {
    const to = join(folder, "collected");
    rmSync(to, { force: true });
    const found = await machine.copyOut(path, to);
    expect(existsSync(to)).toBe(found);
    return found ? readFileSync(to) : null;
  };

  test("does not change a binary file, and creates the file's folders", async () => {
    const bytes = Buffer.from(Array.from({ length: 3 * 2 ** 20 + 5 }, (_, i) => (i * 31) % 256));
    writeFileSync(join(folder, "bytes"), bytes);
    await machine.copyIn(join(folder, "bytes"), "/home/user/new/folder/name with spaces.bin");
    expect((await collect("/home/user/new/folder/name with spaces.bin"))?.equals(bytes)).toBe(true);
    expect((await shell(machine, "stat -c '%U %a %s' new/folder/*")).stdout).toBe(`user 644 ${bytes.length}\n`);
    writeFileSync(join(folder, "empty"), "");
    await machine.copyIn(join(folder, "empty"), "/home/user/new/folder/name with spaces.bin");
    expect(await collect("/home/user/new/folder/../folder/name with spaces.bin")).toEqual(Buffer.alloc(0));
  });

  test("keeps executable files executable", async () => {
    writeFileSync(join(folder, "run.sh"), "#!/bin/bash\necho ran\n", { mode: 0o700 });
    await machine.copyIn(join(folder, "run.sh"), "/tmp/run.sh");
    expect((await shell(machine, "/tmp/run.sh")).stdout).toBe("ran\n");
  });

  test("replaces an existing folder", async () => {
    const source = join(folder, "tree");
    mkdirSync(join(source, "a/b"), { recursive: true });
    writeFileSync(join(source, "a/b/file"), "deep");
    writeFileSync(join(source, "top"), "top");
    await shell(machine, "mkdir -p Desktop/tree/old; ln -s /etc Desktop/tree/link; touch Desktop/tree/old/x");
    await machine.copyIn(source, "/home/user/Desktop/tree");
    const { stdout } = await shell(machine, "cd Desktop/tree; find . | sort; cat a/b/file; ls /etc/passwd");
    expect(stdout).toBe(".\n./a\n./a/b\n./a/b/file\n./top\ndeep/etc/passwd\n");
  });

  test("replaces a link, a pipe or a folder where a file should be, and does not follow it", async () => {
    await shell(machine, "echo own > own; ln -s ~/own one; mkfifo two; mkdir -p three/four; ln -s /usr/bin five");
    writeFileSync(join(folder, "text"), "new");
    for (const name of ["one", "two", "three"]) {
      await machine.copyIn(join(folder, "text"), `/home/user/${name}`);
      expect(String(await collect(`/home/user/${name}`))).toBe("new");
    }
    expect((await shell(machine, "cat own")).stdout).toBe("own\n");
    await expect(machine.copyIn(join(folder, "text"), "/home/user/five/ls")).rejects.toThrow("Read-only file system");
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("collects nothing through a link, whatever its target and position", async () => {
    await shell(machine, "mkdir -p c/d; echo mine > c/d/file; ln -s /etc/shadow c/shadow; ln -s d/file c/near");
    await shell(machine, "ln -s d c/e; ln -s /proc/1/root c/root; ln -s c/d/file /tmp/l");
    expect(String(await collect("/home/user/c/d/file"))).toBe("mine\n");
    for (const path of ["c/shadow", "c/near", "c/e/file", "c/root/etc/passwd", "c/none", "c/d/file/x", "c/d", "."]) {
      expect(await collect(`/home/user/${path}`), path).toBeNull();
    }
    expect(await collect("/tmp/l")).toBeNull();
    expect(await collect("/etc/shadow")).toBeNull();
    expect(await collect("/proc/1/root/etc/passwd")).toBeNull();
  });

  test("collects no pipes, sockets, devices or unreadable files", async () => {
    await shell(machine, "mkfifo p; echo x > closed; chmod 0 closed; mkdir shut; echo x > shut/x; chmod 0 shut");
    await shell(machine, "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'");
    for (const path of ["p", "s", "closed", "shut/x"]) expect(await collect(`/home/user/${path}`), path).toBeNull();
    for (const path of ["/dev/full", "/dev/zero", "/dev/tty"]) expect(await collect(path), path).toBeNull();
  });

  test("rejects a file larger than the maximum size, even a sparse one", async () => {
    await shell(machine, `head -c ${MOST} /dev/urandom > fits; head -c ${MOST + 1} /dev/urandom > large`);
    await shell(machine, "truncate -s 900M sparse");
    expect((await collect("/home/user/fits"))?.length).toBe(MOST);
    const to = join(folder, "large");
    await expect(machine.copyOut("/home/user/large", to)).rejects.toThrow(`has ${MOST + 1} bytes`);
    await expect(machine.copyOut("/home/user/sparse", to)).rejects.toThrow("has 943718400 bytes");
    expect(existsSync(to)).toBe(false);
  });

  test("reads a growing file up to its size at the start", async () => {
    await shell(machine, "head -c 1000000 /dev/urandom > grows; (while :; do echo more >> grows; done) & disown");
    const bytes = await collect("/home/user/grows");
    expect(bytes?.length).toBeGreaterThanOrEqual(1_000_000);
    await shell(machine, "kill -9 -1");
  });

  test("does not write through a link on the host when collecting a file", async () => {
    const target = join(folder, "target");
    writeFileSync(target, "the host's");
    symlinkSync(target, join(folder, "to"));
    await shell(machine, "echo collected > out");
    expect(await machine.copyOut("/home/user/out", join(folder, "to"))).toBe(true);
    expect([target, join(folder, "to")].map((path) => readFileSync(path, "utf8"))).toEqual([
      "the host's",
      "collected\n",
    ]);
  });

  test("rejects a suite's links, pipes and very deep folders", async () => {
    symlinkSync("/etc/passwd", join(folder, "link"));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    const bad = join(folder, "bad");
    mkdirSync(bad);
    symlinkSync("/etc", join(bad, "etc"));
    for (const name of ["link", "pipe", "bad"]) {
      await expect(machine.copyIn(join(folder, name), "/tmp/x"), name).rejects.toThrow("links are not followed");
    }
    const many = join(folder, "many");
    mkdirSync(many);
    for (let i = 0; i < 10; i++) writeFileSync(join(many, String(i)), "");
    await expect(machine.copyIn(many, "/tmp/many")).rejects.toThrow("too many files");
    writeFileSync(join(folder, "big"), Buffer.alloc(MOST + 1));
    await expect(machine.copyIn(join(folder, "big"), "/tmp/big")).rejects.toThrow("too large");
  });

  test("rejects invalid paths", async () => {
    for (const path of ["relative", "", "/", "/tmp/../..", "/a\0b"]) {
      await expect(machine.copyOut(path, join(folder, "x")), path).rejects.toThrow(/is not an? /);
    }
  });
});

/** A machine that uses too much. The host is not affected, and the task can still be graded. */

const MB = 2 ** 20;

const LIMITS = {
  memoryBytes: 256 * MB,
  processes: 64,
  disk: { ...MACHINE_LIMITS.disk, "/home/user": 32 * MB, "/tmp": 16 * MB, "/dev/shm": 16 * MB },
};

/** If the kernel itself kills a process, there is no message. */
const SAID = hasCgroup ? /(Killed|^$|MemoryError)/ : /ran out of memory \(256 MB\): all processes were killed/;

describe("a machine", needs("sandbox", machinesStart), () => {
  let machine: SandboxedMachine;
  let folder = "";
  beforeEach(async () => {
    machine = await openMachine({ limits: LIMITS });
    folder = mkdtempSync(join(tmpdir(), "art-e-limits-"));
    await shell(machine, "echo done > result.txt");
  });
  afterEach(async () => {
    // Whatever the command did, earlier files of the agent can be collected.
    expect(await machine.copyOut("/home/user/result.txt", join(folder, "result"))).toBe(true);
    expect(readFileSync(join(folder, "result"), "utf8")).toBe("done\n");
    await machine.close();
    rmSync(folder, { recursive: true });
    expect(await leftInSandboxes()).toEqual([]);
  });

  test("ends a fork bomb in time, and runs the next command", async () => {
    const { exitCode } = await shell(machine, "bomb() { bomb | bomb & }; bomb; sleep 600", { timeoutMs: 2_000 });
    expect(exitCode).toBeNull();
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("runs the maximum number of processes, and no more", async () => {
    const { stdout } = await shell(
      machine,
      `python3 -c '
import os
made = 0
try:
    while made < 1000:
        # Copies of Python would reach the memory limit first.
        if os.fork() == 0: os.execvp("sleep", ["sleep", "30"])
        made += 1
except BlockingIOError: pass
print(made)'; kill -9 -1`,
    );
    expect(Number(stdout)).toBeGreaterThan(40);
    expect(Number(stdout)).toBeLessThan(LIMITS.processes);
  });

  test("cannot write if its disk is full, and never writes elsewhere", async () => {
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

  test("survives processes that use too much memory", async () => {
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

  test("survives files and processes that use too much memory together", async () => {
    const script = `head -c 30M /dev/urandom > big; head -c 15M /dev/urandom > /tmp/big; python3 -c '
import time
block = bytearray(230 * 2 ** 20)
for i in range(0, len(block), 4096): block[i] = 1
time.sleep(30)'; true`;
    expect((await shell(machine, script)).stderr).toMatch(SAID);
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("survives sockets of its loopback that fill the memory", async () => {
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
    // If it is not full, the kernel's own limit on such memory applied first.
    expect(stderr).toMatch(hasCgroup ? /^/ : SAID);
  });

  test("responds while a daemon never stops printing", async () => {
    await shell(machine, "setsid yes & disown -a; sleep 0.2");
    expect((await shell(machine, "echo on")).stdout).toBe("on\n");
  });

  test("survives a folder tree deeper than the longest path", async () => {
    const script =
      'python3 -c \'import os\nfor i in range(3000):\n  os.mkdir("d" * 20); os.chdir("d" * 20)\'; echo made';
    expect((await shell(machine, script)).stdout).toBe("made\n");
    expect(await machine.copyOut(`/home/user/${"d".repeat(20)}`, join(folder, "x"))).toBe(false);
  });
});

test(
  "kills processes that left their session and use every free slot if no command can start",
  needs("sandbox", machinesStart),
  async () => {
    // With enough memory that this is not what kills them.
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
      // The processes of that command itself take a moment to start.
      await sleep(1_000);
      const { stdout, stderr, exitCode } = await shell(machine, "echo on; pgrep -c python3");
      expect({ stdout, exitCode }).toEqual({ stdout: "on\n0\n", exitCode: 1 });
      expect(stderr).toContain("[The machine reached its process limit: all processes were killed.]");
      expect((await shell(machine, "echo on")).stderr).toBe("");
    } finally {
      await machine.close();
    }
  },
);

/** Processes that a command starts live until the machine is closed, and not longer. */

const HOLDER = join(import.meta.dirname, "hold-machine.ts");

describe("the processes of a machine", needs("sandbox", machinesStart), () => {
  afterEach(async () => {
    expect(await leftInSandboxes()).toEqual([]);
  });

  test("include a server that the next command can reach, and whose output does not delay that command", async () => {
    const machine = await openMachine();
    try {
      const script = "echo served > page.txt; python3 -m http.server --bind 127.0.0.1 8765 & sleep 1; echo started";
      expect(await shell(machine, script)).toMatchObject({ exitCode: 0, stdout: "started\n" });
      // The server writes a line to the first command's stderr for each request.
      for (const name of ["127.0.0.1", "localhost"]) {
        const got = await shell(machine, `curl -s --retry 5 --retry-connrefused http://${name}:8765/page.txt`);
        expect(got).toEqual({ exitCode: 0, stdout: "served\n", stderr: "" });
      }
    } finally {
      await machine.close();
    }
  });

  test("include daemons that outlive their command, but not after close", async () => {
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

  test("include a running command, which rejects when the machine is closed", async () => {
    const machine = await openMachine();
    const running = shell(machine, "sleep 614");
    const rejected = expect(running).rejects.toThrow("the task's machine has stopped: it was closed");
    await machine.close();
    await rejected;
    await machine.close();
    await expect(shell(machine, "echo")).rejects.toThrow("it was closed");
    await expect(machine.copyOut("/etc/passwd", "/nowhere")).rejects.toThrow("it was closed");
  });

  test("can all be killed from inside, except for the first process", async () => {
    const machine = await openMachine();
    try {
      await shell(machine, "sleep 615 & disown");
      await shell(machine, "kill -9 1; pkill -9 python3; pkill -TERM -f [g]uest; kill -INT 1; kill -9 -1");
      // Killed processes can be visible until they have been waited for.
      await expect
        .poll(() => shell(machine, "echo still; pgrep sleep"))
        .toMatchObject({ exitCode: 1, stdout: "still\n" });
    } finally {
      await machine.close();
    }
  });

  test("do not outlive a killed program", { tags: ["slow"] }, async () => {
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
