import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import { needs } from "../machine-requirements.js";
import { machinesStart, openMachine, shell } from "./machines.js";

/** Files on their way into a task's machine and out of it, where an agent may have left anything. */

const MOST = 5 * 2 ** 20;

describe("copies", needs("sandbox", machinesStart), () => {
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

  test("a file of bytes in, with its folders, and out again unchanged", async () => {
    const bytes = Buffer.from(Array.from({ length: 3 * 2 ** 20 + 5 }, (_, i) => (i * 31) % 256));
    writeFileSync(join(folder, "bytes"), bytes);
    await machine.copyIn(join(folder, "bytes"), "/home/user/new/folder/name with spaces.bin");
    expect((await collect("/home/user/new/folder/name with spaces.bin"))?.equals(bytes)).toBe(true);
    expect((await shell(machine, "stat -c '%U %a %s' new/folder/*")).stdout).toBe(`user 644 ${bytes.length}\n`);
    writeFileSync(join(folder, "empty"), "");
    await machine.copyIn(join(folder, "empty"), "/home/user/new/folder/name with spaces.bin");
    expect(await collect("/home/user/new/folder/../folder/name with spaces.bin")).toEqual(Buffer.alloc(0));
  });

  test("what can be run stays so", async () => {
    writeFileSync(join(folder, "run.sh"), "#!/bin/bash\necho ran\n", { mode: 0o700 });
    await machine.copyIn(join(folder, "run.sh"), "/tmp/run.sh");
    expect((await shell(machine, "/tmp/run.sh")).stdout).toBe("ran\n");
  });

  test("a folder takes the place of what was there", async () => {
    const source = join(folder, "tree");
    mkdirSync(join(source, "a/b"), { recursive: true });
    writeFileSync(join(source, "a/b/file"), "deep");
    writeFileSync(join(source, "top"), "top");
    await shell(machine, "mkdir -p Desktop/tree/old; ln -s /etc Desktop/tree/link; touch Desktop/tree/old/x");
    await machine.copyIn(source, "/home/user/Desktop/tree");
    const { stdout } = await shell(machine, "cd Desktop/tree; find . | sort; cat a/b/file; ls /etc/passwd");
    expect(stdout).toBe(".\n./a\n./a/b\n./a/b/file\n./top\ndeep/etc/passwd\n");
  });

  test("a link, a pipe or a folder where a file goes is replaced, not followed", async () => {
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

  test("nothing is collected by a link, to whatever it leads and wherever it stands", async () => {
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

  test("nothing is collected of pipes, sockets, devices and what may not be read", async () => {
    await shell(machine, "mkfifo p; echo x > closed; chmod 0 closed; mkdir shut; echo x > shut/x; chmod 0 shut");
    await shell(machine, "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'");
    for (const path of ["p", "s", "closed", "shut/x"]) expect(await collect(`/home/user/${path}`), path).toBeNull();
    for (const path of ["/dev/full", "/dev/zero", "/dev/tty"]) expect(await collect(path), path).toBeNull();
  });

  test("a file larger than may be collected is refused, also one that is only long", async () => {
    await shell(machine, `head -c ${MOST} /dev/urandom > fits; head -c ${MOST + 1} /dev/urandom > large`);
    await shell(machine, "truncate -s 900M sparse");
    expect((await collect("/home/user/fits"))?.length).toBe(MOST);
    const to = join(folder, "large");
    await expect(machine.copyOut("/home/user/large", to)).rejects.toThrow(`has ${MOST + 1} bytes`);
    await expect(machine.copyOut("/home/user/sparse", to)).rejects.toThrow("has 943718400 bytes");
    expect(existsSync(to)).toBe(false);
  });

  test("a file that grows while it is collected ends where it ended", async () => {
    await shell(machine, "head -c 1000000 /dev/urandom > grows; (while :; do echo more >> grows; done) & disown");
    const bytes = await collect("/home/user/grows");
    expect(bytes?.length).toBeGreaterThanOrEqual(1_000_000);
    await shell(machine, "kill -9 -1");
  });

  test("a link of the host's is not written through when a file is collected", async () => {
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

  test("links and pipes of a suite are not copied in, nor folders without end", async () => {
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
    await expect(machine.copyIn(many, "/tmp/many")).rejects.toThrow("one file too many");
    writeFileSync(join(folder, "big"), Buffer.alloc(MOST + 1));
    await expect(machine.copyIn(join(folder, "big"), "/tmp/big")).rejects.toThrow("too large");
  });

  test("paths that are none are refused", async () => {
    for (const path of ["relative", "", "/", "/tmp/../..", "/a\0b"]) {
      await expect(machine.copyOut(path, join(folder, "x")), path).rejects.toThrow(/is not an? /);
    }
  });
});
