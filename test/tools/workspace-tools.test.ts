import { existsSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/platform/json.js";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import type { SandboxChoice } from "../../src/sandbox/python.js";
import { findHostPython } from "../../src/sandbox/run-python.js";
import { openWorkspace, type Workspace } from "../../src/sandbox/workspace.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { resultValue, type ToolContext } from "../../src/tools/tool.js";
import { getTool } from "../../src/tools/tools-store.js";
import { needs } from "../machine-requirements.js";
import { gone, isThere } from "../platform/processes.js";
import { openEmpty, type TestDb } from "../runs/demo-setup.js";
import { leftInSandboxes, sandboxProcesses } from "../sandbox/host-witness.js";
import { context } from "./demo-tools.js";

const choice = await chooseSandbox();
const onHost = needs("sandbox", (await findHostPython()).ok);

let empty: TestDb;
let workspace: Workspace;
beforeAll(() => {
  empty = openEmpty();
});
afterAll(() => empty.close());
beforeEach(() => {
  workspace = openWorkspace();
});
afterEach(() => workspace.close());

type Python = () => Promise<SandboxChoice>;

function call(id: string, args: JsonValue, changes: Partial<ToolContext> = {}, python?: Python) {
  const resources = { mailbox: openMailbox(empty.db), ...(python === undefined ? {} : { python }) };
  return toTool({ tool: getTool(empty.db, id), config: null }, resources).call(args, {
    ...context,
    workspace,
    ...changes,
  });
}

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

describe("file tools in a workspace", () => {
  test("list a written file, and read it with line numbers", async () => {
    const written = await call("write_file", { path: "notes/a.txt", content: "first\r\nsecond\n\nlast" });
    expect(written).toEqual({ ok: true, value: { path: "notes/a.txt", bytes: 19 } });
    expect(await call("list_files", {})).toEqual({
      ok: true,
      value: {
        files: [
          { path: "notes", type: "folder", size: 0 },
          { path: "notes/a.txt", type: "file", size: 19 },
        ],
        total: 2,
      },
    });
    expect(await call("read_file", { path: "notes/a.txt" })).toEqual({
      ok: true,
      value: {
        path: "notes/a.txt",
        content: "1\tfirst\n2\tsecond\n3\t\n4\tlast",
        first_line: 1,
        last_line: 4,
        total_lines: 4,
        next_offset: null,
      },
    });
  });

  test("list at most 200 files, with their total number", { tags: ["slow"] }, async () => {
    for (let i = 0; i < 201; i++) await call("write_file", { path: `f${i}`, content: "" });
    const result = await call("list_files", {});
    expect(result).toMatchObject({ ok: true, value: { total: 201 } });
    const { files } = (result as unknown as { value: { files: unknown[] } }).value;
    expect(files).toHaveLength(200);
  });

  test("return a long file in pages, which contain each line once", async () => {
    await call("write_file", { path: "long", content: `${lines(450).join("\n")}\n` });
    const read: string[] = [];
    for (let offset: number | null = 1; offset !== null; ) {
      const result = await call("read_file", { path: "long", offset });
      if (!result.ok) throw new Error(result.error);
      const page = resultValue(result) as { content: string; next_offset: number | null };
      read.push(...page.content.split("\n"));
      offset = page.next_offset;
    }
    expect(read).toEqual(lines(450).map((line, i) => `${i + 1}\t${line}`));
    expect(await call("read_file", { path: "long", offset: 10, limit: 2 })).toMatchObject({
      value: { content: "10\tline 10\n11\tline 11", first_line: 10, last_line: 11, next_offset: 12 },
    });
  });

  test("end a page before it is too long, and truncate a long line", async () => {
    await call("write_file", { path: "wide", content: Array(30).fill("x".repeat(3000)).join("\n") });
    const result = await call("read_file", { path: "wide" });
    if (!result.ok) throw new Error(result.error);
    const page = resultValue(result) as { content: string; last_line: number; next_offset: number };
    expect(page.content.length).toBeLessThan(41_000);
    expect(page.content).toMatch(/^1\tx{2000}… \(1000 more characters\)\n2\t/);
    expect(page.next_offset).toBe(page.last_line + 1);
  });

  test.each([
    ["read_file", { path: "/etc/passwd" }, "outside the workspace"],
    ["read_file", { path: "../secret" }, '".."'],
    ["read_file", { path: "missing" }, "does not exist"],
    ["read_file", { path: "" }, "path"],
    ["read_file", { path: "a", offset: 0 }, "offset"],
    ["write_file", { path: "a/../../b", content: "" }, '".."'],
    ["write_file", { path: "a" }, "content"],
    ["list_files", { path: "missing" }, "does not exist"],
  ])("reject %s %j in a way that lets the model continue", async (id, args, why) => {
    expect(await call(id, args)).toEqual({ ok: false, kind: "bad_arguments", error: expect.stringContaining(why) });
  });

  test("read an empty file as zero lines, and reject a line number after the last line", async () => {
    await call("write_file", { path: "empty", content: "" });
    expect(await call("read_file", { path: "empty" })).toMatchObject({
      value: { content: "", total_lines: 0, last_line: 0 },
    });
    expect(await call("read_file", { path: "empty", offset: 2 })).toMatchObject({ kind: "bad_arguments" });
  });

  test("report a missing workspace", async () => {
    for (const [id, args] of [
      ["list_files", {}],
      ["execute_python", { code: "print(1)" }],
    ] as const) {
      const tool = toTool({ tool: getTool(empty.db, id), config: null }, { mailbox: openMailbox(empty.db) });
      expect(await tool.call(args, context)).toMatchObject({ ok: false, kind: "failed" });
    }
  });
});

describe("execute_python", () => {
  const nowhere: Python = async () => ({ ok: false, why: "bubblewrap is not installed", hint: "Install it." });

  test("causes an error without a sandbox, and the error lists the programs to install", async () => {
    const refused = await call("execute_python", { code: "print(1)" }, {}, nowhere);
    expect(refused).toMatchObject({ ok: false, kind: "failed" });
    expect(refused).toMatchObject({ error: expect.stringMatching(/bubblewrap is not installed.*Install it/) });
  });

  test("runs programs, shares the files, and reports errors", needs("sandbox", choice.ok), async () => {
    await call("write_file", { path: "numbers.txt", content: "3\n4\n" });
    const code = "print(sum(map(int, open('numbers.txt'))))\nopen('sum.txt', 'w').write('seven')";
    expect(await call("execute_python", { code })).toEqual({
      ok: true,
      value: { stdout: "7\n", stderr: "", exit_code: 0, timed_out: false, truncated: false },
    });
    expect(await call("read_file", { path: "sum.txt" })).toMatchObject({ value: { content: "1\tseven" } });
    await call("write_file", { path: "sum.txt", content: "8" });
    await call("execute_python", { code: "open('sum.txt', 'a').write('!')" });
    expect(await call("read_file", { path: "sum.txt" })).toMatchObject({ value: { content: "1\t8!" } });
    expect(await call("execute_python", { code: "def f():\n    return 1 / 0\nf()" })).toMatchObject({
      value: {
        exit_code: 1,
        stderr:
          'Traceback (most recent call last):\n  File "main.py", line 3, in <module>\n    f()\n  File "main.py", line 2, in f\n    return 1 / 0\n           ~~^~~\nZeroDivisionError: division by zero\n',
      },
    });
    expect(await call("execute_python", { code: "import sys\nsys.exit(3)" })).toMatchObject({
      value: { exit_code: 3 },
    });
    expect(await call("execute_python", { code: "x = (" })).toMatchObject({
      value: { exit_code: 1, stderr: expect.stringMatching(/^ {2}File "main\.py", line 1\n[\s\S]*SyntaxError/) },
    });
    expect(await call("execute_python", { code: "print(input())" })).toMatchObject({
      value: { stderr: expect.stringContaining("EOFError") },
    });
  });

  test("reports that a program was stopped, and why", needs("sandbox", choice.ok), async () => {
    expect(await call("execute_python", { code: "print('begun')\nimport time\ntime.sleep(60)" })).toEqual({
      ok: true,
      value: {
        stdout: "begun\n",
        stderr: "",
        exit_code: null,
        timed_out: true,
        truncated: false,
        stopped: "Stopped after 5 seconds. Do less in one call.",
      },
    });
    expect(await call("execute_python", { code: "while True: print('x' * 100_000)" })).toMatchObject({
      value: { timed_out: false, truncated: true, stopped: "Stopped: it printed more than 4 MB. Print less." },
    });
  });

  test("stops when its task ends, and leaves nothing", needs("sandbox", choice.ok), async () => {
    const stop = new AbortController();
    let files = "";
    await workspace.use(async (folders) => {
      files = folders.files;
    });
    const running = call("execute_python", { code: "import time; time.sleep(60)" }, { signal: stop.signal });
    await expect.poll(() => sandboxProcesses().length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(0);
    stop.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    expect(await leftInSandboxes()).toEqual([]);
    await workspace.close();
    expect(existsSync(files)).toBe(false);
  });

  test("runs on the bare host only if requested, and without the host's environment", onHost, async () => {
    const code = "import os\nprint(os.path.isdir('/etc'), sorted(os.environ))\nopen('a', 'w').write('here')";
    expect(await call("execute_python", { code }, {}, findHostPython)).toMatchObject({
      value: { stdout: expect.stringMatching(/^True \['HOME', 'LANG', ('LC_CTYPE', )?'PATH', ('PWD', )?'TMPDIR'/) },
    });
    expect(await call("read_file", { path: "a" })).toMatchObject({ value: { content: "1\there" } });
    const left =
      "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(8)\n    os._exit(0)\nprint('gone')";
    expect(await call("execute_python", { code: left }, {}, findHostPython)).toMatchObject({
      value: { stdout: "gone\n", exit_code: 0 },
    });
  });

  test("ends detached processes on the bare host when the task ends", onHost, async () => {
    const stop = new AbortController();
    let files = "";
    await workspace.use(async (folders) => {
      files = folders.files;
    });
    const code = `
import os, time
child = os.fork()
if child == 0:
    os.setsid()
    open("pid.new", "w").write(str(os.getpid()))
    os.rename("pid.new", "pid")
time.sleep(60)`;
    const running = call("execute_python", { code }, { signal: stop.signal }, findHostPython);
    await expect.poll(() => existsSync(`${files}/pid`), { timeout: 20_000 }).toBe(true);
    const pid = Number(readFileSync(`${files}/pid`, "utf8"));
    expect(isThere(pid)).toBe(true);
    stop.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    await gone(pid);
  });
});
