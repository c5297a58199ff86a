import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CgroupParent, ownFolder } from "../../src/sandbox/cgroup.js";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { PYTHON_LIMITS } from "../../src/sandbox/limits.js";

/** What a run's cgroup is told. That the kernel keeps to it shows the escape suite, where a cgroup can be had. */

const mounted = (root: string, mount: string) =>
  `24 1 0:22 / /proc rw - proc proc rw\n30 23 0:26 ${root} ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;

describe("the cgroup of this process", () => {
  test.each([
    ["of a session", "/", "/sys/fs/cgroup", "/user.slice/session-1.scope", "/user.slice/session-1.scope"],
    ["at the top", "/", "/sys/fs/cgroup", "/", ""],
    ["of a container that sees only its own part", "/docker/abc", "/sys/fs/cgroup", "/docker/abc/x", "/x"],
    ["of a container with names of its own", "/", "/sys/fs/cgroup", "/x", "/x"],
    ["beside version 1", "/", "/sys/fs/cgroup/unified", "/", ""],
  ])("%s", (_, root, mount, path, below) => {
    const cgroup = `4:memory:/elsewhere\n0::${path}\n`;
    expect(ownFolder(mounted(root, mount), cgroup)).toEqual({ mount, folder: `${mount}${below}` });
  });

  test("is not known without version 2, or outside of what is mounted", () => {
    expect(ownFolder("24 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/x\n")).toBeNull();
    expect(ownFolder(mounted("/", "/sys/fs/cgroup"), "0::/../other\n")).toBeNull();
  });
});

test("a run's cgroup has its limits before a process is in it, and knows when the memory ran out", async () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-cgroup-"));
  const cgroup = await new CgroupParent(folder).create({ ...PYTHON_LIMITS, endTogether: true });
  const [name = ""] = readdirSync(folder);
  const read = (file: string) => readFileSync(join(folder, name, file), "utf8");
  expect(name).toMatch(new RegExp(`^art-e-${process.pid}-\\d+$`));
  expect(read("memory.max")).toBe(String(PYTHON_LIMITS.memoryBytes));
  expect([read("memory.swap.max"), read("memory.oom.group")]).toEqual(["0", "1"]);
  expect(Number(read("pids.max"))).toBeGreaterThanOrEqual(PYTHON_LIMITS.processes);
  await cgroup.add(42);
  expect(read("cgroup.procs")).toBe("42");
  const events = (kills: number) => `low 0\noom 1\noom_kill ${kills}\noom_group_kill 0\n`;
  writeFileSync(join(folder, name, "memory.events"), events(0));
  expect(await cgroup.ranOutOfMemory()).toBe(false);
  writeFileSync(join(folder, name, "memory.events"), events(12));
  expect(await cgroup.ranOutOfMemory()).toBe(true);
  rmSync(folder, { recursive: true });
});

test("the sandbox says how each of its limits is kept", async () => {
  const choice = await chooseSandbox();
  if (!choice.ok) return expect(choice.why).not.toBe("");
  for (const how of Object.values(choice.sandbox.limits)) expect(how).toMatch(/^(hard|watched)/);
});
