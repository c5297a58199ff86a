import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chooseSandbox, DOCKER_IMAGE, dockerArguments } from "../../src/sandbox/choose-sandbox.js";
import { CgroupParent, ownFolder } from "../../src/sandbox/isolation/cgroup.js";
import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "../../src/sandbox/limits.js";
import { runPython } from "../../src/sandbox/run-python.js";
import { openWorkspace, readText, type Workspace, writeText } from "../../src/sandbox/workspace.js";
import { MAIL, ROOT, workFolder } from "../cli/art-e.js";
import { importSource } from "../import-source.js";
import { needs, slow } from "../machine-requirements.js";

describe("runPython at the end", async () => {
  /**
   * A program's files in /workspace and /tmp exist for the next one, although every program has its own file systems.
   */

  const choice = await chooseSandbox();
  let workspace: Workspace;
  let files = "";

  beforeEach(async () => {
    workspace = openWorkspace();
    files = await workspace.use(async (folders) => folders.files);
  });

  afterEach(() => workspace.close());

  const run = (code: string) => {
    if (!choice.ok) throw new Error(choice.why);
    return runPython(choice.sandbox, code, workspace, new AbortController().signal);
  };

  const done = { stderr: "", exitCode: 0, stopped: null };

  test(
    "keeps files, folders and links with their permissions and times, but no deleted files",
    needs("sandbox", choice.ok),
    async () => {
      await workspace.use((folders) => writeText(folders, "given/a.txt", "given"));
      const made = `
import os
print(open("given/a.txt").read())
os.unlink("given/a.txt")
os.makedirs("deep/er")
open("deep/er/b", "w").write("b")
os.chmod("deep/er/b", 0o540)
os.utime("deep/er/b", (1_000_000_000, 1_000_000_000))
os.symlink("/etc/passwd", "link")
open("/tmp/t", "w").write("temporary")`;
      expect(await run(made)).toMatchObject({ ...done, stdout: "given\n" });
      expect(readdirSync(files, { recursive: true }).sort()).toEqual(["deep", "deep/er", "deep/er/b", "given", "link"]);
      const { mode, mtimeMs } = lstatSync(join(files, "deep/er/b"));
      expect({ mode: mode & 0o7777, mtimeMs }).toEqual({ mode: 0o540, mtimeMs: 1e12 });
      expect(readlinkSync(join(files, "link"))).toBe("/etc/passwd");
      await expect(workspace.use((folders) => readText(folders, "link"))).rejects.toThrow("symbolic link");
      const again = `
import os
print(sorted(os.listdir(".")), open("deep/er/b").read(), open("/tmp/t").read())
os.chmod("deep/er/b", 0o700)
for name in ["link", "/tmp/t", "deep/er/b"]: os.unlink(name)
for name in ["deep/er", "deep", "given"]: os.rmdir(name)`;
      expect(await run(again)).toMatchObject({ ...done, stdout: "['deep', 'given', 'link'] b temporary\n" });
      expect(await run("import os; print(os.listdir('.'), os.listdir('/tmp'))")).toMatchObject({ stdout: "[] []\n" });
    },
  );

  test(
    "keeps files written before the timeout, and files without read permission",
    needs("sandbox", choice.ok),
    async () => {
      const code =
        "import os\nopen('a', 'w').write('a')\nos.chmod('a', 0)\nopen('b', 'w').write('b')\nimport time\ntime.sleep(60)";
      expect(await run(code)).toMatchObject({ stopped: "time" });
      expect(readdirSync(files).sort()).toEqual(["a", "b"]);
      expect(readFileSync(join(files, "b"), "utf8")).toBe("b");
    },
  );

  test(
    "keeps at most the maximum number of bytes in the maximum number of files",
    slow(needs("sandbox", choice.ok)),
    async () => {
      const { files: count, bytes } = WORKSPACE_LIMITS;
      const each = Math.floor(bytes / count / 4096) * 4096 + 1;
      const full = `for i in range(${Math.floor(bytes / (each + 4095))}): open(str(i), "wb").write(b"x" * ${each})`;
      expect(await run(full)).toMatchObject(done);
      const read = await run("import os; print(sum(os.path.getsize(name) for name in os.listdir('.')))");
      expect(read).toMatchObject({ ...done, stdout: `${Math.floor(bytes / (each + 4095)) * each}\n` });
    },
  );
});

