import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { PYTHON_LIMITS } from "../../src/sandbox/limits.js";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { type PythonRun, runPython } from "../../src/sandbox/run-python.js";
import { openWorkspace, readText, type Workspace } from "../../src/sandbox/workspace.js";
import { needs } from "../machine-requirements.js";
import { ATTEMPTS, batchAttempts } from "./escape-attempts.js";
import { leftInSandboxes, openWitness, SECRET, sandboxProcesses, type Witness } from "./host-witness.js";
import { machinesStart, openMachine, processesWith, shell } from "./machines.js";

const KEY = "sk-ant-only-for-the-host";
const choice = await chooseSandbox();

describe("the sandbox", needs("sandbox", choice.ok), () => {
  let witness: Witness;
  let workspace: Workspace;
  let files = "";
  const keyBefore = process.env.ANTHROPIC_API_KEY;

  beforeAll(async () => {
    process.env.ANTHROPIC_API_KEY = KEY;
    witness = await openWitness();
  });
  afterAll(async () => {
    if (keyBefore === undefined) delete process.env.ANTHROPIC_API_KEY;
    else process.env.ANTHROPIC_API_KEY = keyBefore;
    await witness.close();
  });
  beforeEach(async () => {
    workspace = openWorkspace();
    files = await workspace.use(async (folders) => folders.files);
  });
  afterEach(async () => {
    expect(await leftInSandboxes()).toEqual([]);
    expect(witness.victimLives()).toBe(true);
    expect(witness.contacts()).toBe(0);
    await workspace.close();
    expect(existsSync(files)).toBe(false);
  });

  const run = (code: string, signal = new AbortController().signal): Promise<PythonRun> => {
    if (!choice.ok) throw new Error(choice.why);
    return runPython(choice.sandbox, code, workspace, signal);
  };

  test("runs ordinary programs without errors", async () => {
    const code = `
import decimal, json, os, re, sqlite3, subprocess, sys, zoneinfo
open("a.txt", "w").write("kept")
print(json.dumps({"sum": sum(range(10)), "files": os.listdir("."), "zone": str(zoneinfo.ZoneInfo("America/Chicago"))}))
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout.strip())
print(sqlite3.connect(":memory:").execute("select 1").fetchone())`;
    expect(await run(code)).toEqual({
      stdout: '{"sum": 45, "files": ["a.txt"], "zone": "America/Chicago"}\n42\n(1,)\n',
      stderr: "",
      exitCode: 0,
      stopped: null,
      truncated: false,
    });
    expect(await workspace.use((folders) => readText(folders, "a.txt"))).toBe("kept");
  });

  const attemptInSandbox = batchAttempts(
    async (code) => {
      const { stdout, stderr, stopped } = await run(code);
      expect({ stderr, stopped }).toEqual({ stderr: "", stopped: null });
      return { stdout };
    },
    () => witness.targets,
  );

  test.each(ATTEMPTS)("contains the attempt $name", async (attempt) => {
    const stdout = await attemptInSandbox(attempt);
    expect(stdout).toMatch(/^refused: \S+ .*\n$/);
    expect(stdout).toMatch(attempt.refused);
    expect(stdout).not.toContain(SECRET);
  });

  test("gives a program nothing from the host's environment, no key and no time zone", async () => {
    const { stdout } = await run("import os, time\nprint(sorted(os.environ), time.tzname)\nprint(dict(os.environ))");
    expect(stdout).toContain("['HOME', 'LANG', 'LD_LIBRARY_PATH', 'PATH', 'PWD', 'TMPDIR', 'TZ'] ('UTC', 'UTC')");
    expect(stdout).not.toContain(KEY);
  });

  test("shows a program only its own files", async () => {
    const { stdout } = await run("import os\nprint(sorted(os.listdir('/')), sorted(os.listdir('/dev')), os.getuid())");
    expect(stdout).toMatch(/^\[('lib', ('lib64', )?)?'tmp', 'usr', 'workspace'\]|'dev'/);
    expect(stdout).toContain("['null', 'urandom'] 65534");
    const { stdout: host } = await run("import socket\nprint(socket.gethostname())");
    expect(host).toBe("sandbox\n");
  });

  test("ends an infinite loop on several cores, which uses more CPU time than wall time", async () => {
    const { stopped, exitCode } = await run(`
import hashlib, threading
block = bytes(2 ** 20)
def work():
    while True: hashlib.sha256(block)
for _ in range(4): threading.Thread(target=work).start()`);
    expect({ stopped, exitCode }).toEqual({ stopped: "time", exitCode: null });
  });

  test("ends an infinite loop that ignores every signal it can", { tags: ["slow"] }, async () => {
    const { stdout, stopped, exitCode } = await run(`
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
print("ignoring")
while True: pass`);
    expect({ stdout, stopped, exitCode }).toEqual({ stdout: "ignoring\n", stopped: "time", exitCode: null });
  });

  test("ends a fork bomb", { tags: ["slow"] }, async () => {
    const { stopped } = await run(`
import os
while True:
    try: os.fork()
    except OSError: pass`);
    expect(stopped).toBe("time");
  });

  test("allows at most the maximum number of processes, however they are created", async () => {
    const { stdout } = await run(`
import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except BlockingIOError: pass
print(made)
os._exit(0)`);
    expect(Number(stdout)).toBeGreaterThan(4);
    expect(Number(stdout)).toBeLessThan(PYTHON_LIMITS.processes);
  });

  test("ends a program that never stops starting threads", async () => {
    const { stdout } = await run(`
import os, threading, time
made = 0
try:
    while made < 1000:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
        made += 1
except RuntimeError: pass
print(made, flush=True)
os._exit(0)`);
    expect(Number(stdout)).toBeLessThan(PYTHON_LIMITS.processes);
  });

  test("ends a memory bomb", async () => {
    // `bytes` reserves memory without touching it, which can take seconds on a busy machine.
    expect(await run("x = []\nwhile True: x.append(bytes(10 ** 7))")).toMatchObject({
      stderr: expect.stringContaining("MemoryError"),
      exitCode: 1,
    });
  });

  test("ends a memory bomb that uses many processes", async () => {
    const { stopped } = await run(`
import os, time
for _ in range(5):
    if os.fork() == 0: break
x = bytearray(120 * 2 ** 20)
for i in range(0, len(x), 4096): x[i] = 1
time.sleep(30)`);
    expect(stopped).toBe("memory");
  });

  test("ends an output bomb", async () => {
    const { stopped, stdout, truncated } = await run("while True: print('x' * 1000)");
    expect({ stopped, truncated, length: stdout.length }).toEqual({
      stopped: "output",
      truncated: true,
      length: PYTHON_LIMITS.outputBytes,
    });
  });

  test("ends a program that writes a file without an end", async () => {
    const { stdout } = await run(`
try:
    with open("big", "wb") as file:
        while True: file.write(b"x" * 2 ** 20)
except OSError as error: print(error.errno)`);
    expect(stdout).toBe("27\n");
  });

  test("ends a program that fills the disk with large files", async () => {
    const code = `
for i in range(10_000):
    with open(f"big{i}", "wb") as file: file.write(b"x" * 2 ** 20)`;
    expect((await run(code)).stopped).toBe("workspace");
    expect((await run("import os; print(os.listdir('.'))")).stdout).toBe("[]\n");
  });

  test("ends a program that fills the disk with unnamed files, from child processes whose parent does not wait", async () => {
    const { stdout } = await run(`
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
held = 0
reader, writer = os.pipe()
for number in range(20):
    if os.fork() == 0:
        file = open(f"/{['tmp', 'workspace'][number % 2]}/{number}", "wb")
        os.unlink(file.name)
        try:
            for _ in range(15):
                file.write(b"x" * 2 ** 20)
                file.flush()
                os.write(writer, b"1")
        except OSError as error: os.write(writer, b".")
        time.sleep(60)
time.sleep(3)
got = os.read(reader, 10_000)
print(got.count(b"1"), b"." in got)
os._exit(0)`);
    // At most the size of both file systems, although the program tried to write 300 MB.
    expect(stdout).toMatch(/^(6\d|[789]\d|1[0-3]\d) True\n$/);
  });

  test("ends a program that fills sockets with unread data", async () => {
    const { stdout, stopped } = await run(`
import os, socket, time
for _ in range(30):
    if os.fork() == 0: break
held = []
try:
    while True:
        pair = socket.socketpair()
        for end in pair: end.setblocking(False)
        held.append(pair)
        for end in pair:
            try:
                while True: end.send(b"x" * 65536)
            except BlockingIOError: pass
except OSError as error: pass
time.sleep(30)`);
    expect({ stdout, stopped }).toEqual({ stdout: "", stopped: "memory" });
  });

  test("ends a program that creates a file with a hole larger than any file", async () => {
    const { stdout } = await run(`
file = open("hole", "w")
try: file.truncate(2 ** 40)
except OSError as error: print(error.errno)`);
    expect(stdout).toBe("27\n");
  });

  test.each(["/workspace", "/tmp"])("ends a program that creates files in %s without an end", async (folder) => {
    expect((await run(`for i in range(10 ** 7): open(f"${folder}/{i}", "w").close()`)).stopped).toBe("workspace");
  });

  test("removes very deeply nested folders without permissions", async () => {
    const { stopped } = await run(`
import os
for i in range(3000):
    os.mkdir("d" * 20)
    os.chdir("d" * 20)
os.chmod(".", 0)`);
    expect(stopped).toBe("workspace");
  });

  test("ends a daemon that forked twice and left its session", async () => {
    const { stdout, exitCode } = await run(`
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in range(3): os.close(descriptor)
        time.sleep(600)
    os._exit(0)
os.wait()
print("left")`);
    expect({ stdout, exitCode }).toEqual({ stdout: "left\n", exitCode: 0 });
  });

  test("ends a child process that keeps the output open", async () => {
    const { stdout, stopped } = await run(`
import os, time
if os.fork() == 0: time.sleep(600)
print("gone")`);
    expect({ stdout, stopped }).toEqual({ stdout: "gone\n", stopped: null });
  });

  test("ends a program that kills everything it can, and then its sandbox's first process", async () => {
    const { stdout, exitCode } = await run(`
import os, signal
for pid in [-1, 1, os.getppid()]:
    try: os.kill(pid, signal.SIGKILL)
    except OSError: pass
print("still here", flush=True)
os.kill(0, signal.SIGKILL)`);
    expect({ stdout, exitCode }).toEqual({ stdout: "still here\n", exitCode: 137 });
  });

  test("leaves no core file if a program crashes", async () => {
    const { exitCode } = await run("import ctypes\nctypes.string_at(0)");
    expect(exitCode).toBe(139);
    expect((await run("import os; print(os.listdir('.'), os.listdir('/tmp'))")).stdout).toBe("[] []\n");
  });

  test("ends all processes of an interrupted task", async () => {
    const stop = new AbortController();
    const running = run("import time\nopen('begun', 'w').close()\ntime.sleep(600)", stop.signal);
    // Also shows that the search for remaining processes finds them.
    await expect.poll(() => sandboxProcesses().length, { timeout: 20_000 }).toBeGreaterThan(2);
    stop.abort(new Error("the task was stopped"));
    await expect(running).rejects.toThrow("the task was stopped");
  });
});

