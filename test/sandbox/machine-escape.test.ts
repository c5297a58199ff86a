import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { ATTEMPTS, program } from "./escape-attempts.js";
import { leftInSandboxes, openWitness, SECRET, type Witness } from "./host-witness.js";
import { machinesStart, openMachine, processesWith, shell } from "./machines.js";

/** What an agent that looks for a way out of its machine finds: nothing of the host, of its network, of other tasks. */

/** What a machine, other than a run of Python, has of its own: these reach nothing of the host's. */
const OWN = new Set([
  "reading /etc/passwd",
  "reading its own environment by /proc",
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

/** Refused here by other means than in a run of Python. */
const OTHERWISE: Readonly<Record<string, RegExp>> = {
  "reading the host's files through /proc/1/root": /PermissionError/,
  "listing the home folder": /FileNotFoundError/,
  "following a symbolic link out": /FileNotFoundError/,
  "TCP to the host's loopback over IPv6": /ConnectionRefusedError/,
  "a raw socket": /PermissionError/,
  "a setuid program of the host": /CalledProcessError/,
  "pressing the kernel's keys by /proc/sysrq-trigger": /PermissionError|OSError 30\b|FileNotFoundError/,
  "opening the terminal": /OSError 6\b/,
  "shared memory of the device of zeros": /OSError 19\b/,
};

describe("from a task's machine there is no way out:", needs("sandbox", machinesStart), () => {
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

  test.each(ATTEMPTS.filter(({ name }) => !OWN.has(name)))("$name", async (attempt) => {
    const { stdout, stderr } = await python(program(attempt, witness.targets));
    expect(stderr.replace(/^(Password: )?su: .*\n$/, "")).toBe("");
    expect(stdout).toMatch(/^refused: \S+ .*\n$/);
    expect(stdout).toMatch(OTHERWISE[attempt.name] ?? attempt.refused);
    expect(stdout).not.toContain(SECRET);
  });

  test("what it has of its own is its own", async () => {
    expect((await shell(machine, "cat /etc/passwd /etc/hostname; hostname")).stdout).toBe(
      "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n" +
        "nobody:x:65534:65534::/:/bin/false\nmachine\nmachine\n",
    );
    expect((await shell(machine, "ls /proc | grep -c '^[0-9]*$'")).stdout).toMatch(/^[1-5]\n$/);
    expect((await shell(machine, "cat /proc/net/dev | tail -n +3 | cut -d: -f1")).stdout.trim()).toBe("lo");
    expect((await shell(machine, "sudo -n id -u")).stdout).toBe("1000\n");
  });

  test("all that it can see is its own, and the packages", async () => {
    const { stdout } = await shell(machine, "ls / | tr '\\n' ' '; ls /home /opt /mnt /usr/src /usr/local/src /var");
    expect(stdout.split("\n")[0]).toMatch(
      /^bin dev etc home lib( lib32)?( lib64)?( libx32)? mnt opt proc sbin tmp usr var/,
    );
    expect(stdout).toContain("/home:\nuser\n");
    expect(stdout).toContain("/opt:\nmachine\n");
    expect((await shell(machine, "ls /usr/src /usr/local/src | grep -v :")).stdout.trim()).toBe("");
  });

  test.each(["/usr/bin/ls", "/etc/passwd", "/opt/machine/guest/files.py", "/opt/machine/bin/python", "/lib/x", "/new"])(
    "%s cannot be changed",
    async (path) => {
      const changes = [`echo x >> ${path}`, `rm ${path}`, `mv ${path} ~`, `chmod 777 ${path}`, `ln -sf /tmp ${path}`];
      for (const change of changes) expect((await shell(machine, change)).exitCode, change).not.toBe(0);
    },
  );

  test.each(["mem", "environ", "fd/0", "fd/1", "root", "cwd", "maps"])(
    "its first process gives nothing away by /proc/1/%s",
    async (name) => {
      const { stderr, exitCode } = await shell(machine, `head -c 1 /proc/1/${name}; ls /proc/1/${name}/`);
      expect(exitCode).not.toBe(0);
      expect(stderr).toMatch(/Permission denied|Not a directory/);
    },
  );
});

describe("four machines at once", needs("sandbox", machinesStart), () => {
  test("see neither each other's files, processes and servers nor memory", async () => {
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

describe("folders of the host", needs("sandbox", machinesStart), () => {
  test("that a snapshot shows cannot be written to; what stays hidden is not there", async () => {
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
      await expect(open).rejects.toThrow("lies in a folder that stays hidden");
    } finally {
      rmSync(shown, { recursive: true });
    }
  });

  test("are not shown by a link in an allowed place", async () => {
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