const folders = { files: "/tmp/w/files", temporary: "/tmp/w/temporary", owner: null };
const args = dockerArguments("art-e-1", folders, "1000:1000");
const given = (flag: string) => args[args.indexOf(flag) + 1];

test("gives the Docker sandbox no network, no writable path except the workspace, no capabilities, and limited resources", () => {
  expect(args[0]).toBe("run");
  expect(args).toEqual(expect.arrayContaining(["--rm", "--read-only", "--init", "--interactive"]));
  expect({
    network: given("--network"),
    pull: given("--pull"),
    rights: given("--cap-drop"),
    security: given("--security-opt"),
    user: given("--user"),
    memory: given("--memory"),
    swap: given("--memory-swap"),
    processes: given("--pids-limit"),
    name: given("--name"),
  }).toEqual({
    network: "none",
    pull: "never",
    rights: "ALL",
    security: "no-new-privileges",
    user: "1000:1000",
    memory: String(PYTHON_LIMITS.memoryBytes),
    swap: String(PYTHON_LIMITS.memoryBytes),
    processes: String(PYTHON_LIMITS.processes),
    name: "art-e-1",
  });
  const mounts = args.filter((_, i) => args[i - 1] === "--mount");
  expect(mounts).toEqual([
    "type=bind,source=/tmp/w/files,target=/workspace",
    "type=bind,source=/tmp/w/temporary,target=/tmp",
  ]);
  expect(args).not.toContain("--privileged");
  expect(args).not.toContain("--volume");
});

test("puts every flag before the Docker image, and Python's program after it", () => {
  const image = args.indexOf(DOCKER_IMAGE);
  expect(args.slice(image + 1, image + 3)).toEqual(["python3", "-I"]);
  expect(args.slice(image).filter((word) => word.startsWith("--"))).toEqual([]);
  expect(args.at(-1)).toContain("RLIMIT_FSIZE");
});

/** The limits of a run's cgroup. The escape tests show that the kernel enforces them, if a cgroup is available. */