/** An agent that tries to get out of its machine finds nothing of the host, its network or other tasks. */

/** Parts of a machine, unlike a Python run, that are its own and reach nothing of the host. */
const OWN = new Set([
  "reading /etc/passwd",
  "reading its own environment through /proc",
  "listing the processes",
  "importing the host's own packages",
  "writing into /dev/shm",
  "writing into /var/tmp",
  "a local UDP socket",
  "a netlink socket",
  "sudo",
  "a shell",
  "raising RLIMIT_CPU",
  "a larger buffer for a socket by SO_SNDBUF",
  "a larger buffer for a socket by SO_RCVBUF",
]);

/** Attempts refused by other means than in a Python run. */
const OTHERWISE: Readonly<Record<string, RegExp>> = {
  "reading the host's files through /proc/1/root": /PermissionError/,
  "listing the home folder": /FileNotFoundError/,
  "following a symbolic link out": /FileNotFoundError/,
  "TCP to the host's loopback over IPv6": /ConnectionRefusedError/,
  "a raw socket": /PermissionError/,
  "a setuid program of the host": /CalledProcessError/,
  "triggering SysRq through /proc/sysrq-trigger": /PermissionError|OSError 30\b|FileNotFoundError/,
  "opening the terminal": /OSError 6\b/,
  "shared memory of /dev/zero": /OSError 19\b/,
};