const mounted = (root: string, mount: string) =>
  `24 1 0:22 / /proc rw - proc proc rw\n30 23 0:26 ${root} ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;

describe("ownFolder", () => {
  test.each([
    ["of a session", "/", "/sys/fs/cgroup", "/user.slice/session-1.scope", "/user.slice/session-1.scope"],
    ["at the root", "/", "/sys/fs/cgroup", "/", ""],
    ["of a container that sees only its own part", "/docker/abc", "/sys/fs/cgroup", "/docker/abc/x", "/x"],
    ["of a container that has its own names", "/", "/sys/fs/cgroup", "/x", "/x"],
    ["if version 1 is also mounted", "/", "/sys/fs/cgroup/unified", "/", ""],
  ])("finds the cgroup (%s)", (_, root, mount, path, below) => {
    const cgroup = `4:memory:/elsewhere\n0::${path}\n`;
    expect(ownFolder(mounted(root, mount), cgroup)).toEqual({ mount, folder: `${mount}${below}` });
  });

  test("requires version 2 inside the mount", () => {
    expect(ownFolder("24 1 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "4:memory:/x\n")).toBeNull();
    expect(ownFolder(mounted("/", "/sys/fs/cgroup"), "0::/../other\n")).toBeNull();
  });
});

test("sets a run's limits before its cgroup contains a process, and reports if memory ran out", async () => {
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

test("describes how the sandbox enforces each limit", async () => {
  const choice = await chooseSandbox();
  if (!choice.ok) return expect(choice.why).not.toBe("");
  for (const how of Object.values(choice.sandbox.limits)) expect(how).toMatch(/^(hard|watched)/);
});

const NOBODY = { uid: 65_534, gid: 65_534 };

/** A module as an unprivileged user runs it: no home folder, no capabilities, no environment. */
function asNobody(source: string) {
  const options = { cwd: "/", env: {}, encoding: "utf8", timeout: 60_000, ...NOBODY } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", source], options);
  return { status, stdout, stderr };
}

const isRoot = process.getuid?.() === 0;
const canRead = isRoot && asNobody(importSource("sandbox/limits", "SHIMS")).status === 0;
const works = canRead && (await chooseSandbox()).ok;

const PROGRAMS = {
  ordinary: "open('a', 'w').write('x')\nprint(6 * 7, open('a').read())",
  unreadable: "import os\nopen('a', 'w').write('x')\nos.chmod('a', 0)",
  file: "print(open('/etc/passwd').read())",
  network: "import socket\nsocket.create_connection(('127.0.0.1', 1), 1)",
  forks: "import os\nwhile True: os.fork()",
  endless: "import time\ntime.sleep(60)",
  daemon: "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nprint('left')",
  closed: "import os\nos.makedirs('a/b')\nos.chmod('a', 0)",
};

describe("art-e as the user nobody", needs("root", works), () => {
  test("starts the same sandbox, which contains its program", { tags: ["slow"] }, () => {
    const { stdout, stderr } = asNobody(`
      import { existsSync } from "node:fs";
      ${importSource("sandbox/choose-sandbox", "chooseSandbox")}
      ${importSource("sandbox/run-python", "runPython")}
      ${importSource("sandbox/workspace", "openWorkspace")}
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
  });

  test("starts a task's machine, whose memory is also limited", { tags: ["slow"] }, () => {
    const { stdout, stderr } = asNobody(`
      ${importSource("sandbox/limits", "MACHINE_LIMITS")}
      ${importSource("sandbox/open-task-machine", "chooseMachineHost", "openTaskMachine")}
      ${importSource("sandbox/machine-snapshots", "EMPTY_SNAPSHOT")}
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
  });
});

describe("stale workspaces", () => {
  const { artE, path } = workFolder({ mail: MAIL });

  /** A process that creates a workspace with a file in it, and then waits. */
  async function withWorkspace(TMPDIR: string) {
    const source = `
    ${importSource("sandbox/workspace", "openWorkspace", "writeText")}
    await openWorkspace().use((folders) => writeText(folders, "deep/a.txt", "kept"));
    console.log("made");
    setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
      env: { TMPDIR },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    return child;
  }

  test("disappear at the next start after kill -9, unless their process is running", { tags: ["slow"] }, async () => {
    const temporary = path("temporary");
    mkdirSync(join(temporary, "art-e-workspace-of-somebody-else"), { recursive: true });
    const killed = await withWorkspace(temporary);
    const living = await withWorkspace(temporary);
    killed.kill("SIGKILL");
    await once(killed, "close");
    const named = (pid: number | undefined) =>
      expect.stringMatching(new RegExp(`^art-e-workspace-\\d+-${pid}-\\w{6}$`));
    expect(readdirSync(temporary)).toEqual(
      expect.arrayContaining(["art-e-workspace-of-somebody-else", named(killed.pid), named(living.pid)]),
    );
    // An agent's own workspace comes and goes with it.
    expect(await artE("tools test list_files", { TMPDIR: temporary })).toMatchObject({ code: 0 });
    expect(readdirSync(temporary).sort()).toEqual([named(living.pid), "art-e-workspace-of-somebody-else"]);
    living.kill("SIGKILL");
    await once(living, "close");
    expect(await artE("tools test email_get", { TMPDIR: temporary })).toMatchObject({ code: 1 });
    expect(readdirSync(temporary)).toEqual(["art-e-workspace-of-somebody-else"]);
  });

  test("disappear at the next suite run if they belong to a killed suite run", { tags: ["slow"] }, async () => {
    const temporary = path("of-suites");
    mkdirSync(temporary);
    const source = `
      ${importSource("sandbox/workspace", "makeTemporaryFolder")}
      for (const kind of ["task", "left", "machine", "machine-file", "oracle"]) await makeTemporaryFolder(kind);
      process.kill(process.pid, "SIGKILL");`;
    const env = { TMPDIR: temporary };
    await once(spawn(process.execPath, ["--input-type=module", "-e", source], { env }), "close");
    expect(readdirSync(temporary)).toHaveLength(5);
    const suite = join(ROOT, "fixtures/suites/demo");
    expect(await artE(`run --suite ${suite} -a noop -l 1 --runnable --db suite.db --quiet`, env)).toMatchObject({
      code: 0,
    });
    expect(readdirSync(temporary)).toEqual([]);
  });
});