describe("a task's machine", needs("sandbox", machinesStart), () => {
  let witness: Witness;
  let machine: SandboxedMachine;
  beforeAll(async () => {
    witness = await openWitness();
    machine = await openMachine();
  });
  afterAll(async () => {
    expect([witness.contacts(), witness.victimLives()]).toEqual([0, true]);
    await machine.close();
    await witness.close();
    expect(await leftInSandboxes()).toEqual([]);
  });

  const python = (code: string) =>
    machine.run({ argv: ["python3", "-c", code], cwd: null, env: {}, timeoutMs: 30_000 }, new AbortController().signal);

  const attemptInMachine = batchAttempts(
    async (code) => {
      const { stdout, stderr } = await python(code);
      expect(stderr.replace(/^(Password: )?su: .*\n/gm, "").replace(/^sudo: .*\n/gm, "")).toBe("");
      return { stdout };
    },
    () => witness.targets,
  );

  test.each(ATTEMPTS.filter(({ name }) => !OWN.has(name)))("contains the attempt $name", async (attempt) => {
    const stdout = await attemptInMachine(attempt);
    expect(stdout).toMatch(/^refused: \S+ .*\n$/);
    expect(stdout).toMatch(OTHERWISE[attempt.name] ?? attempt.refused);
    expect(stdout).not.toContain(SECRET);
  });

  test("has its own network and processes, which reach nothing on the host", async () => {
    expect((await shell(machine, "cat /etc/passwd /etc/hostname; hostname")).stdout).toBe(
      "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n" +
        "nobody:x:65534:65534::/:/bin/false\nmachine\nmachine\n",
    );
    expect((await shell(machine, "ls /proc | grep -c '^[0-9]*$'")).stdout).toMatch(/^[1-5]\n$/);
    expect((await shell(machine, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")).stdout.trim()).toBe("lo");
    expect((await shell(machine, "sudo -n id -u")).stdout).toBe("1000\n");
  });

  test("contains only its own files and the packages", async () => {
    const { stdout } = await shell(machine, "ls / | tr '\\n' ' '; ls /home /opt /mnt /usr/src /usr/local/src /var");
    expect(stdout.split("\n")[0]).toMatch(
      /^bin dev etc home lib( lib32)?( lib64)?( libx32)? mnt opt proc sbin tmp usr var/,
    );
    expect(stdout).toContain("/home:\nuser\n");
    expect(stdout).toContain("/opt:\nmachine\n");
    expect((await shell(machine, "ls /usr/src /usr/local/src | grep -v :")).stdout.trim()).toBe("");
  });

  test.each(["/usr/bin/ls", "/etc/passwd", "/opt/machine/guest/files.py", "/opt/machine/bin/python", "/lib/x", "/new"])(
    "has a read-only %s",
    async (path) => {
      const changes = [`echo x >> ${path}`, `rm ${path}`, `mv ${path} ~`, `chmod 777 ${path}`, `ln -sf /tmp ${path}`];
      for (const change of changes) expect((await shell(machine, change)).exitCode, change).not.toBe(0);
    },
  );

  test.each(["mem", "environ", "fd/0", "fd/1", "root", "cwd", "maps"])(
    "has a first process that reveals nothing through /proc/1/%s",
    async (name) => {
      const { stderr, exitCode } = await shell(machine, `head -c 1 /proc/1/${name}; ls /proc/1/${name}/`);
      expect(exitCode).not.toBe(0);
      expect(stderr).toMatch(/Permission denied|Not a directory/);
    },
  );
});

describe("four concurrent machines", needs("sandbox", machinesStart), () => {
  test("see neither each other's files, processes and servers nor each other's memory", async () => {
    const machines = await Promise.all([1, 2, 3, 4].map(() => openMachine()));
    const word = `9${process.pid}.25`;
    try {
      await Promise.all(
        machines.map((machine, i) =>
          shell(
            machine,
            `echo ${i} > mine; echo ${i} > /tmp/mine-${i}; echo ${i} > /dev/shm/mine-${i}; cp mine page; sleep ${word} &
             python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & disown -a`,
          ),
        ),
      );
      await expect.poll(() => processesWith(`sleep\0${word}`).length).toBe(4);
      const fetch = "curl -sS --retry 8 --retry-connrefused http://127.0.0.1:8000/page";
      const seen = await Promise.all(
        machines.map((machine) => shell(machine, `ls /tmp /dev/shm; cat mine; ${fetch}; pgrep -c sleep`)),
      );
      expect(seen.map(({ stdout }) => stdout)).toEqual(
        [0, 1, 2, 3].map((i) => `/dev/shm:\nmine-${i}\n\n/tmp:\nmine-${i}\n${i}\n${i}\n1\n`),
      );
      await machines[0]?.close();
      expect(processesWith(`sleep\0${word}`).length).toBe(3);
      expect(machines[1] && (await shell(machines[1], fetch)).stdout).toBe("1\n");
    } finally {
      await Promise.all(machines.map((machine) => machine.close()));
    }
    expect(processesWith(word)).toEqual([]);
  });
});

describe("host folders", needs("sandbox", machinesStart), () => {
  test("stay read-only if a snapshot shows them, and invisible if they are hidden", async () => {
    const shown = mkdtempSync("/opt/art-e-shown-");
    const gold = join(shown, "suite/golds");
    chmodSync(shown, 0o755);
    mkdirSync(gold, { recursive: true });
    writeFileSync(join(shown, "tool"), "shown");
    writeFileSync(join(gold, "gold.csv"), SECRET);
    try {
      const machine = await openMachine({ snapshot: { readOnly: [shown] }, hidden: [join(shown, "suite")] });
      const script = `cd ${shown} && cat tool && ls -a suite && (echo x > new || echo x > suite/new || echo x > tool)`;
      expect(await shell(machine, script)).toMatchObject({ exitCode: 1, stdout: "shown.\n..\n" });
      await machine.close();
      const open = openMachine({ snapshot: { readOnly: [gold] }, hidden: [join(shown, "suite")] });
      await expect(open).rejects.toThrow("inside a hidden folder");
    } finally {
      rmSync(shown, { recursive: true });
    }
  });

  test("stay hidden behind a link in an allowed folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "art-e-linked-"));
    try {
      await expect(
        openMachine({ snapshot: { readOnly: [`${folder}/../${folder.split("/").at(-1)}`] } }),
      ).rejects.toThrow("is a link");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
